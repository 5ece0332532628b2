// SPDX-License-Identifier: Apache-2.0
//
// The spans that arrays cover, with every overflow noticed.
#ifndef FOVEA_SRC_BASE_BUFFERS_H_
#define FOVEA_SRC_BASE_BUFFERS_H_

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "fovea/fovea.h"

namespace fovea {

// The bytes from an array's first to its last element, as addresses.
struct Span {
  uintptr_t begin, end;  // equal when the array is empty

  bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};

struct Dimension {
  size_t count;
  ptrdiff_t stride;  // elements, of either sign
};

// Dimensions of an array at most. Those that an array lacks have a count of 1.
constexpr size_t kDimensions = 4;
using Dimensions = Dimension[kDimensions];

// The span of an array with these dimensions. False on overflow.
inline bool span_of(const void* data, size_t element_bytes, const Dimensions& dimensions, Span* span) {
  ptrdiff_t lowest = 0, highest = 0;
  for (const Dimension& d : dimensions) {
    if (d.count == 0) {
      *span = Span();
      return true;
    }
    ptrdiff_t reach;
    if (d.count - 1 > size_t(PTRDIFF_MAX) || __builtin_mul_overflow(ptrdiff_t(d.count - 1), d.stride, &reach))
      return false;
    if (reach < 0 ? __builtin_add_overflow(lowest, reach, &lowest) : __builtin_add_overflow(highest, reach, &highest))
      return false;
  }
  if (__builtin_add_overflow(highest, ptrdiff_t(1), &highest)) return false;
  if (__builtin_mul_overflow(lowest, ptrdiff_t(element_bytes), &lowest)) return false;
  if (__builtin_mul_overflow(highest, ptrdiff_t(element_bytes), &highest)) return false;
  const uintptr_t base = reinterpret_cast<uintptr_t>(data);
  // lowest <= 0 < highest
  return !__builtin_sub_overflow(base, uintptr_t(0) - uintptr_t(lowest), &span->begin) &&
         !__builtin_add_overflow(base, uintptr_t(highest), &span->end);
}

// Whether no two elements share a place: each dimension must step over all that lies within the smaller ones.
inline bool elements_distinct(const Dimensions& dimensions) {
  // The dimensions of more than one element, smallest stride first. Callers list the outermost first, as arrays mostly
  // lie, so the sort has little to move.
  size_t counts[kDimensions], strides[kDimensions], used = 0;
  for (size_t i = kDimensions; i-- > 0;) {
    const size_t count = dimensions[i].count;
    if (count == 0) return true;
    if (count == 1) continue;
    const ptrdiff_t stride = dimensions[i].stride;
    const size_t absolute = stride < 0 ? size_t(0) - size_t(stride) : size_t(stride);
    size_t place = used++;
    for (; place > 0 && absolute < strides[place - 1]; --place) {
      counts[place] = counts[place - 1];
      strides[place] = strides[place - 1];
    }
    counts[place] = count;
    strides[place] = absolute;
  }
  size_t extent = 1;  // elements from first to last of the dimensions taken so far
  for (size_t i = 0; i < used; ++i) {
    if (strides[i] < extent) return false;
    extent += (counts[i] - 1) * strides[i];  // span_of has seen that this does not overflow
  }
  return true;
}

inline bool is_aligned(const void* pointer, size_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

// To elements of so many bytes, as arrays and structures of them lie: on i386 those of 64 bits as those of 32.
inline bool is_aligned_to_element(const void* pointer, size_t element_bytes) {
  struct Widest {
    int64_t element;
  };
  return is_aligned(pointer, element_bytes < alignof(Widest) ? element_bytes : alignof(Widest));
}

// Whether an array may be used: its span, or why not. The elements of an output must be distinct.
inline fovea_status check_array(const void* data, size_t element_bytes, const Dimensions& dimensions, bool output,
                                Span* span) {
  if (!span_of(data, element_bytes, dimensions, span)) return FOVEA_ERR_SIZE;
  if (span->begin == span->end) return FOVEA_OK;  // no element: the pointer means nothing
  if (!data) return FOVEA_ERR_NULL;
  if (!is_aligned_to_element(data, element_bytes)) return FOVEA_ERR_ALIGNMENT;
  return output && !elements_distinct(dimensions) ? FOVEA_ERR_STRIDE : FOVEA_OK;
}

// The arrays of a call, outputs first: each output, and each memory, is apart from all that is added after it. Inputs
// may overlap one another.
class Buffers {
 public:
  // An array [batch][heads][tokens][dim].
  fovea_status add_output(const fovea_out& array, size_t element_bytes, size_t batch, size_t heads, size_t tokens,
                          size_t dim);
  fovea_status add_input(const fovea_in& array, size_t element_bytes, size_t batch, size_t heads, size_t tokens,
                         size_t dim);
  // One that may be absent, of count elements.
  fovea_status add_list(const void* data, size_t element_bytes, size_t count) {
    return data ? add_present_list(data, element_bytes, count) : FOVEA_OK;
  }
  // Bytes that the call writes, such as the workspace.
  fovea_status add_memory(const void* data, size_t bytes);

 private:
  fovea_status add_present_list(const void* data, size_t element_bytes, size_t count);
  fovea_status add(const fovea_in& array, size_t element_bytes, size_t batch, size_t heads, size_t tokens, size_t dim,
                   bool output);
  fovea_status add(const Span& span, bool output);

  static constexpr size_t kMostOutputs = 6;  // out, lse, scores, two parts of the workspace, a state
  Span outputs_[kMostOutputs];
  size_t count_ = 0;
};

// Offsets [batch + 1] of ragged entries, each of at most `capacity` tokens. They are aligned.
fovea_status check_offsets(const uint32_t* offsets, uint32_t batch, uint32_t tokens, uint32_t capacity);

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_BUFFERS_H_
