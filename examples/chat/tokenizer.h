// SPDX-License-Identifier: Apache-2.0
//
// GPT-2's tokenizer: byte-pair encoding (Sennrich et al., arXiv 1508.07909) of the bytes of pieces of text. Text of the
// vocabulary stays where it lies; tables of fixed size refer to it.
#ifndef FOVEA_EXAMPLES_CHAT_TOKENIZER_H_
#define FOVEA_EXAMPLES_CHAT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "examples/chat/strings.h"

namespace chat {

constexpr uint32_t kNoToken = 0xffffffff;

class Tokenizer {
 public:
  static constexpr uint32_t kMostTokens = 65535, kMostMerges = 65535, kMostSpecials = 256;
  static constexpr size_t kMostTokenBytes = 256;
  static constexpr size_t kAlignment = 4;
  static constexpr size_t kRefused = SIZE_MAX;

  Tokenizer();

  // The tables of a vocabulary: 4 + 2 bytes a token and 8 a merge, 0.7 MB for SmolLM2. 0 where init refuses its counts.
  static size_t memory_bytes(const Vocabulary& vocabulary);

  // Returns what is wrong with a vocabulary; empty if nothing is. The vocabulary's bytes, and the memory, must stay
  // where they are. Memory begins at a multiple of kAlignment, and has memory_bytes.
  std::string init(const Vocabulary& vocabulary, void* memory, size_t bytes);

  // Writes the tokens of a text, and returns how many they are. Of more than `room`, only the first so many are
  // written. With `specials`, the texts of special tokens (those of control and those that a user defined) become these
  // tokens; without, they are plain text, so that what a user writes cannot pretend to be the template of a
  // conversation.
  //
  // Text is bytes: what is not UTF-8 is cut into pieces as punctuation is, and comes back the same from decode. Bytes
  // for which the vocabulary has no token are left out, as Hugging Face's tokenizer does: see spells.
  //
  // Time is proportional to the text's bytes, whatever they are. A piece of more than kWindow bytes, such as a very
  // long word, is encoded in windows, and refused (kRefused) where these could yield other tokens than the whole: see
  // encode_piece. That takes a word in which bytes decide the tokens of others 512 bytes before them. A search for such
  // words came to 131 bytes with SmolLM2's vocabulary.
  size_t encode(std::string_view text, bool specials, uint32_t* tokens, size_t room) const;

  // Whether the vocabulary has a token for a byte. Init requires one for those of printable ASCII and line feeds.
  // SmolLM2 has none for 21 bytes: some control characters, and bytes that characters of today do not have.
  bool spells(unsigned char byte) const { return byte_tokens_[byte] != kNone; }

  // Writes the bytes of a token, and returns how many they are: at most kMostTokenBytes. Of more than `room`, only the
  // first so many are written. A special token gives its text; a number that is no token's gives nothing.
  size_t decode(uint32_t token, char* bytes, size_t room) const;

  // The number of a token, by its text as in the file; kNoToken where there is none.
  uint32_t find(std::string_view text) const;

  uint32_t count() const { return count_; }

 private:
  static constexpr uint16_t kNone = 0xffff;
  static constexpr uint32_t kWindow = 1024;  // bytes; more than twice kMostTokenBytes

  struct Merge {
    uint32_t pair;    // left token << 16 | right token
    uint32_t result;  // its rank << 16 | what the two become
  };
  class Output;
  class Window;

  std::string init_tokens(const Vocabulary& vocabulary);
  std::string init_specials();
  std::string init_merges(const Strings& merges);
  std::string_view text(uint32_t token) const;
  bool special(uint32_t token) const;
  uint32_t find_merge(uint32_t left, uint32_t right) const;
  size_t find_special(std::string_view text, uint32_t* token) const;
  bool encode_plain(std::string_view text, Output* output) const;
  bool encode_piece(std::string_view piece, Output* output) const;

  const unsigned char* texts_ = nullptr;
  const unsigned char* types_ = nullptr;
  uint32_t* places_ = nullptr;  // [count_], of a token's length within texts_
  Merge* merges_ = nullptr;     // [merge_count_], by their pairs
  uint16_t* order_ = nullptr;   // [count_], tokens by their texts
  uint32_t count_ = 0;
  uint32_t merge_count_ = 0;
  uint32_t special_count_ = 0;
  uint16_t specials_[kMostSpecials] = {};
  uint16_t byte_tokens_[256];
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_TOKENIZER_H_
