// SPDX-License-Identifier: Apache-2.0
//
// What surrounds the products and the softmax in a tile whose lanes are rows: kTileSteps, a table of functions.
#ifndef FOVEA_SRC_ATTENTION_STEPS_TILE_STEPS_INL_
#define FOVEA_SRC_ATTENTION_STEPS_TILE_STEPS_INL_

#include "core/attention/steps/key_mass.inl"
#include "core/attention/steps/score_steps.inl"
#include "ground/math/philox.inl"

// ---- outputs where values or outputs are tensors of int8: after the normalisation they are multiplied by the values'
// channel scales, and may become codes

// The output code is in the low bits of each lane.
FOVEA_INLINE VF OutputCode(const OutputTensor& tensor, VF y) {
  const VF code = Rounded(ZeroIfNan(hn::Mul(y, hn::Set(kF, tensor.inverse_scale))));
  const VF least = hn::Max(hn::Add(code, hn::Set(kF, tensor.zero)), hn::Set(kF, -128.0f)), most = hn::Set(kF, 127.0f);
  return hn::Add(hn::IfThenElse(hn::Lt(most, least), most, least), hn::Set(kF, kRoundingBias));
}

// Elements [e, e + n) of a row.
FOVEA_SHARED_IF_MANY void StoreTensorPart(const RowOutputs& outputs, VF y, char* row, size_t e, size_t n) {
  const OutputTensor& tensor = *outputs.tensor;
  if (tensor.channel_scales) y = hn::Mul(y, hn::LoadN(kF, tensor.channel_scales + e, n));
  if (outputs.out.dtype != FOVEA_I8) return StorePart(outputs.out.dtype, y, row, e, n);
  hn::StoreU8N(hn::BitCast(kI, OutputCode(tensor, y)), reinterpret_cast<uint8_t*>(row) + e, n);
}

// Stores one vector of rows of the tile kernel. False if outputs are plain: then the caller stores them.
FOVEA_CALLED bool StoreTensor(const QueryTile& t, const RowOutputs& outputs, size_t column, size_t live, VF normalise,
                              MF empty, const LaneRows<char>& rows) {
  if (!kHasI8Tensors || outputs.tensor->is_plain) return false;
  const float* o_t = t.o + column;
  for (size_t e = 0; e < t.value_dim; e += kLanes) {
    const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
    VF lanes[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = hn::Zero(kF);
      if (i >= n) continue;
      lanes[i] = hn::IfThenZeroElse(empty, hn::Mul(hn::LoadU(kF, o_t), normalise));
      o_t += t.columns;
    }
    hn::Transpose(lanes);
    for (size_t i = 0; i < live; ++i) StoreTensorPart(outputs, lanes[i], rows.at[i], e, n);
  }
  return true;
}

// The same for a row of the few-rows kernel.
FOVEA_CALLED bool StoreTensorRow(const RowOutputs& outputs, const float* o, size_t dim, VF normalise, MF empty,
                                 char* row) {
  if (!kHasI8Tensors || outputs.tensor->is_plain) return false;
  for (size_t e = 0; e < dim; e += kLanes) {
    const size_t n = dim - e < kLanes ? dim - e : kLanes;
    const VF y = hn::IfThenZeroElse(empty, hn::Mul(LoadUpTo(o + e, n), normalise));
    StoreTensorPart(outputs, y, row, e, n);
  }
  return true;
}

// ---- the running softmax of rows as a partial state in memory. Its layout is the same for every target: the maxima, sums
// and outputs of adjacent rows

// The outputs in the state of the rows from `column` on, the last live one repeated.
template <class T>
FOVEA_INLINE LaneRows<T> StateRowsOf(const QueryTile& t, const StateRows& state, size_t column) {
  LaneRows<T> rows;
  for (size_t i = 0; i < kLanes; ++i) {
    const size_t row = column + i < t.live ? column + i : t.live - 1;
    rows.at[i] = state.o + row * t.value_dim;
  }
  return rows;
}

FOVEA_INLINE size_t LiveFrom(const QueryTile& t, size_t column) {
  return t.live - column < kLanes ? t.live - column : kLanes;
}

// Loads the state into the tile.
FOVEA_KERNEL void Resume(const QueryTile& t, const StateRows& state) {
  for (size_t column = 0; column < t.columns; column += kLanes) {
    const size_t live = column < t.live ? LiveFrom(t, column) : 0;
    hn::StoreU(hn::LoadN(kF, state.max + column, live), kF, t.row_max + column);
    hn::StoreU(hn::LoadN(kF, state.sum + column, live), kF, t.row_sum + column);
    const LaneRows<const float> rows = StateRowsOf<const float>(t, state, column);
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      VF lanes[kLanes];
      LoadTransposed(rows, e, n, lanes);
      for (size_t i = 0; i < n; ++i) hn::StoreU(lanes[i], kF, t.o + (e + i) * t.columns + column);
    }
  }
}

// Stores the live rows in the state.
FOVEA_KERNEL void Suspend(const QueryTile& t, const StateRows& state) {
  for (size_t column = 0; column < t.live; column += kLanes) {
    const size_t live = LiveFrom(t, column);
    hn::StoreN(hn::LoadU(kF, t.row_max + column), kF, state.max + column, live);
    hn::StoreN(hn::LoadU(kF, t.row_sum + column), kF, state.sum + column, live);
    const LaneRows<float> rows = StateRowsOf<float>(t, state, column);
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < n; ++i) lanes[i] = hn::LoadU(kF, t.o + (e + i) * t.columns + column);
      for (size_t i = n; i < kLanes; ++i) lanes[i] = hn::Zero(kF);
      StoreTransposed(lanes, rows, live, e, n);
    }
  }
}

// ---- weights, scores and the ends of rows

// After Normalise: the rows that saw no key.
FOVEA_INLINE MF EmptyRows(const QueryTile& t, size_t column) {
  return hn::Eq(hn::LoadU(kF, t.row_sum + column), hn::Zero(kF));
}

// Turns a score in base 2 into what the caller wants.
FOVEA_SHARED_IF_MANY VF ScoreAtStage(const QueryTile& t, size_t column, VF x, fovea_scores_stage stage, bool hides) {
  if (stage != FOVEA_SCORES_SOFTMAX) {
    return hn::Mul(hides ? MinusInfinityIfLowest(x) : x, hn::Set(kF, kLn2));
  }
  const VF exponential = Exp2(hn::Sub(x, hn::LoadU(kF, t.row_max + column)));
  const VF weight = ZeroIfSubnormal(hn::Mul(exponential, hn::LoadU(kF, t.row_sum + column)));
  // A hidden key is 0 even in a row of NaN.
  return hides ? hn::IfThenZeroElse(hn::Eq(x, hn::Set(kF, -kInfinity)), weight) : weight;
}

// Dropout by a counter-based generator: a weight's random number is a function of its place alone. Drops weights of the
// keys [begin, end), for one vector of rows. A hidden weight keeps its sign.
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

// For one vector of rows: turns scores into weights by the known normalisation, -0 where they are hidden, and passes
// them to the caller's function. What is hidden stays hidden.
FOVEA_CALLED void ModifyWeights(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, size_t column,
                                bool hides) {
  if (column >= t.live) return;
  float* const s = t.s + size_t(keys.begin) * t.columns + column;
  const uint32_t count = keys.end - keys.begin;
  uint64_t hidden[kLanes] = {};  // a bit for each key
  for (uint32_t j = 0; j < count; ++j) {
    float* const at = s + j * t.columns;
    for (size_t i = 0; i < kLanes && hides; ++i) hidden[i] |= uint64_t{at[i] == -kInfinity} << j;
    hn::StoreU(ScoreAtStage(t, column, hn::LoadU(kF, at), FOVEA_SCORES_SOFTMAX, hides), kF, at);
  }
  CallModifier(t, keys, steps, true, column, s, 1, ptrdiff_t(t.columns));
  const MF empty = EmptyRows(t, column);
  for (uint32_t j = 0; j < count; ++j) {
    float* const at = s + j * t.columns;
    const VF weight = hn::LoadU(kF, at);
    const MF none = hn::Or(empty, hn::Le(weight, hn::Zero(kF)));
    hn::StoreU(hn::IfThenZeroElse(none, ZeroIfSubnormal(weight)), kF, at);
    for (size_t i = 0; i < kLanes && hides; ++i) {
      if (hidden[i] >> j & 1) at[i] = -0.0f;
    }
  }
  hn::StoreU(hn::Set(kF, 1.0f), kF, t.rescale + column);
}

// Adds the sinks to one vector of rows, and returns the factors of its output rows: 0 for rows that saw no key. Stores
// in row_max and row_sum what ScoreAtStage needs, and the log of the sum of exponentials in lse, which may be null.
FOVEA_SHARED VF Normalise(const QueryTile& t, size_t column, bool sinks, float* lse) {
  const VF minus_infinity = hn::Set(kF, -kInfinity);
  VF max = hn::LoadU(kF, t.row_max + column), sum = hn::LoadU(kF, t.row_sum + column);
  VF rescale = hn::Set(kF, 1.0f);
  if (config::kSinks && sinks) {
    const VF sink = hn::LoadU(kF, *t.sink + column);
    const VF joint_max = hn::Max(max, sink);
    const VF shift = ShiftOf(joint_max);
    rescale = Exp2(hn::Sub(max, shift));
    sum = hn::MulAdd(sum, rescale, Exp2(hn::Sub(sink, shift)));
    max = joint_max;
  }
  const MF empty = hn::Eq(sum, hn::Zero(kF));
  if (config::kLse && lse)
    hn::StoreU(hn::IfThenElse(empty, minus_infinity, hn::MulAdd(max, hn::Set(kF, kLn2), Log(sum))), kF, lse);
  hn::StoreU(ShiftOf(max), kF, t.row_max + column);
  hn::StoreU(hn::IfThenZeroElse(empty, hn::Div(hn::Set(kF, 1.0f), sum)), kF, t.row_sum + column);
  return hn::IfThenZeroElse(empty, hn::Div(rescale, sum));
}

// The first n <= kLanes elements of a vector of rows, normalised, from o_t, which advances by kLanes rows of the tile.
FOVEA_INLINE void Normalised(const float*& o_t, size_t columns, VF normalise, MF empty, size_t n, VF (&lanes)[kLanes]) {
  FOVEA_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i, o_t += columns) {
    lanes[i] = hn::Zero(kF);
    if (i < n) lanes[i] = hn::IfThenZeroElse(empty, hn::Mul(hn::LoadU(kF, o_t), normalise));
  }
}
// Stores elements e + i of `live` rows, i < n.
FOVEA_INLINE void StoreOutputs(const float*& o_t, size_t columns, VF normalise, MF empty, const LaneRows<char>& rows,
                               fovea_dtype dtype, size_t live, size_t e, size_t n) {
  VF lanes[kLanes];
  Normalised(o_t, columns, normalise, empty, n, lanes);
  StoreTransposed(lanes, rows, dtype, live, e, n);
}

FOVEA_KERNEL void End(const QueryTile& t, const RowOutputs& outputs) {
  const size_t columns = t.columns, value_dim = t.value_dim;
  size_t left = t.live;
  for (size_t column = 0; column < columns; column += kLanes) {
    const size_t live = left < kLanes ? left : kLanes;
    left -= live;
    float lse[kLanes];
    const bool weighed = config::kModifiers && outputs.pass == kWeighingPass;
    const bool wants_lse = config::kLse && outputs.lse->data && !weighed;
    const VF normalise = weighed ? hn::Set(kF, 1.0f) : Normalise(t, column, outputs.sinks, wants_lse ? lse : nullptr);
    const MF empty = EmptyRows(t, column);
    if (wants_lse) {
      const LaneRows<float> rows = RowsOf(t, *outputs.lse, column);
      for (size_t i = 0; i < live; ++i) *rows.at[i] = lse[i];
    }
    if (config::kModifiers && outputs.pass == kMeasuringPass) continue;
    const LaneRows<char> rows = RowsOf(t, BytesOf(outputs.out), column);
    const float* o_t = t.o + column;
    if (StoreTensor(t, outputs, column, live, normalise, empty, rows)) continue;
    if (kLanes == 1) {
      if (live > 0) StoreScaledRow(outputs.out.dtype, o_t, columns, normalise, empty, rows.at[0], value_dim);
      continue;
    }
    size_t e = 0;
    if (!kSmallText && live == kLanes) {
      const bool f32 = is_f32<kUnscaledFormats>(outputs.out.dtype);
      LaneRows<float> f32_rows;
      for (size_t i = 0; i < kLanes; ++i) f32_rows.at[i] = reinterpret_cast<float*>(rows.at[i]);
      for (; f32 && e + kLanes <= value_dim; e += kLanes) {  // without a test for each vector
        VF lanes[kLanes];
        Normalised(o_t, columns, normalise, empty, kLanes, lanes);
        StoreTransposed(lanes, f32_rows, kLanes, e, kLanes);
      }
      for (; e + kLanes <= value_dim; e += kLanes) {
        StoreOutputs(o_t, columns, normalise, empty, rows, outputs.out.dtype, kLanes, e, kLanes);
      }
    }
    for (; e < value_dim; e += kLanes) {
      const size_t n = value_dim - e < kLanes ? value_dim - e : kLanes;
      StoreOutputs(o_t, columns, normalise, empty, rows, outputs.out.dtype, live, e, n);
    }
  }
}

// Applies the steps to one vector of rows, whose products are there, and stores its scores as of this stage.
FOVEA_KERNEL void StoreScores(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                              fovea_scores_stage stage, const RowArray<float>& scores, size_t column) {
  if (AnyStep(keys, steps)) ApplySteps(t, keys, steps, stage, column);
  const bool changed = (Drops(steps) || InWeighingPass(steps)) && stage == FOVEA_SCORES_SOFTMAX;
  if (changed && InWeighingPass(steps)) {
    ModifyWeights(t, keys, steps, column, Hides(keys, steps));
  } else if (changed) {
    for (uint32_t j = keys.begin; j < keys.end; ++j) {
      float* const s = t.s + j * t.columns + column;
      hn::StoreU(ScoreAtStage(t, column, hn::LoadU(kF, s), stage, Hides(keys, steps)), kF, s);
    }
  }
  if (changed && Drops(steps)) DropWeights(t, keys, steps, column);
  const LaneRows<float> rows = RowsOf(t, scores, column);
  const size_t live = column < t.live ? LiveFrom(t, column) : 0;
  for (uint32_t j = keys.begin; j < keys.end; j += kLanes) {
    const size_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
    VF lanes[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = hn::Zero(kF);
      if (i >= n) continue;
      const VF x = hn::LoadU(kF, t.s + (j + i) * t.columns + column);
      lanes[i] = changed ? hn::Abs(x) : ScoreAtStage(t, column, x, stage, Hides(keys, steps));
    }
    StoreTransposed(lanes, rows, live, size_t(keys.first) + j, n);
  }
}
FOVEA_KERNEL void StoreHiddenScores(const QueryTile& t, uint32_t first, uint32_t count, fovea_scores_stage stage,
                                    const RowArray<float>& scores) {
  const VF x = stage == FOVEA_SCORES_SOFTMAX ? hn::Zero(kF) : hn::Set(kF, -kInfinity);
  for (uint32_t r = 0; r < t.live; ++r) {
    float* row = scores.data + RowOffset(t, r, scores.token_stride, scores.head_stride) + first;
    for (uint32_t j = 0; j < count; j += kLanes) {
      hn::StoreN(x, kF, row + j, count - j < kLanes ? count - j : kLanes);
    }
  }
}

// Functions that this build leaves out are null.
template <class Function>
constexpr Function* If(bool served, Function* function) {
  return served ? function : nullptr;
}
constexpr bool kAnyStepServed = kHasI8Tensors || config::kSoftcap || config::kAlibi || config::kModifiers || kMayHide;
constexpr StepKernels kTileSteps = {
    If(kAnyStepServed, ApplySteps),   If(config::kModifiers, ModifyWeights),  If(config::kDropout, DropWeights),
    If(config::kScores, StoreScores), If(config::kScores, StoreHiddenScores), End,
    If(config::kStates, Resume),      If(config::kStates, Suspend),           If(config::kKeyMass, KeepWeights),
    If(config::kKeyMass, AddMass)};
#include "core/attention/steps/few_steps.inl"

#endif  // FOVEA_SRC_ATTENTION_STEPS_TILE_STEPS_INL_
