// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/integer/call.h"

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/buffers.h"
#include "ground/base/key_places.h"
#include "ground/base/numbers.h"
#include "ground/base/status.h"

namespace fovea {
namespace {

// What the counts of a call decide.
struct IntegerPlan {
  uint32_t rows;  // of an IntegerBlock
  size_t workspace_bytes;
};

constexpr uint32_t kMostHeadDim = 1024;       // for sums of products, and differences of such sums, in 32 bits
constexpr uint32_t kMostValueDim = 1u << 24;  // for bytes of a row's arrays in 32 bits
constexpr uint32_t kMostKeys = 1u << 24;      // so that a sum still changes with each key

// Rows that an IntegerBlock has room for: a multiple of kIntegerRowGroup.
uint32_t block_rows(const fovea_integer_attention_args& a) {
  const uint64_t rows = uint64_t(a.q_tokens) * (a.q_heads / a.kv_heads);
  if (rows >= kIntegerRows) return kIntegerRows;
  return rows == 0 ? kIntegerRowGroup : uint32_t(rows + kIntegerRowGroup - 1) / kIntegerRowGroup * kIntegerRowGroup;
}

fovea_status check_integer_options(const fovea_integer_attention_args& a) {
  if (uint32_t(a.causal) > FOVEA_CAUSAL_POSITIONS) return FOVEA_ERR_ENUM;
  if (!is_i8_code(a.q_zero_point) || !is_i8_code(a.value_zero_point) || !is_i8_code(a.out_zero_point))
    return FOVEA_ERR_NUMBER;
  if (!is_multiplier(a.score_multiplier, a.score_shift)) return FOVEA_ERR_NUMBER;
  if (!is_multiplier(a.out_multiplier, a.out_shift)) return FOVEA_ERR_NUMBER;
  const bool named = a.causal == FOVEA_CAUSAL_TOP_LEFT || a.causal == FOVEA_CAUSAL_BOTTOM_RIGHT;
  const bool needed = !named && (a.causal != FOVEA_CAUSAL_NONE || a.window_left || a.window_right);
  if (named && a.first_positions) return FOVEA_ERR_POSITIONS_TWICE;
  return needed && !a.first_positions && a.batch > 0 ? FOVEA_ERR_POSITIONS_MISSING : FOVEA_OK;
}

fovea_status check_integer_buffers(const fovea_integer_attention_args& a, const void* workspace,
                                   size_t workspace_bytes) {
  Buffers buffers;
  buffers.add_output(a.out, 1, {a.batch, a.q_heads, a.q_tokens}, a.value_dim);
  buffers.add_memory(workspace, workspace_bytes);
  buffers.add_tokens(a.q, 1, {a.batch, a.q_heads, a.q_tokens}, a.head_dim);
  buffers.add_tokens(a.keys, 1, {a.batch, a.kv_heads, a.kv_tokens}, a.head_dim);
  buffers.add_tokens(a.values, 1, {a.batch, a.kv_heads, a.kv_tokens}, a.value_dim);
  buffers.add_list(a.kv_lengths, sizeof(uint32_t), a.batch);
  return buffers.add_list(a.first_positions, sizeof(int64_t), a.batch);
}

// Checks the positions and lengths themselves. Their arrays have been checked.
fovea_status check_entries(const IntegerCall& c) {
  for (uint32_t entry = 0; kHasChecks && entry < c.batch; ++entry) {
    if (c.keys_of(entry) > c.kv_tokens) return FOVEA_ERR_LENGTH;
    const int64_t position = c.first_position(entry);
    if (position > kMostPosition || position < -kMostPosition) return FOVEA_ERR_SIZE;
  }
  return FOVEA_OK;
}

}  // namespace

// Reads no array.
fovea_status plan_integer_attention(const fovea_integer_attention_args& a, IntegerPlan* plan) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (!config::kIntegerAttention) return FOVEA_ERR_LEFT_OUT;
  if (a.head_dim > kMostHeadDim) return FOVEA_ERR_UNSUPPORTED;
  if (a.q_heads == 0 || a.kv_heads == 0 || a.head_dim == 0 || a.value_dim == 0) return FOVEA_ERR_DIM;
  if (a.q_heads % a.kv_heads != 0) return FOVEA_ERR_HEADS;
  if (a.value_dim > kMostValueDim || a.kv_tokens > kMostKeys) return FOVEA_ERR_SIZE;
  plan->rows = block_rows(a);
  IntegerArrays arrays;
  const CheckedSize bytes = place_integer_arrays(nullptr, a.head_dim, a.value_dim, plan->rows, &arrays);
  plan->workspace_bytes = bytes.value;
  return bytes.overflow ? FOVEA_ERR_SIZE : FOVEA_OK;
}

fovea_status resolve_integer_attention(const fovea_integer_attention_args& a, void* workspace, size_t workspace_bytes,
                                       IntegerCall* call) {
  IntegerPlan plan;
  FOVEA_RETURN_IF_ERROR(plan_integer_attention(a, &plan));
  FOVEA_RETURN_IF_ERROR(check_integer_options(a));
  FOVEA_RETURN_IF_ERROR(check_memory(workspace, workspace_bytes, plan.workspace_bytes));
  FOVEA_RETURN_IF_ERROR(check_integer_buffers(a, workspace, workspace_bytes));

  IntegerCall& c = *call;
  c.batch = a.batch, c.kv_heads = a.kv_heads, c.q_tokens = a.q_tokens, c.kv_tokens = a.kv_tokens;
  c.group = a.q_heads / a.kv_heads;
  c.rows = plan.rows;
  c.out = &a.out, c.q = &a.q, c.keys = &a.keys, c.values = &a.values;
  c.causal = a.causal, c.positions = a.first_positions, c.kv_lengths = a.kv_lengths;
  c.left = a.window_left, c.right = a.causal != FOVEA_CAUSAL_NONE ? 1 : a.window_right;
  IntegerBlock& block = c.block;
  place_integer_arrays(workspace, a.head_dim, a.value_dim, plan.rows, &block.arrays);
  block.head_dim = a.head_dim, block.value_dim = a.value_dim;
  block.key_stride = a.keys.token_stride, block.value_stride = a.values.token_stride;
  block.q_zero_point = a.q_zero_point, block.value_zero_point = a.value_zero_point,
  block.out_zero_point = a.out_zero_point;
  block.score_multiplier = a.score_multiplier, block.score_shift = a.score_shift;
  block.out_multiplier = a.out_multiplier, block.out_shift = a.out_shift;
  return check_entries(c);
}

}  // namespace fovea

extern "C" fovea_status fovea_integer_attention_workspace_bytes(const fovea_integer_attention_args* args, size_t* bytes) {
  return fovea::plan_and_write(args, fovea::plan_integer_attention, bytes, [](auto& p) { return p.workspace_bytes; });
}

extern "C" fovea_status fovea_integer_attention(const fovea_integer_attention_args* args, void* workspace,
                                                size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_attention(*args, workspace, workspace_bytes, &call));
  fovea::run_integer_attention(&call);
  return FOVEA_OK;
}
