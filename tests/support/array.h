// SPDX-License-Identifier: Apache-2.0
//
// Arrays [batch][heads][tokens][dim] of any layout, in guarded memory of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fovea/fovea.h"
#include "support/guarded.h"

namespace fovea_test {

enum class Layout {
  kHeadsFirst,   // [batch][heads][tokens][dim], dense
  kTokensFirst,  // [batch][tokens][heads][dim], dense
  kPacked,       // queries, keys and values of a token adjacent in one array [batch][tokens][all heads of the three]
  kPadded,       // heads first, an odd number of elements between rows, more between heads and entries
  kBroadcast,  // heads first; the strides of heads and entries are 0; in a Problem some strides of inputs, by the seed
  kReversed,   // heads first, but all strides are negative
  kOneRow,     // all strides are 0
  kPaddedReversed,
};
constexpr Layout kLayouts[] = {Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded, Layout::kReversed,
                               Layout::kBroadcast};
constexpr Layout kOutputLayouts[] = {Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded, Layout::kReversed};
const char* name(Layout layout);

// Rows of outputs never share memory.
inline Layout output_layout(Layout inputs) {
  return inputs == Layout::kBroadcast || inputs == Layout::kOneRow ? Layout::kHeadsFirst : inputs;
}

struct Shape {
  uint32_t batch, heads, tokens;
  size_t dim;
};

// The places of the rows of an array in its buffer, in elements.
struct Strides {
  ptrdiff_t batch, head, token;
  size_t elements;  // of the buffer
  size_t first;     // where row 0 begins
};
constexpr ptrdiff_t kUnread = PTRDIFF_MAX >> 20;  // a stride, or minus it, along a dimension of one element
Strides strides_of(const Shape& shape, Layout layout);

class Array {
 public:
  Array() = default;
  Array(fovea_dtype type, const Shape& shape, Layout layout, Placement placement);

  fovea_in in() const { return {row(0, 0, 0), strides.batch, strides.head, strides.token}; }
  fovea_out out() const { return {row(0, 0, 0), strides.batch, strides.head, strides.token}; }
  template <class T = char>
  T* row(size_t b, size_t h, size_t t) const {
    return reinterpret_cast<T*>(memory.as<char>() + offset(b, h, t));
  }
  // By the number of the row.
  size_t rows() const { return size_t{shape.batch} * shape.heads * shape.tokens; }
  template <class T = char>
  T* row(size_t r) const {
    if (rows() == 0) return row<T>(0, 0, 0);
    return row<T>(r / shape.tokens / shape.heads, r / shape.tokens % shape.heads, r % shape.tokens);
  }
  // Numbers; in types that have scales, codes.
  float get(size_t b, size_t h, size_t t, size_t d) const;
  std::vector<float> numbers(size_t b, size_t h, size_t t) const;
  std::vector<float> numbers() const;  // of all rows, one after the other
  void put(size_t b, size_t h, size_t t, const std::vector<float>& numbers) const;
  // Random numbers, normal, times `size`.
  void draw(uint64_t seed, float size = 1) const;
  // Whether exactly the elements of the rows were written since the last fill().
  bool only_rows_written() const;

  fovea_dtype type = FOVEA_F32;
  Shape shape{};
  Strides strides{};
  Guarded memory;

 private:
  ptrdiff_t offset(size_t b, size_t h, size_t t) const;
};

// "" if every element is what want(row, element, allowed) returns, to within what it allows, and nothing else was
// written since the last fill().
using Want = std::function<double(size_t row, size_t d, double* allowed)>;
std::string compare_rows(const Array& got, const Want& want);

// ---- The places of rows of arrays of a call, as fovea.h defines them.

// The first byte of a row of an array [batch][heads][tokens][dim] whose elements have this many bytes.
template <class InOrOut>
uint8_t* row_bytes(const InOrOut& a, size_t element_bytes, size_t b, size_t h, size_t t) {
  const ptrdiff_t elements = static_cast<ptrdiff_t>(b) * a.batch_stride + static_cast<ptrdiff_t>(h) * a.head_stride +
                             static_cast<ptrdiff_t>(t) * a.token_stride;
  return static_cast<uint8_t*>(const_cast<void*>(a.data)) + elements * static_cast<ptrdiff_t>(element_bytes);
}

template <class InOrOut>
float* row(const InOrOut& a, size_t b, size_t h, size_t t) {
  return reinterpret_cast<float*>(row_bytes(a, sizeof(float), b, h, t));
}

// The slot of a token in a ring of this many slots.
inline uint32_t ring_slot(uint32_t token, uint32_t slots, uint32_t pinned) {
  return token < pinned ? token : pinned + (token - pinned) % (slots - pinned);
}

}  // namespace fovea_test
