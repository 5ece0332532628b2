// SPDX-License-Identifier: Apache-2.0
//
// Numbers of any value, most often telling ones, and memory of exactly the bytes that counts and strides reach, so that
// the address sanitizer sees any other byte touched.
#pragma once

#include <algorithm>
#include <vector>

#include "fuzz/fuzz.h"
#include "support/problem.h"

namespace fovea_test {

// Holds any product of three counts or strides, on 32-bit machines too, where there is no __int128.
__extension__ typedef _BitInt(128) Wide;
constexpr size_t kMostBytes = size_t{1} << 16;  // of an array that is allocated

// A word of any value, most often a telling one.
inline uint32_t word(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 0: return bytes.take<uint32_t>();
    case 1: return 0xffffffffu - bytes.take<uint8_t>();
    case 2: return 1u << bytes.below(32);
    default: return bytes.take<uint8_t>();
  }
}

constexpr uint32_t kStrideBits = 8 * sizeof(ptrdiff_t);
inline ptrdiff_t stride(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 0: return bytes.take<ptrdiff_t>();
    case 1: return PTRDIFF_MAX >> bytes.below(kStrideBits - 1);
    case 2: return -(PTRDIFF_MAX >> bytes.below(kStrideBits - 1)) - 1;
    default: return bytes.take<int8_t>();
  }
}

// Puts any words in the place of up to three of a structure's first `words`. If it begins with its size, this stays too
// small or becomes too large: a structure that is only longer must have memory for it.
inline void damage(Bytes& bytes, void* structure, uint32_t words) {
  for (uint32_t changes = bytes.below(4); changes > 0; --changes) {
    const size_t at = bytes.below(words) * 4;
    const uint32_t any = at == 0 ? word(bytes) & ~0x7fffu : word(bytes);
    std::memcpy(static_cast<char*>(structure) + at, &any, 4);
  }
}

// The memory of a call.
class Memory {
 public:
  explicit Memory(uint64_t seed) : seed_(seed) {}
  ~Memory() {
    for (const Block& block : blocks_) std::free(block.data);
  }
  Memory(const Memory&) = delete;

  bool complete = true;  // all that was asked for was small enough

  // What an array covers: `row` elements at each of the places that counts and strides name. Null for nothing; an
  // address that nobody may touch where it is too much, in bytes or, where strides are 0, in elements to compute.
  void* array(size_t element, size_t row, std::initializer_list<size_t> counts,
              std::initializer_list<ptrdiff_t> strides, bool output) {
    Wide low = 0, high = static_cast<Wide>(row), elements = high;
    const ptrdiff_t* step = strides.begin();
    for (const size_t count : counts) {
      if (count == 0) return allocate(element, 0, output);
      elements = std::min(elements, kMostElements + 1) * static_cast<Wide>(count);
      const Wide reach = static_cast<Wide>(count - 1) * *step++;
      (reach < 0 ? low : high) += std::clamp(reach, -kMostReach, kMostReach);
    }
    const Wide bytes = (high - low) * static_cast<Wide>(element);
    if (bytes > static_cast<Wide>(kMostBytes) || elements > kMostElements) {
      complete = false;
      return reinterpret_cast<void*>(uintptr_t{4096});
    }
    return static_cast<char*>(allocate(element, static_cast<size_t>(bytes), output)) -
           static_cast<ptrdiff_t>(low) * static_cast<ptrdiff_t>(element);
  }

  template <class T>
  const T* in(size_t row, std::initializer_list<size_t> counts = {}, std::initializer_list<ptrdiff_t> strides = {}) {
    return static_cast<const T*>(array(sizeof(T), row, counts, strides, false));
  }
  template <class T>
  T* out(size_t row, std::initializer_list<size_t> counts = {}, std::initializer_list<ptrdiff_t> strides = {}) {
    return static_cast<T*>(array(sizeof(T), row, counts, strides, true));
  }

  void* allocate(size_t alignment, size_t bytes, bool output) {
    void* data = nullptr;
    if (posix_memalign(&data, std::max(alignment, sizeof(void*)), bytes) != 0) std::abort();
    auto* const content = static_cast<uint8_t*>(data);
    for (size_t i = 0; i < bytes; ++i)
      content[i] = output ? 0xa5 : static_cast<uint8_t>(random_bits(seed_, uint64_t{blocks_.size()} << 32 | i));
    blocks_.push_back({content, bytes, output});
    return data;
  }

  bool outputs_untouched() const {
    for (const Block& block : blocks_) {
      for (size_t i = 0; block.output && i < block.bytes; ++i) {
        if (block.data[i] != 0xa5) return false;
      }
    }
    return true;
  }

  // All bytes, for what a refused call must leave as it is.
  std::vector<uint8_t> content() const {
    std::vector<uint8_t> all;
    for (const Block& block : blocks_) all.insert(all.end(), block.data, block.data + block.bytes);
    return all;
  }

 private:
  static constexpr Wide kMostReach = Wide{1} << 100;  // of which a few, in bytes, still are no overflow
  static constexpr Wide kMostElements = Wide{16} * kMostBytes;

  struct Block {
    uint8_t* data;
    size_t bytes;
    bool output;
  };
  std::vector<Block> blocks_;
  uint64_t seed_;
};

}  // namespace fovea_test
