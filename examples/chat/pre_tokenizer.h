// SPDX-License-Identifier: Apache-2.0
//
// Cuts text into pieces, which byte-pair encoding then takes one by one: the pre-tokenizer that GGUF files call
// "smollm". Each number (\p{N}) is a piece. What is between numbers is cut by GPT-2's expression:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// The model's own tokenizer.json, which this follows, says it as Digits(individual_digits) and ByteLevel; llama.cpp's
// "smollm" as \p{N} and the expression. Both come to the same, because these digits are all of \p{N}. They differ in
// characters that are newer than Unicode 14, by the version that each has: here these are no letters or numbers.
#ifndef FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
#define FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_

#include <cstddef>
#include <string_view>

namespace chat {

// The bytes of the first piece of a text; 0 of an empty text. Bytes that are not UTF-8 are like punctuation.
size_t piece_bytes(std::string_view text);

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
