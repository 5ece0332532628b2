// SPDX-License-Identifier: Apache-2.0
//
// What the fuzzers of single calls draw: arguments of any value, mostly usual ones, and arrays for them.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "fuzz/memory.h"

namespace fovea_test {

constexpr uint32_t kMostEntries = 4096;  // of a batch, each of which costs time

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
// Too small or too large where it is wrong: a structure that is only longer must have memory for it.
inline uint32_t struct_bytes(Bytes& bytes, size_t known) {
  const uint32_t drawn = number(bytes, known);
  return drawn > known ? drawn | 0x8000 : drawn;
}
inline ptrdiff_t as_stride(Wide dense) { return static_cast<ptrdiff_t>(std::min(dense, Wide{PTRDIFF_MAX})); }
inline ptrdiff_t stride_of(Bytes& bytes, Wide dense) { return bytes.below(16) == 1 ? stride(bytes) : as_stride(dense); }
inline int32_t zero_point(Bytes& bytes) { return bytes.below(24) == 1 ? int32_t(word(bytes)) : bytes.take<int8_t>(); }
inline float real(Bytes& bytes, float usual) { return bytes.below(16) == 1 ? bytes.take<float>() : usual; }
inline int64_t position(Bytes& bytes) { return bytes.below(8) == 1 ? bytes.take<int64_t>() : bytes.below(60) - 10; }
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

inline float any_number(Bytes& bytes) {
  if (bytes.below(4) == 0) return bytes.take<float>();
  return bytes.choose({kNaN, kInfinity, -kInfinity, 0.0f, -0.0f, FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 0x1p-149f,
                       -0x1p-140f, 1e19f, -3e37f, 88.0f, -87.5f, -104.0f, 0.5f, 2.5f});
}

// Numbers of one size, among which are some of any kind.
inline std::vector<float> numbers(Bytes& bytes, size_t count) {
  const uint64_t seed = bytes.take<uint8_t>();
  const float size = bytes.choose({1.0f, 1.0f, 1.0f, 30.0f, 1e-3f, 1e-20f, 1e-39f, 1e18f, 1e37f});
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = size * random_normal(seed, i);
  for (uint32_t others = bytes.below(4); others > 0 && count != 0; --others) {
    const size_t at = bytes.below(uint32_t(count));
    all[at] = any_number(bytes);
  }
  return all;
}

template <class Enum>
Enum choice(Bytes& bytes, std::initializer_list<Enum> usual) {
  return bytes.below(48) == 1 ? enum_of<Enum>(word(bytes)) : bytes.choose(usual);
}

template <class Enum, size_t N>
Enum choice(Bytes& bytes, const Enum (&usual)[N]) {
  return bytes.below(48) == 1 ? enum_of<Enum>(word(bytes)) : bytes.choose(usual);
}
inline fovea_target target(Bytes& bytes) {
  return choice(bytes, {FOVEA_TARGET_BEST, FOVEA_TARGET_SCALAR, fovea_target_at(bytes.below(fovea_target_count()))});
}
template <class Args>
Args begun(Bytes& bytes) {
  Args a{};
  a.struct_bytes = struct_bytes(bytes, sizeof a);
  a.target = target(bytes);
  return a;
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

// The same, where an array was too large to be there: without its output a call must be refused.
template <class Args>
fovea_status call(Memory& memory, fovea_status (*function)(const Args*), Args* a, void* output) {
  void* const none = nullptr;
  if (!memory.complete) std::memcpy(output, &none, sizeof none);
  return unchanged_if_refused(memory, [&] { return function(a); });
}

// Rows of an array [batch][heads][tokens][row].
struct Rows {
  uint32_t batch, heads, tokens;
  size_t row;
};
// Strides, mostly dense.
template <class Array>
void dense(Bytes& bytes, Array* array, const Rows& n) {
  const Wide token = static_cast<Wide>(n.row), head = token * n.tokens, batch = head * n.heads;
  array->token_stride = stride_of(bytes, token);
  array->head_stride = stride_of(bytes, head);
  array->batch_stride = stride_of(bytes, batch);
}
// Memory for them, of f32 or of other elements.
template <class Array>
void* rows(Memory& memory, const Array& array, const Rows& n, bool output, size_t element = 4) {
  return memory.array(element, n.row, {n.batch, n.heads, n.tokens},
                      {array.batch_stride, array.head_stride, array.token_stride}, output);
}
// Both.
inline void draw(Bytes& bytes, Memory& memory, fovea_in* array, const Rows& n, size_t element = 4) {
  dense(bytes, array, n);
  array->data = rows(memory, *array, n, false, element);
}
inline void draw(Bytes& bytes, Memory& memory, fovea_out* array, const Rows& n, size_t element = 4) {
  dense(bytes, array, n);
  array->data = rows(memory, *array, n, true, element);
}

// How many columns a mask has for scores of this many keys.
inline size_t columns_of(const fovea_mask& mask, size_t keys) {
  if (mask.kv_tokens != 0) keys = mask.kv_tokens == FOVEA_MASK_NO_KEYS ? 0 : mask.kv_tokens;
  return mask.broadcast_keys != 0 ? std::min<size_t>(keys, 1) : keys;
}
// A mask of scores [batch][heads][tokens][row], and the number of keys that it covers.
inline void draw_mask(Bytes& bytes, Memory& memory, fovea_mask* mask, Rows n) {
  mask->kv_tokens = number(bytes, n.row);
  mask->broadcast_keys = bytes.below(4) == 1;
  n.row = columns_of(*mask, n.row);
  fovea_in array{};
  draw(bytes, memory, &array, n, mask_element_size(mask->kind));
  mask->data = array.data, mask->q_stride = array.token_stride;
  mask->batch_stride = array.batch_stride, mask->head_stride = array.head_stride;
}

// A workspace of what is needed, now and then of less.
struct Workspace {
  void* data;
  size_t drawn;  // bytes
  size_t bytes() const { return data == nullptr ? 0 : drawn; }
};
inline Workspace draw_workspace(Bytes& bytes, Memory& memory, size_t needed, size_t most) {
  size_t given = needed;
  if (bytes.below(16) == 1) given = bytes.below(uint32_t(std::min(needed, most) + 1));
  if (given > most) memory.complete = false;
  void* data = memory.complete && given != 0 ? memory.allocate(64, given, true) : nullptr;
  spoil(bytes, {&data});
  return {data, given};
}

// Elements one after the other. Random ones, but the first few by `number`.
template <class T, class Number>
const T* list(Memory& memory, size_t elements, Number number) {
  T* const data = const_cast<T*>(memory.in<T>(elements));
  if (!memory.complete) return data;
  for (size_t i = 0; i < std::min<size_t>(elements, 64); ++i) data[i] = number();
  return data;
}

}  // namespace fovea_test
