// SPDX-License-Identifier: Apache-2.0
//
// A tensor of the conformance vectors, and the files it is read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace fovea_onnx {

// What is wrong with a case: a file that cannot be read, or a request that fovea's API has no word for.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class DType { kF32, kF16, kBf16, kI64, kBool };

using Shape = std::vector<size_t>;

// A number that is the whole text; of double, "-inf" too.
template <class T>
T number(const std::string& text) {
  size_t used = 0;
  T value{};
  if constexpr (std::is_integral_v<T>) value = static_cast<T>(std::stoll(text, &used));
  if constexpr (!std::is_integral_v<T>) value = static_cast<T>(std::stod(text, &used));
  if (used != text.size()) throw Error("number " + text);
  return value;
}

// Row-major. Pointers are valid even with no elements.
struct Tensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<uint8_t> bytes;  // the elements as they lie in memory; of kBool 0 or 1
  std::vector<float> floats;   // kF32, kF16 and kBf16: the same, widened, which is exact
  std::vector<int64_t> ints;   // kI64, which all integers are: the same

  // Of a type that fovea has.
  bool is_float() const { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16; }
};

// A shape as the dimensions before an axis, the axis, and those after it.
struct Split {
  size_t outer, count, inner;
};
Split split_at(const Shape& shape, int64_t axis);  // throws Error for an axis out of range; -1 is the last

size_t element_count(const Shape& shape);   // throws Error when the product overflows
size_t bytes_of(DType dtype);               // of an element
std::string to_string(const Shape& shape);  // "2x3x4"; "scalar" without dimensions
Shape shape_from(const std::string& text);
// "<f4", "<f2", "<V2" (bfloat16), "<i8", "|b1"; throws Error for others.
DType dtype_from(const std::string& descr);

// Elements of kF32, kF16 or kBf16 as they lie in memory, as float.
std::vector<float> widen(DType dtype, const void* elements, size_t count);

// Reads a file of the elements alone, row-major and little endian.
Tensor read_tensor(const std::filesystem::path& path, DType dtype, const Shape& shape);

}  // namespace fovea_onnx
