// SPDX-License-Identifier: Apache-2.0
//
// A conversation in a file, between two turns:
//   64 bytes   "fovchat1"; then words of 32 bits, little-endian: how many tokens were run, layers, whether the last token of an
//              answer was chosen but not run, this token, whether the last answer has no mark at its end; zeros
//   tokens     of 32 bits, and zeros up to the next multiple of 64 bytes
//   images     of the tokens' keys and values (fovea/kv_cache.h), layer by layer. Their fingerprint is that of the model and of
//              all bytes before them
#ifndef FOVEA_EXAMPLES_CHAT_SAVED_H_
#define FOVEA_EXAMPLES_CHAT_SAVED_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "examples/chat/conversation.h"
#include "examples/chat/decoder.h"

namespace chat {

// Of the file of a model: of its size, and of eight bytes in each 4096.
uint64_t fingerprint_of(const unsigned char* data, size_t bytes);

// A name for the file of these tokens of this model in a folder, made of their hash.
std::string prompt_path(const char* folder, uint64_t model, const uint32_t* tokens, uint32_t count);

// Both return what is wrong; an empty text if nothing is.
std::string save(const char* path, uint64_t model, const Conversation& conversation, const Decoder& decoder);
// Into a conversation without tokens, which is one again where something is wrong. *bytes: of the file.
std::string load(const char* path, uint64_t model, Conversation& conversation, Decoder& decoder, size_t* bytes);

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_SAVED_H_
