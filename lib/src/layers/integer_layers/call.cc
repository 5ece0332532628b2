// SPDX-License-Identifier: Apache-2.0
//
// Loops over rows, and what a normalisation and a mean compute once for each row.
#include "ground/base/arithmetic.h"
#include "layers/integer_layers/call.h"

#include "ground/base/strides.h"

namespace fovea {
namespace {

namespace kernels = integer_layer_kernels;

// Goes along the tokens of an array's head.
class Codes {
 public:
  Codes(const fovea_in& array, uint32_t entry, uint32_t head)
      : row_(reinterpret_cast<const int8_t*>(row_of(array, 1, ptrdiff_t(entry), ptrdiff_t(head), 0))),
        stride_(array.token_stride) {}

  const int8_t* row() const { return row_; }
  int8_t* output() const { return const_cast<int8_t*>(row_); }
  void next() { row_ = advanced(row_, stride_); }

 private:
  const int8_t* row_;
  ptrdiff_t stride_;
};

template <class Call, class Run>
void each_head(const Call& call, const Run& run) {
  for (uint32_t entry = 0; entry < call.rows.batch; ++entry) {
    for (uint32_t head = 0; head < call.rows.heads; ++head) run(entry, head);
  }
}
// For calls with one input.
template <class Call, class Run>
void each_row(const Call& call, const Run& run) {
  each_head(call, [&](uint32_t entry, uint32_t head) {
    Codes x(*call.x, entry, head), y(as_input(*call.y), entry, head);
    for (size_t t = call.rows.tokens; t > 0; --t, x.next(), y.next()) run(x.row(), y.output());
  });
}
// For calls with two.
template <class Call, class Run>
void each_pair(const Call& call, const Run& run) {
  each_head(call, [&](uint32_t entry, uint32_t head) {
    Codes a(*call.a, entry, head), b(*call.b, entry, head), y(as_input(*call.y), entry, head);
    for (size_t t = call.rows.tokens; t > 0; --t, a.next(), b.next(), y.next()) run(a.row(), b.row(), y.output());
  });
}

// floor(2^31 / sqrt(v)) for v from 2^22 to 2^24 - 1. Each step of Newton's method squares the relative error: 2^-3.5 of
// the straight line that it begins with, 2^-6.4, 2^-12, and 2^-19 with what the last step cuts off.
uint32_t scaled_inverse_square_root(uint32_t v) {
  uint32_t root = 35170 - (v >> 9) * 628 / 1024;  // in units of 2^-15 of 2^20
  for (int i = 0; i < 2; ++i) {
    const uint32_t square = (root * root >> 15) * (v >> 9) >> 13;
    root = root * (3 * 32768 - square) >> 16;
  }
  const uint32_t square = uint32_t(uint64_t(root * root) * v >> 26);  // of 2^26
  root = uint32_t(uint64_t(root) * (3 * (1u << 26) - square) >> 22);
  constexpr uint64_t kOneSquared = uint64_t(1) << 62;
  while (uint64_t(root) * root * v > kOneSquared) --root;
  while (uint64_t(root + 1) * (root + 1) * v <= kOneSquared) ++root;
  return root;
}

// round(a b / 2^shift), for a shift from 1 to 63.
int32_t rounded_product(int32_t a, int32_t b, int shift) { return int32_t(((int64_t(a) * b >> (shift - 1)) + 1) >> 1); }

// Sets what the sums of a row's codes decide: slope and offset.
void set_factors(const IntegerNormCall& c, const IntegerRowSums& sums, IntegerNormRow* row) {
  const int32_t n = int32_t(row->dim), sum = sums.sum;
  int32_t center = c.x_zero_point;
  uint64_t deviation;  // D of fovea_integer_norm_args
  if (c.centred) {
    center = int32_t((uint32_t(sum + 128 * n) + uint32_t(n) / 2) / uint32_t(n)) - 128;
    deviation = uint64_t(int64_t(n) * sums.squares - int64_t(sum) * sum);
  } else {
    deviation = uint64_t(uint32_t(n)) * uint32_t(sums.squares - 2 * center * sum + n * center * center);
  }
  row->slope = row->offset = 0;
  if (deviation == 0) return;
  const uint64_t variance = (deviation << 16) + c.epsilon;
  const int half = (41 - __builtin_clzll(variance)) >> 1;  // j of fovea_integer_norm_args
  const uint32_t scaled = uint32_t(half >= 0 ? variance >> (2 * half) : variance << (-2 * half));
  const int32_t factor = int32_t(uint64_t(uint32_t(c.weight_multiplier)) * scaled_inverse_square_root(scaled) >> 20);
  const int places = 3 + half - c.weight_shift;
  row->slope = rounded_product(n, factor, places);
  const int32_t rest = c.centred ? rounded_product(sum - n * center, factor, places) : 0;
  row->offset = int32_t(0u - (uint32_t(row->slope) * uint32_t(center) + uint32_t(rest)));
}

}  // namespace

void run_integer_norm(IntegerNormCall& call) {
  IntegerNormRow& row = call.row;
  each_row(call, [&](const int8_t* x, int8_t* y) {
    row.x = x, row.y = y;
    set_factors(call, kernels::sum_codes(x, row.dim), &row);
    kernels::normalise_codes(row);
  });
}

void run_integer_sum(IntegerSumCall& call) {
  IntegerSumRow& row = call.row;
  each_pair(call, [&](const int8_t* a, const int8_t* b, int8_t* y) {
    row.a = a, row.b = call.b->data ? b : nullptr, row.y = y;
    kernels::add_codes(row);
  });
}

void run_integer_product(IntegerProductCall& call) {
  IntegerProductRow& row = call.row;
  each_pair(call, [&](const int8_t* a, const int8_t* b, int8_t* y) {
    row.a = a, row.b = b, row.y = y;
    kernels::multiply_codes(row);
  });
}

void run_integer_activation(const IntegerActivationCall& c) {
  each_row(c, [&](const int8_t* x, int8_t* y) { kernels::translate_codes(c.table, x, c.dim, y); });
}

void run_integer_hard_swish(IntegerHardSwishCall& call) {
  IntegerHardSwishRow& row = call.row;
  each_row(call, [&](const int8_t* x, int8_t* y) {
    row.x = x, row.y = y;
    kernels::hard_swish_codes(row);
  });
}

void run_integer_mean(IntegerMeanCall& c) {
  IntegerMeanRow& row = c.row;
  each_head(c, [&](uint32_t entry, uint32_t head) {
    const uint32_t tokens = c.lengths ? c.lengths[entry] : uint32_t(c.rows.tokens);
    row.x = Codes(*c.x, entry, head).row(), row.y = Codes(as_input(*c.y), entry, head).output();
    row.tokens = tokens, row.x_total = int32_t(tokens) * c.x_zero_point;
    row.scale = 0, row.shift = 1;
    if (tokens > 0) {
      const int zeros = __builtin_clz(tokens) - 1;
      const uint32_t upper = ((tokens << zeros) + (1u << 14)) >> 15;  // 2^15 to 2^16
      const uint32_t inverse = ((1u << 31) + upper / 2) / upper;
      const int places = 61 - c.multiplier_shift - zeros;
      row.scale = places > 62 ? 0 : int32_t(uint64_t(uint32_t(c.multiplier)) * inverse >> 16);
      row.shift = places > 62 ? 1 : places;
    }
    kernels::average_codes(row);
  });
}

}  // namespace fovea
