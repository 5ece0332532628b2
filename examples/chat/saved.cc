// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/saved.h"

#include <cstdio>
#include <cstring>
#include <vector>

#include "examples/chat/mapped_file.h"

namespace chat {
namespace {

constexpr char kMagic[] = "fovchat1";
constexpr size_t kMagicBytes = 8, kHeaderBytes = 64, kAlignment = 64;
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are written as they are");

struct Header {
  char magic[kMagicBytes];
  uint32_t tokens, layers, pending, last, open;
  uint32_t zeros[9];
};
static_assert(sizeof(Header) == kHeaderBytes);

uint64_t hashed(uint64_t hash, const unsigned char* bytes, size_t count) {  // FNV-1a
  for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

// Bytes of the header and the tokens.
size_t begin_bytes(uint32_t tokens) {
  return kHeaderBytes + (size_t{4} * tokens + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

uint64_t fingerprint_of(const unsigned char* data, size_t bytes) {
  constexpr size_t kStep = 4096, kWord = 8;
  uint64_t hash = hashed(0xcbf29ce484222325u, reinterpret_cast<const unsigned char*>(&bytes), sizeof bytes);
  for (size_t at = 0; at + kWord <= bytes; at += kStep) hash = hashed(hash, data + at, kWord);
  return hash;
}

std::string prompt_path(const char* folder, uint64_t model, const uint32_t* tokens, uint32_t count) {
  char name[24];
  const uint64_t hash = hashed(model, reinterpret_cast<const unsigned char*>(tokens), sizeof *tokens * count);
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(hash));
  return folder + std::string(name);
}

std::string save(const char* path, uint64_t model, const Conversation& conversation, const Decoder& decoder) {
  const uint32_t tokens = decoder.length();
  const Conversation::State state = conversation.state();
  Header header = {{}, tokens, decoder.layers(), state.pending ? 1u : 0u, state.last, state.open ? 1u : 0u, {}};
  std::memcpy(header.magic, kMagic, kMagicBytes);
  std::vector<unsigned char> bytes(begin_bytes(tokens));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + kHeaderBytes, conversation.history(), size_t{4} * tokens);
  const uint64_t fingerprint = hashed(model, bytes.data(), bytes.size());
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return "it cannot be written";
  bool written = std::fwrite(bytes.data(), bytes.size(), 1, file) == 1;
  bytes.resize(decoder.image_bytes(tokens));
  for (uint32_t i = 0; written && i < header.layers; ++i) {
    written = decoder.write_image(i, tokens, fingerprint, bytes.data(), bytes.size()) == FOVEA_OK &&
              std::fwrite(bytes.data(), bytes.size(), 1, file) == 1;
  }
  return std::fclose(file) == 0 && written ? "" : "it cannot be written";
}

std::string load(const char* path, uint64_t model, Conversation& conversation, Decoder& decoder, size_t* bytes) {
  MappedFile file;
  std::string problem = file.open(path);
  if (!problem.empty()) return problem;
  Header header;
  *bytes = file.bytes();
  if (*bytes < sizeof header) return "is no conversation";
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, kMagicBytes) != 0) return "is no conversation";
  if (header.tokens > decoder.room()) {
    return "has " + std::to_string(header.tokens) + " tokens, more than the context: --context makes more room";
  }
  const size_t begin = begin_bytes(header.tokens), image = decoder.image_bytes(header.tokens);
  if (header.layers != decoder.layers()) return "is not of this model";
  if (*bytes != begin + image * header.layers) return "is not whole, or its cache has another type: see --cache";
  const uint64_t fingerprint = hashed(model, file.data(), begin);
  fovea_status status = FOVEA_OK;
  for (uint32_t i = 0; status == FOVEA_OK && i < header.layers; ++i) {
    status = decoder.read_image(i, header.tokens, fingerprint, file.data() + begin + image * i, image);
  }
  if (status == FOVEA_OK) {
    conversation.restore({header.pending != 0, header.open != 0, header.last}, file.data() + kHeaderBytes,
                         header.tokens);
    return "";
  }
  decoder.truncate(0);
  if (status == FOVEA_ERR_STATE) return "is not of this model, or was changed";
  if (status == FOVEA_ERR_SIZE) return "has another type of cache: see --cache";
  return fovea_status_string(status);
}

}  // namespace chat
