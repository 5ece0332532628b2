// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "ground/base/buffers.h"

#include "ground/base/carver.h"

namespace fovea {

#if FOVEA_CHECKS
// An input needs nothing of what finds elements of an output that share a place.
#if FOVEA_PREFER_SIZE
#define FOVEA_FOR_INPUTS_AND_OUTPUTS
#else
#define FOVEA_FOR_INPUTS_AND_OUTPUTS FOVEA_AT_EACH_USE inline
#endif

FOVEA_FOR_INPUTS_AND_OUTPUTS fovea_status Buffers::add(const Span& span, bool output) {
  if (status_ != FOVEA_OK) return status_;
  for (size_t i = 0; i < count_; ++i) {
    if (outputs_[i].overlaps(span)) status_ = FOVEA_ERR_OVERLAP;
  }
  if (output) outputs_[count_++] = span;
  return status_;
}

FOVEA_FOR_INPUTS_AND_OUTPUTS fovea_status Buffers::add(const fovea_in& array, size_t element_bytes,
                                                       const RowCounts& rows, size_t dim, bool output) {
  const ArrayShape dimensions = {
      {rows.batch, array.batch_stride}, {rows.heads, array.head_stride}, {rows.tokens, array.token_stride}, {dim, 1}};
  Span span;
#if !FOVEA_PREFER_SIZE
  span = {};  // g++ asks for it where all is inlined
#endif
  const fovea_status status = check_array(array.data, element_bytes, dimensions, output, &span);
  if (status_ == FOVEA_OK) status_ = status;
  return add(span, output);
}

fovea_status Buffers::add_output(const fovea_out& array, size_t element_bytes, const RowCounts& rows, size_t dim) {
  return add(as_input(array), element_bytes, rows, dim, true);
}

fovea_status Buffers::add_input(const fovea_in& array, size_t element_bytes, const RowCounts& rows, size_t dim) {
  return add(array, element_bytes, rows, dim, false);
}

fovea_status Buffers::add_tokens(const fovea_in& array, size_t element_bytes, const RowCounts& rows, size_t dim) {
  add(array, element_bytes, rows, dim, false);
  const bool several = rows.tokens > 1 && rows.batch != 0;
  if (status_ == FOVEA_OK && array.token_stride == 0 && several) status_ = FOVEA_ERR_STRIDE;
  return status_;
}

bool Buffers::is_in_place(const fovea_out& output, size_t output_bytes, const fovea_in& array, size_t element_bytes,
                          const RowCounts& rows) {
  return output_bytes == element_bytes && output.data == array.data &&
         (rows.batch == 1 || output.batch_stride == array.batch_stride) &&
         (rows.heads == 1 || output.head_stride == array.head_stride) &&
         (rows.tokens == 1 || output.token_stride == array.token_stride);
}

fovea_status Buffers::add_in_place(const fovea_out& output, size_t output_bytes, const fovea_in& array,
                                   size_t element_bytes, const RowCounts& rows, size_t dim) {
  if (is_in_place(output, output_bytes, array, element_bytes, rows)) return status_;
  return add_input(array, element_bytes, rows, dim);
}

fovea_status Buffers::add_elements(const void* data, size_t element_bytes, size_t count) {
  if (!data || count == 0 || status_ != FOVEA_OK) return status_;
  size_t bytes;
  Span span = {reinterpret_cast<uintptr_t>(data), 0};
  if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes > size_t(PTRDIFF_MAX) ||
      __builtin_add_overflow(span.begin, bytes, &span.end)) {
    return status_ = FOVEA_ERR_SIZE;
  }
  if (!is_aligned_to_element(data, element_bytes)) return status_ = FOVEA_ERR_ALIGNMENT;
  return add(span, false);
}

fovea_status Buffers::add_memory(const void* data, size_t bytes) {
  Span span = {reinterpret_cast<uintptr_t>(data), 0};
  if (__builtin_add_overflow(span.begin, bytes, &span.end) && status_ == FOVEA_OK) status_ = FOVEA_ERR_SIZE;
  return add(span, true);
}
#endif

fovea_status check_offsets(const uint32_t* offsets, uint32_t batch, uint32_t tokens, uint32_t capacity) {
  for (uint32_t b = 0; b < batch; ++b) {
    if (offsets[b] > offsets[b + 1]) return FOVEA_ERR_LENGTH;
    if (offsets[b + 1] - offsets[b] > capacity) return FOVEA_ERR_CAPACITY;
  }
  return offsets[batch] > tokens ? FOVEA_ERR_LENGTH : FOVEA_OK;
}

fovea_status check_struct(const void* given, uint32_t known) {
  constexpr uint32_t kMostUnknown = 4096;  // more are no size, but memory that was not set
  const uint8_t* const bytes = static_cast<const uint8_t*>(given);
  uint32_t end;
  __builtin_memcpy(&end, bytes, sizeof end);
  if (end - known > kMostUnknown) return FOVEA_ERR_STRUCT;  // where end is less, this wraps
  while (end != known) {
    if (bytes[--end] != 0) return FOVEA_ERR_STRUCT;
  }
  return FOVEA_OK;
}

#if FOVEA_PREFER_SIZE
void* Carver::take(size_t columns, size_t rows, size_t element_bytes) {
  return take_array(columns, rows, element_bytes);
}
#endif

}  // namespace fovea
