// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/plan.h"

#include "ground/base/buffers.h"
#include "ground/base/numbers.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

constexpr uint32_t kPlanMagic = magic_of("plan");
constexpr float kMostSoftcap = 5.8e37f;  // in base 2 its inverse is normal, too

template <class Enum>
bool is_enum(Enum value, Enum last) {
  return uint32_t(value) <= uint32_t(last);
}

// The diagonal that causal or diagonal names; FOVEA_DIAGONAL_AS_CAUSAL if neither does.
fovea_diagonal diagonal_of(const fovea_attention_desc& d) {
  static_assert(FOVEA_CAUSAL_TOP_LEFT == int(FOVEA_DIAGONAL_TOP_LEFT) &&
                    FOVEA_CAUSAL_BOTTOM_RIGHT == int(FOVEA_DIAGONAL_BOTTOM_RIGHT) &&
                    FOVEA_CAUSAL_POSITIONS == int(FOVEA_DIAGONAL_POSITIONS),
                "a causal limit names its diagonal by the same number");
  return d.causal == FOVEA_CAUSAL_NONE ? d.diagonal : fovea_diagonal(d.causal);
}

// Whether there are kernels for the products that d wants, if not of f32.
bool computes(const fovea_attention_desc& d) { return (is_i8(d) && computes_i8(d)) || (is_f16(d) && computes_f16(d)); }

fovea_status check_hadamard(const fovea_attention_desc& d) {
  if (!is_enum(d.hadamard, FOVEA_HADAMARD_BOTH)) return FOVEA_ERR_ENUM;
  if (rotates_keys(d) && (!is_unscaled(d.q_dtype) || is_additive(d))) return FOVEA_ERR_UNSUPPORTED;
  return rotates_values(d) && d.out_dtype != FOVEA_F32 ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK;
}

// The sizes that this kind of source needs must be set, and the sizes of other kinds must be 0.
fovea_status check_source(const fovea_attention_desc& d) {
  const bool ring = is_ring(d), pages = is_paged(d);
  if ((d.kv_kind == FOVEA_KV_RING && !ring) || (d.kv_kind == FOVEA_KV_PAGED && !pages) ||
      (d.kv_kind == FOVEA_KV_LOAD && !is_loaded(d)) || d.pinned_tokens != pinned_tokens(d)) {
    return FOVEA_ERR_LEFT_OUT;
  }
  if (ring ? d.ring_tokens <= d.pinned_tokens || d.ring_tokens > kMostTokens : d.ring_tokens) return FOVEA_ERR_SIZE;
  if (pages != (d.page_tokens != 0)) return FOVEA_ERR_SIZE;
  if (d.max_prefix_tokens == 0) return FOVEA_OK;
  if (!kHasPrefixes) return FOVEA_ERR_LEFT_OUT;
  if (d.max_prefix_tokens > kMostTokens - (ring ? 0 : d.max_kv_tokens)) return FOVEA_ERR_SIZE;
  return is_loaded(d) || (ring && d.pinned_tokens != 0) ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK;
}

// Whether the first of max_q_tokens new tokens may need to see a token that the last one replaces.
bool may_lose_tokens(const fovea_attention_desc& d) {
  if (!is_ring(d) || d.allow_evicted || d.max_kv_tokens <= d.ring_tokens) return false;
  const uint64_t room = d.ring_tokens - d.pinned_tokens;
  return d.window_left == 0 || uint64_t(d.window_left) + d.max_q_tokens > room + 1;
}

fovea_status check_tensors(const fovea_attention_desc& d) {
  FOVEA_RETURN_IF_ERROR(check_scale_and_zero(d.q_scale, d.q_zero_point, d.q_dtype));
  FOVEA_RETURN_IF_ERROR(check_scale_and_zero(d.key_scale, d.key_zero_point, d.key_dtype));
  FOVEA_RETURN_IF_ERROR(check_scale_and_zero(d.value_scale, d.value_zero_point, d.value_dtype));
  FOVEA_RETURN_IF_ERROR(check_scale_and_zero(d.out_scale, d.out_zero_point, d.out_dtype));
  if (!kHasI8Tensors && (d.q_dtype == FOVEA_I8 || d.out_dtype == FOVEA_I8)) return FOVEA_ERR_LEFT_OUT;
  if (!is_one_of<kTensorFormats>(d.q_dtype)) return unserved(d.q_dtype);
  if (!is_one_of<kTensorFormats>(d.out_dtype)) return unserved(d.out_dtype);
  if (!kHasI8Tensors) return FOVEA_OK;  // then all scales and zero points are 0
  const bool tensors = is_i8(d);
  if (!tensors && (d.q_dtype == FOVEA_I8 || d.out_dtype == FOVEA_I8)) return FOVEA_ERR_UNSUPPORTED;
  if (!tensors && (d.key_zero_point != 0 || d.value_zero_point != 0)) return FOVEA_ERR_UNSUPPORTED;
  if (d.out_dtype == FOVEA_I8 && d.out_scale == 0.0f) return FOVEA_ERR_NUMBER;
  if (!is_finite((d.scale != 0.0f ? d.scale : 1.0f) * kLog2E * d.q_scale)) return FOVEA_ERR_NUMBER;
  if (d.q_zero_point != 0 && d.key_dtype != FOVEA_I8) return FOVEA_ERR_UNSUPPORTED;
  if (d.key_zero_point != 0 && d.q_dtype != FOVEA_I8) return FOVEA_ERR_UNSUPPORTED;
  return d.value_zero_point != 0 && d.dropout != 0.0f ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK;
}

fovea_status check_desc(const fovea_attention_desc& d) {
  FOVEA_RETURN_IF_ERROR(check_struct(d));
  if (!is_enum(d.causal, FOVEA_CAUSAL_POSITIONS) || !is_enum(d.kv_kind, FOVEA_KV_LOAD)) return FOVEA_ERR_ENUM;
  if (!is_enum(d.diagonal, FOVEA_DIAGONAL_POSITIONS)) return FOVEA_ERR_ENUM;
  if (!is_dtype(d.q_dtype) || !is_dtype(d.key_dtype)) return FOVEA_ERR_ENUM;
  if (!is_dtype(d.value_dtype) || !is_dtype(d.out_dtype)) return FOVEA_ERR_ENUM;
  if (!is_target(d.target) || !is_enum(d.score, FOVEA_SCORE_ADDITIVE)) return FOVEA_ERR_ENUM;
  if (!is_enum(d.compute, FOVEA_COMPUTE_F16)) return FOVEA_ERR_ENUM;
  if (d.processor_features & ~kNamedFeatures) return FOVEA_ERR_ENUM;
  if (d.head_dim == 0 || d.value_dim == 0 || d.q_heads == 0 || d.kv_heads == 0) return FOVEA_ERR_DIM;
  if (d.q_heads % d.kv_heads != 0) return FOVEA_ERR_HEADS;
  if (d.max_batch == 0 || d.max_kv_tokens > kMostTokens || d.max_q_tokens > kMostTokens) return FOVEA_ERR_SIZE;
  if (!is_finite(d.scale * kLog2E)) return FOVEA_ERR_NUMBER;
  if (softcap(d) != 0.0f && !(d.softcap >= kLeastNormal && d.softcap <= kMostSoftcap)) return FOVEA_ERR_NUMBER;
  if (!(d.dropout >= 0.0f && d.dropout < 1.0f)) return FOVEA_ERR_NUMBER;
  FOVEA_RETURN_IF_ERROR(check_tensors(d));
  if (!is_key_format(d.key_dtype)) return unserved<kEveryKeyFormat>(d.key_dtype);
  if (!is_key_format(d.value_dtype)) return unserved<kEveryKeyFormat>(d.value_dtype);
  if (d.diagonal != FOVEA_DIAGONAL_AS_CAUSAL && d.diagonal != diagonal_of(d)) return FOVEA_ERR_POSITIONS_TWICE;
  if (kHasHadamard) FOVEA_RETURN_IF_ERROR(check_hadamard(d));
  FOVEA_RETURN_IF_ERROR(check_source(d));
  if (d.max_workers > kMostWorkers || d.key_split_tokens % kKeyTile != 0) return FOVEA_ERR_SIZE;
  if ((!kHasHadamard && d.hadamard != FOVEA_HADAMARD_NONE) || (d.max_workers > 1 && worker_count(d) == 1) ||
      (d.key_split_tokens != 0 && !kSplitsKeys) || (d.key_mass_queries != 0 && !kHasKeyMass) ||
      (d.score == FOVEA_SCORE_ADDITIVE && !is_additive(d)) || (d.dropout != 0.0f && !drops(d)) ||
      d.softcap != softcap(d) || d.window_left != window_left(d) || d.window_right != window_right(d) ||
      (d.compute == FOVEA_COMPUTE_I8 && !kHasI8Products) || (d.compute == FOVEA_COMPUTE_F16 && !kHasF16Products)) {
    return FOVEA_ERR_LEFT_OUT;
  }
  if (d.key_mass_queries != 0 && d.key_split_tokens != 0) return FOVEA_ERR_UNSUPPORTED;
  if (d.compute != FOVEA_COMPUTE_F32 && !computes(d)) return FOVEA_ERR_UNSUPPORTED;
  return may_lose_tokens(d) ? FOVEA_ERR_RING : FOVEA_OK;
}

// Bytes of partial states of all rows: one for each part of the keys if there are several, or one if a loader may fail in a
// push; or of few rows, if prefixes are shared.
CheckedSize measure_splits(const fovea_attention_desc& d, bool shares) {
  CheckedSize bytes;
  const uint32_t splits = split_count(d, d.max_kv_tokens + most_prefix(d));
  const bool loads = kHasStreams && is_loaded(d);
  if (splits <= 1 && !loads && !shares) return bytes;
  bytes.value = splits;
  bytes.times(d.max_batch);
  const uint64_t rows = uint64_t(d.q_heads / d.kv_heads) * d.max_q_tokens;
  if (shares && rows > kMostSharedRows) {
    bytes.times(d.kv_heads).times(kMostSharedRows);
  } else {
    bytes.times(d.q_heads).times(d.max_q_tokens);
  }
  CheckedSize row{d.value_dim};
  row.plus(2).times(sizeof(float));
  bytes.times(row).aligned();
  return bytes;
}

// The most rows that the few-rows kernels take.
uint32_t few_rows_of(const TargetTraits& target, const MadePlan& plan) {
  return kPlansFewHalves && is_f16(plan.desc) ? kFewHalfRows : target.few_rows();
}

bool fits(const KernelTraits& kernel, const MadePlan& plan) {
  const fovea_attention_desc& d = plan.desc;
  const bool exists = kernel.any_rows || kernel.compute == FOVEA_COMPUTE_F32 ||
                      (kFirstKernel == kFewRowsKernel &&
                       (kPlansFewHalves && is_f16(d) ? reads_halves(plan) && has_few_halves(plan.lanes)
                                                     : is_i8(d) && kDotTraits[plan.dot].few_rows));
  return exists && kernel.compute == d.compute && (kernel.portable_bits || !d.portable_bits) &&
         (kernel.drops || d.dropout == 0.0f);
}

// Rows of the largest tile that `rows` rows fill. Tiles of the tile kernel are whole vectors, tiles of the few-rows
// kernel 1, 2 or 4 rows.
uint32_t largest_tile(const fovea_attention_desc& d, const KernelTraits& kernel, const TargetTraits& target,
                      uint32_t rows) {
  if (!kernel.lanes_are_rows) return rows > 2 ? kMostRowsOfFew : rows;
  const uint32_t own = is_i8(d) ? kDotTraits[target.dot].vectors : 0;
  uint32_t vectors = own ? own : target.tile_vectors;
  while (vectors > 1 && (vectors - 1) * target.lanes >= rows) --vectors;
  return vectors * target.lanes;
}

// Whether key tiles are read in place.
bool reads_keys_in_place(const fovea_attention_desc& d) {
  return d.key_dtype == FOVEA_F32 && d.value_dtype == FOVEA_F32 && !rows_may_part(d) && !is_loaded(d);
}

// The most query tiles that share each key tile. Tiles of the few-rows kernel are small, and share it while it is in
// the first-level cache. In the tile kernel nothing is shared if key tiles are read in place; else each is brought for
// some 48 rows, or 192 with integer products.
uint32_t most_tiles(const fovea_attention_desc& d, const KernelTraits& kernel, uint32_t tile_rows, uint32_t rows) {
  if (kernel.lanes_are_rows && reads_keys_in_place(d)) return 1;
  const uint32_t shared = is_i8(d) ? 192 : 48;
  const uint32_t tiles = (rows + tile_rows - 1) / tile_rows, enough = (shared + tile_rows - 1) / tile_rows;
  const uint32_t most = enough < kMostTiles ? enough : kMostTiles;
  return tiles == 0 ? 1 : tiles < most ? tiles : most;
}

fovea_status too_large(const fovea_attention_desc& d, const CheckedSize& bytes) {
  return bytes.overflow || d.workspace_budget_bytes == 0 ? FOVEA_ERR_SIZE : FOVEA_ERR_BUDGET;
}

// The number of rows that a kernel takes decides bits, so a budget does not change it: it reduces first the number of
// tiles that share keys, then the rows of a tile.
fovea_status plan_kernel(const TargetTraits& target, uint32_t index, uint32_t rows, size_t budget, MadePlan* plan) {
  const KernelTraits& kernel = kKernelTraits[index];
  const uint32_t served = kernel.any_rows || rows < few_rows_of(target, *plan) ? rows : few_rows_of(target, *plan);
  PlannedKernel& planned = plan->kernels[kernel.any_rows];
  if (planned.most_rows != 0 || !fits(kernel, *plan) || (!kernel.any_rows && served == 0)) return FOVEA_OK;
  planned.index = index;
  planned.most_rows = kernel.any_rows ? UINT32_MAX : served;
  planned.tile_rows = largest_tile(plan->desc, kernel, target, served);
  planned.tiles = most_tiles(plan->desc, kernel, planned.tile_rows, served);
  CheckedSize bytes;
  while (bytes = measure_worker(*plan, planned, 0), bytes.overflow || bytes.value > budget) {
    if (planned.tiles > 1) {
      --planned.tiles;
    } else if (kernel.lanes_are_rows && planned.tile_rows > target.lanes) {
      planned.tile_rows -= target.lanes;
    } else {
      return too_large(plan->desc, bytes);
    }
  }
  if (bytes.value > plan->worker_bytes) plan->worker_bytes = bytes.value;
  return FOVEA_OK;
}

// What products of halves read of a target: `dot` says whether the processor has arithmetic for them.
TargetTraits with_halves(const TargetTraits& traits, bool has_halves) {
  TargetTraits own = traits;
  own.dot = DotKind(has_halves);
  if (has_halves) own.lanes = uint8_t(2 * own.lanes), own.tile_vectors = half_vectors(own.target);
  return own;
}

fovea_status plan_for(const fovea_attention_desc& desc, const TargetTraits& traits, bool shares, MadePlan* plan) {
  // Most rows of a key head. A call counts rows, and vectors of them, in 32 bits.
  const uint64_t most_rows = uint64_t(desc.q_heads / desc.kv_heads) * desc.max_q_tokens;
  if (most_rows > INT32_MAX) return FOVEA_ERR_SIZE;
  const uint32_t rows = uint32_t(most_rows);
  MadePlan made = {};  // desc may be plan->desc
  made.desc = desc;
  made.desc.struct_bytes = sizeof made.desc;
  made.desc.target = traits.target;
  made.desc.diagonal = diagonal_of(desc);
  if (kHasPrefixes && is_ring(desc) && desc.max_kv_tokens > kMostTokens - most_prefix(desc)) {
    made.desc.max_kv_tokens = kMostTokens - most_prefix(desc);
  }
  if (desc.scale == 0.0f) {
    made.desc.scale = desc.score == FOVEA_SCORE_SCALED_DOT ? inverse_square_root(desc.head_dim) : 1.0f;
  }
  made.magic = kPlanMagic;
  made.lanes = traits.lanes;
  made.dot = is_i8(desc) || is_f16(desc) ? traits.dot : 0;

  // Each worker gets an equal share of the budget.
  const uint32_t workers = worker_count(desc);
  const CheckedSize split = measure_splits(desc, shares);
  if (split.overflow) return FOVEA_ERR_SIZE;
  size_t budget = desc.workspace_budget_bytes != 0 ? desc.workspace_budget_bytes : SIZE_MAX;
  budget = budget < split.value ? 0 : (budget - split.value) / workers;
  for (uint32_t index = kFirstKernel; index < kKernelsServed; ++index) {
    FOVEA_RETURN_IF_ERROR(plan_kernel(traits, index, rows, budget, &made));
  }

  CheckedSize all{made.worker_bytes};
  if (all.times(workers).plus(split.value).overflow) return FOVEA_ERR_SIZE;
  made.split_bytes = split.value;
  made.workspace_bytes = all.value;
  *plan = made;
  return FOVEA_OK;
}

// Where the budget has no room for the states of shared prefixes, each entry reads its own.
fovea_status plan_for(const fovea_attention_desc& desc, const TargetTraits& traits, MadePlan* plan) {
  if (!may_share(desc)) return plan_for(desc, traits, false, plan);
  const fovea_status status = plan_for(desc, traits, true, plan);
  return status == FOVEA_ERR_BUDGET ? plan_for(desc, traits, false, plan) : status;
}

}  // namespace

fovea_status check_scale_and_zero(float scale, int32_t zero, fovea_dtype dtype) {
  if (!kHasI8Tensors) return scale != 0.0f || zero != 0 ? FOVEA_ERR_LEFT_OUT : FOVEA_OK;
  if (scale != 0.0f && !is_scale(scale)) return FOVEA_ERR_NUMBER;
  if (!is_i8_code(zero)) return FOVEA_ERR_NUMBER;
  if (scale != 0.0f && dtype != FOVEA_I8) return FOVEA_ERR_UNSUPPORTED;
  return zero != 0 && scale == 0.0f ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK;
}

fovea_status make_plan(const fovea_attention_desc& desc, MadePlan* plan) {
  FOVEA_RETURN_IF_ERROR(check_desc(desc));
  const TargetTraits* traits = resolve_target(desc.target, desc.processor_features);
  if (!traits) return FOVEA_ERR_TARGET;
  if (!is_f16(desc)) return plan_for(desc, *traits, plan);
  return plan_for(desc, with_halves(*traits, has_halves(*traits, desc.processor_features)), plan);
}

fovea_status make_plan_for(const fovea_attention_desc& desc, fovea_target target, MadePlan* plan) {
  FOVEA_RETURN_IF_ERROR(check_struct(desc));
  fovea_attention_desc any_target = known_part(desc);
  any_target.target = FOVEA_TARGET_BEST;
  FOVEA_RETURN_IF_ERROR(check_desc(any_target));
  const TargetTraits* traits = target_traits(target);
  if (!traits) return FOVEA_ERR_ENUM;
  // The library on the other machine may be built differently: scalar code may have smlad or not, NEON may have 32 or
  // 64 bits, and arithmetic of halves or not. Of all builds the largest size counts.
  TargetTraits own = *traits, other = *traits;
  if (is_i8(desc) && traits->lanes == 1) other.dot = traits->dot == kDotFloats ? kDotSmlad : kDotFloats;
  if (target == FOVEA_TARGET_NEON && !traits->compiled()) other.tile_vectors = kLeastNeonVectors;
  size_t least_bytes = 0;
  const auto plan_too = [&](const TargetTraits& also) {
    const fovea_status planned = plan_for(any_target, also, plan);
    if (planned == FOVEA_OK && least_bytes < plan->workspace_bytes) least_bytes = plan->workspace_bytes;
    return planned;
  };
  if (is_f16(desc)) {
    FOVEA_RETURN_IF_ERROR(plan_too(with_halves(own, may_have_halves(own))));
    own = with_halves(own, own.target == FOVEA_TARGET_HELIUM);
    other = with_halves(other, own.dot != 0);
  }
  if (other.dot != own.dot || other.tile_vectors != own.tile_vectors) FOVEA_RETURN_IF_ERROR(plan_too(other));
  FOVEA_RETURN_IF_ERROR(plan_for(any_target, own, plan));
  if (plan->workspace_bytes < least_bytes) plan->workspace_bytes = least_bytes;
  return FOVEA_OK;
}

size_t slow_workspace_bytes(const MadePlan& plan, size_t workspace_bytes) {
  if (workspace_bytes >= plan.workspace_bytes) return 0;
  if (!kMayHaveSlowPart) return SIZE_MAX;
  const uint32_t workers = worker_count(plan.desc);
  const size_t share = worker_share(workspace_bytes, workers);
  size_t most = 0;
  for (const PlannedKernel& kernel : plan.kernels) {
    if (kernel.most_rows == 0) continue;
    const size_t bytes = measure_worker(plan, kernel, share).value;
    if (bytes > most) most = bytes;
  }
  return plan.split_bytes + most * workers;
}

bool is_plan(const MadePlan& plan) { return plan.magic == kPlanMagic; }

}  // namespace fovea

extern "C" fovea_status fovea_attention_plan_init(fovea_attention_plan* plan, const fovea_attention_desc* desc) {
  if (!plan || !desc) return FOVEA_ERR_NULL;
  return fovea::make_plan(*desc, &fovea::made(*plan));
}

extern "C" fovea_status fovea_attention_workspace_bytes(const fovea_attention_plan* plan, size_t* bytes) {
  if (!plan || !bytes) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  *bytes = fovea::made(*plan).workspace_bytes;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_attention_slow_workspace_bytes(const fovea_attention_plan* plan, size_t workspace_bytes,
                                                             size_t* bytes) {
  if (!plan || !bytes) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  *bytes = fovea::slow_workspace_bytes(fovea::made(*plan), workspace_bytes);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_attention_workspace_bytes_for(const fovea_attention_desc* desc, fovea_target target,
                                                            size_t* bytes) {
  return fovea::most_workspace<fovea::MadePlan, fovea::make_plan_for>(desc, target, bytes);
}

extern "C" const fovea_attention_desc* fovea_attention_plan_desc(const fovea_attention_plan* plan) {
  return plan && fovea::is_plan(*plan) ? &fovea::made(*plan).desc : nullptr;
}

extern "C" fovea_status fovea_attention_plan_kernel(const fovea_attention_plan* plan, uint32_t rows,
                                                    fovea_attention_kernel* kernel) {
  if (!plan || !kernel) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  const fovea::MadePlan& made = fovea::made(*plan);
  const fovea::PlannedKernel& planned = fovea::kernel_for(made, rows);
  *kernel = {made.lanes, planned.most_rows, planned.tile_rows, planned.tiles};
  return FOVEA_OK;
}
