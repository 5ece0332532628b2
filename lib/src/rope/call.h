// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ROPE_CALL_H_
#define FOVEA_SRC_ROPE_CALL_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "rope/kernels.h"

namespace fovea {

// Always null in builds without turns.
inline const uint64_t* turns_of(const fovea_rope_args& args) { return config::kRopeTurns ? args.turns : nullptr; }

// The position of a token. False if it overflows.
inline bool rope_position(const fovea_rope_args& args, uint32_t entry, uint32_t token, int64_t* position) {
  if (args.token_positions) {
    *position = args.token_positions[ptrdiff_t(entry) * args.token_positions_stride + ptrdiff_t(token)];
  } else if (__builtin_add_overflow(args.positions ? args.positions[entry] : 0, int64_t(token), position)) {
    return false;
  }
  return !__builtin_add_overflow(*position, args.position_offset, position);
}

void run_rope(const fovea_rope_args& args, const RopeKernels& kernels);

// Doubles are compared as bits, which for positive numbers have the same order.
inline uint64_t bits_of(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

void rope_frequencies(uint64_t* turns, double base, double position_scale, uint32_t rotary_dim);

}  // namespace fovea

#endif  // FOVEA_SRC_ROPE_CALL_H_
