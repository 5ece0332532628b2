// SPDX-License-Identifier: Apache-2.0
//
// Splits text into pieces, which byte-pair encoding then encodes one by one.
#ifndef FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
#define FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_

#include <cstddef>
#include <string_view>

namespace chat {

enum class PreTokenizer : unsigned char {
  // GGUF's "smollm". Each number (\p{N}) is a piece. Text between numbers is split by GPT-2's expression:
  //   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  // This follows the model's own tokenizer.json, which has Digits(individual_digits) and ByteLevel; llama.cpp's "smollm"
  // has \p{N} and the expression. Both give the same pieces, because these digits are all of \p{N}.
  kSmollm,
  // GGUF's "qwen2", as in the tokenizer.json of Qwen2 and Qwen2.5:
  //   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kQwen2,
  // GGUF's "llama-bpe", as in that of Llama 3: the same with \p{N}{1,3}.
  kLlama3,
};

// The bytes of the first piece of a text; 0 for an empty text. Bytes that are not UTF-8 count as punctuation, as do
// characters newer than Unicode 14.
size_t piece_bytes(std::string_view text, PreTokenizer splitter);

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_PRE_TOKENIZER_H_
