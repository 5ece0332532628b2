// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/pre_tokenizer.h"

#include "examples/chat/unicode_classes.h"

namespace chat {
namespace {

// The end of the run of characters of this class that begins at `begin`.
size_t end_of_run(std::string_view text, size_t begin, CharacterClass kind) {
  for (size_t at = begin; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (class_of(character.code) != kind) return at;
    at += character.bytes;
  }
  return text.size();
}

// The bytes of a piece of spaces: all except the last, which may begin the next piece. It is included if it is the only
// one, or before a number or the end of the text.
size_t spaces_bytes(std::string_view text) {
  size_t last = 0, end = 0;
  while (end < text.size()) {
    const Character character = first_character(text.substr(end));
    const CharacterClass kind = class_of(character.code);
    if (kind == CharacterClass::kNumber) return end;
    if (kind != CharacterClass::kSpace) return last == 0 ? end : last;
    last = end;
    end += character.bytes;
  }
  return end;
}

}  // namespace

size_t piece_bytes(std::string_view text) {
  if (text.empty()) return 0;
  constexpr std::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (const std::string_view contraction : kContractions) {
    if (text.substr(0, contraction.size()) == contraction) return contraction.size();
  }
  const Character first = first_character(text);
  const CharacterClass kind = class_of(first.code);
  if (kind == CharacterClass::kNumber) return first.bytes;
  if (kind != CharacterClass::kSpace) return end_of_run(text, 0, kind);
  if (text.size() > 1 && text[0] == ' ') {
    const CharacterClass next = class_of(first_character(text.substr(1)).code);
    if (next == CharacterClass::kLetter || next == CharacterClass::kOther) return end_of_run(text, 1, next);
  }
  return spaces_bytes(text);
}

}  // namespace chat
