// SPDX-License-Identifier: Apache-2.0
//
// Cuts text into pieces, which byte-pair encoding then looks at one by one: the pre-tokenizer that GGUF files call
// "smollm". Each number (\p{N}) is a piece. What is between numbers is cut by GPT-2's expression:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Hugging Face's tokenizer says it as Digits(individual_digits) and ByteLevel, with the same outcome: its digits are all
// of \p{N}. Characters that are newer than Unicode 14 count as neither letters nor numbers here.
#ifndef FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
#define FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_

#include <cstddef>
#include <string_view>

namespace chat {

// The bytes of the first piece of a text; 0 of an empty text. Bytes that are not UTF-8 are like punctuation.
size_t piece_bytes(std::string_view text);

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
