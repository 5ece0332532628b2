// SPDX-License-Identifier: Apache-2.0
//
// Dropout of weights by a counter-based generator: a weight's random number is a function of its place alone.

// Drops weights of the keys [begin, end), for one vector of rows. A hidden weight keeps its sign.
FOVEA_CALLED void DropWeights(const QueryTile& t, const KeySpan& keys, const ScoreSteps& steps, size_t column) {
  const DropoutStep& step = *steps.dropout;
  uint32_t heads[kLanes], tokens[kLanes];
  PlacesOf(t, column, steps.kv_head * t.group, heads, tokens);
  const VI head = hn::LoadU(kI, reinterpret_cast<const int32_t*>(heads));
  const VI query = hn::LoadU(kI, reinterpret_cast<const int32_t*>(tokens));
  const VF probability = hn::Set(kF, step.probability), kept = hn::Set(kF, 1.0f / (1.0f - step.probability));
  float* s = t.s + size_t(keys.begin) * t.columns + column;
  for (uint32_t key = keys.first + keys.begin; key < keys.first + keys.end;) {
    VI words[4] = {hn::Set(kI, int32_t(step.first_quad + key / 4)), query, head, hn::Set(kI, int32_t(steps.entry))};
    Philox(words, uint32_t(step.seed), uint32_t(step.seed >> 32));
    do {
      const VF factor = hn::IfThenElse(hn::Lt(Uniform(words[key % 4]), probability), hn::Zero(kF), kept);
      hn::StoreU(hn::Mul(hn::LoadU(kF, s), factor), kF, s);
      s += t.columns;
    } while (++key % 4 != 0 && key < keys.first + keys.end);
  }
}
