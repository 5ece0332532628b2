// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/key_mass.h"

namespace fovea {

void begin_keeping(const AttentionCall& call, uint32_t entry, QueryTile* tile) {
  if (!kHasKeyMass) return;
  const uint32_t first_token = first_massed(call, entry);
  KeptWeights& kept = *tile->kept;
  kept.count = 0;
  kept.from = UINT32_MAX;
  if (!keeps_rows(*tile, first_token)) return;
  const uint64_t row = first_token > tile->first_token ? uint64_t{first_token - tile->first_token} * tile->group : 0;
  kept.from = row > tile->first_head ? uint32_t(row - tile->first_head) : 0;
}

void add_kept(const AttentionCall& call, const AttentionKernel& kernel, uint32_t entry, uint32_t kv_head,
              const QueryTile& tile) {
  if (!kHasKeyMass || tile.kept->count == 0) return;
  const fovea_in mass = {call.key_mass().data, call.key_mass().batch_stride, call.key_mass().head_stride, 1};
  (*kernel.steps->add_mass)(tile, floats_of_head(mass, call.keys(entry), kv_head).data);
}

void find_slot(QueryTile* tile, KeyTile* keys) {
  keys->kept = nullptr;
  if (!kHasKeyMass || tile->kept->from == UINT32_MAX) return;
  const size_t floats = kept_slot_floats(*tile);
  float* const slot = tile->kept->slots + tile->kept->count++ * floats;
  const KeptKeys span = {keys->first, keys->begin, keys->end, 0};
  __builtin_memcpy(slot, &span, sizeof span);
  keys->kept = slot;
  if (!keys->edge) return;
  for (size_t i = kKeptKeysFloats; i < floats; ++i) slot[i] = i < floats - tile->columns ? 0.0f : -__builtin_inff();
}

}  // namespace fovea
