// SPDX-License-Identifier: Apache-2.0
//
// The functions of ground/math/byte_kernels.h, compiled once for each target that has them: ground/targets/each_target.inl includes
// this file again. Empty for the other targets.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "ground/math/byte_kernels.h"
#if FOVEA_FOR_HELIUM
#define FOVEA_KERNELS_NAMESPACE byte_kernels
#define FOVEA_KERNELS_FILE "ground/math/byte_kernels.cc"
#include "ground/targets/each_target.inl"
#endif
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "ground/math/dot_chunks_helium.inl"
// clang-format on

// Cursors over rows in place, and over the last codes of such rows.
struct CodeCursor {
  const int8_t* row;
  ptrdiff_t stride;
  template <int kChunk>
  inline __attribute__((always_inline)) Helium::Bytes Load() const {
    return Helium::LoadBytes(row + 16 * kChunk);
  }
  inline __attribute__((always_inline)) void Next() { row += stride; }
};
struct LastCodesCursor {
  const int8_t* row;
  ptrdiff_t stride;
  size_t codes;
  template <int>
  inline __attribute__((always_inline)) Helium::Bytes Load() const {
    return Helium::LoadSomeBytes(row, codes);
  }
  inline __attribute__((always_inline)) void Next() { row += stride; }
};
template <bool kGoesOn>
FOVEA_INLINE void MultiplyMost(int chunks, const int8_t* x, size_t columns, const CodeCursor& rows, uint32_t count,
                               int32_t* sums, size_t wanted) {
  if (chunks == 1) return MultiplyChunks<1, kGoesOn>(x, columns, rows, count, sums, wanted);
  if (chunks == 2) return MultiplyChunks<2, kGoesOn>(x, columns, rows, count, sums, wanted);
  if (chunks == 3) return MultiplyChunks<3, kGoesOn>(x, columns, rows, count, sums, wanted);
  MultiplyChunks<4, kGoesOn>(x, columns, rows, count, sums, wanted);
}

// multiply_rows of ground/math/byte_kernels.h.
FOVEA_INLINE void MultiplyRows(const int8_t* x, size_t columns, CodeCursor rows, uint32_t count, size_t dim,
                               bool goes_on, int32_t* sums, size_t wanted) {
  for (size_t left = dim / 16; left > 0; goes_on = true) {
    const int chunks = left < 4 ? int(left) : 4;
    if (goes_on) {
      MultiplyMost<true>(chunks, x, columns, rows, count, sums, wanted);
    } else {
      MultiplyMost<false>(chunks, x, columns, rows, count, sums, wanted);
    }
    left -= size_t(chunks);
    x += size_t(chunks) * 16 * columns;
    rows.row += chunks * 16;
  }
  if (dim % 16 == 0) return;
  const LastCodesCursor last = {rows.row, rows.stride, dim % 16};
  if (goes_on) {
    MultiplyChunks<1, true>(x, columns, last, count, sums, wanted);
  } else {
    MultiplyChunks<1, false>(x, columns, last, count, sums, wanted);
  }
}
}  // namespace

FOVEA_IN_CODE_SECTION void multiply_rows(const int8_t* x, size_t columns, const int8_t* row, ptrdiff_t stride,
                                         uint32_t count, size_t dim, bool goes_on, int32_t* sums, size_t wanted) {
  MultiplyRows(x, columns, {row, stride}, count, dim, goes_on, sums, wanted);
}

#endif
