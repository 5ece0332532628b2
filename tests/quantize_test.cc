// SPDX-License-Identifier: Apache-2.0
//
// Calibration: scales and zero points from numbers, their conversion to codes and back, and the centre of keys.
#include <cfloat>
#include <memory>

#include "support/test.h"

namespace fovea_test {
namespace {

// A range is too large for the stack of a board.
using Range = std::unique_ptr<fovea_quantize_range>;

Range empty_range() {
  auto range = std::make_unique<fovea_quantize_range>();
  range->struct_bytes = sizeof *range;
  return range;
}
Range range_of(const std::vector<float>& numbers) {
  auto range = empty_range();
  REQUIRE(fovea_quantize_observe(range.get(), numbers.data(), numbers.size()) == FOVEA_OK);
  return range;
}

struct Choice {
  float scale = -1;
  int32_t zero = 1000;
};
Choice choose(const Range& range, float fraction, bool asymmetric) {
  Choice choice;
  REQUIRE(fovea_quantize_choose(range.get(), fraction, asymmetric ? 1 : 0, &choice.scale, &choice.zero) == FOVEA_OK);
  return choice;
}

std::vector<float> normal_numbers(size_t count, float factor, float offset) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = factor * random_normal(3, i) + offset;
  return numbers;
}

}  // namespace

TEST_CASE("quantize: the largest magnitude or the range decides", "[short]") {
  const std::vector<float> numbers = {0.5f, -3.0f, 2.0f, 0.0f};
  const Range range = range_of(numbers);
  CHECK(range->count == 4);
  CHECK(range->least == -3.0f);
  CHECK(range->most == 2.0f);
  const Choice symmetric = choose(range, 1, false), asymmetric = choose(range, 1, true);
  CHECK(symmetric.scale == 3.0f / 127);
  CHECK(symmetric.zero == 0);
  CHECK(std::fabs(asymmetric.scale - 5.0f / 255) < 1e-8f);
  CHECK(asymmetric.zero == 25);  // -128 + 3 / 5 * 255
  for (const Choice& choice : {symmetric, asymmetric}) {
    std::vector<int8_t> codes(4);
    std::vector<float> back(4);
    REQUIRE(fovea_quantize_to_i8(numbers.data(), 4, choice.scale, choice.zero, codes.data()) == FOVEA_OK);
    REQUIRE(fovea_quantize_from_i8(codes.data(), 4, choice.scale, choice.zero, back.data()) == FOVEA_OK);
    for (size_t i = 0; i < 4; ++i) CHECK(std::fabs(back[i] - numbers[i]) <= choice.scale * 0.5001f);
    CHECK(back[3] == 0.0f);
  }
}

TEST_CASE("quantize: a range of positive numbers begins at 0, and no numbers have a scale of 1", "[short]") {
  const Choice positive = choose(range_of({3.0f, 5.1f}), 1, true);
  CHECK(positive.zero == -128);
  CHECK(positive.scale == 5.1f / 255);
  CHECK(choose(range_of({-5.1f}), 1, true).zero == 127);
  for (const std::vector<float>& none : {std::vector<float>{}, std::vector<float>{0.0f, -0.0f}}) {
    CHECK(choose(range_of(none), 0.5f, true).scale == 1.0f);
    CHECK(choose(range_of(none), 1, false).zero == 0);
  }
  CHECK(choose(range_of({1e-44f}), 1, false).scale == FLT_MIN);
  CHECK(std::isfinite(choose(range_of({FLT_MAX, -FLT_MAX}), 1, true).scale));
}

TEST_CASE("quantize: a fraction leaves out the largest numbers", "[short]") {
  std::vector<float> numbers = normal_numbers(10000, 1, 0);
  for (size_t i = 0; i < 10; ++i) numbers[i * 900] = i % 2 == 0 ? 500.0f : -400.0f;
  const Range range = range_of(numbers);
  CHECK(choose(range, 1, false).scale == 500.0f / 127);
  const Choice most = choose(range, 0.999f, false), both = choose(range, 0.999f, true);
  // Ten numbers may be left out. Of the others the largest is at most 3.5, and a bin is at most a 512th of 500.
  CHECK(most.scale < (3.5f + 1.0f) / 127);
  CHECK(both.scale < (7.0f + 2.0f) / 255);
  CHECK(choose(range, 0.9996f, false).scale > 400.0f / 128);  // four may be left out, all of them 500
  CHECK(choose(range, 0.9996f, true).scale > 400.0f / 255);
  size_t saturated = 0;
  for (const float x : numbers) saturated += std::fabs(x) > most.scale * 127.5f ? 1 : 0;
  CHECK(saturated <= 10);
}

TEST_CASE("quantize: a fraction of few numbers is rounded up", "[short]") {
  std::vector<float> numbers = normal_numbers(99, 1, 0);
  numbers.push_back(1000.0f);
  CHECK(choose(range_of(numbers), 0.9999f, false).scale == 1000.0f / 127);
  CHECK(choose(range_of({1e-6f, 2e-6f, 3e-6f}), 0.3f, false).scale < 1e-6f);
}

TEST_CASE("quantize: numbers that are nothing beside the largest keep their sign", "[short]") {
  // Two of the three must not saturate: the small ones, which come when bins are wide already.
  const std::vector<float> numbers = {-5e32f, -1e-20f, 1e-20f};
  const Choice choice = choose(range_of(numbers), 0.6f, true);
  const auto code = [&](float x) { return x / choice.scale + float(choice.zero); };
  CHECK(code(-1e-20f) > -128.6f);
  CHECK(code(1e-20f) < 127.6f);
}

TEST_CASE("quantize: numbers may come in any pieces and of any size", "[short]") {
  std::vector<float> numbers = normal_numbers(3000, 1e-3f, 5e-4f);
  for (size_t i = 2000; i < 3000; ++i) numbers[i] *= 3e4f;  // bins become wider on the way
  const Range pieces = empty_range();
  for (size_t first = 0; first < numbers.size(); first += 7) {
    const size_t count = std::min<size_t>(7, numbers.size() - first);
    REQUIRE(fovea_quantize_observe(pieces.get(), &numbers[first], count) == FOVEA_OK);
  }
  const Range whole = range_of(numbers);
  CHECK(std::memcmp(whole.get(), pieces.get(), sizeof *whole) == 0);
  uint64_t counted = 0;
  for (const uint64_t bin : whole->bins) counted += bin;
  CHECK(counted == numbers.size());
  bool right = true;
  for (size_t bin = 0; bin < FOVEA_QUANTIZE_BINS; ++bin) {
    const float low = (float(bin) - FOVEA_QUANTIZE_BINS / 2) * whole->width, high = low + whole->width;
    uint64_t inside = 0;
    for (const float x : numbers) inside += x >= low && x < high ? 1 : 0;
    right = right && inside == whole->bins[bin];
  }
  CHECK(right);
}

TEST_CASE("quantize: codes are the nearest, ties to even, and saturate", "[short]") {
  const float x[] = {0.5f, 1.5f, -0.5f, -2.5f, 127.5f, 1e30f, -1e30f, kInfinity, -kInfinity, kNaN, -128.0f, 126.4f};
  const int8_t want[] = {0, 2, 0, -2, 127, 127, -128, 127, -128, 0, -128, 126};
  int8_t codes[12];
  REQUIRE(fovea_quantize_to_i8(x, 12, 1.0f, 0, codes) == FOVEA_OK);
  CHECK(std::memcmp(codes, want, 12) == 0);
  REQUIRE(fovea_quantize_to_i8(x, 12, 1.0f, 3, codes) == FOVEA_OK);
  CHECK(codes[0] == 3);
  CHECK(codes[9] == 3);
  CHECK(codes[10] == -125);
}

TEST_CASE("quantize: every misuse has its status and writes nothing", "[short]") {
  const Range range = std::make_unique<fovea_quantize_range>();
  const float numbers[] = {1.0f, kNaN, kInfinity};
  float scale = -1;
  int32_t zero = 1000;
  CHECK(fovea_quantize_observe(nullptr, numbers, 1) == FOVEA_ERR_NULL);
  CHECK(fovea_quantize_observe(range.get(), numbers, 1) == FOVEA_ERR_STRUCT);
  CHECK(fovea_quantize_choose(range.get(), 1, 0, &scale, &zero) == FOVEA_ERR_STRUCT);
  range->struct_bytes = sizeof *range;
  const Range empty = empty_range();
  CHECK(fovea_quantize_observe(range.get(), nullptr, 1) == FOVEA_ERR_NULL);
  CHECK(fovea_quantize_observe(range.get(), numbers, 2) == FOVEA_ERR_NUMBER);
  CHECK(fovea_quantize_observe(range.get(), numbers + 2, 1) == FOVEA_ERR_NUMBER);
  CHECK(std::memcmp(range.get(), empty.get(), sizeof *range) == 0);
  CHECK(fovea_quantize_choose(nullptr, 1, 0, &scale, &zero) == FOVEA_ERR_NULL);
  CHECK(fovea_quantize_choose(range.get(), 1, 0, nullptr, &zero) == FOVEA_ERR_NULL);
  CHECK(fovea_quantize_choose(range.get(), 1, 0, &scale, nullptr) == FOVEA_ERR_NULL);
  for (const float fraction : {0.0f, -1.0f, 1.01f, kNaN}) {
    CHECK(fovea_quantize_choose(range.get(), fraction, 0, &scale, &zero) == FOVEA_ERR_NUMBER);
  }
  CHECK(scale == -1);
  CHECK(zero == 1000);

  float x[4] = {1, 2, 3, 4};
  int8_t codes[4] = {9, 9, 9, 9};
  for (const float wrong : {0.0f, -1.0f, 1e-39f, kInfinity, kNaN}) {
    CHECK(fovea_quantize_to_i8(x, 4, wrong, 0, codes) == FOVEA_ERR_NUMBER);
    CHECK(fovea_quantize_from_i8(codes, 4, wrong, 0, x) == FOVEA_ERR_NUMBER);
  }
  for (const int32_t wrong : {-129, 128}) {
    CHECK(fovea_quantize_to_i8(x, 4, 1, wrong, codes) == FOVEA_ERR_NUMBER);
    CHECK(fovea_quantize_from_i8(codes, 4, 1, wrong, x) == FOVEA_ERR_NUMBER);
  }
  CHECK(fovea_quantize_to_i8(nullptr, 4, 1, 0, codes) == FOVEA_ERR_NULL);
  CHECK(fovea_quantize_to_i8(x, 4, 1, 0, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_quantize_to_i8(x, 4, 1, 0, reinterpret_cast<int8_t*>(x)) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_quantize_from_i8(reinterpret_cast<int8_t*>(x) + 3, 4, 1, 0, x) == FOVEA_ERR_OVERLAP);
  CHECK(x[1] == 2);
  CHECK(codes[3] == 9);
}

TEST_CASE("quantize: rows are written one after another, in every format of keys and q4_1", "[short]") {
  constexpr size_t kRows = 3, kDim = 77;
  std::vector<float> x = normal_numbers(kRows * kDim, 1, 5);
  for (const fovea_dtype type : kTypes) {
    INFO(type_name(type));
    const size_t row = row_units(type, kDim) * unit_size(type), scale_row = row_scales(type, kDim) * scale_size(type);
    const Guarded data(kRows * row, unit_size(type), Placement::kEnd), scales(kRows * scale_row, 4, Placement::kEnd);
    const auto write = [&](const float* from, size_t dim, fovea_dtype as, void* to) {
      return fovea_quantize_rows(from, kRows, dim, as, to, scale_row != 0 ? scales.as<void>() : nullptr);
    };
    CHECK(write(x.data(), 0, type, data.as<void>()) != FOVEA_OK);
    CHECK(write(x.data(), kDim, kNoType, data.as<void>()) == FOVEA_ERR_ENUM);
    const fovea_status status = is_key(type) || type == FOVEA_Q4_1 ? FOVEA_OK : FOVEA_ERR_UNSUPPORTED;
    if (status == FOVEA_OK) {
      CHECK(write(nullptr, kDim, type, data.as<void>()) == FOVEA_ERR_NULL);
      CHECK(write(x.data(), kDim, type, nullptr) == FOVEA_ERR_NULL);
      CHECK(write(x.data(), kDim, type, x.data()) == FOVEA_ERR_OVERLAP);
      CHECK(write(x.data(), 0, type, data.as<void>()) == FOVEA_ERR_DIM);
      if (scale_row != 0) {
        CHECK(fovea_quantize_rows(x.data(), kRows, kDim, type, data.as<void>(), nullptr) == FOVEA_ERR_NULL);
      }
    }
    CHECK((data.untouched() && scales.untouched()));
    CHECK(write(x.data(), kDim, type, data.as<void>()) == status);
    CHECK((data.margin_intact() && scales.margin_intact() && data.untouched() == (status != FOVEA_OK)));
    size_t wrong = 0;
    for (const auto& [r, d] : indices<size_t>(status == FOVEA_OK ? kRows : 0, kDim)) {
      const char* const scale = scales.as<char>() + r * scale_row;
      wrong += !(std::fabs(element_of(type, data.as<char>() + r * row, scale, d) - x[r * kDim + d]) < 0.7f);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("quantize: the centre of keys is their mean, over any number of calls", "[short]") {
  constexpr uint32_t kHeads = 2, kDim = 5, kTokens = 40;
  const std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 1, 3);
  fovea_in array = {keys.data(), kHeads * kTokens * kDim, kTokens * kDim, kDim};
  float center[kHeads * kDim], parts[kHeads * kDim];
  uint64_t count = 0, counted = 0;
  std::memset(center, 0xff, sizeof center);
  REQUIRE(fovea_kv_center(center, &count, &array, 2, kHeads, kTokens, kDim) == FOVEA_OK);
  CHECK(count == 80);
  for (const auto& [h, d] : indices(kHeads, kDim)) {
    double sum = 0;
    for (const auto& [b, t] : indices(2, kTokens)) sum += double{row(array, b, h, t)[d]};
    CHECK(close(center[h * kDim + d], sum / 80, 1e-5));
  }
  for (uint32_t b = 0; b < 2; ++b) {
    fovea_in part = array;
    part.data = row(array, b, 0, 0);
    REQUIRE(fovea_kv_center(parts, &counted, &part, 1, kHeads, kTokens, kDim) == FOVEA_OK);
  }
  CHECK(counted == count);
  CHECK(std::memcmp(center, parts, sizeof parts) == 0);

  CHECK(fovea_kv_center(nullptr, &count, &array, 1, kHeads, 1, kDim) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_center(center, nullptr, &array, 1, kHeads, 1, kDim) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_center(center, &count, nullptr, 1, kHeads, 1, kDim) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_center(center, &count, &array, 1, 0, 1, kDim) == FOVEA_ERR_DIM);
  fovea_in one = array;
  one.token_stride = 0;
  CHECK(fovea_kv_center(center, &count, &one, 1, kHeads, 2, kDim) == FOVEA_ERR_STRIDE);
  CHECK(fovea_kv_center(center, &count, &array, 1, kHeads, 1, 0) == FOVEA_ERR_DIM);
  array.data = center;
  CHECK(fovea_kv_center(center, &count, &array, 1, kHeads, 1, kDim) == FOVEA_ERR_OVERLAP);
  CHECK(count == 80);
}

}  // namespace fovea_test
