// SPDX-License-Identifier: Apache-2.0
//
// The formats of keys and values in memory.
//
// A row is one token's key or value in one head: `dim` elements. Arrays are of the C type named; strides count its
// elements.
//   f32   float[dim]
//   f16   uint16_t[dim], IEEE 754 binary16
//   bf16  uint16_t[dim], the upper half of an f32
//   i8    int8_t[dim], -127 to 127, and a scale, float: x = scale * q. The largest magnitude of the row becomes 127.
//   i4    uint8_t[16] a group of 32 elements, and a scale, uint16_t of f16: x = scale * (u - 8). The low nibble of byte
//   i is u of
//         element i, the high one that of element i + 16. ceil(dim / 32) groups, the last one filled up with u = 8.
// Narrowing rounds to nearest, ties to even, and gives the same bits on every target (32-bit Arm flushes subnormal
// numbers first). Widening is exact but for the rounding of the product with a scale.
//   f16, bf16  what is too large becomes infinite; NaN becomes a quiet NaN.
//   i8         a row with a NaN or an infinity has the scale NaN, so that all of it reads as NaN; its codes are 0. No
//              scale is below 2^-126, nor so large that 127 times it is infinite.
//   i4         a group with a NaN or an infinity: the same. The scale has either sign: it is the best of a few by
//              squared error, or the largest that f16 has, and elements beyond its codes take the last of them.
#ifndef FOVEA_SRC_FORMATS_FORMATS_H_
#define FOVEA_SRC_FORMATS_FORMATS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

constexpr uint32_t kDtypes = 5;
constexpr size_t kI4Group = 32;  // elements that share a scale

// Of one row: bytes of its elements, of its scales; and strides of rows that lie one after the other.
constexpr size_t i4_groups(size_t dim) { return dim / kI4Group + (dim % kI4Group != 0); }
constexpr size_t dense_stride(fovea_dtype dtype, size_t dim) {
  return dtype == FOVEA_I4 ? i4_groups(dim) * (kI4Group / 2) : dim;
}
constexpr size_t dense_scale_stride(fovea_dtype dtype, size_t dim) {
  return dtype == FOVEA_I8 ? 1 : dtype == FOVEA_I4 ? i4_groups(dim) : 0;
}
constexpr size_t unit_bytes(fovea_dtype dtype) {
  return dtype == FOVEA_F32 ? 4 : dtype == FOVEA_F16 || dtype == FOVEA_BF16 ? 2 : 1;
}
// So many steps of a stride, in bytes. That of a dimension of one element may be any number, and wraps: nobody goes
// there.
constexpr ptrdiff_t stride_bytes(ptrdiff_t stride, size_t unit, ptrdiff_t steps = 1) {
  return ptrdiff_t(size_t(stride) * unit * size_t(steps));
}
// Through an integer: nothing need be there, as before the first row, or in an array without elements.
template <class T>
T* advanced(T* base, ptrdiff_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(base) + uintptr_t(bytes));
}
constexpr size_t scale_bytes(fovea_dtype dtype) { return dtype == FOVEA_I8 ? 4 : dtype == FOVEA_I4 ? 2 : 0; }

// Whether this build has the format.
constexpr bool format_served(fovea_dtype dtype) {
  return dtype == FOVEA_F32 || (dtype == FOVEA_F16 && config::kF16) || (dtype == FOVEA_BF16 && config::kBf16) ||
         (dtype == FOVEA_I8 && config::kI8) || (dtype == FOVEA_I4 && config::kI4);
}

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_FORMATS_H_
