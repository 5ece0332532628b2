// SPDX-License-Identifier: Apache-2.0
//
// Splits text into pieces, which byte-pair encoding then encodes one by one: the pre-tokenizer that GGUF files call
// "smollm". Each number (\p{N}) is a piece. Text between numbers is split by GPT-2's expression:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// This follows the model's own tokenizer.json, which has Digits(individual_digits) and ByteLevel; llama.cpp's "smollm"
// has \p{N} and the expression. Both give the same pieces, because these digits are all of \p{N}. They differ only in
// characters newer than Unicode 14, by their versions of Unicode: here these are neither letters nor numbers.
#ifndef FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
#define FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_

#include <cstddef>
#include <string_view>

namespace chat {

// The bytes of the first piece of a text; 0 for an empty text. Bytes that are not UTF-8 count as punctuation.
size_t piece_bytes(std::string_view text);

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
