// SPDX-License-Identifier: Apache-2.0
//
// GPT-2's tokenizer: byte-pair encoding (Sennrich et al., arXiv 1508.07909) of the bytes of pieces of text. The
// vocabulary's texts are not copied; tables of fixed size refer to them.
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
  static constexpr uint32_t kMostTokens = 1u << 18, kMostMerges = 1u << 19, kMostSpecials = 1024;
  static constexpr size_t kMostTokenBytes = 256;
  static constexpr size_t kAlignment = 8;
  static constexpr size_t kRefused = SIZE_MAX;

  Tokenizer();

  // Bytes of the tables: 8 bytes a token and 16 a merge, 1.2 MB for SmolLM2, 5.5 MB for Llama 3. 0 if init refuses the
  // counts.
  static size_t memory_bytes(const Vocabulary& vocabulary);

  // Returns what is wrong with a vocabulary, or an empty text. Keeps pointers to the vocabulary's bytes and to memory,
  // which begins at a multiple of kAlignment and has memory_bytes.
  std::string init(const Vocabulary& vocabulary, void* memory, size_t bytes);

  // Writes the first `room` tokens of a text, and returns the number of all. With `specials`, the texts of special
  // tokens (control and user-defined ones) become these tokens; without, they are plain text, so that a user's text
  // cannot imitate the template of a conversation.
  //
  // Text may be any bytes: those that are not UTF-8 are split like punctuation, and decode returns them unchanged.
  // Bytes for which the vocabulary has no token are left out, as by Hugging Face's tokenizer: see spells.
  //
  // Time is proportional to the text's bytes, for any text. A piece of more than kWindow bytes, such as a very long
  // word, is encoded in windows, and refused (kRefused) if these could give other tokens than the whole: see
  // encode_piece. That happens only if bytes of a word change tokens 512 bytes before them. With SmolLM2's vocabulary
  // the largest such distance that a search found is 131 bytes.
  size_t encode(std::string_view text, bool specials, uint32_t* tokens, size_t room) const;

  // Whether the vocabulary has a token for a byte. init requires one for printable ASCII and line feeds. SmolLM2 has
  // none for 21 bytes: some control characters, and bytes that are in no assigned character.
  bool spells(unsigned char byte) const { return byte_tokens_[byte] != kNoToken; }

  // Writes the first `room` bytes of a token, and returns the number of all: at most kMostTokenBytes. A special token
  // gives its text; a number that is no token gives no bytes.
  size_t decode(uint32_t token, char* bytes, size_t room) const;

  // The number of the token with this text, in the file's spelling; kNoToken if there is none.
  uint32_t find(std::string_view text) const;

  uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kWindow = 1024;  // bytes; more than twice kMostTokenBytes

  struct Merge {
    uint64_t pair;    // left token << 32 | right token
    uint64_t result;  // its rank << 32 | the merged token
  };
  static constexpr uint64_t kNoMerge = UINT64_MAX;
  class Output;
  class Window;

  std::string init_tokens(const Vocabulary& vocabulary);
  std::string init_specials();
  std::string init_merges(const Strings& merges);
  std::string_view text(uint32_t token) const;
  bool special(uint32_t token) const;
  uint64_t find_merge(uint32_t left, uint32_t right) const;
  uint32_t find_whole(std::string_view piece) const;
  size_t find_special(std::string_view text, uint32_t* token) const;
  bool encode_plain(std::string_view text, Output* output) const;
  bool encode_piece(std::string_view piece, Output* output) const;

  const unsigned char* texts_ = nullptr;
  const unsigned char* types_ = nullptr;
  PreTokenizer splitter_ = PreTokenizer::kSmollm;
  Merge* merges_ = nullptr;     // [merge_count_], sorted by pair
  uint32_t* places_ = nullptr;  // [count_], offset of a token's length in texts_
  uint32_t* order_ = nullptr;   // [count_], tokens sorted by text
  uint32_t count_ = 0;
  uint32_t merge_count_ = 0;
  uint32_t special_count_ = 0;
  uint32_t specials_[kMostSpecials] = {};
  uint32_t byte_tokens_[256];
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_TOKENIZER_H_
