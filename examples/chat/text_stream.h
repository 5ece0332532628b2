// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_TEXT_STREAM_H_
#define FOVEA_EXAMPLES_CHAT_TEXT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "examples/chat/tokenizer.h"

namespace chat {

// The text of tokens, as they come. A token may end within a character: then its last bytes are held back until the
// rest has come. What is not UTF-8 becomes the replacement character U+FFFD, so that all text given out is UTF-8.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The characters that are whole with this token. They lie here, until the next call.
  std::string_view add(uint32_t token);

  // No more tokens come: what is held back is not UTF-8. A new text may begin.
  std::string_view finish();

 private:
  static constexpr size_t kMostHeld = 3;

  const Tokenizer& tokenizer_;
  size_t held_ = 0;
  char bytes_[kMostHeld + Tokenizer::kMostTokenBytes];  // held back from before, then a token's
  char text_[3 * sizeof bytes_];                        // at worst each byte is replaced, by three
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_TEXT_STREAM_H_
