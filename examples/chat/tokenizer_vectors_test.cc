// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer with a model's vocabulary, held against what make_tokenizer_vectors.py has stored.
//   chat_tokenizer_vectors_test MODEL.gguf tokenizer_vectors.txt
// Exit code: 0, 1 when something is wrong, or 77 where there is no such model.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "examples/chat/text_stream.h"
#include "examples/chat/tokenizer.h"

namespace chat {
namespace {

constexpr int kLines = 2000;

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Finds the vocabulary among the values of a GGUF file (ggml's docs/gguf.md).
class Values {
 public:
  explicit Values(const std::string& file) : file_(file) {}

  bool find(Vocabulary* vocabulary) {
    if (file_.compare(0, 4, "GGUF") != 0) return false;
    at_ = 16;  // behind the version and the count of tensors
    int found = 0;
    for (uint64_t values = number(8); values > 0 && !ended_; --values) {
      const std::string key = text();
      const uint64_t type = number(4);
      Strings strings = {};
      skip(type, &strings);
      if (key == "tokenizer.ggml.tokens") vocabulary->tokens = strings, ++found;
      if (key == "tokenizer.ggml.merges") vocabulary->merges = strings, ++found;
      if (key == "tokenizer.ggml.token_type") vocabulary->types = strings.data, ++found;
    }
    return found == 3 && !ended_;
  }

 private:
  static constexpr uint64_t kString = 8, kArray = 9;

  uint64_t number(size_t bytes) {
    if (file_.size() - at_ < bytes) ended_ = true;
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && !ended_; ++i) {
      value |= uint64_t{static_cast<unsigned char>(file_[at_ + i])} << (8 * i);
    }
    if (!ended_) at_ += bytes;
    return value;
  }
  void skip_bytes(uint64_t bytes) {
    if (file_.size() - at_ < bytes) ended_ = true;
    if (!ended_) at_ += static_cast<size_t>(bytes);
  }
  std::string text() {
    const uint64_t bytes = number(8);
    const size_t begin = at_;
    skip_bytes(bytes);
    return file_.substr(begin, at_ - begin);
  }

  // A value of this type; of an array, its elements are `strings`.
  void skip(uint64_t type, Strings* strings) {
    constexpr uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type == kString) text();
    if (type != kArray) return skip_bytes(type < 13 ? kBytes[type] : UINT64_MAX);
    type = number(4);
    strings->count = number(8);
    const size_t begin = at_;
    for (uint64_t i = 0; i < strings->count && !ended_; ++i) {
      Strings none;
      skip(type == kArray ? UINT64_MAX : type, &none);  // no array of arrays
    }
    strings->data = reinterpret_cast<const unsigned char*>(file_.data()) + begin;
    strings->bytes = at_ - begin;
  }

  const std::string& file_;
  size_t at_ = 0;
  bool ended_ = false;
};

// A line's text, with its \xNN as bytes.
std::string unescaped(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "\\x") == 0) {
      bytes += static_cast<char>(std::strtoul(text.substr(i + 2, 2).c_str(), nullptr, 16));
      i += 3;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
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

  // False where the line is not one of the file's form.
  bool line(const std::string& line) {
    char mode[8];
    size_t count;
    uint64_t hash;
    int at = 0;
    if (std::sscanf(line.c_str(), "%7s %zu %16" SCNx64 "%n", mode, &count, &hash, &at) != 3) return false;
    if (static_cast<size_t>(at) >= line.size() || line[static_cast<size_t>(at)] != ' ') return false;
    const bool specials = std::string(mode) == "special";
    const std::string text = unescaped(line.substr(static_cast<size_t>(at) + 1));
    std::vector<uint32_t> tokens(text.size());
    const size_t got = tokenizer_.encode(text, specials, tokens.data(), tokens.size());
    if (got != count) {
      wrong(line, "there are " + std::to_string(got) + " tokens");
      return true;
    }
    tokens.resize(count);
    if (fnv1a(tokens) != hash) wrong(line, "other tokens");
    if (given(tokens) != spelled(text)) wrong(line, "the text does not come back");
    return true;
  }
  int wrongs() const { return wrongs_; }

 private:
  void wrong(const std::string& line, const std::string& what) {
    ++wrongs_;
    std::printf("wrong: %s: %s\n", what.c_str(), line.c_str());
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
  const std::string file = read_file(model);
  if (file.empty()) {
    std::printf("skipped: there is no %s\n", model);
    return 77;
  }
  Vocabulary vocabulary;
  if (!Values(file).find(&vocabulary)) {
    std::printf("%s is not a GGUF file with a vocabulary\n", model);
    return 1;
  }
  Tokenizer tokenizer;
  std::vector<uint32_t> memory(Tokenizer::memory_bytes(vocabulary) / 4 + 1);
  const std::string problem = tokenizer.init(vocabulary, memory.data(), 4 * memory.size());
  if (!problem.empty()) {
    std::printf("%s %s\n", model, problem.c_str());
    return 1;
  }

  Check check(tokenizer);
  std::ifstream lines(vectors);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == '#') continue;
    ++count;
    if (!check.line(line)) {
      std::printf("%s: not a line of make_tokenizer_vectors.py: %s\n", vectors, line.c_str());
      return 1;
    }
  }
  std::printf("%d texts, %d wrong; tables of %zu bytes\n", count, check.wrongs(), Tokenizer::memory_bytes(vocabulary));
  if (count != kLines) std::printf("%s has %d lines, not %d\n", vectors, count, kLines);
  return count == kLines && check.wrongs() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace chat

int main(int argc, char** argv) {
  if (argc == 3) return chat::run(argv[1], argv[2]);
  std::fprintf(stderr, "chat_tokenizer_vectors_test MODEL.gguf tokenizer_vectors.txt\n");
  return 2;
}
