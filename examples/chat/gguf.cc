// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/gguf.h"

#include <cstring>

namespace chat {
namespace {

constexpr uint32_t kMostDimensions = 4;
constexpr size_t kMostName = 64;  // bytes of a tensor's name, ggml's limit

// Bytes of an element by GgufType; 0 if they vary.
constexpr uint8_t kElementBytes[kGgufTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr GgmlType kGgmlTypes[] = {
    // indexed by their numbers in files
    {"F32", 1, 4, FOVEA_F32},
    {"F16", 1, 2, FOVEA_F16},
    {"Q4_0", 32, 18, FOVEA_Q4_0},
    {"Q4_1", 32, 20, FOVEA_Q4_1},
    {},
    {},
    {"Q5_0", 32, 22, FOVEA_Q5_0},
    {"Q5_1", 32, 24, FOVEA_Q5_1},
    {"Q8_0", 32, 34, FOVEA_Q8_0},
    {"Q8_1"},
    {"Q2_K", 256, 84, FOVEA_Q2_K},
    {"Q3_K", 256, 110, FOVEA_Q3_K},
    {"Q4_K", 256, 144, FOVEA_Q4_K},
    {"Q5_K", 256, 176, FOVEA_Q5_K},
    {"Q6_K", 256, 210, FOVEA_Q6_K},
    {"Q8_K"},
    {"IQ2_XXS"},
    {"IQ2_XS"},
    {"IQ3_XXS"},
    {"IQ1_S"},
    {"IQ4_NL", 32, 18, FOVEA_IQ4_NL},
    {"IQ3_S"},
    {"IQ2_S"},
    {"IQ4_XS", 256, 136, FOVEA_IQ4_XS},
    {"I8"},
    {"I16"},
    {"I32"},
    {"I64"},
    {"F64"},
    {"IQ1_M"},
    {"BF16", 1, 2, FOVEA_BF16},
    {},
    {},
    {},
    {"TQ1_0"},
    {"TQ2_0", 256, 66, FOVEA_TQ2_0},
    {},
    {},
    {},
    {"MXFP4", 32, 17, FOVEA_MXFP4},
};
constexpr uint32_t kGgmlTypeCount = sizeof kGgmlTypes / sizeof kGgmlTypes[0];

template <class T>
T load(const unsigned char* from) {  // files and supported machines are little endian
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

const GgmlType* ggml_type(uint32_t number) {
  return number < kGgmlTypeCount && kGgmlTypes[number].name != nullptr ? &kGgmlTypes[number] : nullptr;
}

std::string printable(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kMostName)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return "\"" + out + "\"";
}

// Reads the file in order. After the first read past the end, every read fails.
class Gguf::Cursor {
 public:
  Cursor(const unsigned char* data, size_t bytes, size_t at) : data_(data), bytes_(bytes), at_(at) {}

  size_t at() const { return at_; }
  bool fits() const { return fits_; }

  const unsigned char* take(uint64_t bytes) {
    if (!fits_ || bytes > bytes_ - at_) {
      fits_ = false;
      return nullptr;
    }
    at_ += static_cast<size_t>(bytes);
    return data_ + at_ - bytes;
  }
  template <class T>
  T take() {
    const unsigned char* const from = take(sizeof(T));
    return from != nullptr ? load<T>(from) : T{};
  }
  std::string_view take_text() {
    const auto length = take<uint64_t>();
    const unsigned char* const from = take(length);
    return from != nullptr ? std::string_view(reinterpret_cast<const char*>(from), static_cast<size_t>(length))
                           : std::string_view();
  }

  // A key with its value. False if its type is unknown or an array's elements are arrays.
  bool take_value(std::string_view* key, GgufValue* value) {
    *key = take_text();
    auto type = take<uint32_t>();
    *value = {};
    value->count = 1;
    value->is_array = type == static_cast<uint32_t>(GgufType::kArray);
    if (value->is_array) {
      type = take<uint32_t>();
      value->count = take<uint64_t>();
    }
    if (type >= kGgufTypes || type == static_cast<uint32_t>(GgufType::kArray)) return false;
    value->type = static_cast<GgufType>(type);
    const size_t begin = at_;
    if (const uint64_t bytes = kElementBytes[type]) {
      take(value->count > bytes_ / bytes ? UINT64_MAX : value->count * bytes);
    } else {
      for (uint64_t i = 0; i < value->count && fits_; ++i) take_text();
    }
    value->data = data_ + begin;
    value->bytes = at_ - begin;
    return true;
  }

  // A tensor without the pointer to its numbers: *offset is their offset in the file's data section.
  void take_tensor(GgufTensor* tensor, uint64_t* offset) {
    *tensor = {};
    tensor->name = take_text();
    tensor->dimensions = take<uint32_t>();
    for (uint64_t& dim : tensor->dims) dim = 1;
    for (uint32_t i = 0; i < tensor->dimensions && i < kMostDimensions; ++i) tensor->dims[i] = take<uint64_t>();
    tensor->type = take<uint32_t>();
    *offset = take<uint64_t>();
  }

 private:
  const unsigned char* data_;
  size_t bytes_, at_;
  bool fits_ = true;
};

namespace {

// Bytes of a tensor's numbers; false if the count overflows, or they end within a block.
bool tensor_bytes(const GgufTensor& tensor, const GgmlType& type, uint64_t* bytes) {
  if (tensor.dims[0] % type.block != 0) return false;
  *bytes = type.bytes;
  for (uint32_t i = 0; i < kMostDimensions; ++i) {
    const uint64_t dim = i == 0 ? tensor.dims[0] / type.block : tensor.dims[i];
    if (__builtin_mul_overflow(*bytes, dim, bytes)) return false;
  }
  return true;
}

}  // namespace

std::string Gguf::read(const unsigned char* data, size_t bytes) {
  *this = {};
  data_ = data;
  bytes_ = bytes;
  Cursor cursor(data, bytes, 0);
  const unsigned char* const magic = cursor.take(4);
  if (magic == nullptr || std::memcmp(magic, "GGUF", 4) != 0) return "is not a GGUF file";
  const auto version = cursor.take<uint32_t>();
  if (version != 2 && version != 3) {
    return "is of GGUF version " + std::to_string(version) + ", not 2 or 3, or of a machine with other byte order";
  }
  const auto tensors = cursor.take<uint64_t>(), values = cursor.take<uint64_t>();
  if (!cursor.fits()) return "was cut short in its header";
  if (tensors > kMostTensors || values > kMostValues) {
    return "says that it has " + std::to_string(tensors) + " tensors and " + std::to_string(values) +
           " values, more than any model of this kind";
  }
  tensors_ = static_cast<uint32_t>(tensors);
  values_ = static_cast<uint32_t>(values);
  std::string problem = read_values(cursor);
  return problem.empty() ? read_tensors(cursor) : problem;
}

std::string Gguf::read_values(Cursor& cursor) {
  const uint32_t count = values_;
  for (values_ = 0; values_ < count; ++values_) {  // values_ counts those so far
    std::string_view key;
    GgufValue value, other;
    value_at_[values_] = cursor.at();
    const bool known = cursor.take_value(&key, &value);
    if (!cursor.fits()) return "was cut short in value " + std::to_string(values_);
    if (!known) return "has a value of unknown type, " + printable(key);
    if (find(key, &other)) return "has two values of " + printable(key);
  }
  return {};
}

std::string Gguf::read_tensors(Cursor& cursor) {
  uint32_t alignment = 32;
  GgufValue value;
  if (find("general.alignment", &value) && !number("general.alignment", &alignment)) alignment = 0;
  if (alignment == 0 || alignment % 32 != 0) return "does not align its tensors to a multiple of 32 bytes";

  tensors_at_ = cursor.at();
  GgufTensor tensor;
  uint64_t offset;
  for (uint32_t i = 0; i < tensors_; ++i) {
    cursor.take_tensor(&tensor, &offset);
    if (!cursor.fits()) return "was cut short in the description of tensor " + std::to_string(i);
    if (tensor.dimensions < 1 || tensor.dimensions > kMostDimensions || tensor.name.size() > kMostName) {
      return "has a tensor with " + std::to_string(tensor.dimensions) + " dimensions, " + printable(tensor.name);
    }
  }
  const size_t padding = (alignment - cursor.at() % alignment) % alignment;
  if (padding > bytes_ - cursor.at()) {
    if (tensors_ != 0) return "was cut short before its tensors";
    return {};
  }
  numbers_at_ = cursor.at() + padding;

  Cursor again(data_, bytes_, tensors_at_);
  for (uint32_t i = 0; i < tensors_; ++i) {
    again.take_tensor(&tensor, &offset);
    const GgmlType* const type = ggml_type(tensor.type);
    if (type == nullptr) {
      return "has tensor " + printable(tensor.name) + " of the unknown type " + std::to_string(tensor.type);
    }
    if (type->block == 0) continue;  // refused if a model uses it
    uint64_t bytes;
    if (!tensor_bytes(tensor, *type, &bytes)) return "has tensor " + printable(tensor.name) + " of an impossible size";
    if (offset % alignment != 0) return "has tensor " + printable(tensor.name) + " out of alignment";
    const uint64_t room = bytes_ - numbers_at_;
    if (offset > room || bytes > room - offset) {
      return "was cut short: tensor " + printable(tensor.name) + " ends behind its end";
    }
  }
  return {};
}

GgufValue Gguf::value(uint32_t index, std::string_view* key) const {
  Cursor cursor(data_, bytes_, value_at_[index]);
  GgufValue value;
  cursor.take_value(key, &value);
  return value;
}

bool Gguf::find(std::string_view key, GgufValue* value) const {
  for (uint32_t i = 0; i < values_; ++i) {
    Cursor cursor(data_, bytes_, value_at_[i]);
    if (cursor.take_text() != key) continue;
    std::string_view name;
    *value = this->value(i, &name);
    return true;
  }
  return false;
}

GgufTensor Gguf::tensor(uint32_t index) const {
  Cursor cursor(data_, bytes_, tensors_at_);
  GgufTensor tensor;
  uint64_t offset = 0;
  for (uint32_t i = 0; i <= index; ++i) cursor.take_tensor(&tensor, &offset);
  tensor.index = index;
  const GgmlType& type = *ggml_type(tensor.type);
  if (type.block != 0) {
    tensor_bytes(tensor, type, &tensor.bytes);
    tensor.data = data_ + numbers_at_ + offset;
  }
  return tensor;
}

bool Gguf::find_tensor(std::string_view name, GgufTensor* tensor) const {
  Cursor cursor(data_, bytes_, tensors_at_);
  uint64_t offset;
  for (uint32_t i = 0; i < tensors_; ++i) {
    cursor.take_tensor(tensor, &offset);
    if (tensor->name != name) continue;
    *tensor = this->tensor(i);
    return true;
  }
  return false;
}

bool Gguf::number(std::string_view key, uint32_t* number) const {
  GgufValue value;
  if (!find(key, &value) || value.is_array) return false;
  int64_t wide;
  switch (value.type) {
    case GgufType::kU8: wide = load<uint8_t>(value.data); break;
    case GgufType::kI8: wide = load<int8_t>(value.data); break;
    case GgufType::kU16: wide = load<uint16_t>(value.data); break;
    case GgufType::kI16: wide = load<int16_t>(value.data); break;
    case GgufType::kU32: wide = load<uint32_t>(value.data); break;
    case GgufType::kI32: wide = load<int32_t>(value.data); break;
    case GgufType::kU64:  // above the range of int64_t they become negative
    case GgufType::kI64: wide = load<int64_t>(value.data); break;
    default: return false;
  }
  if (wide < 0 || wide > int64_t{UINT32_MAX}) return false;
  *number = static_cast<uint32_t>(wide);
  return true;
}

bool Gguf::number(std::string_view key, float* number) const {
  GgufValue value;
  if (!find(key, &value) || value.is_array || value.type != GgufType::kF32) return false;
  *number = load<float>(value.data);
  return true;
}

bool Gguf::text(std::string_view key, std::string_view* text) const {
  GgufValue value;
  if (!find(key, &value) || value.is_array || value.type != GgufType::kString) return false;
  *text = {reinterpret_cast<const char*>(value.data) + 8, value.bytes - 8};
  return true;
}

bool Gguf::strings(std::string_view key, Strings* strings) const {
  GgufValue value;
  if (!find(key, &value) || !value.is_array || value.type != GgufType::kString) return false;
  *strings = {value.data, value.bytes, value.count};
  return true;
}

}  // namespace chat
