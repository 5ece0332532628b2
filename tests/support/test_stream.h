// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/pieces.h"
#include "support/test.h"

namespace fovea_test {

// A stream of the most entries and queries of a description, which has begun, with a plan and memory of its own.
class TestStream {
 public:
  explicit TestStream(fovea_attention_desc desc, fovea_target target = FOVEA_TARGET_BEST, bool portable_bits = false) {
    desc.target = target;
    if (portable_bits) desc.portable_bits = 1;
    REQUIRE(fovea_attention_plan_init(&plan, &desc) == FOVEA_OK);
    bytes = bytes_of(fovea_stream_state_bytes, &plan, desc.max_batch, desc.max_q_tokens);
    workspace = Guarded(made(plan).workspace_bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    memory = Guarded((bytes + 63) / 64 * 64, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    begin();
  }
  fovea_stream_state* state() const { return memory.as<fovea_stream_state>(); }
  // Another state, which has begun.
  Guarded another(int64_t first_key = 0) const {
    Guarded begun(memory.bytes(), FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    REQUIRE(fovea_stream_begin(&plan, begun.as<fovea_stream_state>(), bytes, made(plan).desc.max_batch,
                               made(plan).desc.max_q_tokens, first_key) == FOVEA_OK);
    return begun;
  }
  fovea_status push(const Guarded& into, const fovea_attention_args& args) const {
    return fovea_stream_push(&plan, into.as<fovea_stream_state>(), &args, workspace.as<void>(), workspace.bytes());
  }
  fovea_status end(const Guarded& of, const fovea_attention_args& args) const {
    return fovea_stream_end(&plan, of.as<fovea_stream_state>(), &args, workspace.as<void>(), workspace.bytes());
  }
  void begin(int64_t first_key = 0) const {
    REQUIRE(fovea_stream_begin(&plan, state(), bytes, made(plan).desc.max_batch, made(plan).desc.max_q_tokens,
                               first_key) == FOVEA_OK);
  }
  fovea_status push(const fovea_attention_args& args) const { return push(memory, args); }
  fovea_status push(const AttentionCase& test, Piece piece) const { return push(PieceArgs(test, piece).args); }
  fovea_status end(const fovea_attention_args& args) const { return end(memory, args); }
  std::vector<uint8_t> content() const { return {memory.as<uint8_t>(), memory.as<uint8_t>() + bytes}; }

  fovea_attention_plan plan{};
  size_t bytes;  // of the state
  Guarded workspace, memory;
};

}  // namespace fovea_test
