// SPDX-License-Identifier: Apache-2.0
//
// fovea/delta.hpp: linear attention and delta rules. delta.h is the manual.
#ifndef FOVEA_DELTA_HPP_
#define FOVEA_DELTA_HPP_

#include <cstddef>
#include <cstdint>

#include "fovea/base.hpp"
#include "fovea/delta.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

using DeltaArgs = Sized<fovea_delta_args>;

inline fovea_status delta_state_bytes(std::uint32_t batch, std::uint32_t v_heads, std::uint32_t head_dim,
                                      std::uint32_t value_dim, std::uint32_t decay_dim, std::size_t* bytes) {
  return fovea_delta_state_bytes(batch, v_heads, head_dim, value_dim, decay_dim, bytes);
}
inline fovea_status delta_workspace_bytes(const fovea_delta_args& args, std::size_t* bytes) {
  return fovea_delta_workspace_bytes(&args, bytes);
}
inline fovea_status delta_matrices_workspace_bytes(const fovea_delta_args& args, std::size_t* bytes) {
  return fovea_delta_matrices_workspace_bytes(&args, bytes);
}
// before: null = 0.
inline fovea_status delta_matrices(const fovea_delta_args& args, const fovea_in* before, const fovea_out& after,
                                   Span<std::byte> workspace) {
  return fovea_delta_matrices(&args, before, &after, workspace.data(), workspace.size());
}

// The state of some sequences. It is in memory of the caller, and a DeltaState points to it: a copy of a DeltaState
// points to the same state. Until begin or import_from has returned FOVEA_OK, the other functions return
// FOVEA_ERR_NULL, and counts are 0.
class DeltaState {
 public:
  // memory: at least delta_state_bytes of these counts, 64-byte aligned.
  fovea_status begin(Span<std::byte> memory, std::uint32_t batch, std::uint32_t v_heads, std::uint32_t head_dim,
                     std::uint32_t value_dim, std::uint32_t decay_dim = 1) {
    auto* const state = static_cast<fovea_delta_state*>(static_cast<void*>(memory.data()));
    return attach(state, fovea_delta_begin(state, memory.size(), batch, v_heads, head_dim, value_dim, decay_dim));
  }
  // Begin one entry again, or all of them: from zeros, or from given matrices.
  fovea_status reset(std::uint32_t entry = FOVEA_ALL_ENTRIES) { return fovea_delta_set(state_, entry, nullptr); }
  fovea_status set(const fovea_in& matrices, std::uint32_t entry = FOVEA_ALL_ENTRIES) {
    return fovea_delta_set(state_, entry, &matrices);
  }
  fovea_status get(const fovea_out& matrices, Target target = FOVEA_TARGET_BEST,
                   std::uint32_t entry = FOVEA_ALL_ENTRIES) const {
    return fovea_delta_get(state_, target, entry, &matrices);
  }

  fovea_status run(const fovea_delta_args& args, Span<std::byte> workspace) {
    return fovea_delta(state_, &args, workspace.data(), workspace.size());
  }

  // How many of the last tokens can be rolled back.
  std::uint32_t pending(std::uint32_t entry = FOVEA_ALL_ENTRIES) const { return fovea_delta_pending(state_, entry); }
  fovea_status roll_back(std::uint32_t tokens, std::uint32_t entry = FOVEA_ALL_ENTRIES) {
    return fovea_delta_roll_back(state_, entry, tokens);
  }

  // Write an image of the state, which has state_bytes() bytes, and make a state from an image.
  fovea_status export_to(Span<std::byte> image) const { return fovea_delta_export(state_, image.data(), image.size()); }
  fovea_status import_from(Span<std::byte> memory, Span<const std::byte> image) {
    auto* const state = static_cast<fovea_delta_state*>(static_cast<void*>(memory.data()));
    return attach(state, fovea_delta_import(state, memory.size(), image.data(), image.size()));
  }

  std::size_t state_bytes() const {
    std::size_t bytes = 0;
    if (state_) {
      delta_state_bytes(state_->batch, state_->v_heads, state_->head_dim, state_->value_dim, state_->decay_dim, &bytes);
    }
    return bytes;
  }
  const fovea_delta_state* state() const { return state_; }

 private:
  fovea_status attach(fovea_delta_state* state, fovea_status status) {
    state_ = status == FOVEA_OK ? state : nullptr;
    return status;
  }

  fovea_delta_state* state_ = nullptr;
};

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_DELTA_HPP_
