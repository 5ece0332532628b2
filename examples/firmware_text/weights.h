// SPDX-License-Identifier: Apache-2.0
//
// The shapes of the model, its weights and words, which train.py writes to weights.bin and vocabulary.cc, and the caches of a
// prompt, which write_prompt writes to prompt.bin: constants, so that they stay in flash.
#ifndef FOVEA_EXAMPLES_FIRMWARE_TEXT_WEIGHTS_H_
#define FOVEA_EXAMPLES_FIRMWARE_TEXT_WEIGHTS_H_

#include <cstdint>

namespace firmware_text {

constexpr uint32_t kWords = 178;  // words and punctuation; number 0 separates stories
constexpr uint32_t kLayers = 4, kDim = 96, kHidden = 192;
constexpr uint32_t kQHeads = 4, kKvHeads = 2, kHeadDim = 24;  // two query heads share a key head
constexpr uint32_t kRotaryDim = 8;                            // elements of a head that are rotated by position
constexpr double kRopeBase = 10000;
constexpr uint32_t kTokens = 160;  // the most that the model was trained for
constexpr float kEpsilon = 1e-5f;  // of each normalisation

// A linear layer: a weight is the scale of its row times a code.
template <uint32_t kRows, uint32_t kColumns>
struct Matrix {
  int8_t codes[kRows][kColumns];
  float scales[kRows];
};

struct LayerWeights {
  float attention_norm[kDim];
  Matrix<(kQHeads + 2 * kKvHeads) * kHeadDim, kDim> qkv;
  Matrix<kDim, kQHeads * kHeadDim> out;
  float mlp_norm[kDim];
  Matrix<2 * kHidden, kDim> gate_up;
  Matrix<kDim, kHidden> down;
};

struct Weights {
  Matrix<kWords, kDim> words;  // embeddings, and the last layer
  LayerWeights layers[kLayers];
  float norm[kDim];
};

// The keys and values of all tokens of kPrompt but the last, an image (fovea/kv_cache.h) for each layer: two arrays of codes and
// two of scales. The image's fingerprint is the layer.
constexpr const char* kPrompt =
    "The Petrel is a fast white boat, and Clara sails it. On Sunday the Petrel leaves Dunwater for Farnsea with six "
    "sacks of wool.";
constexpr uint32_t kPromptTokens = 27;
constexpr uint32_t whole_lines(uint32_t bytes) { return (bytes + 63) / 64 * 64; }
constexpr uint32_t kPromptBytes = 64 + 2 * whole_lines(kKvHeads * kPromptTokens * kHeadDim) +
                                  2 * whole_lines(kKvHeads * kPromptTokens * static_cast<uint32_t>(sizeof(float)));
using PromptImages = unsigned char[kLayers][kPromptBytes];

extern const PromptImages kPromptImages __asm__("firmware_text_prompt");  // in prompt.cc
extern const Weights kWeights __asm__("firmware_text_weights");           // in weights.cc
extern const char* const kVocabulary[kWords];

}  // namespace firmware_text

#endif  // FOVEA_EXAMPLES_FIRMWARE_TEXT_WEIGHTS_H_
