// SPDX-License-Identifier: Apache-2.0
//
// Compares the tokenizer, with a model's vocabulary, with tokens that make_tokenizer_vectors.py has stored.
//   chat_tokenizer_vectors_test MODEL.gguf tokenizer_vectors.txt
// Exit code: 0, 1 when something is wrong, or 77 if there is no such model.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "examples/chat/gguf.h"
#include "examples/chat/mapped_file.h"
#include "examples/chat/text_stream.h"
#include "examples/chat/tokenizer.h"

namespace chat {
namespace {

constexpr int kLines = 2000;

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

  // False if the line does not have the file's form.
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
