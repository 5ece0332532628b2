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

// The bytes of a run of spaces that are a piece: all except the last, which may begin the next piece. It is included if
// it is the only one, or the run ends the text or ends before a number of its own piece.
size_t spaces_bytes(std::string_view text, bool numbers_apart) {
  const size_t end = end_of_run(text, 0, CharacterClass::kSpace);
  if (end == text.size()) return end;
  if (numbers_apart && class_of(first_character(text.substr(end)).code) == CharacterClass::kNumber) return end;
  size_t last = 0;
  for (size_t at = 0; at < end; at += first_character(text.substr(at)).bytes) last = at;
  return last == 0 ? end : last;
}

constexpr std::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

size_t smollm_piece(std::string_view text, const Character& first, CharacterClass kind) {
  for (const std::string_view contraction : kContractions) {
    if (text.substr(0, contraction.size()) == contraction) return contraction.size();
  }
  if (kind == CharacterClass::kNumber) return first.bytes;
  if (kind != CharacterClass::kSpace) return end_of_run(text, 0, kind);
  if (text.size() > 1 && text[0] == ' ') {
    const CharacterClass next = class_of(first_character(text.substr(1)).code);
    if (next == CharacterClass::kLetter || next == CharacterClass::kOther) return end_of_run(text, 1, next);
  }
  return spaces_bytes(text, true);
}

// Capital letters of ASCII are the same as small ones.
bool begins_with(std::string_view text, std::string_view small) {
  for (size_t i = 0; i < small.size(); ++i) {
    if (i == text.size()) return false;
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != small[i]) return false;
  }
  return true;
}

bool is_line_end(char c) { return c == '\r' || c == '\n'; }

// The pieces of Qwen2 and Llama 3, which differ in how many numbers a piece has at most.
size_t modern_piece(std::string_view text, const Character& first, CharacterClass kind, int numbers) {
  for (const std::string_view contraction : kContractions) {
    if (begins_with(text, contraction)) return contraction.size();
  }
  constexpr std::string_view kLongS =
      "'\u017f";  // the one other letter that is an s, t, r, v, m, l or d but for its case
  if (text.substr(0, kLongS.size()) == kLongS) return kLongS.size();
  const auto class_at = [text](size_t at) {
    return at < text.size() ? class_of(first_character(text.substr(at)).code) : CharacterClass::kSpace;
  };
  if (kind == CharacterClass::kLetter) return end_of_run(text, 0, kind);
  if (kind == CharacterClass::kNumber) {
    size_t end = first.bytes;
    for (; --numbers > 0 && class_at(end) == kind;) end += first_character(text.substr(end)).bytes;
    return end;
  }
  if (!is_line_end(text[0]) && class_at(first.bytes) == CharacterClass::kLetter) {
    return end_of_run(text, first.bytes, CharacterClass::kLetter);
  }
  const size_t begin = text[0] == ' ' ? 1 : 0;
  if (class_at(begin) == CharacterClass::kOther) {
    size_t end = end_of_run(text, begin, CharacterClass::kOther);
    while (end < text.size() && is_line_end(text[end])) ++end;
    return end;
  }
  const std::string_view spaces = text.substr(0, end_of_run(text, 0, CharacterClass::kSpace));
  const size_t line_end = spaces.find_last_of("\r\n");
  return line_end != std::string_view::npos ? line_end + 1 : spaces_bytes(text, false);
}

}  // namespace

size_t piece_bytes(std::string_view text, PreTokenizer splitter) {
  if (text.empty()) return 0;
  const Character first = first_character(text);
  const CharacterClass kind = class_of(first.code);
  if (splitter == PreTokenizer::kSmollm) return smollm_piece(text, first, kind);
  return modern_piece(text, first, kind, splitter == PreTokenizer::kQwen2 ? 1 : 3);
}

}  // namespace chat
