// SPDX-License-Identifier: Apache-2.0
//
// How a workspace is divided among workers and cut into arrays. The same code measures it for a plan and carves it for
// a call.
#ifndef FOVEA_SRC_BASE_CARVER_H_
#define FOVEA_SRC_BASE_CARVER_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/status.h"

namespace fovea {

constexpr uint32_t divide_up(uint32_t x, uint32_t y) { return x / y + (x % y != 0); }

// A size that remembers whether any step towards it overflowed, in a build with checks.
struct CheckedSize {
  size_t value = 0;
  [[no_unique_address]] OnlyIfChecked overflow = false;

  CheckedSize& times(size_t x) {
    overflow |= __builtin_mul_overflow(value, x, &value);
    return *this;
  }
  CheckedSize& times(const CheckedSize& x) {
    overflow |= x.overflow;
    return times(x.value);
  }
  CheckedSize& plus(size_t x) {
    overflow |= __builtin_add_overflow(value, x, &value);
    return *this;
  }
  CheckedSize& plus(const CheckedSize& x) {
    overflow |= x.overflow;
    return plus(x.value);
  }
  // Rounds up to a multiple of the workspace's alignment.
  CheckedSize& aligned() {
    plus(FOVEA_WORKSPACE_ALIGNMENT - 1);
    value = value / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
    return *this;
  }
};

// Whether a workspace may have a slow part in this build.
constexpr bool kMayHaveSlowPart = config::kSlowWorkspace;

// The caller's workspace: one part, or a fast and a slow one.
struct Workspace {
  void* fast;
  size_t fast_bytes;
  void* slow;
  size_t slow_bytes;
};

// Most workers that may share a workspace.
constexpr uint32_t kMostWorkers = 4096;

// The bytes that each worker has in a part of the workspace.
inline size_t worker_share(size_t bytes, uint32_t workers) {
  const size_t share = workers == 1 ? bytes : bytes / workers;
  return share / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
}

// Hands out arrays, each aligned to FOVEA_WORKSPACE_ALIGNMENT: from the fast part of a workspace if they still fit
// there, else from the slow part. Memory that is not divided counts as a slow part. To measure bytes, pass null parts:
// the arrays are then not used.
class Carver {
 public:
  explicit Carver(const Workspace& workspace)
      : fast_(reinterpret_cast<uintptr_t>(workspace.fast)),
        fast_left_(workspace.fast_bytes),
        slow_(reinterpret_cast<uintptr_t>(kMayHaveSlowPart ? workspace.slow : workspace.fast)) {}
  explicit Carver(void* memory) : fast_(0), fast_left_(0), slow_(reinterpret_cast<uintptr_t>(memory)) {}

  template <class T>
  T* take(size_t columns, size_t rows = 1) {
    return static_cast<T*>(take(columns, rows, sizeof(T)));
  }
  template <class T>
  __attribute__((always_inline)) void take(T** array, size_t columns, size_t rows = 1) {
    *array = take<T>(columns, rows);
  }
  // Not inlined where size counts. Inlined elsewhere, because small attention calls gain from it.
  void* take(size_t columns, size_t rows, size_t element_bytes);

  // The bytes up to the end of the last array in the slow part; the same, rounded up so that another slow part may
  // follow.
  CheckedSize slow_used() const { return slow_used_; }
  CheckedSize slow_bytes() const {
    CheckedSize bytes = slow_used_;
    return bytes.aligned();
  }

 private:
  void* take_array(size_t columns, size_t rows, size_t element_bytes) {
    CheckedSize bytes{columns};
    bytes.times(rows).times(element_bytes);
    if (kMayHaveSlowPart && bytes.value <= fast_left_ && !bytes.overflow) {
      void* const array = reinterpret_cast<void*>(fast_);
      bytes.aligned();  // still fits: fast_left_ is a multiple of the alignment
      fast_ += bytes.value;
      fast_left_ -= bytes.value;
      return array;
    }
    slow_used_.aligned().plus(bytes);
    return reinterpret_cast<void*>(slow_ + slow_used_.value - bytes.value);
  }

  uintptr_t fast_;
  size_t fast_left_;
  uintptr_t slow_;
  CheckedSize slow_used_;
};

#if !FOVEA_PREFER_SIZE
inline void* Carver::take(size_t columns, size_t rows, size_t element_bytes) {
  return take_array(columns, rows, element_bytes);
}
#endif

// Counts the bytes that a Carver would hand out, in a constant expression: to compare the functions that carve with the
// macros of workspace.h.
struct CarvedBytes {
  size_t bytes = 0;

  template <class T>
  constexpr void take(T** array, size_t columns, size_t rows = 1) {
    *array = nullptr;
    bytes += FOVEA_ALIGN_UP_(columns * rows * sizeof(T));
  }
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_CARVER_H_
