// SPDX-License-Identifier: Apache-2.0
//
// Loops over batch entries, key heads, and the query rows of an IntegerBlock. Rows are token-major over the query heads
// that share a key head.
#include "base/arithmetic.h"
#include "integer/call.h"

#include "base/carver.h"
#include "integer/kernels.h"

namespace fovea {
namespace {

// Rows that an IntegerBlock has room for: a multiple of kIntegerRowGroup.
uint32_t block_rows(const fovea_integer_attention_args& a) {
  const uint64_t rows = uint64_t(a.q_tokens) * (a.q_heads / a.kv_heads);
  if (rows >= kIntegerRows) return kIntegerRows;
  return rows == 0 ? kIntegerRowGroup : uint32_t(rows + kIntegerRowGroup - 1) / kIntegerRowGroup * kIntegerRowGroup;
}

// The macro for static arrays agrees with what is carved.
constexpr size_t carved_bytes(size_t head_dim, size_t value_dim, size_t rows) {
  CarvedBytes carver;
  IntegerArrays arrays = {};
  take_integer_arrays(carver, head_dim, value_dim, rows, &arrays);
  return carver.bytes;
}
static_assert(carved_bytes(64, 64, kIntegerRows) <= FOVEA_INTEGER_WORKSPACE_BYTES(64, 64, 64));
static_assert(carved_bytes(1024, 8, kIntegerRowGroup) <= FOVEA_INTEGER_WORKSPACE_BYTES(1024, 8, 1));
static_assert(carved_bytes(1, 1, kIntegerRows) <= FOVEA_INTEGER_WORKSPACE_BYTES(1, 1, 1000));
static_assert(carved_bytes(16, 333, kIntegerRows) <= FOVEA_INTEGER_WORKSPACE_BYTES(16, 333, 1000));

// The positions of the queries of an entry, and how far each sees.
struct Sight {
  int64_t first;  // position of query 0
  uint32_t keys, left, right;  // windows, 0 = unlimited; causal is right = 1

  uint32_t clamp(int64_t key) const { return key < 0 ? 0 : key > int64_t(keys) ? keys : uint32_t(key); }
  // At positions up to 0 the window hides no key; far below 0 the difference would overflow.
  uint32_t lo(int64_t position) const { return left && position > 0 ? clamp(position - left + 1) : 0; }
  uint32_t hi(int64_t position) const { return right ? clamp(position + right) : keys; }
};

template <class Element, class Array>
Element* at(const Array& array, uint32_t entry, uint32_t head, uint32_t token) {
  return static_cast<Element*>(array.data) + ptrdiff_t(entry) * array.batch_stride + ptrdiff_t(head) * array.head_stride +
         ptrdiff_t(token) * array.token_stride;
}

}  // namespace

CheckedSize integer_workspace_bytes(const fovea_integer_attention_args& a) {
  Carver carver(nullptr);
  IntegerArrays arrays;
  take_integer_arrays(carver, a.head_dim, a.value_dim, block_rows(a), &arrays);
  return carver.slow_bytes();
}

int64_t integer_position(const fovea_integer_attention_args& a, uint32_t entry) {
  if (a.causal == FOVEA_CAUSAL_BOTTOM_RIGHT) return int64_t(integer_keys(a, entry)) - int64_t(a.q_tokens);
  return a.positions ? a.positions[entry] : 0;
}

void run_integer_attention(const fovea_integer_attention_args& a, void* workspace) {
  const uint32_t group = a.q_heads / a.kv_heads, most = block_rows(a);
  IntegerBlock block;
  Carver carver(workspace);
  take_integer_arrays(carver, a.head_dim, a.value_dim, most, &block.arrays);
  block.head_dim = a.head_dim, block.value_dim = a.value_dim;
  block.key_stride = a.keys.token_stride, block.value_stride = a.values.token_stride;
  block.q_zero = a.q_zero, block.value_zero = a.value_zero, block.out_zero = a.out_zero;
  block.score_multiplier = a.score_multiplier, block.score_shift = a.score_shift;
  block.out_multiplier = a.out_multiplier, block.out_shift = a.out_shift;

  for (uint32_t entry = 0; entry < a.batch; ++entry) {
    const Sight sight = {integer_position(a, entry), integer_keys(a, entry), a.window_left,
                         a.causal != FOVEA_CAUSAL_NONE ? 1 : a.window_right};
    for (uint32_t kv_head = 0; kv_head < a.kv_heads; ++kv_head) {
      block.keys = at<const int8_t>(a.keys, entry, kv_head, 0);
      block.values = at<const int8_t>(a.values, entry, kv_head, 0);
      uint32_t token = 0, head = 0;  // of the next row
      while (token < a.q_tokens) {
        uint32_t count = 0;
        for (; count < most && token < a.q_tokens; ++count) {
          IntegerRow& row = block.arrays.rows[count];
          const int64_t position = sight.first + token;
          row.query = at<const int8_t>(a.q, entry, kv_head * group + head, token);
          row.out = at<int8_t>(a.out, entry, kv_head * group + head, token);
          row.lo = sight.lo(position), row.hi = sight.hi(position);
          if (++head == group) head = 0, ++token;
        }
        block.count = count;
        block.padded = (count + kIntegerRowGroup - 1) / kIntegerRowGroup * kIntegerRowGroup;
        attend_integer_block(block);
      }
    }
  }
}

}  // namespace fovea
