// SPDX-License-Identifier: Apache-2.0
//
// Writes prompt.bin: write_prompt FILE. Any machine writes the same bytes.
#include <cstdio>

#include "model.h"
#include "words.h"

using namespace firmware_text;

int main(int argc, char** argv) {
  static Model model;
  static PromptImages images;
  if (argc != 2 || model.begin() != FOVEA_OK || model.step(0) != FOVEA_OK) return 1;
  uint32_t tokens = 1;
  for (Piece piece = first_piece(kPrompt);;) {
    const Piece next = first_piece(piece.text + piece.bytes);
    if (next.bytes == 0) break;
    if (model.step(find_word(piece)) != FOVEA_OK) return 1;
    piece = next, ++tokens;
  }
  if (tokens != kPromptTokens) return std::printf("kPromptTokens must be %u\n", static_cast<unsigned>(tokens)), 1;
  for (uint32_t i = 0; i < kLayers; ++i) {
    fovea::KvImageArgs args;
    args.tokens = kPromptTokens, args.fingerprint = i;
    if (fovea_kv_export(&model.cache(i).get(), &args, images[i], kPromptBytes) != FOVEA_OK) return 1;
  }
  std::FILE* const file = std::fopen(argv[1], "wb");
  if (!file) return 1;
  const bool written = std::fwrite(images, sizeof images, 1, file) == 1;
  return std::fclose(file) == 0 && written ? 0 : 1;
}
