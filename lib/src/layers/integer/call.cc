// SPDX-License-Identifier: Apache-2.0
//
// Loops over batch entries, key heads, and the query rows of an IntegerBlock. Rows are token-major over the query heads
// that share a key head.
#include "ground/base/arithmetic.h"
#include "layers/integer/call.h"

#include "ground/base/carver.h"

namespace fovea {
namespace {

// The macro for static arrays agrees with what is carved.
constexpr size_t carved_bytes(size_t head_dim, size_t value_dim, size_t rows) {
  CarvedBytes carver;
  IntegerArrays arrays = {};
  take_integer_arrays(carver, head_dim, value_dim, rows, &arrays);
  return carver.bytes;
}
static_assert(carved_bytes(64, 64, kIntegerRows) <= FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(64, 64, 64));
static_assert(carved_bytes(1024, 8, kIntegerRowGroup) <= FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(1024, 8, 1));
static_assert(carved_bytes(1, 1, kIntegerRows) <= FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(1, 1, 1000));
static_assert(carved_bytes(16, 333, kIntegerRows) <= FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(16, 333, 1000));

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
  return static_cast<Element*>(array.data) + ptrdiff_t(entry) * array.batch_stride +
         ptrdiff_t(head) * array.head_stride + ptrdiff_t(token) * array.token_stride;
}

}  // namespace

CheckedSize place_integer_arrays(void* workspace, uint32_t head_dim, uint32_t value_dim, uint32_t rows,
                                 IntegerArrays* arrays) {
  Carver carver(workspace);
  take_integer_arrays(carver, head_dim, value_dim, rows, arrays);
  return carver.slow_bytes();
}

int64_t IntegerCall::first_position(uint32_t entry) const {
  if (causal == FOVEA_CAUSAL_BOTTOM_RIGHT) return int64_t(keys_of(entry)) - int64_t(q_tokens);
  return positions ? positions[entry] : 0;
}

void run_integer_attention(IntegerCall* call) {
  const IntegerCall& c = *call;
  IntegerBlock& block = call->block;
  for (uint32_t entry = 0; entry < c.batch; ++entry) {
    const Sight sight = {c.first_position(entry), c.keys_of(entry), c.left, c.right};
    for (uint32_t kv_head = 0; kv_head < c.kv_heads; ++kv_head) {
      block.keys = at<const int8_t>(*c.keys, entry, kv_head, 0);
      block.values = at<const int8_t>(*c.values, entry, kv_head, 0);
      uint32_t token = 0, head = 0;  // of the next row
      while (token < c.q_tokens) {
        uint32_t count = 0;
        for (; count < c.rows && token < c.q_tokens; ++count) {
          IntegerRow& row = block.arrays.rows[count];
          const int64_t position = sight.first + token;
          row.query = at<const int8_t>(*c.q, entry, kv_head * c.group + head, token);
          row.out = at<int8_t>(*c.out, entry, kv_head * c.group + head, token);
          row.lo = sight.lo(position), row.hi = sight.hi(position);
          if (++head == c.group) head = 0, ++token;
        }
        block.count = count;
        attend_integer_block(block);
      }
    }
  }
}

}  // namespace fovea
