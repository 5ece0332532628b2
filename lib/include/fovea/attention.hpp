// SPDX-License-Identifier: Apache-2.0
//
// fovea/attention.hpp: plans and calls of attention. attention.h is the manual.
#ifndef FOVEA_ATTENTION_HPP_
#define FOVEA_ATTENTION_HPP_

#include <cstddef>
#include <cstdint>

#include "fovea/attention.h"
#include "fovea/base.hpp"
#include "fovea/block_map.hpp"
#include "fovea/modifier.hpp"
#include "fovea/stream.h"  // fovea_stream_state_bytes

namespace fovea {
FOVEA_LEAN_BEGIN_

using AttentionDesc = Sized<fovea_attention_desc>;
using AttentionArgs = Sized<fovea_attention_args>;

// Memory for calls with f32 keys and values in strided arrays, by one worker: a static array, or a member. For other
// formats and sources use Memory<FOVEA_ATTENTION_KV_WORKSPACE_BYTES(HeadDim, ValueDim)>, for integer products
// Memory<FOVEA_ATTENTION_I8_WORKSPACE_BYTES(HeadDim, ValueDim)>.
template <std::size_t HeadDim, std::size_t ValueDim = HeadDim>
using AttentionWorkspace = Memory<FOVEA_ATTENTION_WORKSPACE_BYTES(HeadDim, ValueDim)>;

// A plan: init makes it once, then it is read-only. Until init has returned FOVEA_OK, run returns FOVEA_ERR_PLAN.
class AttentionPlan {
 public:
  fovea_status init(const fovea_attention_desc& desc) { return fovea_attention_plan_init(&plan_, &desc); }

  // These are 0 before init.
  std::size_t workspace_bytes() const {
    std::size_t bytes = 0;
    fovea_attention_workspace_bytes(&plan_, &bytes);
    return bytes;
  }
  std::size_t slow_workspace_bytes(std::size_t workspace_bytes) const {
    std::size_t bytes = 0;
    fovea_attention_slow_workspace_bytes(&plan_, workspace_bytes, &bytes);
    return bytes;
  }
  // Bytes of the state of a stream for these counts; 0 also where they overflow.
  std::size_t state_bytes(std::uint32_t batch, std::uint32_t q_tokens) const {
    std::size_t bytes = 0;
    fovea_stream_state_bytes(&plan_, batch, q_tokens, &bytes);
    return bytes;
  }
  // The description, with defaults filled in; NULL before init.
  const fovea_attention_desc* desc() const { return fovea_attention_plan_desc(&plan_); }
  Target target() const { return desc() ? desc()->target : FOVEA_TARGET_BEST; }
  const fovea_attention_plan& get() const { return plan_; }

  // Writes one line that says what a call of these counts will do. Like snprintf, returns the length of the whole line
  // without the closing 0.
  std::size_t describe(std::uint32_t q_tokens, std::uint32_t kv_tokens, Span<char> text) const {
    return fovea_attention_plan_describe(&plan_, q_tokens, kv_tokens, text.data(), text.size());
  }

  fovea_status run(const fovea_attention_args& args, void* workspace, std::size_t workspace_bytes) const {
    return fovea_attention(&plan_, &args, workspace, workspace_bytes);
  }
  fovea_status run(const fovea_attention_args& args, Span<std::byte> workspace) const {
    return run(args, workspace.data(), workspace.size());
  }
  // With a fast and a slow region of workspace, where no single region is large enough.
  fovea_status run(const fovea_attention_args& args, Span<std::byte> workspace, Span<std::byte> slow_workspace) const {
    fovea_attention_args with_slow = args;
    with_slow.slow_workspace = slow_workspace.data();
    with_slow.slow_workspace_bytes = slow_workspace.size();
    return run(with_slow, workspace);
  }

 private:
  fovea_attention_plan plan_{};
};

// Writes the mask of a tree of tokens. Row i begins at mask + i * row_stride.
inline fovea_status tree_mask(Span<const std::int32_t> parents, std::uint8_t* mask, std::size_t row_stride) {
  if (parents.size() > 0xffffffff) return FOVEA_ERR_SIZE;
  return fovea_tree_mask(parents.data(), static_cast<std::uint32_t>(parents.size()), mask, row_stride);
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_ATTENTION_HPP_
