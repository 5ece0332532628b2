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

enum class DType { kF32, kF16, kI64, kBool };

using Shape = std::vector<size_t>;

// Row-major. Exactly one of the three arrays holds the elements; its pointer is valid even with no elements.
struct Tensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<float> floats;   // kF32, and kF16 widened, which is exact
  std::vector<int64_t> ints;   // kI64
  std::vector<uint8_t> bytes;  // kBool: 0 or 1

  bool is_float() const { return dtype == DType::kF32 || dtype == DType::kF16; }
};

size_t element_count(const Shape& shape);    // throws Error when the product overflows
std::string to_string(const Shape& shape);   // "2x3x4"; "scalar" without dimensions
DType dtype_from(const std::string& descr);  // "<f4", "<f2", "<i8", "|b1"; throws Error for others

// Reads a .npy file of version 1.0 or 2.0, row-major and little endian, of one of the four types.
Tensor read_npy(const std::filesystem::path& path);

}  // namespace fovea_onnx

#endif  // FOVEA_TESTS_ONNX_TENSOR_H_
