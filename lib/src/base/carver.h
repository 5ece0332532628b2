// SPDX-License-Identifier: Apache-2.0
//
// How a workspace is shared by workers and cut into arrays. The same code measures it for a plan and carves it for a
// call.
#ifndef FOVEA_SRC_BASE_CARVER_H_
#define FOVEA_SRC_BASE_CARVER_H_

#include <stdint.h>

#include "base/checked_size.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

// The caller's workspace, of one part or two.
struct Workspace {
  void* fast;
  size_t fast_bytes;
  void* slow;
  size_t slow_bytes;
};

constexpr uint32_t kMostWorkers = 4096;

// Of a part of the workspace, what each worker has.
inline size_t worker_share(size_t bytes, uint32_t workers) {
  const size_t share = workers == 1 ? bytes : bytes / workers;
  return share / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
}

// Hands out aligned arrays, each from the fast part if it still fits there, else from the slow one; where a workspace
// has no parts, it is the slow one. To measure, the parts are null and what is handed out is not used.
class Carver {
 public:
  explicit Carver(const Workspace& workspace)
      : fast_(reinterpret_cast<uintptr_t>(workspace.fast)),
        fast_left_(workspace.fast_bytes),
        slow_(reinterpret_cast<uintptr_t>(config::kSlowWorkspace ? workspace.slow : workspace.fast)) {}

  template <class T>
  T* take(size_t columns, size_t rows = 1) {
    static_assert(sizeof(T) == 4, "all arrays are of four-byte elements");
    return reinterpret_cast<T*>(take_words(columns, rows));
  }
  // What the slow part must have.
  CheckedSize slow_bytes() const { return slow_used_; }

 private:
  uintptr_t take_words(size_t columns, size_t rows) {
    CheckedSize bytes{columns};
    bytes.times(rows).times(4).aligned();
    if (config::kSlowWorkspace && bytes.value <= fast_left_ && !bytes.overflow) {
      const uintptr_t array = fast_;
      fast_ += bytes.value;
      fast_left_ -= bytes.value;
      return array;
    }
    const uintptr_t array = slow_ + slow_used_.value;
    slow_used_.plus(bytes.value).overflow |= bytes.overflow;
    return array;
  }

  uintptr_t fast_;
  size_t fast_left_;
  uintptr_t slow_;
  CheckedSize slow_used_;
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_CARVER_H_
