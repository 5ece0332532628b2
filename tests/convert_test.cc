// SPDX-License-Identifier: Apache-2.0
//
// The formats of keys and values in memory: conversion from and to f32 on every target, against references of its own.
#include <cfloat>
#include <cstdio>

#include "ground/formats/kernels.h"
#include "ground/targets/registry.h"
#include "simd_tests.h"
#include "support/test.h"

namespace fovea_test {
namespace {

using fovea::dense_scale_stride;
using fovea::dense_stride;
using fovea::kScaleGroup;
using fovea::scale_bytes;
using fovea::unit_bytes;

constexpr const char* kLeftOut = "this build leaves out the format";

std::vector<fovea_dtype> served_types() {
  std::vector<fovea_dtype> types;
  for (const fovea_dtype type : kTypes) {
    if (fovea::format_served(type)) types.push_back(type);
  }
  return types;
}
// Whether rows of floats become rows of it.
bool is_written(fovea_dtype type) { return fovea::format_served(type) && (is_key(type) || type == FOVEA_Q4_1); }
// Whether 0 has a code.
bool has_zero(fovea_dtype type) { return !has_least(type) && type != FOVEA_IQ4_NL; }

bool same_half(Half format, uint32_t got, uint32_t wanted) {
  if (wanted != 0x7fff) return got == wanted;
  const uint32_t quiet = (2u * uint32_t(format.exponents()) - 1) << (format.fraction_bits - 1);
  return (got & quiet) == quiet;
}

bool same_number(float got, float wanted) {
  return bits_of(got) == bits_of(wanted) || (got != got && wanted != wanted);
}

// ---- Rows of a format behind guards.

struct Rows {
  fovea_dtype type = FOVEA_F32;
  size_t rows = 0, dim = 0, stride = 0, scale_stride = 0, f32_stride = 0;
  Guarded data, scales, f32;

  static size_t span(size_t rows, size_t stride, size_t row) { return rows == 0 ? 0 : (rows - 1) * stride + row; }
  Rows(fovea_dtype of, size_t count, size_t elements, size_t padding, Placement placement)
      : type(of), rows(count), dim(elements) {
    stride = dense_stride(type, dim) + padding;
    scale_stride = dense_scale_stride(type, dim) + padding;
    f32_stride = dim + padding;
    const size_t unit = unit_bytes(type), scale_unit = std::max<size_t>(scale_bytes(type), 1);
    data = Guarded(unit * span(rows, stride, dense_stride(type, dim)), unit, placement);
    scales =
        Guarded(scale_bytes(type) * span(rows, scale_stride, dense_scale_stride(type, dim)), scale_unit, placement);
    f32 = Guarded(4 * span(rows, f32_stride, dim), 4, placement);
  }
  float* f32_row(size_t row) const { return f32.as<float>() + row * f32_stride; }
  const uint8_t* data_row(size_t row) const { return data.as<uint8_t>() + row * stride * unit_bytes(type); }
  const uint8_t* scale_row(size_t row) const { return scales.as<uint8_t>() + row * scale_stride * scale_bytes(type); }
  float element(size_t row, size_t d) const { return element_of(type, data_row(row), scale_row(row), d); }
  float scale(size_t row) const {  // of I8
    float number;
    std::memcpy(&number, scale_row(row), sizeof number);
    return number;
  }
  // For how many elements right(row, d) does not hold.
  template <class Right>
  size_t wrong(const Right& right) const {
    size_t count = 0;
    for (const auto& [r, d] : indices<size_t>(rows, dim)) count += !right(r, d);
    return count;
  }
  // How many were widened to something else than they are.
  size_t widened_wrongly() const {
    return wrong([&](size_t r, size_t d) { return same_number(f32_row(r)[d], element(r, d)); });
  }

  void narrow(fovea_target target) const {
    f32.read_only(true);
    void* const own_scales = scale_bytes(type) ? scales.as<void>() : nullptr;
    fovea::write_kernels(target).narrow_any(type, {rows, dim, data.as<void>(), ptrdiff_t(stride), own_scales,
                                                   ptrdiff_t(scale_stride), f32.as<float>(), ptrdiff_t(f32_stride)});
    f32.read_only(false);
  }
  fovea::RowsToWiden to_widen() const {
    const void* const own_scales = scale_bytes(type) ? scales.as<void>() : nullptr;
    const ptrdiff_t to = ptrdiff_t(f32_stride), from = ptrdiff_t(stride), from_scales = ptrdiff_t(scale_stride);
    return {rows, dim, f32.as<float>(), to, data.as<void>(), from, own_scales, from_scales};
  }
  void widen(fovea_target target) const {
    data.read_only(true);
    scales.read_only(true);
    fovea::weight_kernels(target).widen_weights(type, to_widen());
    data.read_only(false);
    scales.read_only(false);
  }
  // Nothing written around the buffers, nor between rows.
  bool margins_intact() const {
    bool intact = data.margin_intact() && scales.margin_intact() && f32.margin_intact();
    const auto gaps = [&](const Guarded& buffer, size_t unit, size_t step, size_t row) {
      for (size_t r = 0; r + 1 < rows; ++r) {
        for (size_t i = unit * (r * step + row); i < unit * (r + 1) * step; ++i) intact = intact && buffer.untouched(i);
      }
    };
    gaps(data, unit_bytes(type), stride, dense_stride(type, dim));
    gaps(scales, scale_bytes(type), scale_stride, dense_scale_stride(type, dim));
    gaps(f32, 4, f32_stride, dim);
    return intact;
  }
};

std::string name(const Rows& rows, Placement placement, fovea_target target) {
  return Text() << type_name(rows.type) << " " << rows.rows << "x" << rows.dim << " stride " << rows.stride << " "
                << name(placement) << " | " << fovea_target_name(target);
}

// Normally distributed, by Box and Muller.
float normal(uint64_t seed, uint64_t index) {
  const double u = (double(random_bits(seed, 2 * index) >> 12) + 0.5) * 0x1p-52;
  const double v = double(random_bits(seed, 2 * index + 1) >> 12) * 0x1p-52;
  return float(std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v));
}

// Of x from y, or from zeros.
double squared_error(const float* x, const float* y, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double difference = double(x[i]) - (y != nullptr ? double(y[i]) : 0.0);
    sum += difference * difference;
  }
  return sum;
}

// The magnitude of the code that a largest element gets.
int largest_code(fovea_dtype type) {
  if (has_least(type)) return type == FOVEA_Q5_1 ? 31 : 15;
  return type == FOVEA_Q8_0 || type == FOVEA_IQ4_NL ? 127 : type == FOVEA_Q5_0 ? 16 : 8;
}

// What a block of 32 elements becomes in one of ggml's formats, with the simplest scale.
void through(fovea_dtype type, const float* x, float* y) {
  char block[34];
  encode_row(type, x, 32, block, nullptr);
  for (size_t i = 0; i < 32; ++i) y[i] = element_of(type, block, nullptr, i);
}

INSIDE_CASE("formats: rows are converted alone, from any place, with any stride, the same on every target", "[short]") {
  const size_t dims[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  15, 16,  17,  24,
                         31, 32, 33, 47, 48, 63, 64, 65, 80, 96, 100, 128, 131};
  for (const auto& [each_type, each_dim, placement] : every(kTypes, dims, kPlacements)) {
    const fovea_dtype type = each_type;
    if (!is_written(type)) continue;
    const size_t dim = each_dim;
    const size_t padding = dim % 3 == 0 ? 0 : dim % 5, count = dim % 4;
    std::vector<uint8_t> first;  // what the first target wrote
    for (const fovea_target target : targets()) {
      Rows rows(type, count, dim, padding, placement);
      const std::string text = name(rows, placement, target);
      set_current_case(text);
      INFO(text);
      for (const auto& [r, d] : indices<size_t>(count, dim)) rows.f32_row(r)[d] = normal(dim + 7, r * dim + d);
      rows.narrow(target);
      bool padded = true;
      CHECK(rows.wrong([&](size_t r, size_t d) {
        const float* const x = rows.f32_row(r);
        const size_t begin = is_grouped(type) ? d / 32 * 32 : 0,
                     end = is_grouped(type) ? std::min(begin + 32, dim) : dim;
        float max = 0;  // of what shares the scale
        for (size_t i = begin; i < end; ++i) max = std::max(max, std::fabs(x[i]));
        const float size = std::fabs(x[d]), error = std::fabs(x[d] - rows.element(r, d));
        switch (type) {
          case FOVEA_F32: return error == 0;
          case FOVEA_F16: return error <= std::max(size * 0x1p-11f, 0x1p-25f);
          case FOVEA_BF16: return error <= size * 0x1p-8f;
          case FOVEA_I8:
          case FOVEA_Q8_0: return error <= max * (0.501f / 127);
          default: return error <= max * 0.23f;  // 1.2 / 6.8 and its rounding
        }
      }) == 0);
      for (size_t r = 0; r < count; ++r) {
        for (size_t d = dim; is_grouped(type) && has_zero(type) && d % 32 != 0; ++d) {
          padded = padded && rows.element(r, d) == 0;
        }
      }
      CHECK(padded);
      CHECK(rows.margins_intact());
      std::vector<uint8_t> written(rows.data.as<uint8_t>(), rows.data.as<uint8_t>() + rows.data.bytes());
      written.insert(written.end(), rows.scales.as<uint8_t>(), rows.scales.as<uint8_t>() + rows.scales.bytes());
      if (placement != Placement::kOffset || padding == 0) {  // else the pattern between rows is another
        if (first.empty()) first = written;
        CHECK(written == first);
      }

      rows.f32.fill();
      rows.widen(target);
      CHECK(rows.widened_wrongly() == 0);
      CHECK(rows.margins_intact());
    }
  }
}

INSIDE_CASE("formats: the table has the sizes that the header defines", "[short]") {
  CHECK(fovea::kFormatCount == kNoType);
  CHECK_FALSE(fovea::is_dtype(kNoType));
  for (const fovea_dtype type : served_types()) {
    INFO(type_name(type));
    CHECK(fovea::is_dtype(type));
    CHECK(unit_bytes(type) == unit_size(type));
    CHECK(scale_bytes(type) == scale_size(type));
    CHECK(fovea::is_unscaled(type) == (scale_size(type) == 0 && !is_block(type)));
    if (fovea::is_unscaled(type)) CHECK(fovea::unscaled_bytes(type) == unit_size(type));
    for (size_t dim = 0; dim < 600; ++dim) {
      CHECK(dense_stride(type, dim) == row_units(type, dim));
      CHECK(dense_scale_stride(type, dim) == row_scales(type, dim));
    }
  }
}

INSIDE_CASE("formats: blocks that were worked out by hand are widened to the bit, at any address", "[short]") {
  // 0x3800 is 0.5, 0xc400 is -4, 0x2e66 is 0.0999755859375, 0x0001 is 2^-24.
  struct Block {
    fovea_dtype type;
    std::vector<uint8_t> bytes;
    size_t at;
    float want;
  };
  const auto block = [](std::vector<uint8_t> head, size_t count, uint8_t first, uint8_t step) {
    for (size_t i = 0; i < count; ++i) head.push_back(uint8_t(first + i * step));
    return head;
  };
  const std::vector<uint8_t> q8 = block({0x00, 0x38}, 32, 0x80, 9), q4 = block({0x66, 0x2e}, 16, 0x10, 0x11);
  const std::vector<uint8_t> q41 = block({0x66, 0x2e, 0x00, 0xc4}, 16, 0x10, 0x11);
  const auto then = [](std::vector<uint8_t> a, const std::vector<uint8_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const std::vector<uint8_t> q2 = then(block({}, 64, 0x86, 0), {0x00, 0x38});
  const std::vector<uint8_t> xs = block({0x00, 0x38, 0x01, 0, 0x05, 0, 0, 0}, 128, 0x10, 0x11);
  const std::vector<uint8_t> q3 =
      then(block({}, 32, 1, 0), then(block({}, 64, 0xe5, 0), then(block({}, 8, 3, 0), {2, 2, 2, 2, 0x00, 0x38})));
  const std::vector<uint8_t> q5k = block({0x00, 0x38, 0x00, 0xbc, 7, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}, 160, 0x0f, 0);
  const std::vector<uint8_t> q2k =
      then({0, 0xf7, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, then(block({}, 64, 0x0b, 0), {0x00, 0x38, 0x00, 0x3c}));
  const Block blocks[] = {
      {FOVEA_Q8_0, q8, 0, -64.0f},             // 0.5 * -128
      {FOVEA_Q8_0, q8, 14, -1.0f},             // 0.5 * (-128 + 14 * 9)
      {FOVEA_Q8_0, q8, 15, 3.5f},              // 0.5 * (-128 + 15 * 9)
      {FOVEA_Q8_0, q8, 31, -52.5f},            // byte 31 is 0x97, -105
      {FOVEA_Q4_0, q4, 0, -0.7998046875f},     // 0.0999755859375 * (0 - 8)
      {FOVEA_Q4_0, q4, 8, 0.0f},               // byte 8 is 0x98
      {FOVEA_Q4_0, q4, 15, 0.6998291015625f},  // byte 15 is 0x0f
      {FOVEA_Q4_0, q4, 16, -0.6998291015625f},
      {FOVEA_Q4_0, q4, 30, 0.6998291015625f},  // byte 14 is 0xfe
      {FOVEA_Q4_0, q4, 31, -0.7998046875f},
      {FOVEA_Q4_1, q41, 0, -4.0f},
      {FOVEA_Q4_1, q41, 1, -3.9000244140625f},
      {FOVEA_Q4_1, q41, 15, -2.5003662109375f},  // 15 * 0.0999755859375 - 4
      {FOVEA_Q4_1, q41, 16, -3.9000244140625f},
      {FOVEA_Q4_1, q41, 30, -2.5003662109375f},
      {FOVEA_Q4_0, block({0x01, 0x00}, 16, 0xff, 0), 3, 7 * 0x1p-24f},
      {FOVEA_Q5_0, block({0x00, 0x38, 0x01, 0x80, 0x00, 0x80}, 16, 0x10, 0x11), 0, 0.0f},    // bit 0 is set: 16
      {FOVEA_Q5_0, block({0x00, 0x38, 0x01, 0x80, 0x00, 0x80}, 16, 0x10, 0x11), 1, -7.5f},   // 0.5 * (1 - 16)
      {FOVEA_Q5_0, block({0x00, 0x38, 0x01, 0x80, 0x00, 0x80}, 16, 0x10, 0x11), 15, 7.5f},   // byte 15 is 0x0f: 31
      {FOVEA_Q5_0, block({0x00, 0x38, 0x01, 0x80, 0x00, 0x80}, 16, 0x10, 0x11), 31, 0.0f},   // 0 and bit 31
      {FOVEA_Q5_0, block({0x00, 0x38, 0x01, 0x80, 0x00, 0x80}, 16, 0x10, 0x11), 16, -7.5f},  // byte 0 is 0x10
      {FOVEA_Q5_1, block({0x00, 0x38, 0x00, 0xc4, 0, 0, 2, 0}, 16, 0x10, 0x11), 17, 5.0f},   // 0.5 * 18 - 4
      {FOVEA_Q5_1, block({0x00, 0x38, 0x00, 0xc4, 0, 0, 2, 0}, 16, 0x10, 0x11), 2, -3.0f},
      {FOVEA_IQ4_NL, block({0x00, 0x38}, 16, 0x10, 0x11), 0, -63.5f},  // 0.5 * -127
      {FOVEA_IQ4_NL, block({0x00, 0x38}, 16, 0x10, 0x11), 15, 56.5f},
      {FOVEA_IQ4_NL, block({0x00, 0x38}, 16, 0x10, 0x11), 16, -52.0f},
      {FOVEA_MXFP4, block({0x80}, 16, 0x10, 0x11), 7, 12.0f},   // 2^0 * 12
      {FOVEA_MXFP4, block({0x7f}, 16, 0x10, 0x11), 30, -6.0f},  // byte 14 is 0xfe
      {FOVEA_MXFP4, block({0xff}, 16, 0x10, 0x11), 1, 0x1p127f},
      {FOVEA_TQ2_0, q2, 0, 0.5f},     // 0.5 * (2 - 1)
      {FOVEA_IQ4_XS, xs, 0, 698.5f},  // 0.5 * ((5 | 16) - 32) * -127
      {FOVEA_IQ4_XS, xs, 15, -621.5f},
      {FOVEA_IQ4_XS, xs, 16, 572.0f},
      {FOVEA_Q3_K, q3, 16, 1.5f},    // 0.5 * ((3 | 32) - 32) * ((1 | 4) - 4)
      {FOVEA_Q2_K, q2k, 17, -4.5f},  // 0.5 * 7 * 3 - 1 * 15
      {FOVEA_Q2_K, q2k, 0, 0.0f},    // a scale and a minimum of 0
      {FOVEA_Q5_K, q5k, 0, 110.5f},  // 0.5 * 7 * (15 | 16) + 2
      {FOVEA_Q4_1, block({0x01, 0x00, 0x01, 0x80}, 16, 0x21, 0), 3, 0.0f},
      {FOVEA_Q4_1, block({0x01, 0x00, 0x01, 0x80}, 16, 0x21, 0), 19, 0x1p-24f},
      {FOVEA_Q8_0, block({0x00, 0xfc}, 32, 5, 0), 9, -kInfinity},
      {FOVEA_Q8_0, block({0x00, 0x7c}, 32, 0, 0), 9, kNaN},
      {FOVEA_Q4_0, block({0x00, 0x7e}, 16, 0x99, 0), 20, kNaN},
      {FOVEA_Q4_1, block({0x00, 0x3c, 0x00, 0x7c}, 16, 0x99, 0), 20, kInfinity},
  };
  for (const auto& [target, b] : every(targets(), blocks)) {
    if (!fovea::format_served(b.type)) continue;
    for (const auto& [offset, dim] : every({0, 1, 2, 3}, {b.at + 1, size_t{32}})) {
      std::vector<uint8_t> bytes(offset + b.bytes.size());
      std::copy(b.bytes.begin(), b.bytes.end(), bytes.begin() + ptrdiff_t(offset));
      float got[32];
      const void* const data = bytes.data() + offset;
      fovea::weight_kernels(target).widen_weights(b.type, {1, dim, got, 32, data, 0, nullptr, 0});
      INFO(type_name(b.type) << "[" << b.at << "] of " << dim << " on " << fovea_target_name(target));
      CHECK(same_number(got[b.at] + 0.0f, b.want));
      CHECK(same_number(element_of(b.type, data, nullptr, b.at) + 0.0f, b.want));
    }
  }
}

INSIDE_CASE("formats: rows of any bytes are widened as they are defined", "[short]") {
  for (const fovea_dtype type : kTypes) {
    if (!is_grouped(type) || !fovea::format_served(type)) continue;
    for (const auto& [target, dim] : every(targets(), {1u, 17u, 32u, 45u, 64u, 71u, 128u, 256u, 553u})) {
      Rows rows(type, 9, dim, 1, Placement::kOffset);  // rows of blocks begin at odd addresses, too
      for (const Guarded* buffer : {&rows.data, &rows.scales}) {
        // A scale of MXFP4 may be subnormal: where such numbers are flushed, it is none.
        const uint8_t set = type == FOVEA_MXFP4 && flushes_subnormals(target) ? 2 : 0;
        for (size_t i = 0; i < buffer->bytes(); ++i)
          buffer->as<uint8_t>()[i] = uint8_t(random_bits(dim, i) >> 20) | set;
      }
      rows.widen(target);
      INFO(type_name(type) << " of " << dim << " on " << fovea_target_name(target));
      CHECK(rows.widened_wrongly() == 0);
    }
  }
}

INSIDE_CASE("formats: a group of q8_0 has at most half a code of error, or as much as its scale is off", "[short]") {
  if (!fovea::format_served(FOVEA_Q8_0)) return skip(kLeftOut);
  for (const fovea_target target : targets()) {
    Rows rows(FOVEA_Q8_0, 1, kScaleGroup, 0, Placement::kEnd);
    for (uint64_t group = 0; group < 3000; ++group) {
      float x[kScaleGroup], largest = 0;
      for (size_t i = 0; i < kScaleGroup; ++i) {
        x[i] = random_uniform(group, i, -1, 1) * std::ldexp(1.0f, int(group % 28) - 6);
        largest = std::max(largest, std::fabs(x[i]));
      }
      std::copy(x, x + kScaleGroup, rows.f32_row(0));
      rows.narrow(target);
      uint16_t bits;
      std::memcpy(&bits, rows.data_row(0), sizeof bits);
      const auto d = double(value_of(kF16, bits));
      REQUIRE(bits == nearest_of(kF16, largest / 127));
      size_t wrong = 0;
      for (size_t i = 0; i < kScaleGroup; ++i) {
        const double error = std::fabs(double(x[i]) - double(rows.element(0, i)));
        wrong += largest >= 0.008f && error > 0.5001 * d ? 1u : 0u;
      }
      INFO("group " << group << " on " << fovea_target_name(target));
      REQUIRE(wrong == 0);
    }
  }
}

INSIDE_CASE("formats: some elements of a row are widened as in the whole row", "[short]") {
  constexpr size_t kCount = 3, kPiece = 8;
  for (const fovea_target target : targets()) {
    for (const fovea_dtype type : served_types()) {
      INFO(type_name(type) << " on " << fovea_target_name(target));
      const size_t all = is_super(type) ? 301 : 45;
      Rows rows(type, kCount, all, 0, Placement::kOffset);
      for (size_t i = 0; i < rows.data.bytes(); ++i) rows.data.as<uint8_t>()[i] = uint8_t(37 * i % 64);
      for (size_t i = 0; i < rows.scales.bytes(); ++i) rows.scales.as<uint8_t>()[i] = uint8_t(29 * i % 64);
      rows.widen(target);
      bool same = true;
      for (size_t first = 0; first < all; first += kPiece) {
        const size_t dim = std::min(kPiece, all - first);
        Guarded piece(kCount * kPiece * sizeof(float), 4, Placement::kOffset);
        fovea::RowsToWiden part = rows.to_widen();
        part.dim = dim, part.first = first, part.out = piece.as<float>(), part.out_stride = kPiece;
        fovea::weight_kernels(target).widen_weights(type, part);
        for (size_t r = 0; r < kCount; ++r) {
          for (size_t d = 0; d < dim; ++d) {
            same = same && same_number(piece.as<float>()[r * kPiece + d], rows.f32_row(r)[first + d]);
          }
          for (size_t i = 4 * (r * kPiece + dim); i < 4 * (r + 1) * kPiece; ++i) same = same && piece.untouched(i);
        }
        CHECK(piece.margin_intact());
      }
      CHECK(same);
    }
  }
}

INSIDE_CASE("formats: every f16, bf16 and i8 is widened to the number that it is", "[short]") {
  constexpr size_t kBlock = 4096;
  for (const fovea_target target : targets()) {
    for (const fovea_dtype type : {FOVEA_F16, FOVEA_BF16}) {
      if (!fovea::format_served(type)) continue;
      for (size_t begin = 0; begin < 65536; begin += kBlock) {
        Rows rows(type, 1, kBlock, 0, Placement::kOffset);
        for (size_t i = 0; i < kBlock; ++i) rows.data.as<uint16_t>()[i] = uint16_t(begin + i);
        rows.widen(target);
        const size_t wrong = rows.wrong([&](size_t, size_t i) {
          return same_number(rows.f32_row(0)[i], float(value_of(half_of(type), uint32_t(begin + i))));
        });
        INFO(type_name(type) << " from " << begin << " on " << fovea_target_name(target));
        CHECK(wrong == 0);
      }
    }
    if (fovea::format_served(FOVEA_I8)) {
      Rows rows(FOVEA_I8, 3, 256, 1, Placement::kOffset);
      const float scales[] = {1.0f, 0.37f, kNaN};
      for (size_t r = 0; r < 3; ++r) {
        rows.scales.as<float>()[r * rows.scale_stride] = scales[r];
        for (size_t i = 0; i < 256; ++i) rows.data.as<uint8_t>()[r * rows.stride + i] = uint8_t(i);
      }
      rows.widen(target);
      const size_t wrong = rows.wrong(
          [&](size_t r, size_t i) { return same_number(rows.f32_row(r)[i], scales[r] * float(int8_t(uint8_t(i)))); });
      INFO(fovea_target_name(target));
      CHECK(wrong == 0);
    }
  }
}

// Narrows all floats of a block on each target and compares.
class NearestCheck {
 public:
  explicit NearestCheck(fovea_dtype type) : type_(type), rows_(type, 1, kBlock, 0, Placement::kEnd) {}
  void push(uint32_t bits) {
    rows_.f32_row(0)[count_++] = float_of(bits);
    if (count_ == kBlock) check();
  }
  void check() {
    for (size_t i = count_; i < kBlock; ++i) rows_.f32_row(0)[i] = 0;
    uint16_t wanted[kBlock];
    for (size_t i = 0; i < kBlock; ++i) wanted[i] = uint16_t(nearest_of(half_of(type_), rows_.f32_row(0)[i]));
    for (const fovea_target target : targets()) {
      rows_.narrow(target);
      for (size_t i = 0; i < kBlock; ++i) {
        if (same_half(half_of(type_), rows_.data.as<uint16_t>()[i], wanted[i])) continue;
        if (wrong_++ == 0) wrong_at_ = rows_.f32_row(0)[i];
      }
    }
    count_ = 0;
  }
  size_t wrong() const { return wrong_; }
  float wrong_at() const { return wrong_at_; }

 private:
  static constexpr size_t kBlock = 1024;
  fovea_dtype type_;
  Rows rows_;
  size_t count_ = 0, wrong_ = 0;
  float wrong_at_ = 0;
};

void check_nearest(uint64_t step) {
  for (const fovea_dtype type : {FOVEA_F16, FOVEA_BF16}) {
    if (!fovea::format_served(type)) continue;
    const Half format = half_of(type);
    NearestCheck check(type);
    for (uint64_t bits = 0; bits <= 0xffffffffu; bits += step) check.push(uint32_t(bits));
    // Each number of the format, the place half-way to the next, which a float holds, and the floats beside it.
    const uint32_t infinite = nearest_of(format, kInfinity);
    for (uint32_t half = 0; half < infinite; ++half) {
      const double here = value_of(format, half);
      const double next = half + 1 < infinite ? value_of(format, half + 1) : 2 * here - value_of(format, half - 1);
      const uint32_t between = bits_of(float((here + next) / 2));
      for (const uint32_t sign : {0u, 0x80000000u}) {
        check.push(bits_of(float(here)) | sign);
        for (uint32_t bits = between - 1; bits != between + 2; ++bits) check.push(bits | sign);
      }
    }
    for (const float x : {kInfinity, kNaN, FLT_MAX, FLT_MIN, FLT_TRUE_MIN}) {
      check.push(bits_of(x));
      check.push(bits_of(-x));
    }
    for (const uint32_t signalling : {0x7f800001u, 0xff800001u, 0x7fbfffffu, 0xffbfffffu}) check.push(signalling);
    check.check();
    INFO(type_name(type) << ", first wrong at " << check.wrong_at());
    CHECK(check.wrong() == 0);
  }
}

INSIDE_CASE("formats: f32 is narrowed to the nearest f16 and bf16, on samples of floats and at every tie", "[short]") {
  check_nearest(65521);
}

INSIDE_CASE("formats: f32 is narrowed to the nearest f16 and bf16, on many floats", "[slow]") { check_nearest(251); }

INSIDE_CASE("formats: i8 is the nearest of 255 codes", "[short]") {
  if (!fovea::format_served(FOVEA_I8)) return skip(kLeftOut);
  for (const fovea_target target : targets()) {
    Rows rows(FOVEA_I8, 8, 129, 3, Placement::kOffset);
    for (size_t r = 0; r < rows.rows; ++r) {
      // Of a maximum of 127 the codes are the numbers themselves: ties, too.
      const float unit = std::ldexp(1.0f, int(r) * 30 - 110);
      for (size_t d = 0; d < rows.dim; ++d) rows.f32_row(r)[d] = unit * (random_uniform(r, d, -127, 127));
      rows.f32_row(r)[5] = unit * 127;
      for (size_t d = 6; d < 40; ++d) rows.f32_row(r)[d] = unit * (float(d) - 20.5f);
    }
    rows.narrow(target);
    const size_t wrong = rows.wrong([&](size_t r, size_t d) {
      const float unit = std::ldexp(1.0f, int(r) * 30 - 110), code = std::nearbyint(rows.f32_row(r)[d] / unit);
      return rows.scale(r) == unit && float(reinterpret_cast<const int8_t*>(rows.data_row(r))[d]) == code;
    });
    INFO(fovea_target_name(target));
    CHECK(wrong == 0);
  }
}

INSIDE_CASE("formats: a finite row of i8 is within half its scale, from the least numbers to the largest", "[short]") {
  if (!fovea::format_served(FOVEA_I8)) return skip(kLeftOut);
  std::vector<float> largest = {0, FLT_TRUE_MIN, FLT_MIN, 127 * FLT_MIN, 0x1p-120f, 0x1p-119f, 0x1p-118f};
  for (int exponent = -149; exponent < 128; exponent += 3) largest.push_back(std::ldexp(1.37f, exponent));
  for (float x = FLT_MAX; largest.size() < 400; x = std::nextafter(x, 0.0f)) largest.push_back(x);
  for (const fovea_target target : targets()) {
    const double least = flushes_subnormals(target) ? double{FLT_MIN} : 0.0;
    Rows rows(FOVEA_I8, largest.size(), 67, 1, Placement::kEnd);
    for (size_t r = 0; r < rows.rows; ++r) {
      for (size_t d = 0; d < rows.dim; ++d) rows.f32_row(r)[d] = largest[r] * random_uniform(r, d, -1, 1);
      rows.f32_row(r)[r % rows.dim] = r % 2 == 0 ? largest[r] : -largest[r];
    }
    const std::vector<float> x(rows.f32.as<float>(), rows.f32.as<float>() + rows.f32.bytes() / 4);
    rows.narrow(target);
    rows.widen(target);
    for (size_t r = 0; r < rows.rows; ++r) {
      const float scale = rows.scale(r);
      INFO("largest " << largest[r] << ", scale " << scale << " on " << fovea_target_name(target));
      size_t wrong = 0;
      int most = 0;
      for (size_t d = 0; d < rows.dim; ++d) {
        const double wanted = double{x[r * rows.f32_stride + d]};
        const double error = std::fabs(wanted - double{rows.f32_row(r)[d]});
        if (!(error <= 0.5001 * double{scale}) && !(std::fabs(wanted) < least)) ++wrong;
        most = std::max(most, std::abs(int{reinterpret_cast<const int8_t*>(rows.data_row(r))[d]}));
      }
      CHECK(wrong == 0);
      CHECK((most == 127 || (largest[r] < 127 * FLT_MIN && most < 127)));
      CHECK(scale >= FLT_MIN);
    }
  }
}

INSIDE_CASE("formats: what is not finite, too large or too small for a scale", "[short]") {
  struct Planted {
    float x;
    bool i8_nan, i4_nan;    // the row, or the group, reads as NaN
    bool i8_zero, i4_zero;  // or as zeros, if there is nothing else in it
  };
  const Planted kPlanted[] = {
      {kNaN, true, true, false, false},       {-kNaN, true, true, false, false},
      {kInfinity, true, true, false, false},  {-kInfinity, true, true, false, false},
      {1.8e37f, false, false, false, false},  {-3.4e38f, false, false, false, false},
      {4e5f, false, false, false, false},     {0x1p-118f, false, false, false, true},
      {0x1p-120f, false, false, false, true}, {FLT_TRUE_MIN, false, false, true, true},
      {0.0f, false, false, true, true},       {-0.0f, false, false, true, true},
  };
  for (const auto& [target, type] : every(targets(), kTypes)) {
    if (!is_written(type) || fovea::is_unscaled(type)) continue;
    for (const auto& [planted, place] : every(kPlanted, {size_t{0}, size_t{37}, size_t{63}, size_t{66}})) {
      Rows rows(type, 3, 67, 1, Placement::kEnd);
      for (const auto& [r, d] : indices<size_t>(3, rows.dim)) rows.f32_row(r)[d] = r == 1 ? 0.0f : 1.0f;
      rows.f32_row(1)[place] = planted.x;
      rows.narrow(target);
      rows.widen(target);
      size_t wrong = 0;
      for (size_t d = 0; d < rows.dim; ++d) {
        const bool here = type == FOVEA_I8 || d / 32 == place / 32;  // shares the scale
        const bool is_nan = here && (type == FOVEA_I8 ? planted.i8_nan : planted.i4_nan);
        const bool is_zero = !here || d != place || (type == FOVEA_I8 ? planted.i8_zero : planted.i4_zero);
        const float got = rows.f32_row(1)[d];
        const float most = type == FOVEA_I8 ? FLT_MAX : float(largest_code(type)) * 65504.0f;
        const float wanted = std::max(has_least(type) ? -65504.0f : -most, std::min(planted.x, most));
        const float slack = here && !has_zero(type) && !planted.i4_zero ? 0.01f * std::fabs(wanted) : 0.0f;
        const bool right = is_nan    ? got != got
                           : is_zero ? std::fabs(got) <= slack
                                     : std::fabs(got / wanted - 1) < 0.01f;
        wrong += right ? 0u : 1u;
        wrong += std::fabs(rows.f32_row(0)[d] - 1) < 0.002f && rows.f32_row(2)[d] == rows.f32_row(0)[d] ? 0u : 1u;
        const uint8_t* const row = rows.data_row(1);
        const int code = type == FOVEA_I8 ? int8_t(row[d]) : group_code(type, row + d / 32 * group_bytes(type), d % 32);
        wrong += is_nan && code != (type == FOVEA_IQ4_NL ? 1 : 0) ? 1u : 0u;
      }
      INFO(type_name(type) << " with " << planted.x << " at " << place << " on " << fovea_target_name(target));
      CHECK(wrong == 0);
    }
  }
}

INSIDE_CASE("formats: what no scale of i4 reaches becomes the nearest that the largest scale does", "[short]") {
  if (!fovea::format_served(FOVEA_I4)) return skip(kLeftOut);
  for (const auto& [target, largest, sign] :
       every(targets(), {8e5f, 1e7f, 0x1p99f, 0x1p100f, 0x1p101f, 0x1p126f, FLT_MAX}, {1.0f, -1.0f})) {
    Rows rows(FOVEA_I4, 1, kScaleGroup, 0, Placement::kEnd);
    float* const x = rows.f32_row(0);
    for (size_t d = 0; d < kScaleGroup; ++d) x[d] = sign * random_uniform(3, d, -6e5f, 5.2e5f);
    x[3] = sign * largest, x[17] = -sign * 65504.0f, x[31] = sign * 1000.0f, x[30] = -sign * largest / 2;
    const std::vector<float> before(x, x + kScaleGroup);
    rows.narrow(target);
    rows.widen(target);
    size_t wrong = 0;
    for (size_t d = 0; d < kScaleGroup; ++d) {
      const float wanted = std::max(-7.0f, std::min(std::nearbyint(sign * before[d] / 65504.0f), 8.0f));
      wrong += rows.f32_row(0)[d] == sign * wanted * 65504.0f ? 0u : 1u;
    }
    INFO("largest " << sign * largest << " on " << fovea_target_name(target));
    CHECK(wrong == 0);
  }
}

INSIDE_CASE("formats: no group has more squared error than with the simplest scale", "[short]") {
  for (const auto& [target, type] : every(targets(), kTypes)) {
    if (!is_written(type) || !is_grouped(type)) continue;
    Rows rows(type, 1, kScaleGroup, 0, Placement::kEnd);
    size_t worse = 0;
    for (uint64_t group = 0; group < 2000; ++group) {
      float x[kScaleGroup], reference[kScaleGroup];
      for (size_t i = 0; i < kScaleGroup; ++i) {
        const float value = group % 3 == 0 ? random_uniform(group, i, -1, 1) : normal(group, i);
        x[i] = value * (group % 7 == 0 && i == group % 32 ? 20.0f : 1.0f) * std::ldexp(1.0f, int(group % 20) - 10);
        if (group % 5 == 0) x[i] += std::ldexp(3.0f, int(group % 20) - 10);
      }
      std::copy(x, x + kScaleGroup, rows.f32_row(0));
      rows.narrow(target);
      rows.widen(target);
      through(type == FOVEA_I4 ? FOVEA_Q4_0 : type, x, reference);
      // What rounding the scale to f16 may add.
      const double slack = 1e-6 * squared_error(x, nullptr, kScaleGroup);
      worse +=
          squared_error(x, rows.f32_row(0), kScaleGroup) > squared_error(x, reference, kScaleGroup) + slack ? 1u : 0u;
    }
    INFO(type_name(type) << " on " << fovea_target_name(target));
    CHECK(worse == 0);
  }
}

// Normalised mean square error: sum (x - y)^2 / sum x^2, of rows of 128 normally distributed elements, some of which
// are larger. i4 beats q4_0, which has the same bits. i8 has one scale a row instead of one for 32 elements: a quarter
// of the scales, and for it more error than q8_0.
struct Distribution {
  const char* name;
  double outliers;             // share of elements
  float factor;                // they are larger by
  double i8_most, i8_to_q8_0;  // largest error, and relative to that of q8_0
  double i4_most, i4_to_q4_0;
};
const Distribution kDistributions[] = {
    {"normal", 0.0, 1, 4.4e-5, 1.50, 0.0070, 0.91},   {"0.1% x 10", 0.001, 10, 1.1e-4, 2.6, 0.0097, 0.94},
    {"1% x 10", 0.01, 10, 3.1e-4, 3.4, 0.0210, 0.96}, {"0.1% x 50", 0.001, 50, 6.5e-4, 4.6, 0.0100, 0.99},
    {"1% x 50", 0.01, 50, 6.0e-4, 3.9, 0.0090, 0.99},
};

void check_squared_error(size_t count, bool print) {
  constexpr size_t kDim = 128;
  const fovea_target target = fovea_target_at(0);  // all write the same bits
  for (const Distribution& distribution : kDistributions) {
    double power = 0, errors[4] = {};  // i8, q8_0, i4, q4_0
    Rows i8(FOVEA_I8, 1, kDim, 0, Placement::kEnd), i4(FOVEA_I4, 1, kDim, 0, Placement::kEnd);
    for (size_t r = 0; r < count; ++r) {
      float x[kDim], y[kDim];
      for (size_t d = 0; d < kDim; ++d) {
        const double u = double(random_bits(99, r * kDim + d) >> 12) * 0x1p-52;
        x[d] = normal(5, r * kDim + d) * (u < distribution.outliers ? distribution.factor : 1.0f);
      }
      power += squared_error(x, nullptr, kDim);
      for (size_t d = 0; d < kDim; d += 32) through(FOVEA_Q8_0, x + d, y + d);
      errors[1] += squared_error(x, y, kDim);
      for (size_t d = 0; d < kDim; d += 32) through(FOVEA_Q4_0, x + d, y + d);
      errors[3] += squared_error(x, y, kDim);
      const Rows* const rows[] = {&i8, &i4};
      for (size_t k = 0; k < 2; ++k) {
        if (!fovea::format_served(rows[k]->type)) continue;
        std::copy(x, x + kDim, rows[k]->f32_row(0));
        rows[k]->narrow(target);
        rows[k]->widen(target);
        errors[2 * k] += squared_error(x, rows[k]->f32_row(0), kDim);
      }
    }
    INFO(distribution.name << ": i8 " << errors[0] / power << " q8_0 " << errors[1] / power << " i4 "
                           << errors[2] / power << " q4_0 " << errors[3] / power);
    if (print) {
      std::printf("%-10s i8 %.3g, q8_0 %.3g (%.2f times), i4 %.5f, q4_0 %.5f (%.3f times)\n", distribution.name,
                  errors[0] / power, errors[1] / power, errors[0] / errors[1], errors[2] / power, errors[3] / power,
                  errors[2] / errors[3]);
    }
    CHECK(errors[0] <= distribution.i8_most * power);
    CHECK(errors[0] <= distribution.i8_to_q8_0 * errors[1]);
    CHECK(errors[2] <= distribution.i4_most * power);
    CHECK(errors[2] <= distribution.i4_to_q4_0 * errors[3]);
  }
}

}  // namespace

INSIDE_CASE("formats: the squared error of i8 and i4, beside q8_0 and q4_0", "[short]") {
  check_squared_error(500, false);
}
INSIDE_CASE("formats: the squared error of i8 and i4, on many rows", "[slow]") { check_squared_error(20000, true); }

INSIDE_CASE("formats: a dot product that reads a row in registers is that with the widened row", "[short]") {
  const size_t dims[] = {1, 4, 7, 16, 24, 31, 32, 33, 48, 64, 72, 80, 128, 131};
  for (const auto& [target, type, dim] : every(targets(), kKeyTypes, dims)) {
    const Rows rows(type, 1, dim, 0, Placement::kEnd);
    const Guarded q(4 * dim, 4, Placement::kEnd);
    for (size_t d = 0; d < dim; ++d) {
      rows.f32_row(0)[d] = normal(dim, d);
      q.as<float>()[d] = normal(dim + 1000, d);
    }
    set_current_case(name(rows, Placement::kEnd, target));
    if (!fovea::format_served(type)) continue;
    rows.narrow(fovea_target_at(0));
    double wanted = 0, magnitude = 0;
    for (size_t d = 0; d < dim; ++d) {
      const double product = double(q.as<float>()[d]) * double(rows.element(0, d));
      wanted += product;
      magnitude += std::fabs(product);
    }
    const float got =
        fovea::simd_tests(target).dot(type, q.as<float>(), rows.data.as<void>(), rows.scales.as<void>(), dim);
    INFO(type_name(type) << " of " << dim << " on " << fovea_target_name(target));
    CHECK(std::fabs(double(got) - wanted) <= magnitude * double(FLT_EPSILON) * 4);
  }
}

}  // namespace fovea_test
