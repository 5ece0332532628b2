// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/hadamard/call.h"

#include "ground/base/strides.h"

namespace fovea {

namespace {

// 1 / sqrt(block).
float scale_of(size_t block) {
  float scale = 1.0f;
  for (; block >= 2; block /= 4) scale *= block == 2 ? 0.707106781f : 0.5f;
  return scale;
}

// Spreads the bits of a seed (the end of SplitMix64).
uint64_t mixed(uint64_t seed) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (seed >> 31);
}

}  // namespace

HadamardRow hadamard_of(size_t dim, size_t block, uint64_t seed, bool inverse) {
  HadamardRow row;
  row.dim = dim, row.block = block, row.scale = scale_of(block), row.seed = mixed(seed);
  row.signs = seed == 0 ? kNoSigns : inverse ? kSignsLast : kSignsFirst;
  return row;
}

void run_hadamard(HadamardCall& call) {
  HadamardRow& row = call.row;
  for_each_row(call.rows, [&](size_t entry, size_t head, size_t token) {
    row.x = reinterpret_cast<const float*>(
        row_of(*call.x, sizeof(float), ptrdiff_t(entry), ptrdiff_t(head), ptrdiff_t(token)));
    row.y =
        reinterpret_cast<float*>(row_of(*call.y, sizeof(float), ptrdiff_t(entry), ptrdiff_t(head), ptrdiff_t(token)));
    call.kernels->hadamard(row);
  });
}

}  // namespace fovea
