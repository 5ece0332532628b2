// SPDX-License-Identifier: Apache-2.0
//
// The sentence encoder's file and tokenizer. A made-up model, of the true shape but with a small vocabulary, is spoilt
// where the bytes say: it must be refused, or any text made into tokens of it without a look at other bytes. What lies
// behind its tables, and what fills them up, is poisoned for the address sanitizer. Of the model as it was made, tokens
// must be right. Now and then the encoder runs: over weights as they were made, embeddings must be vectors of length 1,
// nearly the same with products of integers; over any bytes as weights, nothing else may be touched.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "examples/sentence_similarity/encoder.h"
#include "examples/sentence_similarity/model_file.h"
#include "examples/sentence_similarity/tokenizer.h"
#include "fuzz/memory.h"

namespace fovea_test {
namespace {

using namespace sentence_similarity;

constexpr size_t kHeader = 64, kAlignment = 64, kMostFile = size_t{100} << 20;
constexpr size_t kTables = size_t{1} << 19;  // more than they take
// More in the header is a lie.
constexpr uint32_t kMostBlocks = 8, kMostSequences = 64, kMostText = 2048;
constexpr uint32_t kBlocks = 3, kSequences = 16;

// The pieces: [CLS] and its like, what ASCII has in one byte, and some that are longer.
std::vector<std::string> vocabulary() {
  std::vector<std::string> pieces = {"[CLS]", "[SEP]", "[UNK]", "[MASK]", "[PAD]",
                                     "ab",    "##ab",  "##bc",  "abcd",   "##ss"};
  for (char c = '!'; c <= '~'; ++c) {
    if (c >= 'A' && c <= 'Z') continue;
    pieces.push_back(std::string(1, c));
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) pieces.push_back(std::string("##") + c);
  }
  pieces.resize(kPieces);  // of no bytes
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

// A character's entry in the made-up table: ASCII as convert.py has it, and the sharp s, which becomes two.
uint32_t entry_of(uint32_t c) {
  if (c == 0xdf) return kSequence;
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return kSpace;
  if (c < ' ' || c == 0x7f || c == 0xfffd) return kDropped;
  if (c >= 'A' && c <= 'Z') return 'A' ^ 'a';
  const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c > 0x7f;
  return letter ? 0 : kIsolated;
}

// The file. Its weights are not touched until the encoder runs: they are zeros that take no memory.
class File {
 public:
  File() : pieces(vocabulary()) {
    void* const memory =
        mmap(nullptr, kMostFile, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    data_ = static_cast<unsigned char*>(memory);
    ASAN_POISON_MEMORY_REGION(data_, kMostFile);
  }

  const std::vector<std::string> pieces;

  // Lays the tables out for these counts and fills them in, as far as they have room.
  void make(fovea_dtype dtype, uint32_t blocks, uint32_t sequences, uint32_t text_bytes) {
    ASAN_UNPOISON_MEMORY_REGION(data_, kTables);
    bytes_ = kHeader;
    block_of = take<uint16_t>(Characters::kBlocks);
    characters = take<uint32_t>(Characters::kBlock * std::min(blocks, kMostBlocks));
    sequence = take<uint32_t>(std::min(sequences, kMostSequences));
    begins = take<uint32_t>(kPieces + 1);
    numbers = take<uint32_t>(kPieces);
    text = take<char>(std::min(text_bytes, kMostText));
    ASAN_POISON_MEMORY_REGION(data_ + bytes_, kTables - bytes_);
    weights_at_ = bytes_;
    skip_matrix(dtype, kPieces, kWidth);
    skip(size_t{4} * kTokens * kWidth), skip_norm();
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      skip_linear(dtype, 3 * kWidth, kWidth), skip_linear(dtype, kWidth, kWidth), skip_norm();
      skip_linear(dtype, kHidden, kWidth), skip_linear(dtype, kWidth, kHidden), skip_norm();
    }
    const uint32_t header[] = {1,       dtype,   kPieces, kTokens,   kWidth,     kHeads,
                               kHidden, kLayers, blocks,  sequences, text_bytes, 0};
    std::memcpy(data_, "fovea-st", 8);
    std::memcpy(data_ + 8, header, sizeof header);
    const uint64_t body_bytes = bytes_ - kHeader;
    std::memcpy(data_ + 8 + sizeof header, &body_bytes, sizeof body_bytes);

    // ASCII and Latin; all others; and what stands for bytes that are no character.
    std::fill_n(block_of, Characters::kBlocks, uint16_t{1});
    block_of[0] = 0, block_of[0xfffd / Characters::kBlock] = 2;
    constexpr uint32_t kFirst[kBlocks] = {0, 0x100, 0xff00};
    for (const auto& [block, i] : indices(std::min(blocks, kMostBlocks), Characters::kBlock)) {
      characters[block * Characters::kBlock + i] = entry_of(kFirst[block % kBlocks] + i);
    }
    std::fill_n(sequence, std::min(sequences, kMostSequences), 0u);
    if (sequences > 2) sequence[0] = 2, sequence[1] = sequence[2] = 's';
    uint32_t at = 0;
    for (uint32_t i = 0; i < kPieces; ++i) {
      begins[i] = at, numbers[i] = i;
      const std::string& piece = pieces[i];
      if (piece.size() > std::min(text_bytes, kMostText) - at) continue;
      std::copy(piece.begin(), piece.end(), text + at);
      at += uint32_t(piece.size());
    }
    begins[kPieces] = text_bytes;
  }
  uint32_t text_bytes() const {
    size_t all = 0;
    for (const std::string& piece : pieces) all += piece.size();
    return uint32_t(all);
  }

  // Lets the encoder read the weights, or forbids it.
  void open_weights(bool open) const {
    if (open) {
      ASAN_UNPOISON_MEMORY_REGION(weights(), weight_bytes());
    } else {
      ASAN_POISON_MEMORY_REGION(weights(), weight_bytes());
    }
  }
  unsigned char* weights() const { return data_ + weights_at_; }
  size_t weight_bytes() const { return bytes_ - weights_at_; }

  unsigned char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  uint16_t* block_of;
  uint32_t *characters, *sequence, *begins, *numbers;
  char* text;

 private:
  void skip(size_t bytes) { bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment; }
  void skip_matrix(fovea_dtype dtype, size_t rows, size_t columns) {
    skip((dtype == FOVEA_I8 ? 1 : 4) * rows * columns);
    if (dtype == FOVEA_I8) skip(4 * rows);
  }
  void skip_linear(fovea_dtype dtype, size_t rows, size_t columns) {
    skip_matrix(dtype, rows, columns), skip(4 * rows);
  }
  void skip_norm() { skip(size_t{4} * kWidth), skip(size_t{4} * kWidth); }

  // A table, with its padding poisoned.
  template <class T>
  T* take(size_t count) {
    unsigned char* const array = data_ + bytes_;
    skip(count * sizeof(T));
    ASAN_POISON_MEMORY_REGION(array + count * sizeof(T), size_t(data_ + bytes_ - array) - count * sizeof(T));
    return reinterpret_cast<T*>(array);
  }

  unsigned char* data_;
  size_t bytes_ = 0, weights_at_ = 0;
};

File& file() {
  static File made;
  return made;
}

std::vector<uint32_t> tokens_of(const Tokenizer& tokenizer, const std::string& text, size_t* count) {
  // In memory of their own, for the sanitizer.
  struct Tokens {
    uint32_t all[kTokens];
  };
  const std::vector<char> exact(text.begin(), text.end());
  const auto tokens = std::make_unique<Tokens>();
  std::fill_n(tokens->all, kTokens, kPieces);
  *count = tokenizer.tokenize({exact.data(), exact.size()}, tokens->all);
  expect(*count >= 2, "no beginning or no end");
  const size_t written = std::min<size_t>(*count, kTokens);
  for (size_t i = 0; i < written; ++i) expect(tokens->all[i] < kPieces, "a token is no piece");
  return {tokens->all, tokens->all + written};
}

// Without what is between words, in lower case.
std::string bare(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c > ' ' && c < 0x7f) all.push_back(c >= 'A' && c <= 'Z' ? char(c | 0x20) : c);
  }
  return all;
}

// With the vocabulary as it was made, the pieces put together are the text again, except for words that are too long.
void check_pieces(const std::vector<uint32_t>& tokens, const std::string& text) {
  const std::vector<std::string>& pieces = file().pieces;
  std::string all;
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    const std::string& piece = pieces[tokens[i]];
    if (piece == "[UNK]") return;
    all += piece.substr(piece.size() > 2 && piece.compare(0, 2, "##") == 0 ? 2 : 0);
  }
  expect(bare(all) == bare(text), "the pieces are not those of the text");
}

// ---- The encoder

uint64_t next_random = 1;
uint32_t random_word() { return uint32_t((next_random = next_random * 6364136223846793005u + 1) >> 32); }

void fill(const float* numbers, size_t count, float middle, float size) {
  auto* const to = const_cast<float*>(numbers);
  for (size_t i = 0; i < count; ++i) to[i] = middle + size * (float(random_word() >> 8) * 0x1p-23f - 1);
}
void fill(const fovea_linear_weights& w, uint32_t outputs, uint32_t inputs) {
  auto* const codes = static_cast<int8_t*>(const_cast<void*>(w.data));
  for (size_t i = 0; i < size_t{outputs} * inputs; ++i) codes[i] = int8_t(random_word() >> 24);
  fill(static_cast<const float*>(w.scales), outputs, 1.0f / (74 * std::sqrt(float(inputs))), 1e-4f);
  if (w.bias != nullptr) fill(w.bias, outputs, 0, 0.1f);
}
void fill(const Norm& norm) { fill(norm.weight, kWidth, 1, 0.3f), fill(norm.bias, kWidth, 0, 0.2f); }
void fill(const Model& m) {
  next_random = 1;
  fill(m.words, kPieces, kWidth), fill(m.positions, size_t{kTokens} * kWidth, 0, 0.1f), fill(m.embedding_norm);
  for (const Layer& layer : m.layers) {
    fill(layer.qkv, 3 * kWidth, kWidth), fill(layer.attention, kWidth, kWidth), fill(layer.attention_norm);
    fill(layer.hidden, kHidden, kWidth), fill(layer.out, kWidth, kHidden), fill(layer.out_norm);
  }
}

void encode(Bytes& bytes, const Model& model, const std::vector<uint32_t>& tokens, bool spoilt) {
  static bool filled = false;  // as they were made
  file().open_weights(true);
  if (!spoilt && !filled) fill(model);
  filled = !spoilt;
  for (uint32_t changes = spoilt ? bytes.below(4) : 0; changes > 0; --changes) {
    const uint32_t any = word(bytes);
    std::memcpy(file().weights() + bytes.take<uint32_t>() % (file().weight_bytes() - sizeof any), &any, sizeof any);
  }
  float embeddings[2][kWidth] = {};
  const auto count = std::min<uint32_t>(2, uint32_t(tokens.size()));
  const fovea_compute alone = bytes.choose({FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8});
  for (const fovea_compute compute : {FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8}) {
    if (spoilt && compute != alone) continue;
    Encoder encoder;
    const fovea_status status = encoder.init(model, FOVEA_TARGET_BEST, compute);
    const bool served = compute == FOVEA_COMPUTE_F32 || model.dtype == FOVEA_I8;
    expect(status == (served ? FOVEA_OK : FOVEA_ERR_UNSUPPORTED), "the encoder has another status");
    if (!served) continue;
    expect(encoder.encode(embeddings[compute], tokens.data(), count) == FOVEA_OK, "tokens are refused");
  }
  file().open_weights(false);
  if (spoilt) return;
  double products[3] = {};
  for (uint32_t i = 0; i < kWidth; ++i) {
    const double a = double{embeddings[0][i]}, b = double{embeddings[1][i]};
    products[0] += a * a, products[1] += b * b, products[2] += a * b;
  }
  expect(std::fabs(products[0] - 1) < 1e-5 && std::fabs(products[1] - 1) < 1e-5, "an embedding has another length");
  expect(products[2] > 0.98, "products of integers change the embedding");
}

}  // namespace

void run(Bytes bytes) {
  const uint32_t kind = bytes.below(4);
  File& f = file();
  if (kind == 0) {  // any bytes as a file, most often of the right size
    std::vector<unsigned char> all(kHeader + bytes.below(200));
    for (unsigned char& byte : all) byte = bytes.take<uint8_t>();
    const uint64_t body_bytes = all.size() - kHeader;
    const uint32_t version = 1;
    if (bytes.below(8) != 1) std::memcpy(all.data(), "fovea-st", 8);
    if (bytes.below(8) != 1) std::memcpy(all.data() + 8, &version, sizeof version);
    if (bytes.below(8) != 1) std::memcpy(all.data() + 56, &body_bytes, sizeof body_bytes);
    if (bytes.below(8) != 1) {  // Adler-32, one byte after the other
      uint32_t a = 1, b = 0;
      for (size_t i = kHeader; i < all.size(); ++i) a = (a + all[i]) % 65521, b = (b + a) % 65521;
      const uint32_t sum = b << 16 | a;
      std::memcpy(all.data() + 52, &sum, sizeof sum);
      const bool right = std::memcmp(all.data(), "fovea-st", 8) == 0 && std::memcmp(all.data() + 8, &version, 4) == 0 &&
                         std::memcmp(all.data() + 56, &body_bytes, 8) == 0;
      expect(check_bytes(all.data(), all.size()).empty() == right, "another checksum");
    } else {
      check_bytes(all.data(), all.size());
    }
    Model model;
    expect(!read_model(all.data(), all.size(), &model).empty(), "a model of some bytes");
    return;
  }

  const bool spoilt = kind == 1;
  if (!spoilt) {
    f.make(FOVEA_I8, kBlocks, kSequences, f.text_bytes());
  } else {
    const auto count = [&](uint32_t usual) { return bytes.below(8) == 1 ? word(bytes) : usual; };
    const fovea_dtype dtype = bytes.flag() ? FOVEA_F32 : FOVEA_I8;
    const uint32_t blocks = count(1 + bytes.below(kMostBlocks)), sequences = count(bytes.below(kMostSequences + 1));
    const uint32_t text_bytes = count(f.text_bytes());
    f.make(dtype, blocks, sequences, text_bytes);
    if (bytes.below(16) == 1) {  // any word of the shape but those counts, by which the tables lie
      const uint32_t at = 3 + bytes.below(7), any = word(bytes);
      std::memcpy(f.data() + 4 * at, &any, sizeof any);
    }
    const uint32_t most_blocks = std::min(blocks, kMostBlocks), most_sequences = std::min(sequences, kMostSequences),
                   most_text = std::min(text_bytes, kMostText);
    for (uint32_t changes = bytes.below(8); changes > 0; --changes) {
      const uint32_t any = word(bytes), near = bytes.below(200);
      // Characters and pieces that texts have are telling.
      switch (bytes.below(6)) {
        case 0:
          f.block_of[bytes.flag() ? near % 16 : any % Characters::kBlocks] =
              uint16_t(bytes.flag() ? bytes.below(8) : any);
          break;
        case 1:
          if (most_blocks != 0) f.characters[near] = bytes.flag() ? any : kSequence | bytes.below(70);
          break;
        case 2:
          if (most_sequences != 0) f.sequence[near % most_sequences] = any;
          break;
        case 3: f.begins[kPieces - near] = bytes.flag() ? any : bytes.below(600); break;
        case 4: f.numbers[kPieces - 1 - near] = bytes.flag() ? any : any % kPieces; break;
        default:
          if (most_text != 0) f.text[any % most_text] = char(near);
      }
    }
  }
  const bool encodes = bytes.below(64) == 1;  // which takes long
  const size_t cut = spoilt && bytes.below(32) == 1 ? 64 * bytes.below(256) : 0;
  Model model;
  const std::string wrong = read_model(f.data(), f.bytes() - cut, &model);
  if (!wrong.empty()) {
    expect(spoilt, wrong.c_str());
    return;
  }
  const Tokenizer tokenizer(model);
  if (!tokenizer.complete()) {
    expect(spoilt, "the vocabulary lacks a piece");
    return;
  }
  Bytes changes = bytes;
  std::string text;
  while (!bytes.empty()) text.push_back(char(bytes.take<uint8_t>()));
  size_t count;
  const std::vector<uint32_t> tokens = tokens_of(tokenizer, text, &count);
  if (encodes) encode(changes, model, tokens, spoilt);
  if (spoilt) return;
  const auto number = [&](const char* piece) {
    return uint32_t(std::lower_bound(f.pieces.begin(), f.pieces.end(), piece) - f.pieces.begin());
  };
  expect(tokens[0] == number("[CLS]"), "no [CLS]");
  if (count > kTokens) return;
  expect(tokens[count - 1] == number("[SEP]"), "no [SEP]");
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= 0; })) check_pieces(tokens, text);

  // Cut at a space, two texts have the tokens of one.
  const size_t space = text.find(' ');
  if (space == std::string::npos) return;
  size_t before_count, behind_count;
  std::vector<uint32_t> before = tokens_of(tokenizer, text.substr(0, space), &before_count);
  const std::vector<uint32_t> behind = tokens_of(tokenizer, text.substr(space + 1), &behind_count);
  before.pop_back();
  before.insert(before.end(), behind.begin() + 1, behind.end());
  expect(before == tokens, "the tokens of two texts are not those of one");
}

}  // namespace fovea_test
