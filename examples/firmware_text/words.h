// SPDX-License-Identifier: Apache-2.0
//
// Converts text to tokens and back. A token is a word or a punctuation mark. The vocabulary has capital letters only in
// names: at the beginning of a sentence one is added or removed.
#ifndef FOVEA_EXAMPLES_FIRMWARE_TEXT_WORDS_H_
#define FOVEA_EXAMPLES_FIRMWARE_TEXT_WORDS_H_

#include <cstddef>
#include <cstdint>

namespace firmware_text {

constexpr uint32_t kNoWord = 0xffffffff;

// A part of a text.
struct Piece {
  const char* text;
  size_t bytes;  // 0: end of text
};

// The first word or punctuation mark of a text.
Piece first_piece(const char* text);

// The number of a word, as written or with a small first letter; kNoWord if the model does not know it.
uint32_t find_word(const Piece& piece);

// Prints words as they come, on lines of less than kColumns.
class Printer {
 public:
  void print(uint32_t token);
  void end_line();

 private:
  static constexpr size_t kColumns = 100;

  size_t column_ = 0;
  bool sentence_begins_ = true;
};

}  // namespace firmware_text

#endif  // FOVEA_EXAMPLES_FIRMWARE_TEXT_WORDS_H_
