// SPDX-License-Identifier: Apache-2.0
//
// Reads a GGUF file in place: mapped, read into a buffer, or in flash. Nothing is copied or allocated; results point
// into the file. The format is described in ggml's docs/gguf.md (versions 2 and 3).
#ifndef FOVEA_EXAMPLES_CHAT_GGUF_H_
#define FOVEA_EXAMPLES_CHAT_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "examples/chat/strings.h"
#include "fovea/fovea.h"

namespace chat {

// The types of values, by their numbers in files.
enum class GgufType : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };
constexpr uint32_t kGgufTypes = 13;

struct GgufValue {
  GgufType type;              // of an array: the type of its elements
  bool is_array;              // else there is one element
  uint64_t count;             // of elements
  const unsigned char* data;  // the first element, at any address
  size_t bytes;               // of all elements
};

// A type of ggml for a tensor's numbers. ggml_type returns null for an unknown number.
struct GgmlType {
  const char* name = nullptr;
  uint32_t block = 0, bytes = 0;  // numbers in a block and its bytes; 0 if this library does not compute with the type
  fovea_dtype dtype = FOVEA_F32;  // valid if it does
};
const GgmlType* ggml_type(uint32_t number);

struct GgufTensor {
  uint32_t index;  // in the order of the file
  std::string_view name;
  uint32_t type;              // ggml's number of a known type
  uint32_t dimensions;        // 1 to 4
  uint64_t dims[4];           // the first varies fastest; unused ones are 1
  const unsigned char* data;  // null if this library does not compute with the type
  uint64_t bytes;
};
// A name for messages: characters that are not printable ASCII become question marks.
std::string printable(std::string_view name);

class Gguf {
 public:
  static constexpr uint32_t kMostValues = 1024, kMostTensors = 4096;  // limits of this reader

  // Checks all lengths, types and offsets of the file, so that the results of the functions below are within its bytes.
  // Not checked are the numbers in tensors, and the offsets of tensors whose type the library does not compute with.
  // Returns what is wrong with the file, or an empty text. Keeps pointers into the bytes, which begin at a multiple of
  // 32.
  std::string read(const unsigned char* data, size_t bytes);

  // False if the file has no such key.
  bool find(std::string_view key, GgufValue* value) const;
  bool find_tensor(std::string_view name, GgufTensor* tensor) const;
  GgufValue value(uint32_t index, std::string_view* key) const;  // index < values()
  GgufTensor tensor(uint32_t index) const;                       // index < tensors()

  // A value of one element. False if there is none, or it has another type, or is out of range.
  bool number(std::string_view key, uint32_t* number) const;  // of any integer type
  bool number(std::string_view key, float* number) const;     // f32
  bool text(std::string_view key, std::string_view* text) const;
  // An array of strings.
  bool strings(std::string_view key, Strings* strings) const;

  uint32_t values() const { return values_; }
  uint32_t tensors() const { return tensors_; }

 private:
  class Cursor;
  std::string read_values(Cursor& cursor);
  std::string read_tensors(Cursor& cursor);

  const unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
  uint32_t values_ = 0, tensors_ = 0;
  size_t tensors_at_ = 0, numbers_at_ = 0;
  size_t value_at_[kMostValues] = {};  // where its key begins
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_GGUF_H_
