// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_INTEGER_CALL_H_
#define FOVEA_SRC_INTEGER_CALL_H_

#include "fovea/fovea.h"
#include "ground/base/carver.h"
#include "layers/integer/kernels.h"

namespace fovea {

// A checked call. The arrays are described in the caller's arguments.
struct IntegerCall {
  uint32_t batch, kv_heads, q_tokens, kv_tokens;
  uint32_t group;  // query heads that share a key head
  uint32_t rows;   // that the block has room for
  const fovea_out* out;
  const fovea_in *q, *keys, *values;
  fovea_causal causal;         // BOTTOM_RIGHT: the last query is at the last key
  const int64_t* positions;    // of the first query of each entry. Null = 0
  const uint32_t* kv_lengths;  // null = kv_tokens
  uint32_t left, right;        // windows, 0 = unlimited; causal is right = 1
  IntegerBlock block;          // all but the rows, and the keys and values, which run_integer_attention sets

  uint32_t keys_of(uint32_t entry) const { return kv_lengths ? kv_lengths[entry] : kv_tokens; }
  int64_t first_position(uint32_t entry) const;
};

// Places the arrays of a block in a workspace, which is null to measure them. Returns the bytes.
CheckedSize place_integer_arrays(void* workspace, uint32_t head_dim, uint32_t value_dim, uint32_t rows,
                                 IntegerArrays* arrays);

void run_integer_attention(IntegerCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_CALL_H_
