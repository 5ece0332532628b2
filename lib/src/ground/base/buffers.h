// SPDX-License-Identifier: Apache-2.0
//
// Checks of a caller's structures, and of the spans of memory that his arrays cover, computed without overflow.
#ifndef FOVEA_SRC_BASE_BUFFERS_H_
#define FOVEA_SRC_BASE_BUFFERS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/status.h"
#include "ground/base/strides.h"

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

// Most dimensions of an array. An array with fewer has counts of 1.
constexpr size_t kDimensions = 4;
using ArrayShape = Dimension[kDimensions];

// The span of an array with these dimensions. False on overflow.
inline bool span_of(const void* data, size_t element_bytes, const ArrayShape& dimensions, Span* span) {
  ptrdiff_t lowest = 0, highest = 0;
// g++ would unroll this only with -O3. Small attention calls gain from it.
#if defined(__GNUC__) && !defined(__clang__) && !FOVEA_PREFER_SIZE
#pragma GCC unroll 4
#endif
  for (const Dimension& d : dimensions) {
    if (d.count == 1) continue;
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

// Whether no two elements share an address: each dimension's stride must be at least the extent of those with smaller
// strides.
inline bool elements_distinct(const ArrayShape& dimensions) {
  // The dimensions of more than one element, smallest stride first. Callers list the outermost dimension first, which
  // mostly has the largest stride, so the sort has little to move.
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
    extent += (counts[i] - 1) * strides[i];  // span_of has checked that this does not overflow
  }
  return true;
}

// The alignment is a power of two.
inline bool is_aligned(const void* pointer, size_t alignment) {
  return (reinterpret_cast<uintptr_t>(pointer) & (alignment - 1)) == 0;
}

// Aligned as the compiler aligns such elements in structures: on i386, 64-bit elements are aligned as 32-bit ones.
inline bool is_aligned_to_element(const void* pointer, size_t element_bytes) {
  struct Widest {
    int64_t element;
  };
  return is_aligned(pointer, element_bytes < alignof(Widest) ? element_bytes : alignof(Widest));
}

// Checks the memory of a workspace or a state, which needs this many bytes.
inline fovea_status check_memory(const void* memory, size_t bytes, size_t needed_bytes,
                                 fovea_status too_small = FOVEA_ERR_WORKSPACE) {
  if (!memory) return FOVEA_ERR_NULL;
  if (!is_aligned(memory, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  return bytes < needed_bytes ? too_small : FOVEA_OK;
}

// Functions that are compiled at each use where size does not count: most of their arguments are constants there.
#if FOVEA_PREFER_SIZE
#define FOVEA_AT_EACH_USE
#else
#define FOVEA_AT_EACH_USE __attribute__((always_inline))
#endif

// Checks an array and finds its span. No two elements of an output may share a place.
FOVEA_AT_EACH_USE inline fovea_status check_array(const void* data, size_t element_bytes, const ArrayShape& dimensions,
                                                  bool output, Span* span) {
  if (!kHasChecks) return *span = Span(), FOVEA_OK;
  if (!span_of(data, element_bytes, dimensions, span)) return FOVEA_ERR_SIZE;
  if (span->begin == span->end) return FOVEA_OK;  // no element: the pointer is never used
  if (!data) return FOVEA_ERR_NULL;
  if (!is_aligned_to_element(data, element_bytes)) return FOVEA_ERR_ALIGNMENT;
  return output && !elements_distinct(dimensions) ? FOVEA_ERR_STRIDE : FOVEA_OK;
}

#if !FOVEA_CHECKS
// The arrays of a call, of which nothing is asked.
class Buffers {
 public:
  fovea_status add_output(const fovea_out&, size_t, const RowCounts&, size_t) { return FOVEA_OK; }
  fovea_status add_output(void*, size_t, size_t) { return FOVEA_OK; }
  fovea_status add_input(const fovea_in&, size_t, const RowCounts&, size_t) { return FOVEA_OK; }
  fovea_status add_tokens(const fovea_in&, size_t, const RowCounts&, size_t) { return FOVEA_OK; }
  static bool is_in_place(const fovea_out&, size_t, const fovea_in&, size_t, const RowCounts&) { return true; }
  fovea_status add_in_place(const fovea_out&, size_t, const fovea_in&, size_t, const RowCounts&, size_t) {
    return FOVEA_OK;
  }
  fovea_status add_list(const void*, size_t, size_t) { return FOVEA_OK; }
  fovea_status add_memory(const void*, size_t) { return FOVEA_OK; }
  fovea_status status() const { return FOVEA_OK; }
};
#else
// The arrays of a call. Outputs are added first: an output, or memory, must not overlap anything that is added after
// it. Inputs may overlap one another. After an error nothing more is added, and each function returns that error: so it
// is enough to look at the last result.
class Buffers {
 public:
  // An array [batch][heads][tokens][dim].
  fovea_status add_output(const fovea_out& array, size_t element_bytes, const RowCounts& rows, size_t dim);
  fovea_status add_input(const fovea_in& array, size_t element_bytes, const RowCounts& rows, size_t dim);
  // An output of `count` adjacent elements.
  fovea_status add_output(void* data, size_t element_bytes, size_t count) {
    return add_output({data, 0, 0, 0}, element_bytes, RowCounts::one(), count);
  }
  // Queries, keys or values: a stride of 0 from token to token, which was forgotten, is refused.
  fovea_status add_tokens(const fovea_in& array, size_t element_bytes, const RowCounts& rows, size_t dim);
  // Whether an input has the places of `output`, with the same counts.
  static bool is_in_place(const fovea_out& output, size_t output_bytes, const fovea_in& array, size_t element_bytes,
                          const RowCounts& rows);
  // An input with the counts of `output`, which was added before. The input may be the same array as `output`, if their
  // elements are as large; otherwise it must not overlap any output.
  fovea_status add_in_place(const fovea_out& output, size_t output_bytes, const fovea_in& array, size_t element_bytes,
                            const RowCounts& rows, size_t dim);
  // An array of `count` elements, or null.
  fovea_status add_list(const void* data, size_t element_bytes, size_t count) {
#if !FOVEA_PREFER_SIZE
    if (!data) return status_;  // without a call: most calls have few of the arrays that they may have
#endif
    return add_elements(data, element_bytes, count);
  }
  // Bytes that the call writes, such as the workspace.
  fovea_status add_memory(const void* data, size_t bytes);

  // The first error, if there was one.
  fovea_status status() const { return status_; }

 private:
  fovea_status add_elements(const void* data, size_t element_bytes, size_t count);
  fovea_status add(const fovea_in& array, size_t element_bytes, const RowCounts& rows, size_t dim, bool output);
  fovea_status add(const Span& span, bool output);

  static constexpr size_t kMostOutputs = 6;  // out, lse, scores, key_mass or a state, two parts of the workspace
  Span outputs_[kMostOutputs];
  size_t count_ = 0;
  fovea_status status_ = FOVEA_OK;
};
#endif

// Whether a structure that begins with its size, as the caller's program knows it, can be read as one of `known` bytes.
// A longer one is of a later version: its other fields must be 0, for what this version does. Inlined, GCC 12 warns of it.
[[gnu::noinline]] fovea_status check_struct(const void* given, uint32_t known);
// The bytes of a structure that this version reads. What is reserved, at the end, must be 0 as later fields must.
template <class Struct, class = void>
constexpr uint32_t kBytesRead = sizeof(Struct);
template <class Struct>
constexpr uint32_t kBytesRead<Struct, decltype(void(Struct::reserved))> = offsetof(Struct, reserved);
template <class Struct>
fovea_status check_struct(const Struct& given) {
  return kHasChecks ? check_struct(&given, kBytesRead<Struct>) : FOVEA_OK;
}
// What this version reads of such a structure.
template <class Struct>
Struct known_part(const Struct& given) {
  Struct known = given;
  known.struct_bytes = sizeof known;
  return known;
}

// Checks the offsets [batch + 1] of ragged entries, each of at most `capacity` tokens. Requires an aligned pointer.
fovea_status check_offsets(const uint32_t* offsets, uint32_t batch, uint32_t tokens, uint32_t capacity);

// A word of each object that functions of this configuration have made. The number of layouts grows with each change of
// an object's fields, and of the tables whose places a plan holds: kernels and dot words.
constexpr uint32_t kLayouts = 1;
#if defined(FOVEA_USE)
#define FOVEA_TEXT_OF_(name) #name
#define FOVEA_TEXT_(name) FOVEA_TEXT_OF_(name)
constexpr const char* kConfiguration = FOVEA_TEXT_(FOVEA_USE);
#else
constexpr const char* kConfiguration = "";
#endif
constexpr uint32_t hashed(uint32_t hash, const char* text) {  // FNV-1a
  for (; *text; ++text) hash = (hash ^ uint32_t(*text)) * 0x01000193u;
  return hash;
}
constexpr uint32_t magic_of(const char* kind) { return hashed(hashed(0x811c9dc5u + kLayouts, kind), kConfiguration); }

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_BUFFERS_H_
