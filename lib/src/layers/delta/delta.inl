// SPDX-License-Identifier: Apache-2.0
//
// Linear attention. For some columns of S, each token group takes a pass over S; its values u and its outputs are
// computed from the sums of the pass.
#ifndef FOVEA_SRC_DELTA_DELTA_INL_
#define FOVEA_SRC_DELTA_DELTA_INL_

#include "layers/delta/pass.inl"
#include "layers/delta/prepare_general.inl"

// LoadPart and StorePart. Where speed counts, whole vectors are loaded and stored whole.
FOVEA_INLINE VF LoadElements(fovea_dtype dtype, const void* row, size_t d, size_t n) {
  if (kSmallText || n < kLanes) return LoadPart(dtype, row, d, n);
  FOVEA_WITH_FORMAT(::fovea::kUnscaledFormats, dtype, FormatRow<kType>::Of(row, nullptr).Whole(d));
}
FOVEA_INLINE void StoreElements(fovea_dtype dtype, VF v, void* row, size_t d, size_t n) {
  if (kSmallText || n < kLanes) return StorePart(dtype, v, row, d, n);
  FOVEA_WITH_FORMAT(::fovea::kUnscaledFormats, dtype, FormatRow<kType>::StoreWhole(v, row, d));
}

// Widens a row. The rows of one token are far from the rows of the next token, so the processor's own prefetcher does
// not find them. Therefore `ahead`, the row that is widened some tokens later, is prefetched.
FOVEA_KERNEL void WidenKeys(fovea_dtype dtype, const void* row, uint32_t dim, float* out, const void* ahead) {
  const size_t unit = dtype == FOVEA_F32 ? 4 : 2;
  for (size_t d = 0; d < dim || d % kDeltaColumns != 0; d += kLanes) {
    hn::StoreU(LoadElements(dtype, row, d, LanesBefore(d, dim)), kF, out + d);
    if (kLanes > 1 && d * unit % kCacheLine == 0) __builtin_prefetch(static_cast<const char*>(ahead) + d * unit);
  }
}

// Prefetches values and outputs of the next token group.
template <int kVectors>
FOVEA_INLINE void PrefetchTokens(const DeltaColumns& c, uint32_t group, uint32_t column) {
  if (kSmallText || kLanes == 1 || group >= c.count) return;
  const DeltaGroup& g = c.groups[group * c.readers];
  for (uint32_t n = 0; n < g.tokens; ++n) {
    const ptrdiff_t token = ptrdiff_t(g.token + n);
    const char* const v = c.v + token * c.v_stride;
    const char* const out = c.out + token * c.out_stride;
    for (uint32_t line = 0; line < kVectors * kLanes; line += kCacheLine / 4) {
      __builtin_prefetch(v + (column + line) * (c.v_dtype == FOVEA_F32 ? 4 : 2));
      __builtin_prefetch(out + (column + line) * (c.out_dtype == FOVEA_F32 ? 4 : 2), 1);
    }
  }
}

// For one vector of columns, from d on, and for new token n, which is token j of its token group: computes the value u,
// unless another reader has done so, and the output, from the sums of a pass.
FOVEA_INLINE void FinishToken(const DeltaColumns& c, const DeltaGroup& g, uint32_t reader, size_t d, uint32_t n,
                              uint32_t j, const float* of_key, const float* of_query, VF (&u)[kDeltaTokens]) {
  const size_t live = LanesBefore(d, c.value_dim);
  const ptrdiff_t token = ptrdiff_t(g.token + n);
  if (reader == 0) {
    u[j] = LoadElements(c.v_dtype, c.v + token * c.v_stride, d, live);
    if (c.delta) {
      VF held = hn::LoadU(kF, of_key);
      for (uint32_t m = 0; m < j; ++m) held = hn::MulAdd(u[m], hn::Set(kF, g.taken[j][m]), held);
      u[j] = hn::MulAdd(u[j], hn::Set(kF, g.beta[n]), held);
    }
    hn::StoreU(u[j], kF, c.u + j * c.u_stride + d);
  }
  VF o = hn::LoadU(kF, of_query);
  for (uint32_t m = 0; m <= j; ++m) o = hn::MulAdd(u[m], hn::Set(kF, g.read[j][m]), o);
  StoreElements(c.out_dtype, o, c.out + ptrdiff_t(reader) * c.reader_stride + token * c.out_stride, d, live);
}

// The same for all new tokens of a token group. Their sums are `step` numbers apart.
FOVEA_SHARED void Finish(const DeltaColumns& c, const DeltaGroup& g, uint32_t reader, size_t d, const float* of_keys,
                         const float* of_queries, size_t step) {
  VF u[kDeltaTokens];
  const uint32_t known = g.before + (reader == 0 ? 0 : g.tokens);
  for (uint32_t m = 0; m < known; ++m) u[m] = hn::LoadU(kF, c.u + m * c.u_stride + d);
  if (kKnowsTokens && g.tokens == kDeltaTokens) {
    FOVEA_EACH(n, kDeltaTokens) {
      FinishToken(c, g, reader, d, n, n, of_keys + n * step, of_queries + n * step, u);
    }
    return;
  }
  for (uint32_t n = 0; n < g.tokens; ++n) {
    FinishToken(c, g, reader, d, n, g.before + n, of_keys + n * step, of_queries + n * step, u);
  }
}

// FinishToken for the general rule, which keeps the values that are given, too.
FOVEA_INLINE void FinishGeneralToken(const DeltaColumns& c, const DeltaGroup& g, const DeltaGiven& given,
                                     uint32_t reader, size_t d, uint32_t n, uint32_t j, VF held, VF o,
                                     VF (&u)[kDeltaTokens], VF (&v)[kDeltaTokens]) {
  const size_t live = LanesBefore(d, c.value_dim);
  const ptrdiff_t token = ptrdiff_t(g.token + n);
  if (reader == 0) {
    for (uint32_t m = 0; m < j; ++m) {
      held = hn::MulAdd(v[m], hn::Set(kF, given.taken[j][m]), held);
      held = hn::MulAdd(u[m], hn::Set(kF, g.taken[j][m]), held);
    }
    u[j] = held;
    v[j] = LoadElements(c.v_dtype, c.v + token * c.v_stride, d, live);
    hn::StoreU(u[j], kF, c.u + j * c.u_stride + d);
    hn::StoreU(v[j], kF, *c.given_v + j * c.u_stride + d);
  }
  for (uint32_t m = 0; m <= j; ++m) o = hn::MulAdd(v[m], hn::Set(kF, given.read[j][m]), o);
  for (uint32_t m = 0; m <= j; ++m) o = hn::MulAdd(u[m], hn::Set(kF, g.read[j][m]), o);
  StoreElements(c.out_dtype, o, c.out + ptrdiff_t(reader) * c.reader_stride + token * c.out_stride, d, live);
}

// Finish for the general rule.
FOVEA_SHARED void FinishGeneral(const DeltaColumns& c, size_t group, uint32_t reader, size_t d, const float* of_keys,
                                const float* of_queries, size_t step) {
  const DeltaGroup& g = c.groups[group];
  const DeltaGiven& given = (*c.given)[group];
  VF u[kDeltaTokens], v[kDeltaTokens];
  const uint32_t known = g.before + (reader == 0 ? 0 : g.tokens);
  for (uint32_t m = 0; m < known; ++m) {
    u[m] = hn::LoadU(kF, c.u + m * c.u_stride + d), v[m] = hn::LoadU(kF, *c.given_v + m * c.u_stride + d);
  }
  const auto finish = [&](uint32_t n, uint32_t j) __attribute__((always_inline)) {
    FinishGeneralToken(c, g, given, reader, d, n, j, hn::LoadU(kF, of_keys + n * step),
                       hn::LoadU(kF, of_queries + n * step), u, v);
  };
  if (kKnowsTokens && g.tokens == kDeltaTokens) return finish(0, 0), finish(1, 1), finish(2, 2), finish(3, 3);
  for (uint32_t n = 0; n < g.tokens; ++n) finish(n, g.before + n);
}

// Takes all token groups through some columns, by the general rule or the other. kLone: there is one token in all.
template <bool kGeneral, int kVectors, bool kLone = false>
FOVEA_CALLED_TEMPLATE void RunColumns(const DeltaColumns& c, uint32_t column) {
  float sums[2 * kDeltaTokens * kVectors * kLanes];
  const size_t block = column / kDeltaColumns, within = column % kDeltaColumns;
  float* const s = kGeneral ? c.s + column / kDeltaColumns * kDeltaColumns * c.head_dim + column % kDeltaColumns
                            : c.s + block * BlockStep(c, c.head_dim) + within;
  for (uint32_t group = 0; group < c.count; ++group) {
    PrefetchTokens<kVectors>(c, group + 1, column);
    for (uint32_t reader = 0; reader < c.readers; ++reader) {
      const uint32_t at = group * c.readers + reader;
      const DeltaGroup& g = c.groups[at];
      PassOf pass = {g.factors, c.head_dim, s, c.u + column, c.u_stride, sums, {}, {}, {}};
      const float* of_queries;
      if constexpr (kGeneral) {
        pass.given_factors = (*c.given)[at].factors, pass.given_v = *c.given_v + column;
        of_queries = RunGeneral<kVectors, kLone>(g, reader != 0, pass);
      } else {
        pass.s_row = c.s_row;
        of_queries = RunPass<kVectors, kLone>(g, reader != 0, c.delta, pass);
      }
      for (size_t v = 0; v < kVectors * kLanes; v += kLanes) {
        if constexpr (kGeneral) {
          FinishGeneral(c, at, reader, column + v, sums + v, of_queries + v, kVectors * kLanes);
        } else {
          Finish(c, g, reader, column + v, sums + v, of_queries + v, kVectors * kLanes);
        }
      }
    }
  }
}

template <bool kGeneral>
FOVEA_INLINE void PassColumnsBy(const DeltaColumns& c) {
  constexpr int kVectors = kGeneral ? kGeneralVectors : kPassVectors;
  constexpr uint32_t kStep = kVectors * kLanes;
  uint32_t column = c.begin;
  if constexpr (kLoneVectors > kVectors) {
    constexpr uint32_t kLoneStep = kLoneVectors * kLanes;
    const bool lone = c.count == 1 && c.groups->tokens == 1;
    for (; lone && c.end - column >= kLoneStep; column += kLoneStep) {
      RunColumns<kGeneral, kLoneVectors, true>(c, column);
    }
  }
  for (; c.end - column >= kStep; column += kStep) RunColumns<kGeneral, kVectors>(c, column);
  if constexpr (kStep > kDeltaColumns) {
    if (column < c.end) RunColumns<kGeneral, 1>(c, column);
  }
}
FOVEA_KERNEL void PassColumns(const DeltaColumns& c) {
  if constexpr (kHasGeneralDelta) {
    if (*c.given) return PassColumnsBy<true>(c);
  }
  PassColumnsBy<false>(c);
}

// For an element of the key, with its factors: writes the columns of S that fill kRowWriters vectors, with the pending
// tokens added. Returns the first column after them.
constexpr size_t kRowWriters = 4;
FOVEA_INLINE size_t WriteColumns(const DeltaMatrix& m, const float* row, float* out,
                                 const float (&factor)[kDeltaTokens + 1][kLanes], size_t at) {
  constexpr size_t kStep = kRowWriters * kLanes;
  const size_t block = BlockStep(m, m.head_dim), dim = m.value_dim, u_stride = m.u_stride;
  const uint32_t pending = m.pending;
  const float* const values = m.u;
  size_t d = 0;
  for (; dim - d >= kStep; d += kStep) {
    VF x[kRowWriters];
    FOVEA_EACH(v, kRowWriters) {
      const size_t column = d + v * kLanes;
      x[v] = hn::LoadU(kF, row + column / kDeltaColumns * block + column % kDeltaColumns);
      if (pending > 0) x[v] = hn::Mul(x[v], hn::Set(kF, factor[kDeltaTokens][at]));
    }
    const float* u = values + d;
    for (uint32_t j = 0; j < pending; ++j, u += u_stride) {
      const VF f = hn::Set(kF, factor[j][at]);
      FOVEA_EACH(v, kRowWriters) x[v] = hn::MulAdd(hn::LoadU(kF, u + v * kLanes), f, x[v]);
    }
    FOVEA_EACH(v, kRowWriters) hn::StoreU(x[v], kF, out + d + v * kLanes);
  }
  return d;
}

// Writes S with the pending tokens added, in the way in which the next pass would add them.
FOVEA_KERNEL void WriteMatrix(const DeltaMatrix& m) {
  const bool general = kHasGeneralDelta && m.given_v;
  for (size_t first = 0; first < m.head_dim; first += kLanes) {
    float factor[kDeltaTokens + 1][kLanes], of_given[kDeltaTokens][kLanes];
    VF sum = hn::Zero(kF);
    for (uint32_t j = m.pending; j-- > 0;) {
      const VF decayed = DecayOf(sum);
      hn::StoreU(hn::Mul(hn::LoadU(kF, m.tokens.k[j] + first), decayed), kF, factor[j]);
      if (general) hn::StoreU(hn::Mul(hn::LoadU(kF, m.given->k[j] + first), decayed), kF, of_given[j]);
      const float* const decay = m.tokens.decay[j];
      sum = hn::Add(sum, m.decay_per_key ? hn::LoadU(kF, decay + first) : hn::Set(kF, *decay));
    }
    hn::StoreU(DecayOf(sum), kF, factor[kDeltaTokens]);
    for (size_t key = first; key < m.head_dim && key < first + kLanes; ++key) {
      const float* row = m.s + ptrdiff_t(key) * RowStep(m);
      float* const out = m.out + ptrdiff_t(key) * m.out_stride;
      size_t d = 0;
      if constexpr (kFactorsInRows && !kSmallText) {
        if (!general) d = WriteColumns(m, row, out, factor, key - first);
      }
      for (; d < m.value_dim; d += kLanes) {
        VF x = hn::LoadU(kF, row + d / kDeltaColumns * BlockStep(m, m.head_dim) + d % kDeltaColumns);
        if (m.pending > 0) x = hn::Mul(x, hn::Set(kF, factor[kDeltaTokens][key - first]));
        for (uint32_t j = 0; j < m.pending; ++j) {
          x = hn::MulAdd(hn::LoadU(kF, m.u + j * m.u_stride + d), hn::Set(kF, factor[j][key - first]), x);
        }
        for (uint32_t j = 0; general && j < m.pending; ++j) {
          x = hn::MulAdd(hn::LoadU(kF, *m.given_v + j * m.u_stride + d), hn::Set(kF, of_given[j][key - first]), x);
        }
        hn::StoreN(x, kF, out + d, LanesBefore(d, m.value_dim));
      }
    }
  }
}

constexpr DeltaKernels kDeltaKernels = {WidenKeys, Prepare, PassColumns, WriteMatrix,
                                        kHasGeneralDelta ? PrepareGeneral : nullptr};

#endif  // FOVEA_SRC_DELTA_DELTA_INL_
