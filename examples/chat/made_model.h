// SPDX-License-Identifier: Apache-2.0
//
// GGUF files made up for tests: small models with random weights.
#ifndef FOVEA_EXAMPLES_CHAT_MADE_MODEL_H_
#define FOVEA_EXAMPLES_CHAT_MADE_MODEL_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "examples/chat/gguf.h"
#include "examples/chat/made_vocabulary.h"

namespace chat {

// Collects values and tensors, and makes the bytes of a file with them.
class MadeFile {
 public:
  uint32_t version = 3, alignment = 32;

  void text(const std::string& key, const std::string& value) {
    begin(key, GgufType::kString);
    put_text(&values_, value);
  }
  template <class T>
  void number(const std::string& key, GgufType type, T value) {
    begin(key, type);
    put(&values_, value);
  }
  void u32(const std::string& key, uint32_t value) { number(key, GgufType::kU32, value); }
  void f32(const std::string& key, float value) { number(key, GgufType::kF32, value); }
  void array(const std::string& key, GgufType type, uint64_t count, const std::string& elements) {
    begin(key, GgufType::kArray);
    put(&values_, static_cast<uint32_t>(type));
    put(&values_, count);
    values_ += elements;
  }
  void strings(const std::string& key, const std::vector<std::string>& texts) {
    std::string elements;
    for (const std::string& text : texts) put_text(&elements, text);
    array(key, GgufType::kString, texts.size(), elements);
  }
  void tensor(const std::string& name, uint32_t type, const std::vector<uint64_t>& dims, const std::string& numbers) {
    put_text(&tensors_, name);
    put(&tensors_, static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) put(&tensors_, dim);
    put(&tensors_, type);
    put(&tensors_, uint64_t{numbers_.size()});
    numbers_ += numbers;
    numbers_.resize((numbers_.size() + alignment - 1) / alignment * alignment);
    ++tensor_count_;
  }

  std::string bytes() const {
    std::string file = "GGUF";
    put(&file, version);
    put(&file, tensor_count_);
    put(&file, value_count_);
    file += values_ + tensors_;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + numbers_;
  }

 private:
  template <class T>
  static void put(std::string* to, T value) {
    to->append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void put_text(std::string* to, const std::string& text) {
    put(to, uint64_t{text.size()});
    *to += text;
  }
  void begin(const std::string& key, GgufType type) {
    put_text(&values_, key);
    put(&values_, static_cast<uint32_t>(type));
    ++value_count_;
  }

  std::string values_, tensors_, numbers_;
  uint64_t value_count_ = 0, tensor_count_ = 0;
};

// The shape of a made-up model, and its weights as numbers by the names of tensors; rows of a matrix are adjacent.
struct MadeModel {
  std::string architecture = "llama";
  uint32_t layers = 2, width = 64, hidden = 96, q_heads = 4, kv_heads = 2, head_dim = 16, rotary_dim = 16;
  float rope_base = 1000.0f, epsilon = 1e-5f;
  bool biases = false, untied = false;
  std::string splitter = "smollm";  // "llama-bpe": with the marks of Llama 3, and a token that begins texts
  std::vector<float> rope_factors;  // [rotary_dim / 2], or none
  uint32_t type = 0;  // of matrices, ggml's: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q6_K or IQ4_NL
  uint32_t embeddings = UINT32_MAX;  // the type of embeddings, if it is another
  uint32_t values = UINT32_MAX;      // that of attn_v and ffn_down in every second layer, as files of Q4_K_M have it
  uint32_t alignment = 32;
  std::map<std::string, std::vector<float>> weights;

  uint32_t vocabulary() const { return static_cast<uint32_t>(words.texts.size()); }
  MadeVocabulary words;

  explicit MadeModel(const std::string& words_splitter = "smollm") : splitter(words_splitter) {
    const bool is_llama3 = splitter == "llama-bpe";
    if (is_llama3) words.add("<|begin_of_text|>", MadeVocabulary::kControl);
    words.add(is_llama3 ? "<|start_header_id|>" : "<|im_start|>", MadeVocabulary::kControl);
    if (is_llama3) words.add("<|end_header_id|>", MadeVocabulary::kControl);
    words.add(is_llama3 ? "<|eot_id|>" : "<|im_end|>", MadeVocabulary::kControl);
  }

  MadeFile file() {
    MadeFile file;
    file.alignment = alignment;
    if (alignment != 32) file.u32("general.alignment", alignment);
    const std::string a = architecture + ".";
    file.text("general.architecture", architecture);
    file.u32(a + "block_count", layers);
    file.u32(a + "context_length", 512);
    file.u32(a + "embedding_length", width);
    file.u32(a + "feed_forward_length", hidden);
    file.u32(a + "attention.head_count", q_heads);
    file.u32(a + "attention.head_count_kv", kv_heads);
    if (head_dim * q_heads != width) file.u32(a + "attention.key_length", head_dim);
    if (head_dim * q_heads != width) file.u32(a + "attention.value_length", head_dim);
    if (rotary_dim != head_dim) file.u32(a + "rope.dimension_count", rotary_dim);
    file.f32(a + "rope.freq_base", rope_base);
    file.f32(a + "attention.layer_norm_rms_epsilon", epsilon);
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", splitter);
    if (splitter == "llama-bpe") file.u32("tokenizer.ggml.bos_token_id", 256);
    file.strings("tokenizer.ggml.tokens", words.texts);
    file.strings("tokenizer.ggml.merges", words.merges);
    std::string types;
    for (const int32_t t : words.types) types.append(reinterpret_cast<const char*>(&t), sizeof t);
    file.array("tokenizer.ggml.token_type", GgufType::kI32, words.types.size(), types);
    file.u32("tokenizer.ggml.eos_token_id", vocabulary() - 1);

    state_ = 1;
    const auto matrix_of = [&](uint32_t other, const std::string& name, uint32_t inputs, uint32_t outputs, bool bias) {
      const uint32_t others = type;
      if (other != UINT32_MAX) type = other;
      matrix(file, name, inputs, outputs, bias);
      type = others;
    };
    matrix_of(embeddings, "token_embd", width, vocabulary(), false);
    for (uint32_t i = 0; i < layers; ++i) {
      const std::string block = "blk." + std::to_string(i) + ".";
      vector(file, block + "attn_norm.weight", width, 1.0f);
      matrix(file, block + "attn_q", width, q_heads * head_dim, biases);
      matrix(file, block + "attn_k", width, kv_heads * head_dim, biases);
      const uint32_t other = i % 2 == 0 ? values : UINT32_MAX;
      matrix_of(other, block + "attn_v", width, kv_heads * head_dim, biases);
      matrix(file, block + "attn_output", q_heads * head_dim, width, biases);
      vector(file, block + "ffn_norm.weight", width, 1.0f);
      matrix(file, block + "ffn_gate", width, hidden, biases);
      matrix(file, block + "ffn_up", width, hidden, biases);
      matrix_of(other, block + "ffn_down", hidden, width, biases);
    }
    if (!rope_factors.empty()) floats(file, "rope_freqs.weight", rope_factors);
    vector(file, "output_norm.weight", width, 1.0f);
    if (untied) matrix(file, "output", width, vocabulary(), false);
    return file;
  }

 private:
  // In [-1, 1), a multiple of 2^-10.
  float random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(state_ >> 53) * 0x1p-10f - 1.0f;
  }
  void vector(MadeFile& file, const std::string& name, uint32_t count, float middle) {
    std::vector<float>& numbers = weights[name];
    numbers.clear();
    for (uint32_t i = 0; i < count; ++i) numbers.push_back(middle + 0.25f * random());
    floats(file, name, numbers);
  }
  static void floats(MadeFile& file, const std::string& name, const std::vector<float>& numbers) {
    file.tensor(name, 0, {numbers.size()},
                {reinterpret_cast<const char*>(numbers.data()), sizeof(float) * numbers.size()});
  }
  // Random numbers that the type holds exactly, as floats and as the bytes of a file.
  static void put_half(std::string* bytes, uint16_t half) { bytes->append(reinterpret_cast<const char*>(&half), 2); }
  void put_numbers(std::vector<float>* numbers, std::string* bytes) {
    for (float& number : *numbers) {
      number = 0.25f * random();
      uint32_t bits;
      std::memcpy(&bits, &number, sizeof bits);
      if (type == 30) {
        bits &= 0xffff0000u;
        put_half(bytes, static_cast<uint16_t>(bits >> 16));
      } else if (type == 1) {  // a multiple of 2^-12 below 2^-2 is a normal number of f16, or 0
        const uint32_t sign = bits >> 16 & 0x8000u, exponent = bits >> 23 & 255u;
        const uint32_t rest = exponent == 0 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3ffu);
        put_half(bytes, static_cast<uint16_t>(sign | rest));
      } else {
        bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
      }
      std::memcpy(&number, &bits, sizeof bits);
    }
  }
  uint32_t random_below(uint32_t end) { return static_cast<uint32_t>((random() + 1.0f) * 1024.0f) * end / 2048; }
  static void put_bits(std::string* bytes, size_t at, uint32_t bits) {
    (*bytes)[at] = static_cast<char>(static_cast<unsigned char>((*bytes)[at]) | bits);
  }
  // A super-block of Q4_K, and the numbers that it holds: d is 2^-13, and dmin 2^-10, f16 0x0800 and 0x1400.
  std::string q4_k(float* numbers) {
    std::string bytes(144, 0);
    bytes[1] = 0x08, bytes[3] = 0x14;
    for (uint32_t group = 0; group < 8; ++group) {
      const uint32_t scale = 12 + random_below(52), least = 20 + random_below(44);
      if (group < 4) {
        put_bits(&bytes, 4 + group, scale), put_bits(&bytes, 8 + group, least);
      } else {
        put_bits(&bytes, 8 + group, (scale & 15) | (least & 15) << 4);
        put_bits(&bytes, group, scale >> 4 << 6), put_bits(&bytes, 4 + group, least >> 4 << 6);
      }
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t code = random_below(16);
        put_bits(&bytes, 16 + group / 2 * 32 + i, code << group % 2 * 4);
        numbers[group * 32 + i] = static_cast<float>(scale * code) * 0x1p-13f - static_cast<float>(least) * 0x1p-10f;
      }
    }
    return bytes;
  }
  // A super-block of Q6_K: d is 2^-13, f16 0x0800.
  std::string q6_k(float* numbers) {
    std::string bytes(210, 0);
    bytes[209] = 0x08;
    for (uint32_t i = 0; i < 16; ++i) bytes[192 + i] = static_cast<char>(static_cast<int>(random_below(61)) - 30);
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t code = random_below(64), half = i / 128, quarter = i % 128 / 32;
      put_bits(&bytes, half * 64 + quarter % 2 * 32 + i % 32, (code & 15) << quarter / 2 * 4);
      put_bits(&bytes, 128 + half * 32 + i % 32, code >> 4 << quarter * 2);
      const int scale = static_cast<signed char>(bytes[192 + i / 16]);
      numbers[i] = static_cast<float>(scale * (static_cast<int>(code) - 32)) * 0x1p-13f;
    }
    return bytes;
  }
  // In groups, d is 2^-6, or every third -2^-7 or 0: f16 0x2400, 0xa000 and 0; in IQ4_NL a 16th of that. m is -2^-3 or
  // -2^-2: f16 0xb000 and 0xb400.
  void matrix(MadeFile& file, const std::string& name, uint32_t inputs, uint32_t outputs, bool bias) {
    std::vector<float>& numbers = weights[name + ".weight"];
    numbers.assign(size_t{inputs} * outputs, 0.0f);
    std::string bytes;
    const bool least = type == 3 || type == 7, five = type == 6 || type == 7;
    const bool groups = type == 2 || type == 8 || type == 20 || least || five, super_blocks = type == 12 || type == 14;
    if (!groups && !super_blocks) put_numbers(&numbers, &bytes);
    for (size_t first = 0; super_blocks && first < numbers.size(); first += 256) {
      bytes += type == 12 ? q4_k(&numbers[first]) : q6_k(&numbers[first]);
    }
    for (size_t first = 0; groups && first < numbers.size(); first += 32) {
      constexpr float kScales[] = {0x1p-6f, 0x1p-6f, -0x1p-7f, 0x1p-6f, 0.0f};
      constexpr uint16_t kHalves[] = {0x2400, 0x2400, 0xa000, 0x2400, 0};
      const size_t which = first / 32 % 5;
      const float d = kScales[which] * (type == 20 ? 0x1p-4f : 1.0f);
      int codes[32];
      for (size_t i = 0; i < 32; ++i) {
        codes[i] = static_cast<int>((random() + 1.0f) * (five ? 16.0f : 8.0f));  // 0 to 15, or to 31
        const auto code = static_cast<float>(codes[i]);
        static constexpr float kNumbers[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
        const float less = type == 20 ? code - kNumbers[codes[i]] : five ? 16.0f : 8.0f;
        numbers[first + i] = least ? code * d - (five ? 0x1p-2f : 0x1p-3f) : (code - less) * d;
      }
      put_half(&bytes, static_cast<uint16_t>(kHalves[which] - (type == 20 && d != 0 ? 0x1000 : 0)));
      if (least) put_half(&bytes, five ? 0xb400 : 0xb000);
      uint32_t fifth = 0;
      for (size_t i = 0; i < 32; ++i) fifth |= static_cast<uint32_t>(codes[i] >> 4) << i;
      if (five) bytes.append(reinterpret_cast<const char*>(&fifth), sizeof fifth);
      for (size_t i = 0; i < (type == 8 ? 32u : 16u); ++i) {
        bytes += static_cast<char>(type == 8 ? codes[i] - 8 : (codes[i] & 15) | (codes[i + 16] & 15) << 4);
      }
    }
    file.tensor(name + ".weight", type, {inputs, outputs}, bytes);
    if (bias) vector(file, name + ".bias", outputs, 0.0f);
  }

  uint64_t state_ = 1;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_MADE_MODEL_H_
