// SPDX-License-Identifier: Apache-2.0
//
// Buffers next to which an access faults, so that no access outside goes unseen; and faults that name their case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fovea/base.h"

namespace fovea_test {

// The place of a buffer in its pages.
enum class Placement {
  kEnd,     // its last byte is the last before an unmapped page, or before forbidden memory
  kStart,   // its first byte is the first after one of these
  kOffset,  // one element after the start of a page: as misaligned as an array of that type may be
};

constexpr Placement kPlacements[] = {Placement::kEnd, Placement::kStart, Placement::kOffset};

const char* name(Placement placement);

// Whether this system has memory protection: pages on Linux, macOS and Windows, and on Cortex-M the regions of its
// protection unit, enough for 7 or 15 buffers at a time. Without protection, for further buffers, and on one side of
// every buffer on Cortex-M, margin_intact() finds writes outside the buffer, but nothing finds reads.
bool guards_fault();

// A buffer. It and all memory mapped around it are filled with a pattern that is NaN as a float and nonzero as a byte.
class Guarded {
 public:
  Guarded() = default;
  // alignment: of an element, a power of two; bytes is a multiple of it.
  Guarded(size_t bytes, size_t alignment, Placement placement);
  ~Guarded();
  Guarded(Guarded&& other) noexcept;
  Guarded& operator=(Guarded&& other) noexcept;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);  // not null, even for no bytes
  }
  size_t bytes() const { return bytes_; }

  void fill();                    // writes the pattern again: the content must be written before it is read
  void read_only(bool on) const;  // from now on a write faults
  bool margin_intact() const;     // nothing was written around the buffer
  // Whether the byte at this offset still holds the pattern.
  bool untouched(size_t offset) const;
  bool untouched() const;  // all bytes

 private:
  uint8_t* pages_ = nullptr;  // the accessible pages
  size_t pages_bytes_ = 0;
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
  const uint8_t* forbidden_ = nullptr;  // the bytes that a memory protection unit forbids, or null
};

// What a function of sizes writes for these arguments; 0 if it refuses them.
template <class Function, class... Arguments>
size_t bytes_of(Function function, const Arguments&... arguments) {
  size_t bytes = 0;
  return function(arguments..., &bytes) == FOVEA_OK ? bytes : 0;
}
// The status with which it refuses them; FOVEA_OK where it refuses nothing, or has written a size all the same.
template <class Function, class... Arguments>
fovea_status refusal_of(Function function, const Arguments&... arguments) {
  size_t bytes = 7;
  const fovea_status status = function(arguments..., &bytes);
  return bytes == 7 ? status : FOVEA_OK;
}

// Names the case that runs from now on: a fault prints the name before it ends the program.
void set_current_case(const std::string& text);
const char* current_case();

}  // namespace fovea_test
