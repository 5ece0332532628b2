// SPDX-License-Identifier: Apache-2.0
//
// fovea/stream.hpp: streams: attention over keys that are pushed in parts. stream.h is the manual.
#ifndef FOVEA_STREAM_HPP_
#define FOVEA_STREAM_HPP_

#include <cstddef>
#include <cstdint>

#include "fovea/attention.hpp"
#include "fovea/base.hpp"
#include "fovea/stream.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

// Memory for the state of a stream with Rows = batch * q_heads * q_tokens: a static array, or a member.
template <std::size_t Rows, std::size_t ValueDim>
using StreamState = Memory<FOVEA_STREAM_STATE_BYTES(Rows, ValueDim)>;

// Attention over keys that are pushed in parts. A Stream points to its plan, and to the state, which is in memory of
// the caller: a copy of a Stream points to the same state. Until begin or import_from has returned FOVEA_OK, the other
// functions return FOVEA_ERR_NULL, and counts are 0.
class Stream {
 public:
  // memory: at least plan.state_bytes(batch, q_tokens), 64-byte aligned.
  fovea_status begin(const AttentionPlan& plan, Span<std::byte> memory, std::uint32_t batch, std::uint32_t q_tokens,
                     std::int64_t first_key = 0) {
    auto* const state = static_cast<fovea_stream_state*>(static_cast<void*>(memory.data()));
    return attach(plan, state, fovea_stream_begin(&plan.get(), state, memory.size(), batch, q_tokens, first_key));
  }
  fovea_status push(const fovea_attention_args& args, Span<std::byte> workspace) {
    return fovea_stream_push(plan_, state_, &args, workspace.data(), workspace.size());
  }
  // Adds to this stream the keys that the other stream has seen. The other stays as it is.
  fovea_status merge(const Stream& other) { return fovea_stream_merge(plan_, state_, other.state_); }
  fovea_status end(const fovea_attention_args& args, Span<std::byte> workspace) const {
    return fovea_stream_end(plan_, state_, &args, workspace.data(), workspace.size());
  }

  // Write an image of the state, which has state_bytes() bytes, and make a state from an image.
  fovea_status export_to(Span<std::byte> image) const {
    return fovea_stream_export(state_, image.data(), image.size());
  }
  fovea_status import_from(const AttentionPlan& plan, Span<std::byte> memory, Span<const std::byte> image) {
    auto* const state = static_cast<fovea_stream_state*>(static_cast<void*>(memory.data()));
    return attach(plan, state, fovea_stream_import(state, memory.size(), image.data(), image.size()));
  }

  std::size_t state_bytes() const {
    std::size_t bytes = 0;
    if (state_) fovea_stream_state_bytes(plan_, state_->batch, state_->q_tokens, &bytes);
    return bytes;
  }
  std::int64_t next_key() const { return state_ ? state_->next_key : 0; }
  const fovea_stream_state* state() const { return state_; }

 private:
  fovea_status attach(const AttentionPlan& plan, fovea_stream_state* state, fovea_status status) {
    plan_ = status == FOVEA_OK ? &plan.get() : nullptr;
    state_ = status == FOVEA_OK ? state : nullptr;
    return status;
  }

  const fovea_attention_plan* plan_ = nullptr;
  fovea_stream_state* state_ = nullptr;
};

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_STREAM_HPP_
