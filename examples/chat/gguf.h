// SPDX-License-Identifier: Apache-2.0
//
// Reads a GGUF file where it lies in memory: mapped, read into a buffer, or in flash. Nothing is copied and nothing
// allocated; what is found points into the file. The format is described in ggml's docs/gguf.md (versions 2 and 3).
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
  GgufType type;              // of an array: its elements'
  bool is_array;              // else there is one element
  uint64_t count;             // of elements
  const unsigned char* data;  // the first element, at any address
  size_t bytes;               // of all elements
};

// What kind of numbers a tensor holds: a type of ggml's. Null for a number of a type that is not known.
struct GgmlType {
  const char* name = nullptr;
  uint32_t block = 0, bytes = 0;  // numbers in a block and its bytes; 0 where this library does not compute with it
  fovea_dtype dtype = FOVEA_F32;  // where it does
};
const GgmlType* ggml_type(uint32_t number);

struct GgufTensor {
  uint32_t index;  // in the order of the file
  std::string_view name;
  uint32_t type;        // ggml's number, of a type that is known
  uint32_t dimensions;  // 1 to 4
  uint64_t dims[4];     // the first varies fastest; behind the last they are 1
  const unsigned char* data;  // null where the type is not one that this library computes with
  uint64_t bytes;
};
// A name as a message may show it: what is not printable ASCII is a question mark.
std::string printable(std::string_view name);

class Gguf {
 public:
  static constexpr uint32_t kMostValues = 1024, kMostTensors = 4096;  // more is not a model of this kind

  // Checks the whole file but for the numbers in tensors, and where those lie of types that are not computed with: all
  // lengths, types and offsets, so that what the functions below give lies within its bytes. Returns what is wrong with
  // the file; empty if nothing is. The bytes must stay where they are, and begin at a multiple of 32 bytes.
  std::string read(const unsigned char* data, size_t bytes);

  // False where the file has no such key.
  bool find(std::string_view key, GgufValue* value) const;
  bool find_tensor(std::string_view name, GgufTensor* tensor) const;
  GgufValue value(uint32_t index, std::string_view* key) const;  // index < values()
  GgufTensor tensor(uint32_t index) const;                       // index < tensors()

  // A value of one element. False where there is none, or it is not of such a type, or not in range.
  bool number(std::string_view key, uint32_t* number) const;  // of any type of integers
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
