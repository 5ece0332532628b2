// SPDX-License-Identifier: Apache-2.0
//
// Steps through the caller's arrays, whose element size is known only at run time.
#ifndef FOVEA_SRC_BASE_STRIDES_H_
#define FOVEA_SRC_BASE_STRIDES_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"

namespace fovea {

// The bytes of `steps` steps of a stride that counts units of `unit` bytes. Where a dimension has one element, its
// stride may be any number: the product may then wrap, but it is not used.
constexpr ptrdiff_t stride_bytes(ptrdiff_t stride, size_t unit, ptrdiff_t steps = 1) {
  return ptrdiff_t(size_t(stride) * unit * size_t(steps));
}

// base + bytes, computed as integers: the result may point outside any object, before the first row or into an array
// without elements.
template <class T>
T* advanced(T* base, ptrdiff_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(base) + uintptr_t(bytes));
}

// The counts of rows [batch][heads][tokens] of an array.
struct RowCounts {
  size_t batch, heads, tokens;

  static RowCounts one() {
    RowCounts counts;
    counts.batch = counts.heads = counts.tokens = 1;  // in place of a constant, which would be copied
    return counts;
  }
};
// Of a call whose heads are not 0. Without rows there are no entries, either.
template <class Args>
RowCounts counts_of(const Args& args) {
  return {args.tokens == 0 ? 0 : args.batch, args.heads, args.tokens};
}

// An output as an array to go along.
inline fovea_in as_input(const fovea_out& array) {
  return {array.data, array.batch_stride, array.head_stride, array.token_stride};
}

// Calls run(entry, head, token) for each row. Where there is none, the number of entries must be 0.
template <class Run>
void for_each_row(const RowCounts& rows, const Run& run) {
  for (size_t entry = 0; entry < rows.batch; ++entry) {
    for (size_t head = 0; head < rows.heads; ++head) {
      for (size_t token = 0; token < rows.tokens; ++token) run(entry, head, token);
    }
  }
}

inline const char* bytes_of(const void* data) { return static_cast<const char*>(data); }
inline char* bytes_of(void* data) { return static_cast<char*>(data); }
// The row of a token in an array of units of `unit` bytes: of an input or an output.
template <class Array>
auto row_of(const Array& array, size_t unit, ptrdiff_t entry, ptrdiff_t head, ptrdiff_t token) {
  const size_t bytes = size_t(stride_bytes(array.batch_stride, unit, entry)) +
                       size_t(stride_bytes(array.head_stride, unit, head)) +
                       size_t(stride_bytes(array.token_stride, unit, token));
  return advanced(bytes_of(array.data), ptrdiff_t(bytes));
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_STRIDES_H_
