// SPDX-License-Identifier: Apache-2.0
//
// A tensor of the conformance vectors, and the .npy files it is read from.
#ifndef FOVEA_TESTS_ONNX_TENSOR_H_
#define FOVEA_TESTS_ONNX_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace fovea_onnx {

// What is wrong with a case: a file that cannot be read, or a request that fovea's API has no word for.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class DType { kF32, kF16, kBf16, kF64, kI8, kU8, kI64, kU64, kBool };

using Shape = std::vector<size_t>;

// Row-major. Pointers are valid even with no elements.
struct Tensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<uint8_t> bytes;  // the elements as they lie in memory; of kBool 0 or 1
  std::vector<float> floats;   // kF32, kF16 and kBf16: the same, widened, which is exact; kF64: rounded
  std::vector<int64_t> ints;   // kI8, kU8, kI64 and kU64: the same

  // Of a type that fovea has.
  bool is_float() const { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16; }
  bool is_integer() const {
    return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI64 || dtype == DType::kU64;
  }
};

// A shape as the dimensions before an axis, the axis, and those after it.
struct Split {
  size_t outer, count, inner;
};
Split split_at(const Shape& shape, int64_t axis);  // throws Error for an axis out of range; -1 is the last

size_t element_count(const Shape& shape);   // throws Error when the product overflows
size_t bytes_of(DType dtype);               // of an element
std::string to_string(const Shape& shape);  // "2x3x4"; "scalar" without dimensions
// "<f4", "<f2", "<V2" (bfloat16), "<f8", "|i1", "|u1", "<i8", "<u8", "|b1"; throws Error for others.
DType dtype_from(const std::string& descr);

// Elements of kF32, kF16 or kBf16 as they lie in memory, as float.
std::vector<float> widen(DType dtype, const void* elements, size_t count);

// Reads a .npy file of version 1.0 or 2.0, row-major and little endian, of one of these types.
Tensor read_npy(const std::filesystem::path& path);

}  // namespace fovea_onnx

#endif  // FOVEA_TESTS_ONNX_TENSOR_H_
