// SPDX-License-Identifier: Apache-2.0
//
// The shapes of the model, and its weights and words, which train.py writes to weights.bin and vocabulary.cc: constants, so that
// they stay in flash.
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

extern const Weights kWeights __asm__("firmware_text_weights");  // in weights.cc
extern const char* const kVocabulary[kWords];

}  // namespace firmware_text

#endif  // FOVEA_EXAMPLES_FIRMWARE_TEXT_WEIGHTS_H_
