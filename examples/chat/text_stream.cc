// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/text_stream.h"

#include <algorithm>

#include "examples/chat/unicode_classes.h"

namespace chat {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

}  // namespace

std::string_view TextStream::add(uint32_t token) {
  const size_t end = held_ + tokenizer_.decode(token, bytes_ + held_, Tokenizer::kMostTokenBytes);
  size_t at = 0, count = 0;
  while (at < end) {
    const std::string_view left(bytes_ + at, end - at);
    const Character character = first_character(left);
    if (character.state == Character::kCut) break;
    const std::string_view given =
        character.state == Character::kWhole ? left.substr(0, character.bytes) : kReplacement;
    std::copy(given.begin(), given.end(), text_ + count);
    count += given.size();
    at += character.bytes;
  }
  held_ = end - at;
  std::copy(bytes_ + at, bytes_ + end, bytes_);
  return {text_, count};
}

std::string_view TextStream::finish() {
  const bool cut = held_ > 0;
  held_ = 0;
  return cut ? kReplacement : std::string_view();
}

}  // namespace chat
