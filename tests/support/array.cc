// SPDX-License-Identifier: Apache-2.0
#include "support/array.h"

#include "support/every.h"
#include "support/formats.h"
#include "support/problem.h"
#include "support/text.h"

namespace fovea_test {

const char* name(Layout layout) {
  static const char* const kNames[] = {"heads-first", "tokens-first", "packed",  "padded",
                                       "broadcast",   "reversed",     "one-row", "padded-reversed"};
  return kNames[int(layout)];
}

Strides strides_of(const Shape& shape, Layout layout) {
  const ptrdiff_t b = shape.batch, h = shape.heads, t = shape.tokens, d = ptrdiff_t(shape.dim);
  Strides s{};
  switch (layout) {
    case Layout::kTokensFirst:
    case Layout::kPacked: s.head = d, s.token = h * d, s.batch = t * h * d; break;
    case Layout::kPadded:
    case Layout::kPaddedReversed: s.token = d + 3, s.head = t * s.token + 5, s.batch = h * s.head + 7; break;
    case Layout::kBroadcast: s.token = d; break;
    case Layout::kOneRow: break;
    default: s.token = d, s.head = t * d, s.batch = h * t * d; break;
  }
  if (b == 0 || h == 0 || t == 0 || d == 0) return s;
  const ptrdiff_t last = (b - 1) * s.batch + (h - 1) * s.head + (t - 1) * s.token;
  s.elements = size_t(last + d);
  if (layout == Layout::kReversed || layout == Layout::kPaddedReversed) {
    s.first = size_t(last);
    s.batch = -s.batch, s.head = -s.head, s.token = -s.token;
  }
  const auto stride = [](ptrdiff_t count, ptrdiff_t x, ptrdiff_t far) { return count == 1 ? far : x; };
  return {stride(b, s.batch, kUnread), stride(h, s.head, -kUnread), stride(t, s.token, -kUnread), s.elements, s.first};
}

Array::Array(fovea_dtype type_, const Shape& shape_, Layout layout, Placement placement)
    : type(type_), shape(shape_), strides(strides_of(shape_, layout)) {
  memory = Guarded(strides.elements * unit_size(type), unit_size(type), placement);
}

ptrdiff_t Array::offset(size_t b, size_t h, size_t t) const {
  const ptrdiff_t elements = ptrdiff_t(strides.first) + ptrdiff_t(b) * strides.batch + ptrdiff_t(h) * strides.head +
                             ptrdiff_t(t) * strides.token;
  return elements * ptrdiff_t(unit_size(type));
}

float Array::get(size_t b, size_t h, size_t t, size_t d) const {
  return type == FOVEA_I8 ? row<int8_t>(b, h, t)[d] : element_of(type, row(b, h, t), nullptr, d);
}

std::vector<float> Array::numbers(size_t b, size_t h, size_t t) const {
  std::vector<float> all(shape.dim);
  for (size_t d = 0; d < shape.dim; ++d) all[d] = get(b, h, t, d);
  return all;
}

std::vector<float> Array::numbers() const {
  std::vector<float> all;
  for (const auto& [b, h, t, d] : indices<size_t>(shape.batch, shape.heads, shape.tokens, shape.dim)) {
    all.push_back(get(b, h, t, d));
  }
  return all;
}

void Array::put(size_t b, size_t h, size_t t, const std::vector<float>& numbers) const {
  encode_row(type, numbers.data(), numbers.size(), row(b, h, t), nullptr);
}

void Array::draw(uint64_t seed, float size) const {
  std::vector<float> x(shape.dim);
  uint64_t index = 0;
  for (const auto& [b, h, t] : indices(shape.batch, shape.heads, shape.tokens)) {
    for (float& number : x) number = size * random_normal(seed, ++index);
    put(b, h, t, x);
  }
}

bool Array::only_rows_written() const {
  if (!memory.margin_intact()) return false;
  const size_t unit = unit_size(type);
  std::vector<bool> expected(memory.bytes());
  for (const auto& [b, h, t] : indices(shape.batch, shape.heads, shape.tokens)) {
    const auto first = expected.begin() + offset(b, h, t);
    std::fill(first, first + ptrdiff_t(shape.dim * unit), true);
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i] && !memory.untouched(i)) return false;
  }
  return true;
}

std::string compare_rows(const Array& got, const Want& want) {
  for (const auto& [row, d] : indices<size_t>(got.rows(), got.shape.dim)) {
    double allowed = 0;
    const double wanted = want(row, d, &allowed);
    const float number = element_of(got.type, got.row(row), nullptr, d);
    if (close(number, wanted, allowed)) continue;
    return Text() << "element " << d << " of row " << row << " is " << number << ", not " << wanted << " +- "
                  << allowed;
  }
  return got.only_rows_written() ? "" : "written outside of the rows";
}

}  // namespace fovea_test
