// SPDX-License-Identifier: Apache-2.0
//
// What may happen to scores before the softmax. Each step is a function of one vector of scores, with the positions of
// its rows and keys as vectors, so that it serves whichever of the two runs along the lanes.

constexpr float kLn2 = 0.693147181f;

// cap * tanh(x / cap)
FOVEA_INLINE VF Softcap(VF x, const ScoreSteps& steps) {
  return hn::Mul(Tanh(hn::Mul(x, hn::Set(kF, steps.inverse_softcap))), hn::Set(kF, steps.softcap));
}

FOVEA_INLINE VF Alibi(VF x, VF slope, VF row_pos, VF key_pos) {
  return hn::NegMulAdd(slope, hn::Abs(hn::Sub(row_pos, key_pos)), x);
}

// Hidden scores are -inf. Where some are hidden, a visible score of -inf becomes kLowest, so that it is not taken for
// one of them: its weight is 0 as well, but a NaN in its value counts.
FOVEA_INLINE VF Visible(VF x) { return hn::IfThenElse(hn::Lt(x, hn::Set(kF, kLowest)), hn::Set(kF, kLowest), x); }

FOVEA_INLINE VF HideOutside(VF x, VF lo, VF hi, VF key_pos) {
  return hn::IfThenElse(hn::Or(hn::Lt(key_pos, lo), hn::Le(hi, key_pos)), hn::Set(kF, -kInfinity), x);
}

// factor is the head's, times log2(e).
FOVEA_INLINE VF AddMask(VF x, VF mask, VF factor, VF hides) {
  const VF sum = hn::MulAdd(mask, factor, x);
  return hn::IfThenElse(hn::Le(mask, hides), hn::Set(kF, -kInfinity), Visible(sum));
}

FOVEA_INLINE VF HideZeros(VF x, VF mask) {
  return hn::IfThenElse(hn::Eq(mask, hn::Zero(kF)), hn::Set(kF, -kInfinity), Visible(x));
}

// positions[column..] - first, as floats: exact where it matters, next to the tile.
FOVEA_INLINE VF RelativePositions(const int32_t* positions, uint32_t first) {
  return hn::ConvertTo(kF, hn::Sub(hn::LoadU(kI, positions), hn::Set(kI, int32_t(first))));
}

// What a call asks for, of what is compiled in.
FOVEA_INLINE bool Capped(const ScoreSteps& steps) { return config::kSoftcap && steps.softcap > 0.0f; }
FOVEA_INLINE bool Biased(const ScoreSteps& steps) { return config::kAlibi && steps.alibi; }
FOVEA_INLINE bool Masked(const ScoreSteps& steps) { return config::kMask && steps.mask_kind != FOVEA_MASK_NONE; }
// Or else hides zeros.
FOVEA_INLINE bool MaskAdds(const ScoreSteps& steps) {
  return config::kMaskF32 && (!config::kMaskByte || steps.mask_kind != FOVEA_MASK_BYTE);
}
FOVEA_INLINE bool Hides(const KeyTile& keys, const ScoreSteps& steps) {
  return (kEdgeHides && keys.edge) || Masked(steps);
}
FOVEA_INLINE bool AnyStep(const KeyTile& keys, const ScoreSteps& steps) {
  return Capped(steps) || Biased(steps) || Hides(keys, steps);
}

// mask[i] = mask elements of key j + i for the rows of a vector, i < n, as floats.
FOVEA_INLINE void LoadMask(const ScoreSteps& steps, const LaneRows<char>& rows, size_t j, size_t n,
                           VF (&mask)[kLanes]) {
  if (MaskAdds(steps)) return LoadTransposed(rows, mask_dtype(steps.mask_kind), j, n, mask);
  FOVEA_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i) {
    mask[i] = hn::ConvertTo(kF, hn::LoadU8N(kI, reinterpret_cast<const uint8_t*>(rows.at[i]) + j, n));
  }
  hn::Transpose(mask);
}

// What a few-rows block, of some rows by the keys from key j on, has in an array: elements of `unit` bytes, 0 behind
// the end. `step` is from a key to the next.
FOVEA_SHARED void GatherBlock(const QueryTile& t, const RowArray<char>& rows, size_t unit, uint32_t step,
                              const KeyTile& keys, uint32_t j, uint32_t row_count, void* lanes) {
  const char* row = rows.data + ptrdiff_t(t.first_token) * rows.token_stride;
  char* lane = static_cast<char*>(lanes);
  uint32_t head = t.first_head;
  for (uint32_t r = 0; r < row_count; ++r) {
    const char* const at = row + ptrdiff_t(head) * rows.head_stride + unit * step * (size_t(keys.first) + j);
    for (uint32_t k = 0; k < kLanes / row_count; ++k, lane += unit) {
      const uint32_t zero = 0;
      const void* const from = j + k < keys.end ? static_cast<const void*>(at + unit * step * k) : &zero;
      if (unit == 4) {
        __builtin_memcpy(lane, from, 4);
      } else if (unit == 2) {
        __builtin_memcpy(lane, from, 2);
      } else {
        *lane = *static_cast<const char*>(from);
      }
    }
    if (r + 1 < t.live && ++head == t.group) {
      head = 0;
      row += rows.token_stride;
    }
  }
}

// Its mask elements, as floats.
template <fovea_dtype kType>
FOVEA_INLINE VF FewMaskAs(const QueryTile& t, const ScoreSteps& steps, const KeyTile& keys, uint32_t j,
                          uint32_t row_count) {
  typename FormatRow<kType>::Unit lanes[kLanes];
  GatherBlock(t, steps.mask, sizeof lanes[0], steps.mask_step, keys, j, row_count, lanes);
  return FormatRow<kType>{lanes}.Whole(0);
}
FOVEA_SHARED VF FewMask(const QueryTile& t, const ScoreSteps& steps, const KeyTile& keys, uint32_t j,
                        uint32_t row_count) {
  if (!MaskAdds(steps)) {
    uint8_t lanes[kLanes];
    GatherBlock(t, steps.mask, 1, steps.mask_step, keys, j, row_count, lanes);
    return hn::ConvertTo(kF, hn::LoadU8(kI, lanes));
  }
  FOVEA_WITH_FORMAT(kUnscaledFormats, mask_dtype(steps.mask_kind), FewMaskAs<kType>(t, steps, keys, j, row_count));
}

// What a mask is multiplied by before it is added, for each row.
FOVEA_INLINE VF FewMaskFactor(const QueryTile& t, const ScoreSteps& steps, const KeyTile& keys, uint32_t row_count) {
  float lanes[kLanes];
  GatherBlock(t, steps.mask_factor, 4, 0, keys, keys.begin, row_count, lanes);
  return hn::Mul(hn::LoadU(kF, lanes), hn::Set(kF, kLog2E));
}

// The mask over the scores of one vector of rows.
FOVEA_INLINE void ApplyMask(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, size_t column,
                            float* FOVEA_RESTRICT s) {
  const bool added = MaskAdds(steps), each = steps.mask_step != 0;
  const LaneRows<char> rows = RowsOf(t, steps.mask, column);
  VF mask[kLanes];
  LoadTransposed(RowsOf(t, steps.mask_factor, column), FOVEA_F32, 0, 1, mask);
  const VF factor = hn::Mul(mask[0], hn::Set(kF, kLog2E)), hides = hn::Set(kF, steps.mask_hides);
  if (!each) {
    LoadMask(steps, rows, 0, 1, mask);
    for (size_t i = 1; i < kLanes; ++i) mask[i] = mask[0];
  }
  for (uint32_t j = keys.begin; j < keys.end; j += kLanes) {
    const size_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
    if (each) LoadMask(steps, rows, size_t(keys.first) + j, n, mask);
    for (size_t i = 0; i < n; ++i) {
      float* const at = s + (j + i) * t.columns;
      const VF x = hn::LoadU(kF, at);
      hn::StoreU(added ? AddMask(x, mask[i], factor, hides) : HideZeros(x, mask[i]), kF, at);
    }
  }
}

// All steps over the scores of one vector of rows, in their order; a step that is off costs a test. `last` is the
// last one wanted.
FOVEA_CALLED void ApplySteps(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, fovea_scores_stage last,
                             size_t column) {
  const size_t columns = t.columns;
  float* FOVEA_RESTRICT s = t.s + column;
  if (Capped(steps) && last >= FOVEA_SCORES_CAPPED) {
    for (uint32_t j = keys.begin; j < keys.end; ++j) {
      hn::StoreU(Softcap(hn::LoadU(kF, s + j * columns), steps), kF, s + j * columns);
    }
  }
  if (last < FOVEA_SCORES_MASKED) return;
  if (Biased(steps)) {
    const VF slope = hn::LoadU(kF, t.slope + column), far_pos = hn::LoadU(kF, t.far_pos + column);
    const VF pos = hn::Add(RelativePositions(t.pos + column, keys.first), far_pos);
    for (uint32_t j = keys.begin; j < keys.end; ++j) {
      hn::StoreU(Alibi(hn::LoadU(kF, s + j * columns), slope, pos, hn::Set(kF, float(j))), kF, s + j * columns);
    }
  }
  if (Masked(steps)) ApplyMask(t, keys, steps, column, s);
  if (kEdgeHides && keys.edge) {
    const VF lo = RelativePositions(t.lo + column, keys.first), hi = RelativePositions(t.hi + column, keys.first);
    const bool masked = Masked(steps);
    for (uint32_t j = keys.begin; j < keys.end; ++j) {
      const VF x = hn::LoadU(kF, s + j * columns);
      hn::StoreU(HideOutside(masked ? x : Visible(x), lo, hi, hn::Set(kF, float(j))), kF, s + j * columns);
    }
  }
}
