// SPDX-License-Identifier: Apache-2.0
//
// Characters in UTF-8, and the classes of Unicode 14 by which text is split into pieces.
#ifndef FOVEA_EXAMPLES_CHAT_UNICODE_CLASSES_H_
#define FOVEA_EXAMPLES_CHAT_UNICODE_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chat {

// Letters are the general categories L*, numbers N*, spaces the property White_Space. Unassigned codes are kOther.
enum class CharacterClass : unsigned char { kOther, kLetter, kNumber, kSpace };

CharacterClass class_of(uint32_t code);  // for any number; above 0x10ffff kOther

struct Character {
  enum State : unsigned char { kWhole, kWrong, kCut } state;  // kCut: more bytes could make it a character
  unsigned char bytes;  // at least 1; if not kWhole, the bytes that could begin a character, or the one that cannot
  uint32_t code;        // kWrong, kCut: 0xfffd, the replacement character
};

// The character that begins a text, which is not empty (The Unicode Standard, table 3-7).
Character first_character(std::string_view text);

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_UNICODE_CLASSES_H_
