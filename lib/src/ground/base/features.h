// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_FEATURES_H_
#define FOVEA_SRC_BASE_FEATURES_H_

#include "fovea/fovea_config.h"

namespace fovea {

// The switches FOVEA_ENABLE_... of this build, by their names.
struct Feature {
  const char* name;
  bool has;
};
// clang-format off
constexpr Feature kFeatures[] = {
    {"ADDITIVE", config::kAdditive}, {"ALIBI", config::kAlibi}, {"BF16", config::kBf16},
    {"BLOCK_MAPS", config::kBlockMaps}, {"COMPUTE_F16", config::kComputeF16}, {"COMPUTE_I8", config::kComputeI8},
    {"DROPOUT", config::kDropout}, {"EXECUTOR", config::kExecutor}, {"F16", config::kF16},
    {"FEW_ROWS", config::kFewRows}, {"GELU", config::kGelu}, {"GENERAL_DELTA", config::kGeneralDelta},
    {"GGML", config::kGgml}, {"HADAMARD", config::kHadamard}, {"I4", config::kI4}, {"I8", config::kI8},
    {"I8_TENSORS", config::kI8Tensors}, {"IMAGES", config::kImages}, {"INTEGER_ATTENTION", config::kIntegerAttention}, {"IQ", config::kIq},
    {"KEY_MASS", config::kKeyMass}, {"KEY_SPLITS", config::kKeySplits}, {"K_QUANTS", config::kKQuants},
    {"LAYER_NORM", config::kLayerNorm}, {"LINEAR_ACTIVATION", config::kLinearActivation}, {"LOAD", config::kLoad},
    {"LOG_SOFTMAX", config::kLogSoftmax}, {"LSE", config::kLse}, {"MASK_BYTE", config::kMaskByte},
    {"MASK_F32", config::kMaskF32}, {"MODIFIERS", config::kModifiers}, {"PAGES", config::kPages}, {"PREFIX", config::kPrefix},
    {"RAGGED", config::kRagged}, {"RESIDUAL", config::kResidual}, {"RING", config::kRing},
    {"ROPE_HALF_SPLIT", config::kRopeHalfSplit}, {"ROPE_INTERLEAVED", config::kRopeInterleaved},
    {"ROPE_TURNS", config::kRopeTurns}, {"SCORES", config::kScores}, {"SINKS", config::kSinks},
    {"SLOW_WORKSPACE", config::kSlowWorkspace}, {"SOFTCAP", config::kSoftcap}, {"SOFTMAX_MASK", config::kSoftmaxMask},
    {"SOFTMAX_STRIDED", config::kSoftmaxStrided}, {"STREAMS", config::kStreams}, {"TANH", config::kTanh},
    {"TEXT", config::kText}, {"WINDOWS", config::kWindows},
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_FEATURES_H_
