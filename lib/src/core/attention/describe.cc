// SPDX-License-Identifier: Apache-2.0
//
// fovea_attention_plan_describe.
#include "ground/base/arithmetic.h"
#include "core/attention/plan.h"
#include "fovea/fovea.h"
#include "ground/base/line.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

extern "C" size_t fovea_attention_plan_describe(const fovea_attention_plan* plan, uint32_t q_tokens, uint32_t kv_tokens,
                                                char* text, size_t text_bytes) {
  fovea::Line line(text, text ? text_bytes : 0);
  if (!fovea::kHasText) return line.finish();
  if (!plan || !fovea::is_plan(*plan)) return (line << "not a plan").finish();
  const fovea::MadePlan& made = fovea::made(*plan);
  const fovea_attention_desc& d = made.desc;
  const uint64_t rows = uint64_t(d.q_heads / d.kv_heads) * q_tokens;
  const fovea::PlannedKernel& kernel = fovea::kernel_for(made, rows);
  line << fovea_target_name(d.target) << " (" << fovea_target_backend(d.target) << "), "
       << fovea::kKernelNames[kernel.index] << " kernel, rows for each key head " << rows
       << " in tiles: " << (rows + kernel.tile_rows - 1) / kernel.tile_rows << " of at most "
       << uint64_t(kernel.tile_rows);
  line << ", keys in tiles of " << uint64_t(FOVEA_KEY_TILE) << ": "
       << (uint64_t(kv_tokens) + FOVEA_KEY_TILE - 1) / FOVEA_KEY_TILE;
  const uint32_t splits = fovea::split_count(d, kv_tokens), workers = fovea::worker_count(d);
  if (splits > 1) line << " in " << uint64_t(splits) << " parts of " << uint64_t(d.key_split_tokens);
  line << ", workspace " << uint64_t(made.workspace_bytes) << " bytes";
  if (workers > 1) line << " for " << uint64_t(workers) << " workers";
  return line.finish();
}
