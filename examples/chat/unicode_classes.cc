// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/unicode_classes.h"

#include "examples/binary_file.h"

namespace chat {

// The file that make_unicode_classes.py writes.
struct ClassTable {
  unsigned char block_of[0x110000 / 256];  // for each 256 characters
  uint64_t blocks[124][256 / 32];          // two bits a character, the first lowest
};

extern const ClassTable kTable __asm__("chat_unicode_classes");
BINARY_FILE(chat_unicode_classes, ClassTable, 12288, "unicode_classes.bin");

CharacterClass class_of(uint32_t code) {
  if (code > 0x10ffff) return CharacterClass::kOther;
  return static_cast<CharacterClass>(kTable.blocks[kTable.block_of[code / 256]][code % 256 / 32] >> code % 32 * 2 & 3);
}

Character first_character(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {Character::kWhole, 1, lead};
  constexpr uint32_t kReplacement = 0xfffd;
  if (lead < 0xc2 || lead > 0xf4) return {Character::kWrong, 1, kReplacement};
  const unsigned char bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates, and codes above 0x10ffff.
  uint32_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint32_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  uint32_t code = lead & (0x7fu >> bytes);
  for (unsigned char i = 1; i < bytes; ++i, low = 0x80, high = 0xbf) {
    if (i == text.size()) return {Character::kCut, i, kReplacement};
    if (byte(i) < low || byte(i) > high) return {Character::kWrong, i, kReplacement};
    code = code << 6 | (byte(i) & 0x3f);
  }
  return {Character::kWhole, bytes, code};
}

}  // namespace chat
