// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "attention/key_mass.h"

namespace fovea {

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
