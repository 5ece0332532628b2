// SPDX-License-Identifier: Apache-2.0
//
// What the fuzzers of single calls draw: arguments of any value, mostly usual ones, and arrays for them.
#ifndef FOVEA_TESTS_FUZZ_DRAW_H_
#define FOVEA_TESTS_FUZZ_DRAW_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "fuzz/memory.h"

namespace fovea_test {

// Memory that nobody may touch.
template <class T>
T* nowhere() {
  return reinterpret_cast<T*>(uintptr_t{4096});
}

// Mostly at most `most`, or the usual one; else any.
inline uint32_t count(Bytes& bytes, uint32_t most) {
  return bytes.below(24) == 1 ? word(bytes) : bytes.below(std::min(most, 200u) + 1);
}
inline size_t long_count(Bytes& bytes, uint32_t most) {
  return bytes.below(24) == 1 ? static_cast<size_t>(stride(bytes)) : count(bytes, most);
}
inline uint32_t number(Bytes& bytes, size_t usual) {
  return bytes.below(48) == 1 ? word(bytes) : static_cast<uint32_t>(usual);
}
inline ptrdiff_t stride_of(Bytes& bytes, Wide dense) {
  return bytes.below(16) == 1 ? stride(bytes) : static_cast<ptrdiff_t>(std::min(dense, Wide{PTRDIFF_MAX}));
}
inline float real(Bytes& bytes, float usual) { return bytes.below(16) == 1 ? bytes.take<float>() : usual; }
inline int64_t position(Bytes& bytes) { return bytes.below(8) == 1 ? bytes.take<int64_t>() : bytes.below(60) - 10; }
template <class Enum>
Enum choice(Bytes& bytes, std::initializer_list<Enum> usual) {
  return bytes.below(48) == 1 ? enum_of<Enum>(word(bytes)) : bytes.choose(usual);
}

// Now and then takes a pointer away, or off its alignment, which bytes do not have. `pointers` are where they stand.
inline void spoil(Bytes& bytes, std::initializer_list<void*> pointers, bool aligned = true) {
  void* const place = bytes.choose(pointers);
  const uint32_t how = bytes.below(24);
  const char* pointer;
  std::memcpy(&pointer, place, sizeof pointer);
  if (how == 1) pointer = nullptr;
  if (how == 2 && pointer != nullptr && aligned) ++pointer;
  std::memcpy(place, &pointer, sizeof pointer);
}

template <class Call>
fovea_status unchanged_if_refused(const Memory& memory, Call call) {
  const std::vector<uint8_t> before = memory.content();
  const fovea_status status = call();
  if (status != FOVEA_OK && status != FOVEA_ERR_EXECUTOR) {
    expect(memory.content() == before, "a refused call wrote something");
  }
  return status;
}

template <class Array>
void dense(Bytes& bytes, Array* array, uint32_t heads, uint32_t tokens, size_t row) {
  const Wide token = static_cast<Wide>(row), head = token * tokens, batch = head * heads;
  array->token_stride = stride_of(bytes, token);
  array->head_stride = stride_of(bytes, head);
  array->batch_stride = stride_of(bytes, batch);
}
// Memory for rows, of f32 or of other elements.
template <class Array>
void* rows(Memory& memory, const Array& array, uint32_t batch, uint32_t heads, uint32_t tokens, size_t row, bool output,
           size_t element = 4) {
  return memory.array(element, row, {batch, heads, tokens}, {array.batch_stride, array.head_stride, array.token_stride},
                      output);
}

// Elements one after the other. Random ones, but the first few by `number`.
template <class T, class Number>
const T* list(Memory& memory, size_t elements, Number number) {
  auto* const data = static_cast<T*>(memory.array(sizeof(T), elements, {}, {}, false));
  if (!memory.complete) return data;
  for (size_t i = 0; i < std::min<size_t>(elements, 64); ++i) data[i] = number();
  return data;
}
inline const float* reals(Memory& memory, size_t elements) {
  return static_cast<const float*>(memory.array(4, elements, {}, {}, false));
}

}  // namespace fovea_test

#endif  // FOVEA_TESTS_FUZZ_DRAW_H_
