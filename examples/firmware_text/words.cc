// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <cstdio>
#include <cstring>

#include "weights.h"

namespace firmware_text {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_stop(char c) { return c == '.' || c == ',' || c == ':' || c == '?'; }
char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper_case(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool equal(const char* word, char first, const Piece& piece) {
  return std::strlen(word) == piece.bytes && word[0] == first &&
         std::memcmp(word + 1, piece.text + 1, piece.bytes - 1) == 0;
}

}  // namespace

Piece first_piece(const char* text) {
  while (is_space(*text)) ++text;
  size_t bytes = 0;
  while (text[bytes] != 0 && !is_space(text[bytes]) && !is_stop(text[bytes])) ++bytes;
  if (bytes == 0 && is_stop(*text)) bytes = 1;
  return {text, bytes};
}

uint32_t find_word(const Piece& piece) {
  if (piece.bytes == 0) return kNoWord;
  uint32_t found = kNoWord;
  for (uint32_t i = 1; i < kWords; ++i) {
    if (equal(kVocabulary[i], piece.text[0], piece)) return i;
    if (equal(kVocabulary[i], lower_case(piece.text[0]), piece)) found = i;
  }
  return found;
}

void Printer::print(uint32_t token) {
  const char* const word = kVocabulary[token];
  const size_t bytes = std::strlen(word);
  if (is_stop(word[0])) {
    std::printf("%s", word);
    column_ += bytes;
    sentence_begins_ = word[0] == '.' || word[0] == '?';
  } else {
    if (column_ + 1 + bytes >= kColumns) end_line();  // a punctuation mark may follow
    std::printf("%s%c%s", column_ ? " " : "", sentence_begins_ ? upper_case(word[0]) : word[0], word + 1);
    column_ += bytes + (column_ ? 1 : 0);
    sentence_begins_ = false;
  }
  std::fflush(stdout);
}

void Printer::end_line() {
  if (column_) std::printf("\n");
  column_ = 0;
}

}  // namespace firmware_text
