// SPDX-License-Identifier: Apache-2.0
//
// ONNX QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear as the functions of quantize.h. ONNX's codes here are
// uint8: those of fovea, and their zero points, are 128 less.
#include <cmath>
#include <cstdlib>
#include <memory>

#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

constexpr int64_t kOffset = 128;

// Which elements share a scale: all, those at one place of the axis, or blocks along it.
struct Scales {
  const Tensor &scale, &zero;
  std::vector<size_t> of_element;  // the place in `scale` of each element's scale

  explicit Scales(const Case& test) : scale(test.required_input(1)), zero(test.required_input(2)) {
    const Tensor& x = test.required_input(0);
    if (scale.dtype != DType::kF32 || zero.dtype != DType::kI64 || zero.shape != scale.shape) {
      throw Error("scales or zero points of these types or shapes");
    }
    const size_t count = element_count(x.shape);
    if (element_count(scale.shape) == 1) {
      of_element.assign(count, 0);
      return;
    }
    const Split split = split_at(x.shape, test.integer("axis", 1));
    const bool blocked = scale.shape.size() > 1;
    const auto block = blocked ? static_cast<size_t>(test.integer("block_size", 0)) : size_t{1};
    if (block == 0 || element_count(scale.shape) * block != (blocked ? count : split.count)) {
      throw Error("scales of shape " + to_string(scale.shape));
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t inner = i % split.inner, along = i / split.inner % split.count,
                   outer = i / split.inner / split.count;
      of_element.push_back(blocked ? (outer * split.count + along) / block * split.inner + inner : along);
    }
  }
  // Calls convert(elements, scale, zero) for the places of all elements of each scale.
  template <class Convert>
  void each(Convert convert) const {
    for (size_t s = 0; s < scale.floats.size(); ++s) {
      std::vector<size_t> places;
      for (size_t i = 0; i < of_element.size(); ++i) {
        if (of_element[i] == s) places.push_back(i);
      }
      convert(places, scale.floats[s], static_cast<int32_t>(zero.ints[s] - kOffset));
    }
  }
};

// Whether a number is halfway between two codes, but for the rounding of the scale: then either may be its code.
bool is_tie(float x, float scale) {
  const double quotient = static_cast<double>(x) / scale;
  return std::fabs(std::fabs(quotient - std::floor(quotient)) - 0.5) < 1e-5;
}

}  // namespace

void run_quantize(const Case& test, fovea_target, Verdict* verdict) {
  const Tensor& x = test.required_input(0);
  if (x.dtype != DType::kF32) throw Error("input of this type");
  std::vector<int64_t> y(x.floats.size());
  Scales(test).each([&](const std::vector<size_t>& places, float scale, int32_t zero) {
    std::vector<float> from;
    for (const size_t place : places) from.push_back(x.floats[place]);
    std::vector<int8_t> codes(from.size());
    verdict->accept(fovea_quantize_to_i8(from.data(), from.size(), scale, zero, codes.data()), "fovea_quantize_to_i8",
                    "any target");
    for (size_t i = 0; i < places.size(); ++i) y[places[i]] = codes[i] + kOffset;
  });
  verdict->compare(y, test.required_output(0), "y", "any target");
}

void run_dequantize(const Case& test, fovea_target, Verdict* verdict) {
  const Tensor& x = test.required_input(0);
  if (x.dtype != DType::kI64) throw Error("input of this type");
  std::vector<float> y(x.ints.size(), kUnwritten);
  Scales(test).each([&](const std::vector<size_t>& places, float scale, int32_t zero) {
    std::vector<int8_t> codes;
    for (const size_t place : places) codes.push_back(static_cast<int8_t>(x.ints[place] - kOffset));
    std::vector<float> to(codes.size(), kUnwritten);
    verdict->accept(fovea_quantize_from_i8(codes.data(), codes.size(), scale, zero, to.data()),
                    "fovea_quantize_from_i8", "any target");
    for (size_t i = 0; i < places.size(); ++i) y[places[i]] = to[i];
  });
  verdict->compare(y, test.required_output(0), "y", "any target");
}

// The range of the tensor itself, with all of its numbers kept.
void run_dynamic_quantize(const Case& test, fovea_target, Verdict* verdict) {
  const Tensor& x = test.required_input(0);
  if (x.dtype != DType::kF32) throw Error("input of this type");
  auto range = std::make_unique<fovea_quantize_range>();
  range->struct_bytes = sizeof *range;
  float scale = 0;
  int32_t zero = 0;
  std::vector<int8_t> codes(x.floats.size());
  const char* const where = "any target";
  verdict->accept(fovea_quantize_observe(range.get(), x.floats.data(), x.floats.size()), "fovea_quantize_observe",
                  where);
  verdict->accept(fovea_quantize_choose(range.get(), 1, 1, &scale, &zero), "fovea_quantize_choose", where);
  verdict->accept(fovea_quantize_to_i8(x.floats.data(), codes.size(), scale, zero, codes.data()),
                  "fovea_quantize_to_i8", where);
  std::vector<int64_t> y;
  const Tensor& want = test.required_output(0);
  for (size_t i = 0; i < codes.size() && i < want.ints.size(); ++i) {
    const int64_t code = codes[i] + kOffset;
    y.push_back(std::abs(code - want.ints[i]) == 1 && is_tie(x.floats[i], scale) ? want.ints[i] : code);
  }
  verdict->compare(y, want, "y", where);
  verdict->compare(std::vector<float>{scale}, test.required_output(1), "y_scale", where);
  verdict->compare(std::vector<int64_t>{zero + kOffset}, test.required_output(2), "y_zero_point", where);
}

}  // namespace fovea_onnx
