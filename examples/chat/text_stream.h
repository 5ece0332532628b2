// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_TEXT_STREAM_H_
#define FOVEA_EXAMPLES_CHAT_TEXT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "examples/chat/tokenizer.h"

namespace chat {

// The text of tokens that come one by one. A token may end within a character: then its last bytes are kept until the
// others have come. Bytes that are not UTF-8 become the replacement character U+FFFD, so that all returned text is
// UTF-8.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The characters that this token completes. The text is valid until the next call.
  std::string_view add(uint32_t token);

  // Ends the text: bytes that were kept are not UTF-8. A new text may begin.
  std::string_view finish();

 private:
  static constexpr size_t kMostHeld = 3;

  const Tokenizer& tokenizer_;
  size_t held_ = 0;
  char bytes_[kMostHeld + Tokenizer::kMostTokenBytes];  // kept bytes, then a token's
  char text_[3 * sizeof bytes_];                        // at worst each byte is replaced by three
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_TEXT_STREAM_H_
