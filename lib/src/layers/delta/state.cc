// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/delta/state.h"

#include "ground/base/image.h"
#include "layers/delta/call.h"

namespace fovea {

static_assert(sizeof(fovea_delta_state) == 64 && offsetof(fovea_delta_state, checksum) == kChecksumAt,
              "images have the header as it is");

void begin_delta(const fovea_delta_state& header, fovea_delta_state* state) {
  __builtin_memset(state, 0, delta_state_bytes(header).value);
  *state = header;
}

void set_delta(fovea_delta_state& state, uint32_t first, uint32_t count, const fovea_in* matrices) {
  for (uint32_t entry = first; entry < first + count; ++entry) {
    pending_of(state)[entry] = 0;
    for (uint32_t head = 0; head < state.v_heads; ++head) {
      float* const s = delta_head(state, entry, head).s;
      const bool fills = matrices && state.value_dim % kDeltaColumns == 0;  // the matrix, so that zeros begin after it
      const size_t filled = fills ? size_t(state.head_dim) * state.value_dim : 0;
      __builtin_memset(s + filled, 0, (delta_head_floats(state).value - filled) * sizeof(float));
      if (!matrices) continue;
      const float* const from = static_cast<const float*>(matrices->data) +
                                ptrdiff_t(entry - first) * matrices->batch_stride +
                                ptrdiff_t(head) * matrices->head_stride;
      for (size_t key = 0; key < state.head_dim; ++key) {
        const float* const row = from + ptrdiff_t(key) * matrices->token_stride;
        for (size_t d = 0; d < state.value_dim; d += kDeltaColumns) {
          float* const to = s + d * state.head_dim + key * kDeltaColumns;
          const size_t columns = state.value_dim - d;
          if (columns >= kDeltaColumns) {
            __builtin_memcpy(to, row + d, kDeltaColumns * sizeof(float));
          } else {
            __builtin_memcpy(to, row + d, columns * sizeof(float));
          }
        }
      }
    }
  }
}

// What the kernel gets for a head, but for where the matrix goes.
static inline __attribute__((always_inline)) DeltaMatrix matrix_of(const fovea_delta_state& state,
                                                                   const DeltaHead& memory, uint32_t pending) {
  DeltaMatrix m = {};
  m.head_dim = state.head_dim, m.value_dim = state.value_dim;
  m.pending = pending;
  m.decay_per_key = state.decay_dim > 1;
  m.s = memory.s, m.u = memory.u, m.u_stride = whole_columns(state.value_dim);
  for (size_t token = 0; token < kDeltaTokens; ++token) {
    m.tokens.k[token] = memory.k + token * whole_columns(state.head_dim);
    m.tokens.decay[token] = memory.decay + token * decay_stride(state);
    if (is_general(state)) m.given->k[token] = *memory.given_k + token * whole_columns(state.head_dim);
  }
  if (is_general(state)) m.given_v = *memory.given_v;
  return m;
}

void get_delta(const fovea_delta_state& state, const DeltaKernels& kernels, uint32_t first, uint32_t count,
               const fovea_out& matrices) {
  for (uint32_t entry = first; entry < first + count; ++entry) {
    for (uint32_t head = 0; head < state.v_heads; ++head) {
      DeltaMatrix m = matrix_of(state, delta_head(state, entry, head), pending_of(state)[entry]);
      m.out = static_cast<float*>(matrices.data) + ptrdiff_t(entry - first) * matrices.batch_stride +
              ptrdiff_t(head) * matrices.head_stride;
      m.out_stride = matrices.token_stride;
      kernels.matrix(m);
    }
  }
}

void get_delta_from(const fovea_in& s, const fovea_delta_state& state, const DeltaKernels& kernels,
                    const fovea_out& matrix) {
  DeltaMatrix m = matrix_of(state, delta_head(state, 0, 0), pending_of(state)[0]);
  m.s = static_cast<const float*>(s.data), m.s_row = s.token_stride;
  m.out = static_cast<float*>(matrix.data), m.out_stride = matrix.token_stride;
  kernels.matrix(m);
}

uint32_t least_pending(const fovea_delta_state& state, uint32_t first, uint32_t count) {
  uint32_t least = count > 0 ? kDeltaTokens : 0;
  for (uint32_t entry = first; entry < first + count; ++entry) {
    if (pending_of(state)[entry] < least) least = pending_of(state)[entry];
  }
  return least;
}

void roll_back_delta(fovea_delta_state* state, uint32_t first, uint32_t count, uint32_t tokens) {
  for (uint32_t entry = first; entry < first + count; ++entry) pending_of(*state)[entry] -= tokens;
}

void write_delta_image(const fovea_delta_state& state, uint8_t* image) {
  const size_t bytes = delta_state_bytes(state).value;
  put_state(&state, 0, bytes, image);
  put_word(checksum_of(image, bytes), image + kChecksumAt);
}

void read_delta_image(const uint8_t* image, fovea_delta_state* state) {
  take_state(image, 0, delta_state_bytes(read_delta_header(image)).value, state);
  state->checksum = 0;
}

fovea_delta_state read_delta_header(const uint8_t* image) {
  fovea_delta_state header;
  take_state(image, 0, sizeof header, &header);
  return header;
}

}  // namespace fovea
