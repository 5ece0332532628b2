// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/stream/state.h"

namespace fovea {

size_t state_row_count(const fovea_state& s) { return size_t(s.batch) * s.q_heads * s.q_tokens; }

CheckedSize state_bytes(const fovea_state& s) {
  CheckedSize rows{s.batch};
  rows.times(s.q_heads).times(s.q_tokens);
  CheckedSize row{s.value_dim};
  row.plus(2).times(sizeof(float));
  return row.times(rows).plus(sizeof(fovea_state));
}

StateRows state_rows(const fovea_state& s) {
  float* const max = reinterpret_cast<float*>(const_cast<fovea_state*>(&s) + 1);
  const size_t rows = state_row_count(s);
  return {max, max + rows, max + 2 * rows};
}

void begin_state(const fovea_state& header, fovea_state* state) {
  *state = header;
  const StateRows rows = state_rows(*state);
  const size_t count = state_row_count(*state);
  for (size_t r = 0; r < count; ++r) rows.max[r] = -__builtin_inff();
  __builtin_memset(rows.sum, 0, count * (size_t(header.value_dim) + 1) * sizeof(float));
}

}  // namespace fovea
