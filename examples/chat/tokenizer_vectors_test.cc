// SPDX-License-Identifier: Apache-2.0
//
// Compares the tokenizer, with a model's vocabulary, with tokens that make_tokenizer_vectors.py has stored.
//   chat_tokenizer_vectors_test MODEL.gguf tokenizer_vectors.bin
// Exit code: 0, 1 when something is wrong, or 77 if there is no such model.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "examples/chat/gguf.h"
#include "examples/chat/mapped_file.h"
#include "examples/chat/pre_tokenizer.h"
#include "examples/chat/text_stream.h"
#include "examples/chat/tokenizer.h"

namespace chat {
namespace {

constexpr int kTexts = 2000;
constexpr size_t kHeadBytes = 29;  // of a text in the file

std::string read_vocabulary(const MappedFile& file, Vocabulary* vocabulary) {
  Gguf gguf;
  const std::string problem = gguf.read(file.data(), file.bytes());
  if (!problem.empty()) return problem;
  GgufValue types;
  if (!gguf.strings("tokenizer.ggml.tokens", &vocabulary->tokens) ||
      !gguf.strings("tokenizer.ggml.merges", &vocabulary->merges) || !gguf.find("tokenizer.ggml.token_type", &types) ||
      !types.is_array || types.type != GgufType::kI32 || types.count != vocabulary->tokens.count) {
    return "has no vocabulary";
  }
  vocabulary->types = types.data;
  return {};
}

// A text, with \xNN for bytes that are not printable.
std::string shown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char byte[8];
    const auto code = static_cast<unsigned char>(c);
    std::snprintf(byte, sizeof byte, code < ' ' || code == 0x7f || c == '\\' ? "\\x%02x" : "%c", code);
    out += byte;
  }
  return out;
}

uint64_t fnv1a(const std::vector<uint32_t>& tokens) {
  uint64_t state = 0xcbf29ce484222325u;
  for (const uint32_t token : tokens) {
    for (int i = 0; i < 4; ++i) state = (state ^ (token >> (8 * i) & 0xff)) * 0x100000001b3u;
  }
  return state;
}

class Check {
 public:
  explicit Check(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The bytes of a text and what make_tokenizer_vectors.py has stored before it, or 0 if the file ends too early.
  size_t text(const unsigned char* at, size_t bytes) {
    uint64_t hashes[3];
    uint16_t count, text_bytes;
    if (bytes < kHeadBytes) return 0;
    std::memcpy(hashes, at, sizeof hashes);
    std::memcpy(&count, at + 24, sizeof count);
    std::memcpy(&text_bytes, at + 26, sizeof text_bytes);
    if (bytes - kHeadBytes < text_bytes) return 0;
    const std::string text(reinterpret_cast<const char*>(at) + kHeadBytes, text_bytes);
    compare(text, at[28] == 1, count, hashes[0]);
    if (fnv1a(pieces(text, PreTokenizer::kQwen2)) != hashes[1]) wrong(text, "other pieces than Qwen2's");
    if (fnv1a(pieces(text, PreTokenizer::kLlama3)) != hashes[2]) wrong(text, "other pieces than Llama 3's");
    return kHeadBytes + text_bytes;
  }
  int wrongs() const { return wrongs_; }

 private:
  void compare(const std::string& text, bool specials, size_t count, uint64_t hash) {
    std::vector<uint32_t> tokens(text.size());
    const size_t got = tokenizer_.encode(text, specials, tokens.data(), tokens.size());
    if (got != count) {
      wrong(text, std::to_string(got) + " tokens, not " + std::to_string(count));
      return;
    }
    tokens.resize(count);
    if (fnv1a(tokens) != hash) wrong(text, "other tokens");
    if (given(tokens) != spelled(text)) wrong(text, "the text does not come back");
  }

  static std::vector<uint32_t> pieces(std::string_view text, PreTokenizer splitter) {
    std::vector<uint32_t> bytes;
    for (; !text.empty(); text.remove_prefix(bytes.back())) {
      bytes.push_back(static_cast<uint32_t>(piece_bytes(text, splitter)));
    }
    return bytes;
  }

  void wrong(const std::string& text, const std::string& what) {
    ++wrongs_;
    std::printf("wrong: %s: %s\n", what.c_str(), shown(text).c_str());
  }

  std::string given(const std::vector<uint32_t>& tokens) const {
    TextStream stream(tokenizer_);
    std::string text;
    for (const uint32_t token : tokens) text += stream.add(token);
    return text += stream.finish();
  }

  // Without the bytes that have no token.
  std::string spelled(const std::string& text) const {
    std::string bytes;
    for (const char c : text) {
      if (tokenizer_.spells(static_cast<unsigned char>(c))) bytes += c;
    }
    return bytes;
  }

  const Tokenizer& tokenizer_;
  int wrongs_ = 0;
};

int run(const char* model, const char* vectors) {
  MappedFile file;
  if (!file.open(model).empty()) {
    std::printf("skipped: there is no %s, which \"./run model\" fetches\n", model);
    return 77;
  }
  Vocabulary vocabulary;
  std::string problem = read_vocabulary(file, &vocabulary);
  Tokenizer tokenizer;
  std::vector<uint32_t> memory(problem.empty() ? Tokenizer::memory_bytes(vocabulary) / 4 + 1 : 0);
  if (problem.empty()) problem = tokenizer.init(vocabulary, memory.data(), 4 * memory.size());
  if (!problem.empty()) {
    std::printf("%s %s\n", model, problem.c_str());
    return 1;
  }

  Check check(tokenizer);
  MappedFile texts;
  problem = texts.open(vectors);
  if (!problem.empty()) {
    std::printf("%s: %s\n", vectors, problem.c_str());
    return 1;
  }
  int count = 0;
  size_t done = 0;
  while (const size_t bytes = check.text(texts.data() + done, texts.bytes() - done)) {
    ++count;
    done += bytes;
  }
  std::printf("%d texts, %d wrong; tables of %zu bytes\n", count, check.wrongs(), Tokenizer::memory_bytes(vocabulary));
  const bool whole = count == kTexts && done == texts.bytes();
  if (!whole) {
    std::printf("%s has %d texts and %zu more bytes, not %d texts\n", vectors, count, texts.bytes() - done, kTexts);
  }
  return whole && check.wrongs() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace chat

int main(int argc, char** argv) {
  if (argc == 3) return chat::run(argv[1], argv[2]);
  std::fprintf(stderr, "chat_tokenizer_vectors_test MODEL.gguf tokenizer_vectors.bin\n");
  return 2;
}
