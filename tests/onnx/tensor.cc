// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <cstring>
#include <fstream>
#include <iterator>

namespace fovea_onnx {
namespace {

constexpr unsigned char kMagic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

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

uint32_t little_endian(const unsigned char* bytes, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  return value;
}

// The text behind `'key':` in the header, which is a Python dictionary written by numpy in one known way.
std::string after_key(const std::string& header, const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) throw Error("the .npy header has no " + key);
  return header.substr(header.find_first_not_of(' ', colon + 1));
}

std::string descr_in(const std::string& header) {
  const std::string value = after_key(header, "descr");
  const size_t end = value.find(value.front(), 1);
  if ((value.front() != '\'' && value.front() != '"') || end == std::string::npos) throw Error("unreadable descr");
  return value.substr(1, end - 1);
}

Shape shape_in(const std::string& header) {
  const std::string value = after_key(header, "shape");
  const size_t end = value.find(')');
  if (value.front() != '(' || end == std::string::npos) throw Error("unreadable shape");
  Shape shape;
  for (size_t i = 1; i < end;) {
    if (value[i] < '0' || value[i] > '9') {
      ++i;
      continue;
    }
    size_t digits = 0;
    shape.push_back(std::stoull(value.substr(i), &digits));
    i += digits;
  }
  return shape;
}

template <class T>
std::vector<T> copy_elements(const void* from, size_t count) {
  std::vector<T> to;
  to.reserve(count + 1);  // so that data() is a pointer even where count is 0
  to.resize(count);
  if (count > 0) std::memcpy(to.data(), from, count * sizeof(T));
  return to;
}

std::vector<int64_t> integers(DType dtype, const void* elements, size_t count) {
  std::vector<int64_t> ints;
  ints.reserve(count + 1);
  if (dtype == DType::kI8) {
    for (const int8_t x : copy_elements<int8_t>(elements, count)) ints.push_back(x);
  } else if (dtype == DType::kU8) {
    for (const uint8_t x : copy_elements<uint8_t>(elements, count)) ints.push_back(x);
  } else {
    ints = copy_elements<int64_t>(elements, count);
    for (const int64_t x : ints) {
      if (dtype == DType::kU64 && x < 0) throw Error("an integer above 2^63");
    }
  }
  return ints;
}

}  // namespace

size_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return 4;
    case DType::kF16: return 2;
    case DType::kBf16: return 2;
    case DType::kF64: return 8;
    case DType::kI8:
    case DType::kU8: return 1;
    case DType::kI64:
    case DType::kU64: return 8;
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

DType dtype_from(const std::string& descr) {
  if (descr == "<f4") return DType::kF32;
  if (descr == "<f2") return DType::kF16;
  if (descr == "<V2") return DType::kBf16;  // what numpy writes of a type that it does not know itself
  if (descr == "<f8") return DType::kF64;
  if (descr == "|i1") return DType::kI8;
  if (descr == "|u1") return DType::kU8;
  if (descr == "<i8") return DType::kI64;
  if (descr == "<u8") return DType::kU64;
  if (descr == "|b1") return DType::kBool;
  throw Error("elements of type " + descr);
}

Tensor read_npy(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot open " + path.filename().string());
  const std::vector<unsigned char> all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (all.size() < 12 || std::memcmp(all.data(), kMagic, sizeof kMagic) != 0 || all[6] < 1 || all[6] > 2) {
    throw Error(path.filename().string() + " is no .npy file of version 1 or 2");
  }
  const size_t length_bytes = all[6] == 1 ? 2 : 4;
  const size_t start = 8 + length_bytes;
  const size_t header_bytes = little_endian(all.data() + 8, length_bytes);
  if (header_bytes > all.size() - start) throw Error(path.filename().string() + " ends inside its header");

  const std::string header(all.begin() + static_cast<ptrdiff_t>(start),
                           all.begin() + static_cast<ptrdiff_t>(start + header_bytes));
  if (after_key(header, "fortran_order").rfind("False", 0) != 0) throw Error("column-major array");
  Tensor tensor;
  tensor.dtype = dtype_from(descr_in(header));
  tensor.shape = shape_in(header);

  const size_t count = element_count(tensor.shape);
  const unsigned char* data = all.data() + start + header_bytes;
  if (all.size() - start - header_bytes != count * bytes_of(tensor.dtype)) {
    throw Error(path.filename().string() + " has not the bytes that its shape needs");
  }
  tensor.bytes = copy_elements<uint8_t>(data, count * bytes_of(tensor.dtype));
  if (tensor.is_float()) tensor.floats = widen(tensor.dtype, data, count);
  if (tensor.dtype == DType::kF64) {
    const std::vector<double> doubles = copy_elements<double>(data, count);
    tensor.floats.assign(doubles.begin(), doubles.end());
  }
  if (tensor.is_integer()) tensor.ints = integers(tensor.dtype, data, count);
  return tensor;
}

}  // namespace fovea_onnx
