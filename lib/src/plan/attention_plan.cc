// SPDX-License-Identifier: Apache-2.0
#include "plan/attention_plan.h"

#include "run/workspace.h"
#include "targets/registry.h"

namespace fovea {
namespace {

constexpr uint32_t kPlanMagic = 0x666f7600u + FOVEA_VERSION;  // "fov" and the version
constexpr uint32_t kMostTokens = 1u << 30;
constexpr float kLeastNormal = 1.17549435e-38f;

bool is_finite(float x) { return x - x == 0.0f; }

// Without libm: Newton's iteration in double, from a start below the root of 3 / x, where it converges.
float inverse_square_root(uint32_t x) {
  double guess = 0.75;
  for (double y = x; y >= 4.0; y *= 0.25) guess *= 0.5;
  for (int i = 0; i < 8; ++i) guess *= 1.5 - 0.5 * double(x) * guess * guess;
  return float(guess);
}

fovea_status check_desc(const fovea_attention_desc& d) {
  struct {
    bool bad;
    fovea_status status;
  } const rejections[] = {
      {d.struct_bytes != sizeof(fovea_attention_desc), FOVEA_ERR_STRUCT},
      {d.causal > FOVEA_CAUSAL_POSITIONS || d.causal < 0, FOVEA_ERR_ENUM},
      {d.q_dtype > FOVEA_I4 || d.q_dtype < 0 || d.key_dtype > FOVEA_I4 || d.key_dtype < 0, FOVEA_ERR_ENUM},
      {d.value_dtype > FOVEA_I4 || d.value_dtype < 0 || d.out_dtype > FOVEA_I4 || d.out_dtype < 0, FOVEA_ERR_ENUM},
      {d.kv_kind > FOVEA_KV_LOAD || d.kv_kind < 0, FOVEA_ERR_ENUM},
      {d.target != FOVEA_TARGET_BEST && d.target != FOVEA_TARGET_XSIMD && !target_traits(d.target), FOVEA_ERR_ENUM},
      {d.head_dim == 0 || d.value_dim == 0 || d.q_heads == 0 || d.kv_heads == 0, FOVEA_ERR_DIM},
      {d.kv_heads != 0 && d.q_heads % d.kv_heads != 0, FOVEA_ERR_HEADS},
      {d.max_kv_tokens > kMostTokens || d.max_q_tokens > kMostTokens, FOVEA_ERR_SIZE},
      {!is_finite(d.scale * kLog2E), FOVEA_ERR_NUMBER},
      {!is_finite(d.softcap) || d.softcap < 0.0f || (d.softcap > 0.0f && d.softcap < kLeastNormal), FOVEA_ERR_NUMBER},
      {d.q_dtype != FOVEA_F32 || d.key_dtype != FOVEA_F32, FOVEA_ERR_UNSUPPORTED},
      {d.value_dtype != FOVEA_F32 || d.out_dtype != FOVEA_F32, FOVEA_ERR_UNSUPPORTED},
      {d.kv_kind != FOVEA_KV_STRIDED, FOVEA_ERR_UNSUPPORTED},
  };
  for (const auto& rejection : rejections) {
    if (rejection.bad) return rejection.status;
  }
  return FOVEA_OK;
}

fovea_status plan_for(const fovea_attention_desc& desc, const TargetTraits& traits, fovea_plan* plan) {
  // Rows of a key head at most. run/ counts them, and vectors of them, in 32 bits.
  const uint64_t most_rows = uint64_t(desc.q_heads / desc.kv_heads) * desc.max_q_tokens;
  if (most_rows > INT32_MAX) return FOVEA_ERR_SIZE;
  const size_t budget = desc.workspace_budget_bytes != 0 ? desc.workspace_budget_bytes : SIZE_MAX;
  const auto fits = [budget](const CheckedSize& bytes) { return !bytes.overflow && bytes.value <= budget; };

  // The tile kernel: as many vectors of rows as there are, and as fit.
  uint32_t vectors = traits.tile_vectors;
  while (vectors > 1 && uint64_t(vectors - 1) * traits.lanes >= most_rows) --vectors;
  const auto tile_bytes = [&] {
    return measure_query_tiles(tile_shape(traits.lanes, vectors, desc.head_dim, desc.value_dim), 1);
  };
  while (vectors > 1 && !fits(tile_bytes())) --vectors;
  CheckedSize bytes = tile_bytes();
  if (bytes.overflow) return FOVEA_ERR_SIZE;
  if (!fits(bytes)) return FOVEA_ERR_BUDGET;

  // The few-rows kernel: its tiles are small, and all of a key head share each key tile while it is in the first cache.
  uint32_t few_rows = desc.portable_bits ? 0 : traits.few_rows;
  if (most_rows < few_rows) few_rows = uint32_t(most_rows);
  uint32_t few_tiles = 0;
  for (; few_rows > 0; few_rows = few_rows > kFewRows ? few_rows - kFewRows : 0) {
    few_tiles = (few_rows + kFewRows - 1) / kFewRows;
    const CheckedSize few_bytes =
        measure_query_tiles(few_rows_shape(traits.lanes, desc.head_dim, desc.value_dim), few_tiles);
    if (!fits(few_bytes)) continue;
    if (few_bytes.value > bytes.value) bytes = few_bytes;
    break;
  }

  fovea_plan made = {};  // desc may be that of *plan
  made.desc = desc;
  made.desc.target = traits.target;
  if (desc.scale == 0.0f) made.desc.scale = inverse_square_root(desc.head_dim);
  made.magic = kPlanMagic;
  made.lanes = traits.lanes;
  made.tile_vectors = vectors;
  made.few_rows = few_rows;
  made.workspace_bytes = bytes.value;
  *plan = made;
  return FOVEA_OK;
}

}  // namespace

fovea_status make_plan(const fovea_attention_desc& desc, fovea_plan* plan) {
  const fovea_status status = check_desc(desc);
  if (status != FOVEA_OK) return status;
  const TargetTraits* traits = resolve_target(desc.target);
  if (!traits) return FOVEA_ERR_TARGET;
  return plan_for(desc, *traits, plan);
}

fovea_status make_plan_for(const fovea_attention_desc& desc, fovea_target target, fovea_plan* plan) {
  fovea_attention_desc any_target = desc;
  any_target.target = FOVEA_TARGET_BEST;
  const fovea_status status = check_desc(any_target);
  if (status != FOVEA_OK) return status;
  const TargetTraits* traits = target_traits(target);
  if (!traits) return FOVEA_ERR_ENUM;
  return plan_for(any_target, *traits, plan);
}

bool is_plan(const fovea_plan& plan) { return plan.magic == kPlanMagic; }

}  // namespace fovea
