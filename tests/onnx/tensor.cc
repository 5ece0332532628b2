// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fovea_onnx {
namespace {

float from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE binary16 to binary32. Every half is a float, so nothing is rounded.
float from_f16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) / 16777216.0f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide_exponent = exponent == 0x1fu ? 0xffu : exponent + 127 - 15;
  return from_bits(sign | (wide_exponent << 23) | (mantissa << 13));
}

template <class T>
std::vector<T> copy_elements(const void* from, size_t count) {
  std::vector<T> to;
  to.reserve(count + 1);  // so that data() is a pointer even where count is 0
  to.resize(count);
  if (count > 0) std::memcpy(to.data(), from, count * sizeof(T));
  return to;
}

}  // namespace

size_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return 4;
    case DType::kF16: return 2;
    case DType::kBf16: return 2;
    case DType::kI64: return 8;
    case DType::kBool: return 1;
  }
  return 0;
}

std::vector<float> widen(DType dtype, const void* elements, size_t count) {
  if (dtype == DType::kF32) return copy_elements<float>(elements, count);
  std::vector<float> floats;
  floats.reserve(count + 1);
  for (const uint16_t half : copy_elements<uint16_t>(elements, count)) {
    floats.push_back(dtype == DType::kF16 ? from_f16(half) : from_bits(static_cast<uint32_t>(half) << 16));
  }
  return floats;
}

Split split_at(const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) throw Error("axis out of range");
  const auto at = shape.begin() + axis;
  return {element_count(Shape(shape.begin(), at)), *at, element_count(Shape(at + 1, shape.end()))};
}

size_t element_count(const Shape& shape) {
  size_t count = 1;
  for (const size_t dim : shape) {
    if (dim != 0 && count > SIZE_MAX / 8 / dim) throw Error("the shape overflows");
    count *= dim;
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (const size_t dim : shape) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

Shape shape_from(const std::string& text) {
  Shape shape;
  if (text == "scalar") return shape;
  std::istringstream dims(text);
  for (std::string dim; std::getline(dims, dim, 'x');) shape.push_back(static_cast<size_t>(number<int64_t>(dim)));
  return shape;
}

DType dtype_from(const std::string& descr) {
  if (descr == "<f4") return DType::kF32;
  if (descr == "<f2") return DType::kF16;
  if (descr == "<V2") return DType::kBf16;  // what numpy writes of a type that it does not know itself
  if (descr == "<i8") return DType::kI64;
  if (descr == "|b1") return DType::kBool;
  throw Error("elements of type " + descr);
}

Tensor read_tensor(const std::filesystem::path& path, DType dtype, const Shape& shape) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot open " + path.filename().string());
  const std::vector<char> all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const bool has_header = path.extension() == ".npy" && all.size() >= 10;
  const size_t begin = has_header ? 10 + uint8_t(all[8]) + 256 * size_t{uint8_t(all[9])} : 0;
  const size_t count = element_count(shape), bytes = count * bytes_of(dtype);
  if (all.size() != begin + bytes) {
    throw Error(path.filename().string() + " has not the bytes that its shape needs");
  }
  Tensor tensor;
  tensor.dtype = dtype, tensor.shape = shape;
  tensor.bytes = copy_elements<uint8_t>(all.data() + begin, bytes);
  if (tensor.is_float()) tensor.floats = widen(dtype, all.data() + begin, count);
  if (dtype == DType::kI64) tensor.ints = copy_elements<int64_t>(all.data() + begin, count);
  return tensor;
}

}  // namespace fovea_onnx
