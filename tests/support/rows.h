// SPDX-License-Identifier: Apache-2.0
//
// The places of rows in memory, as fovea.h defines them.
#ifndef FOVEA_TESTS_SUPPORT_ROWS_H_
#define FOVEA_TESTS_SUPPORT_ROWS_H_

#include <cstddef>
#include <cstdint>

namespace fovea_test {

// The first byte of a row of an array [batch][heads][tokens][dim] whose elements have this many bytes.
template <class Array>
uint8_t* row_bytes(const Array& a, size_t element_bytes, size_t b, size_t h, size_t t) {
  const ptrdiff_t elements = static_cast<ptrdiff_t>(b) * a.batch_stride + static_cast<ptrdiff_t>(h) * a.head_stride +
                             static_cast<ptrdiff_t>(t) * a.token_stride;
  return static_cast<uint8_t*>(const_cast<void*>(a.data)) + elements * static_cast<ptrdiff_t>(element_bytes);
}

template <class Array>
float* row(const Array& a, size_t b, size_t h, size_t t) {
  return reinterpret_cast<float*>(row_bytes(a, sizeof(float), b, h, t));
}

// The slot of a token in a ring of this many slots.
inline uint32_t ring_slot(uint32_t token, uint32_t slots, uint32_t pinned) {
  return token < pinned ? token : pinned + (token - pinned) % (slots - pinned);
}

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_ROWS_H_
