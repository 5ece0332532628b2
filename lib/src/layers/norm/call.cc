// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/norm/call.h"

#include "ground/base/strides.h"

namespace fovea {
namespace {

// Elements that are converted at a time, where a row is not stored as floats. A multiple of kNormChains.
constexpr size_t kBlock = 64;

// Goes through the rows [batch][heads][tokens], one after the other.
struct RowPlace {
  uint32_t entry = 0, head = 0, token = 0;

  bool next(const RowCounts& rows) {
    if (++token < rows.tokens) return true;
    token = 0;
    if (++head < rows.heads) return true;
    head = 0;
    return ++entry < rows.batch;
  }
};

// A row of any format without scales; data null = none.
struct PlainRow {
  const PlainKernels* plain;
  fovea_dtype dtype;
  char* data;

  static PlainRow of(const PlainKernels* plain, fovea_dtype dtype, const fovea_in& array, const RowPlace& p) {
    if (!array.data) return {plain, dtype, nullptr};
    const char* const row =
        row_of(array, unscaled_bytes(dtype), ptrdiff_t(p.entry), ptrdiff_t(p.head), ptrdiff_t(p.token));
    return {plain, dtype, const_cast<char*>(row)};
  }
  static PlainRow of(const PlainKernels* plain, fovea_dtype dtype, const fovea_out& array, const RowPlace& p) {
    return of(plain, dtype, as_input(array), p);
  }
  bool is_floats() const { return is_f32<kUnscaledFormats>(dtype); }
  float* floats() const { return reinterpret_cast<float*>(data); }
  char* at(size_t d) const { return data + d * unscaled_bytes(dtype); }
  // Elements from d on: where they are, or widened to `to`.
  const float* load(size_t d, size_t count, float* to) const {
    if (is_floats()) return floats() + d;
    plain->widen(dtype, at(d), count, to);
    return to;
  }
  // Where to put elements from d on: where they belong, or in a buffer, from which `store` takes them.
  float* place(size_t d, float* buffer) const { return is_floats() ? floats() + d : buffer; }
  void store(size_t d, size_t count, const float* from) const {
    if (!is_floats()) {
      plain->narrow(dtype, from, count, at(d));
    } else if (from != floats() + d) {
      __builtin_memcpy(floats() + d, from, count * sizeof(float));
    }
  }
};

// 1 / sqrt(x), for x >= 0 and NaN, without libm: a guess from the exponent, and steps of Newton's method, each of which
// squares the error. Largest error 2 ulp. 0 for infinity, and for 0, so that a row whose squares are all 0 becomes
// zeros.
float inverse_square_root(float x) {
  if (x != x) return x;
  if (x == 0.0f || x > 3.40282347e38f) return 0.0f;
  const bool small = x < 0x1p-100f;  // and perhaps subnormal
  const float scaled = small ? x * 0x1p100f : x;
  uint32_t bits;
  __builtin_memcpy(&bits, &scaled, sizeof bits);
  bits = 0x5f3759df - (bits >> 1);
  float y;
  __builtin_memcpy(&y, &bits, sizeof y);
  for (int i = 0; i < 4; ++i) y *= 1.5f - 0.5f * scaled * y * y;
  return small ? y * 0x1p50f : y;
}

// What a row is normalised by, and how it is found from sums.
struct Moments {
  float mean = 0.0f, variance = 0.0f, inverse = 0.0f;

  // From sums of distances from `shift`, and of their squares.
  void find(const NormKernels& kernels, const float* sums, const float* squares, size_t elements, float shift) {
    const float count = float(uint32_t(elements)), distance = kernels.total(sums) / count;
    variance = kernels.total(squares) / count - distance * distance;
    mean = shift + distance;
  }
  void invert(const NormCall& c) { inverse = inverse_square_root((variance < 0.0f ? 0.0f : variance) + c.epsilon); }
  void invert(const NormCall& c, const float* squares) {
    inverse = inverse_square_root(c.kernels->total(squares) / c.divisor + c.epsilon);
  }
};

// The elements whose mean is the shift of all: it is near the mean, so that little is lost in the difference of squares.
size_t first_elements(size_t dim) {
  const size_t eighth = (dim / 8 / kNormChains + 1) * kNormChains;
  return dim < eighth ? dim : eighth;
}

// The moments of several rows of floats.
void find_moments(const NormCall& c, const float* const* x, size_t rows, Moments* found) {
  float sums[kNormRows][kNormChains], squares[kNormRows][kNormChains];
  NormSums of_rows[kNormRows];
  const bool centered = kLayerNorm && c.centered;
  const auto add = [&](size_t elements) {
    for (size_t i = 0; i < rows; ++i) {
      of_rows[i] = {x[i], elements, false, found[i].mean, centered ? sums[i] : nullptr, squares[i]};
    }
    c.kernels->add_rows(of_rows, rows);
    for (size_t i = 0; centered && i < rows; ++i) {
      found[i].find(*c.kernels, sums[i], squares[i], elements, found[i].mean);
    }
  };
  for (size_t i = 0; i < rows; ++i) found[i].mean = centered ? *x[i] : 0.0f;
  if (centered) add(first_elements(c.dim));
  add(c.dim);
  for (size_t i = 0; i < rows; ++i) centered ? found[i].invert(c) : found[i].invert(c, squares[i]);
}

// One row of a normalisation. What is normalised is v = x + residual, times the gate if that comes before.
class NormRow {
 public:
  NormRow(const NormCall& call, const RowPlace& place)
      : c_(call),
        x_(PlainRow::of(c_.plain, c_.x_dtype, *c_.x, place)),
        y_(PlainRow::of(c_.plain, c_.y_dtype, *c_.y, place)),
        residual_(PlainRow::of(c_.plain, c_.residual_dtype, *c_.residual, place)),
        sum_(PlainRow::of(c_.plain, c_.residual_dtype, *c_.sum, place)),
        gate_(PlainRow::of(c_.plain, c_.x_dtype, *c_.gate, place)) {
    const ptrdiff_t from = ptrdiff_t(place.head) * c_.weight_head_stride;
    weight_ = c_.weight ? c_.weight + from : nullptr;
    bias_ = c_.bias ? c_.bias + from : nullptr;
  }

  void run() {
    bring();
    if (kLayerNorm && c_.centered) {
      find_mean();
    } else {
      float squares[kNormChains];
      add_up(c_.dim, {nullptr, 0, false, 0.0f, nullptr, squares});
      moments_.invert(c_, squares);
    }
    write();
  }
  // Normalises a row of floats whose moments are known.
  void run(const Moments& moments) {
    v_ = x_.floats();
    moments_ = moments;
    write();
  }

 private:
  bool gated(fovea_norm_gate order) const { return gate_.data && c_.gate_order == order; }
  size_t step(bool whole) const { return whole ? c_.dim : kBlock; }
  size_t count_at(size_t d, size_t end, size_t step) const { return end - d < step ? end - d : step; }

  // y may be x.
  void multiply_by_gate(size_t d, size_t count, const float* x, float* y) {
    const float* const gate = gate_.load(d, count, spare_);
    c_.activation->activate({gate, x, y, count, 1.0f, c_.gate_activation});
  }

  // v as floats: in place, or in `to`. Writes the sum, too, if that is asked for.
  const float* elements(size_t d, size_t count, float* to, bool writes_sum) {
    const float* v = x_.load(d, count, to);
    if (kResidual && residual_.data) {
      c_.kernels->join(v, residual_.load(d, count, spare_), to, count);
      v = to;
      if (writes_sum && sum_.data) sum_.store(d, count, v);
    }
    if (gated(FOVEA_NORM_GATE_BEFORE)) {
      multiply_by_gate(d, count, v, to);
      v = to;
    }
    return v;
  }

  // Finds a place where all of v is as floats: x, or y, to which it is brought once. Without such a place, each step
  // below computes v again, a block at a time.
  void bring() {
    const bool is_x = x_.is_floats() && !residual_.data && !gated(FOVEA_NORM_GATE_BEFORE);
    v_ = is_x ? x_.floats() : y_.is_floats() ? y_.floats() : nullptr;
    if (is_x || !v_) return;
    const size_t step = this->step(x_.is_floats() && (!residual_.data || residual_.is_floats()));
    for (size_t d = 0; d < c_.dim; d += step) elements(d, count_at(d, c_.dim, step), y_.floats() + d, true);
  }
  const float* brought(size_t d, size_t count, float* buffer, bool writes_sum) {
    return v_ ? v_ + d : elements(d, count, buffer, writes_sum);
  }

  // Adds the first `end` elements, or only their squares.
  void add_up(size_t end, NormSums sums) {
    float buffer[kBlock];
    const size_t step = this->step(v_ != nullptr);
    for (size_t d = 0; d < end; d += step) {
      sums.count = count_at(d, end, step);
      sums.x = brought(d, sums.count, buffer, false);
      if (kLayerNorm && sums.chains) {
        c_.kernels->add(sums);
      } else {
        c_.kernels->add_squares(sums);
      }
      sums.goes_on = true;
    }
  }
  // The moments of the first `end` elements, which are summed as distances from `shift`.
  void find_mean_of(size_t end, float shift) {
    float sums[kNormChains], squares[kNormChains];
    add_up(end, {nullptr, 0, false, shift, sums, squares});
    moments_.find(*c_.kernels, sums, squares, end, shift);
  }
  void find_mean() {
    float first[kBlock];
    find_mean_of(first_elements(c_.dim), *brought(0, 1, first, false));
    find_mean_of(c_.dim, moments_.mean);
    moments_.invert(c_);
  }

  void write() {
    float buffer[kBlock];
    const size_t step = this->step(v_ && y_.is_floats() && (gate_.is_floats() || !gated(FOVEA_NORM_GATE_AFTER)));
    for (size_t d = 0; d < c_.dim; d += step) {
      const size_t count = count_at(d, c_.dim, step);
      const float* const v = brought(d, count, buffer, true);
      float* const y = y_.place(d, buffer);
      const NormScale scaled = {v,
                                weight_ ? weight_ + d : nullptr,
                                bias_ ? bias_ + d : nullptr,
                                y,
                                count,
                                moments_.mean,
                                moments_.inverse,
                                c_.weight_offset};
      if (kLayerNorm && c_.centered) {
        c_.kernels->scale(scaled);
      } else {
        c_.kernels->scale_squares(scaled);
      }
      if (gated(FOVEA_NORM_GATE_AFTER)) multiply_by_gate(d, count, y, y);
      y_.store(d, count, y);
    }
  }

  const NormCall& c_;
  const PlainRow x_, y_, residual_, sum_, gate_;
  const float *weight_, *bias_;
  const float* v_ = nullptr;
  Moments moments_;
  float spare_[kBlock];
};

// Whether the rows that are normalised are x's, as floats.
bool are_in_place(const NormCall& c) {
  const bool gated = c.gate->data && c.gate_order == FOVEA_NORM_GATE_BEFORE;
  return is_f32<kUnscaledFormats>(c.x_dtype) && !c.residual->data && !gated;
}

// Some rows at a time.
void run_rows(const NormCall& c) {
  RowPlace place;
  for (bool more = true; more;) {
    RowPlace places[kNormRows];
    const float* x[kNormRows];
    Moments moments[kNormRows];
    size_t rows = 0;
    for (; more && rows < kNormRows; ++rows, more = place.next(c.rows)) {
      places[rows] = place;
      x[rows] = PlainRow::of(c.plain, c.x_dtype, *c.x, place).floats();
    }
    find_moments(c, x, rows, moments);
    for (size_t i = 0; i < rows; ++i) NormRow(c, places[i]).run(moments[i]);
  }
}

}  // namespace

void run_activation(const ActivationCall& c) {
  if (c.rows.batch == 0) return;
  RowPlace place;
  do {
    const PlainRow x = PlainRow::of(c.plain, c.x_dtype, *c.x, place), y = PlainRow::of(c.plain, c.y_dtype, *c.y, place);
    const PlainRow factor = PlainRow::of(c.plain, c.x_dtype, *c.factor, place);
    const size_t step = x.is_floats() && y.is_floats() ? c.dim : kBlock;
    for (size_t d = 0; d < c.dim; d += step) {
      const size_t count = c.dim - d < step ? c.dim - d : step;
      float buffer[kBlock], factors[kBlock];
      const float* const other = factor.data ? factor.load(d, count, factors) : nullptr;
      float* const to = y.place(d, buffer);
      c.kernels->activate({x.load(d, count, buffer), other, to, count, c.alpha, c.kind});
      y.store(d, count, to);
    }
  } while (place.next(c.rows));
}

void run_norm(const NormCall& c) {
  if (c.rows.batch == 0) return;
  RowPlace place;
  if (kNormRows > 1 && are_in_place(c)) return run_rows(c);
  do NormRow(c, place).run();
  while (place.next(c.rows));
}

}  // namespace fovea
