// SPDX-License-Identifier: Apache-2.0
//
// Vocabularies made up for tests, and byte-pair encoding directly by its definition.
#ifndef FOVEA_EXAMPLES_CHAT_MADE_VOCABULARY_H_
#define FOVEA_EXAMPLES_CHAT_MADE_VOCABULARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/chat/strings.h"

namespace chat {

// Bytes in the spelling of GPT-2's vocabularies.
inline std::string spelled(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const uint32_t byte = static_cast<unsigned char>(c);
    uint32_t character = byte, next = 0x100;  // those that Latin-1 does not print are 0x100 and so on, in their order
    for (uint32_t b = 0; b <= byte; ++b) {
      const bool printed = (b > 0x20 && b < 0x7f) || (b > 0xa0 && b != 0xad);
      if (b == byte && !printed) character = next;
      next += printed ? 0 : 1;
    }
    if (character < 0x80) {
      text += static_cast<char>(character);
    } else {
      text += static_cast<char>(0xc0 | character >> 6);
      text += static_cast<char>(0x80 | (character & 0x3f));
    }
  }
  return text;
}

// A vocabulary to which tokens are added. It begins with the 256 bytes as tokens 0 to 255.
class MadeVocabulary {
 public:
  static constexpr int32_t kNormal = 1, kControl = 3, kUserDefined = 4;

  MadeVocabulary() {
    for (int byte = 0; byte < 256; ++byte) add(spelled(std::string(1, static_cast<char>(byte))), kNormal);
  }

  void add(const std::string& text, int32_t type) {
    numbers[text] = static_cast<uint32_t>(texts.size());
    texts.push_back(text);
    types.push_back(type);
  }

  // Adds the token that two tokens merge to; false if it exists already.
  bool merge(uint32_t left, uint32_t right) {
    const std::string both = texts[left] + texts[right];
    if (numbers.count(both) != 0) return false;
    merges.push_back(texts[left] + " " + texts[right]);
    ranks[{left, right}] = {static_cast<uint32_t>(merges.size()), static_cast<uint32_t>(texts.size())};
    add(both, kNormal);
    return true;
  }

  // The same, and all other merges of two tokens to this one follow, as where merges are made of a list of tokens.
  bool merge_all_ways(uint32_t left, uint32_t right) {
    if (!merge(left, right)) return false;
    const std::string both = texts.back();
    const uint32_t merged = static_cast<uint32_t>(texts.size()) - 1;
    for (size_t at = 1; at < both.size(); ++at) {
      const auto l = numbers.find(both.substr(0, at)), r = numbers.find(both.substr(at));
      if (l == numbers.end() || r == numbers.end() || (l->second == left && r->second == right)) continue;
      merges.push_back(l->first + " " + r->first);
      ranks[{l->second, r->second}] = {static_cast<uint32_t>(merges.size()), merged};
    }
    return true;
  }

  // The vocabulary in the form of a file. Valid until the next call.
  Vocabulary vocabulary() {
    type_bytes_.clear();
    for (const int32_t type : types) append(static_cast<uint32_t>(type), 4, &type_bytes_);
    return {pack(texts, &text_bytes_), pack(merges, &merge_bytes_), type_bytes_.data(), splitter};
  }

  // The tokens of a piece.
  std::vector<uint32_t> encode_piece(std::string_view piece) const {
    const auto whole = numbers.find(spelled(piece));
    const bool is_one = splitter == PreTokenizer::kLlama3 && whole != numbers.end() && types[whole->second] == kNormal;
    return is_one ? std::vector<uint32_t>{whole->second} : merge_piece(piece);
  }

  // As long as a pair of tokens merges, merges the first pair of lowest rank.
  std::vector<uint32_t> merge_piece(std::string_view piece) const {
    std::vector<uint32_t> tokens;
    for (const char c : piece) tokens.push_back(static_cast<unsigned char>(c));
    for (;;) {
      std::pair<uint32_t, uint32_t> least = {UINT32_MAX, 0};
      size_t place = 0;
      for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        const auto found = ranks.find({tokens[i], tokens[i + 1]});
        if (found != ranks.end() && found->second < least) least = found->second, place = i;
      }
      if (least.first == UINT32_MAX) return tokens;
      tokens[place] = least.second;
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
  }

  PreTokenizer splitter = PreTokenizer::kSmollm;
  std::vector<std::string> texts, merges;
  std::vector<int32_t> types;
  std::map<std::string, uint32_t> numbers;
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>> ranks;  // pair -> (rank, merged token)

 private:
  static void append(uint64_t value, int bytes, std::vector<unsigned char>* all) {
    for (int i = 0; i < bytes; ++i) all->push_back(static_cast<unsigned char>(value >> (8 * i)));
  }

  static Strings pack(const std::vector<std::string>& texts, std::vector<unsigned char>* bytes) {
    bytes->clear();
    for (const std::string& text : texts) {
      append(text.size(), 8, bytes);
      bytes->insert(bytes->end(), text.begin(), text.end());
    }
    return {bytes->data(), bytes->size(), texts.size()};
  }

  std::vector<unsigned char> text_bytes_, merge_bytes_, type_bytes_;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_MADE_VOCABULARY_H_
