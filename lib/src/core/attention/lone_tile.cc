// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/row_outputs.h"

namespace fovea {
namespace {

// Whether the heads of the entry have only one key tile, and differ in nothing but where their rows are.
bool differs_in_rows(const HeadTask& task) {
  const AttentionCall& call = task.call();
  const KeyLimits& limits = task.positions();
  if (task.doing() != Part::kWhole || task.per_row || task.range_count() != 1 || limits.limited()) return false;
  if (call.block_map() || call.wants_scores() || call.modifies_weights() || call.wants_mass()) return false;
  if (is_additive(call.desc) || is_loaded(call.desc)) return false;
  if (rotates_keys(call.desc) || rotates_values(call.desc)) return false;
  return limits.keys != 0 && limits.keys <= kKeyTile && output_tensor(call, 0).is_plain;
}

}  // namespace

void HeadTask::find_lone(const QueryTile* tiles, uint32_t count) {
  if (!kHasLoneTiles) return;
  if (kHasI8Products) source.serve(count * tiles[0].columns);
  lone->found = count == 1 && differs_in_rows(*this) && !source.in_pieces();
  if (!lone->found) return;
  KeyTile& keys = lone->keys;
  prepare(&keys);
  keys.first = keys.begin = 0;
  keys.end = limits.keys;
  keys.edge = false;
  keys.masked = !kHasMasks || kKeyTile > steps.mask->begin;
  same_row_facts(*this, tiles[0]);
  find_outputs(*this, &lone->outputs);
}

void HeadTask::run_lone(QueryTile& tile) {
  if (!kHasLoneTiles) return;
  if (const auto whole = *kernel().whole) {
    source.bring(&lone->keys, 0);
    return whole(tile, lone->keys, steps, q, score_factor(), lone->outputs);
  }
  kernel().begin(tile, q, score_factor());
  source.bring(&lone->keys, 0);
  kernel().attend(tile, lone->keys, steps);
  kernel().steps->end(tile, lone->outputs);
}

}  // namespace fovea
