// SPDX-License-Identifier: Apache-2.0
//
// The functions of the kernels of normalisation and activation. All take elements of a row as floats.
#ifndef FOVEA_SRC_NORM_KERNELS_H_
#define FOVEA_SRC_NORM_KERNELS_H_

#include <stddef.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/targets/choice.h"

namespace fovea {

// What a build leaves out.
constexpr bool kLayerNorm = config::kLayerNorm, kResidual = config::kResidual;

// y = activation(x) * factor. y may be x or factor.
struct ActivationRow {
  const float* x;
  const float* factor;  // null = 1
  float* y;
  size_t count;
  float alpha;  // never 0
  fovea_activation_kind kind;
};

// Sums over a row have this many chains: element i is added to chain i % kNormChains, whatever the lanes of a vector.
constexpr size_t kNormChains = 16;

// Rows that call.cc has summed at once. The chains of one row are so few that a processor with wide vectors waits for
// them; others need their registers, or count bytes.
constexpr size_t kNormRows =
    FOVEA_WITH_HIGHWAY || FOVEA_WITH_XSIMD || (FOVEA_WITH_NEON && !config::kPreferSize) ? 4 : 1;

struct NormSums {
  const float* x;
  size_t count;  // a multiple of kNormChains, except for the last elements of a row
  bool goes_on;  // else the chains begin with 0
  float shift;
  float* chains;   // [kNormChains] sums of x - shift
  float* squares;  // [kNormChains] sums of (x - shift)^2
};

// y = (x - mean) * inverse * (weight + weight_offset) + bias. y may be x.
struct NormScale {
  const float* x;
  const float* weight;  // null = 1
  const float* bias;    // null = 0
  float* y;
  size_t count;
  float mean, inverse, weight_offset;
};

struct ActivationKernels {
  void (*activate)(const ActivationRow&);
};

struct NormKernels {
  void (*add)(const NormSums&);
  void (*add_squares)(const NormSums&);                  // shift is 0, and chains are not touched
  void (*add_rows)(const NormSums* rows, size_t count);  // of one length; only squares where chains is null. May be null
  float (*total)(const float* chains);                   // of the chains, in a tree
  void (*scale)(const NormScale&);
  void (*scale_squares)(const NormScale&);  // mean is 0
  void (*join)(const float* x, const float* residual, float* to, size_t count);  // to = x + residual; may be either
};

// Each has a table: programs with an activation alone link no normalisation.
FOVEA_TABLES_IN(ActivationKernels, kActivation, norm_kernels, activation_kernels)
FOVEA_TABLES_IN(NormKernels, kNorm, norm_kernels, norm_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_NORM_KERNELS_H_
