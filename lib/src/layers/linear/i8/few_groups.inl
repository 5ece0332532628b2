// SPDX-License-Identifier: Apache-2.0
//
// Few tokens with integer products, where weights are in groups. For each group the sums of kLanes rows become a
// vector, which is multiplied by a vector of their scales.
#ifndef FOVEA_SRC_LINEAR_I8_FEW_GROUPS_INL_
#define FOVEA_SRC_LINEAR_I8_FEW_GROUPS_INL_

#include "layers/linear/i8/few.inl"
#include "layers/linear/i8/few_groups_scales.inl"

// Weights are prefetched in the order of addresses: into the second-level cache kBytesAhead before their kLanes rows
// begin, and into the first-level cache kBytesNear before. With one prefetch, into the first level from kBytesAhead,
// 98 MB of Q8_0 take twice as long (AVX-512, Zen 4): each such prefetch holds one of that level's few miss buffers
// until DRAM has answered.
constexpr size_t kBytesAhead = 8192, kBytesNear = 1024;

// Asks for the bytes that kLanes rows of a group have, `next` being those of a group kLanes rows ahead.
template <fovea_dtype kType>
FOVEA_INLINE void AskForGroup(Ahead& next) {
  constexpr size_t kBytes = BytesOf<kType>(kLanes * kScaleGroup);
  next.Ask<kBytes, 2>(kBytesAhead);
  next.Ask<kBytes, 1>(kBytesNear);
  next.at += kBytes;
}

// Asks for the first rows of some outputs at once, since nothing asked for them earlier.
FOVEA_INLINE void AskForFirst(const fovea_linear_weights& w, uint32_t row) {
  constexpr ptrdiff_t kMostBytes = 65536;  // where strides are long, the gaps between rows are not needed
  const ptrdiff_t most = w.row_stride < kMostBytes ? w.row_stride : kMostBytes;
  const ptrdiff_t stride = most > -kMostBytes ? most : -kMostBytes;
  const ptrdiff_t bytes = ptrdiff_t(kLanes) * stride + ptrdiff_t(kBytesAhead);
  Ahead::From(w.data, row * uintptr_t(w.row_stride))
      .AskAll(bytes < 0 ? 0 : size_t(bytes < kMostBytes ? bytes : kMostBytes));
}

template <class Dot>
struct FewGroups {
  using Few = FewProducts<Dot>;
  using Load = GroupLoads<Dot>;
  using FewCode = typename Dot::FewCode;
  static constexpr size_t kRowVectors = kLanes / Dot::kFewGroupRows;
  template <fovea_dtype kType>
  static constexpr size_t kGroupsAtOnce = Load::template kGroupsAtOnce<kType>;

  // Stores for each group of inputs the sum of a token's codes minus its zero point. Codes of 0 follow the last input.
  FOVEA_INLINE void PutGroupSums(const I8TokenTile& t, size_t token, int32_t zero) {
    const FewCode* const codes = Few::CodesOf(t, token);
    const size_t step = ::fovea::sum_step_of(t);
    float* const sums = t.group_sums + token * ::fovea::sums_of(t);
    for (size_t d = 0; d < t.in_dim; d += step) {
      const size_t n = t.in_dim - d < step ? t.in_dim - d : step;
      int32_t sum = -zero * int32_t(n);
      for (size_t i = 0; i < step; ++i) sum += int32_t(codes[d + i]);
      sums[d / step] = float(sum);
    }
  }

  // Some tokens: their codes, the sums of these by groups, and their scales by groups.
  template <int kTokens>
  struct GroupTokens {
    const FewCode* x[kTokens];
    const float* sums[kTokens];
    const float* scales[kTokens];
    FewCode ones[2 * kScaleGroup];  // kScaleGroup ones, then zeros, for inputs past the last
  };

  // The same group of some rows, whose codes are multiplied by those of tokens. It may have two halves: in q6_k and q3_k
  // their scales are integers, and there is the scale of both; in q2_k each is like a group.
  template <fovea_dtype kType>
  struct GroupOfRows {
    static constexpr size_t kHalves = kScaleGroup / kScaleStep<kType>;
    static constexpr bool kCommon = kHalves == 2 && !kHasLeast<kType>;
    typename Load::GroupCodes codes;
    VF scale[kHalves], least[kHalves], common;
  };

  // Products of second halves that came with those of the first: of each token, and of codes of 1.
  template <int kTokens>
  struct SecondHalves {
    VF of_tokens[kTokens], of_ones;
  };

  // sums[token] = the products of kLanes outputs with a half of the group of inputs that begins at d, or with all.
  // Those of the second half are added to the first's, if both are integers below 2^24.
  template <size_t kHalf, fovea_dtype kType, int kTokens>
  FOVEA_INLINE void AddHalfOfRows(const I8TokenTile& t, const I8Rows& w, const GroupTokens<kTokens>& tokens, size_t d,
                                  const GroupOfRows<kType>& rows, SecondHalves<kTokens>& second, VF (&sums)[kTokens]) {
    constexpr size_t kHalves = GroupOfRows<kType>::kHalves;
    const size_t left = t.in_dim - d, group = d / kScaleGroup;
    if (kHalf > 0 && kHalf * kScaleStep<kType> >= left) return;
    VF of_zero = hn::Zero(kF);
    if (w.x_zero_point != 0) {
      const FewCode* const ones = tokens.ones + (left < kScaleGroup ? kScaleGroup - left : 0);
      const VF products = Load::template SumsTimes<kHalf, kHalves>(ones, rows.codes, second.of_ones);
      of_zero = hn::Mul(products, hn::Set(kF, float(w.x_zero_point)));
    }
    FOVEA_EACH(r, kTokens) {
      const VF x_sum = hn::Set(kF, tokens.sums[r][group * kHalves + kHalf]);
      VF sum = Load::template SumsTimes<kHalf, kHalves>(tokens.x[r] + d, rows.codes, second.of_tokens[r]);
      if (!(Load::kJumpsInHalves && kHalves == 2) || w.x_zero_point != 0) sum = hn::Sub(sum, of_zero);
      constexpr int kAdded = Load::template kAdded<kType>;
      if constexpr (kAdded != 0) sum = fused::MulAdd(x_sum, hn::Set(kF, float(-kAdded)), sum);  // exact
      const bool alone = kHalf == 0 || !GroupOfRows<kType>::kCommon;
      sums[r] = alone ? hn::Mul(sum, rows.scale[kHalf]) : fused::MulAdd(sum, rows.scale[kHalf], sums[r]);
      if constexpr (kHasLeast<kType>) sums[r] = hn::Add(sums[r], hn::Mul(x_sum, rows.least[kHalf]));
    }
  }

  // Rows advance to the groups after those that begin at d, if there are any, and their scales are stored.
  template <fovea_dtype kType>
  FOVEA_INLINE void Advance(const I8TokenTile& t, size_t d, GroupRows<Dot, kType>& rows,
                            GroupScales<Dot, kType>& scales) {
    constexpr size_t kGroups = kGroupsAtOnce<kType>;
    if (t.in_dim - d <= kGroups * kScaleGroup) return;
    rows.GoOn(kGroups);
    scales.Put(rows, d / kScaleGroup + kGroups, ::fovea::groups_of(t.in_dim));
  }

  // totals[token] += what a group's sums stand for.
  template <fovea_dtype kType, int kTokens>
  FOVEA_INLINE void AddToTotals(const I8TokenTile& t, const GroupTokens<kTokens>& tokens, size_t group, VF common,
                                const VF (&sums)[kTokens], VF (&totals)[kTokens]) {
    FOVEA_EACH(r, kTokens) {
      const VF sum = GroupOfRows<kType>::kCommon ? hn::Mul(sums[r], common) : sums[r];
      totals[r] = hn::Add(totals[r], hn::Mul(sum, hn::Set(kF, tokens.scales[r][t.scaled_groups > 1 ? group : 0])));
    }
  }

  // totals[token] += the products of kLanes outputs with the whole group of inputs that begins at d. The rows advance.
  template <fovea_dtype kType, int kTokens>
  FOVEA_INLINE void AddGroupOfRows(const I8TokenTile& t, const I8Rows& w, const GroupTokens<kTokens>& tokens, size_t d,
                                   GroupRows<Dot, kType>& rows, GroupScales<Dot, kType>& scales,
                                   typename Load::template KeptCodes<kType>& bytes, VF (&totals)[kTokens]) {
    constexpr size_t kHalves = GroupOfRows<kType>::kHalves;
    const size_t group = d / kScaleGroup;
    GroupOfRows<kType> now;
    FOVEA_EACH(half, kHalves) now.scale[half] = scales.Scale(group * kHalves + half);
    FOVEA_EACH(half, kHalves) {
      if constexpr (kHasLeast<kType>) now.least[half] = scales.Least(group * kHalves + half);
    }
    if constexpr (GroupOfRows<kType>::kCommon) now.common = hn::LoadU(kF, scales.common);
    Load::LoadCodes(rows, bytes, now.codes);
    constexpr bool kLast = kInSuper<kType> && Load::kSuperScalesLast;
    if (!kLast) Advance(t, d, rows, scales);
    VF sums[kTokens];
    SecondHalves<kTokens> second;
    AddHalfOfRows<0>(t, w, tokens, d, now, second, sums);
    if constexpr (kHalves == 2 && !GroupOfRows<kType>::kCommon) {
      AddToTotals<kType>(t, tokens, group, now.common, sums, totals);
      SetAll(sums, hn::Zero(kF));  // there may be no second half
    }
    if constexpr (kHalves == 2) AddHalfOfRows<1>(t, w, tokens, d, now, second, sums);
    AddToTotals<kType>(t, tokens, group, now.common, sums, totals);
    if (kLast) Advance(t, d, rows, scales);
  }

  // A half of each of the groups that are multiplied together.
  template <size_t kHalf, fovea_dtype kType, int kTokens>
  FOVEA_INLINE void AddHalvesAtOnce(const I8TokenTile& t, const I8Rows& w, const GroupTokens<kTokens>& tokens, size_t d,
                                    const GroupRows<Dot, kType>& rows, const GroupScales<Dot, kType>& scales,
                                    Ahead& next, VF (&sums)[kGroupsAtOnce<kType>][kTokens]) {
    GroupOfRows<kType> now;
    SecondHalves<kTokens> second;
    Load::template ForGroupsAtOnce<kHalf>(rows, now.codes, [&](size_t i) __attribute__((always_inline)) {
      const size_t at = d + i * kScaleGroup;
      if (kHalf == 0) AskForGroup<kType>(next);
      if (at >= t.in_dim) return;
      now.scale[kHalf] = scales.Scale(at / kScaleGroup * 2 + kHalf);
      AddHalfOfRows<kHalf>(t, w, tokens, at, now, second, sums[i]);
    });
  }
  // The same as AddGroupOfRows for these groups, as far as there are inputs.
  template <fovea_dtype kType, int kTokens>
  FOVEA_INLINE void AddGroupsAtOnce(const I8TokenTile& t, const I8Rows& w, const GroupTokens<kTokens>& tokens, size_t d,
                                    GroupRows<Dot, kType>& rows, GroupScales<Dot, kType>& scales, Ahead& next,
                                    VF (&totals)[kTokens]) {
    constexpr size_t kGroups = kGroupsAtOnce<kType>;
    VF sums[kGroups][kTokens];
    AddHalvesAtOnce<0, kType>(t, w, tokens, d, rows, scales, next, sums);
    AddHalvesAtOnce<1, kType>(t, w, tokens, d, rows, scales, next, sums);
    const VF common = hn::LoadU(kF, scales.common);
    FOVEA_EACH(i, kGroups) {
      const size_t at = d + i * kScaleGroup;
      if (at < t.in_dim) AddToTotals<kType>(t, tokens, at / kScaleGroup, common, sums[i], totals);
    }
    Advance(t, d, rows, scales);
  }

  // Outputs [begin, end) of kTokens tokens. If fewer are left, the last token is computed again, but not stored.
  template <int kTokens, fovea_dtype kType>
  FOVEA_TEMPLATE void OutputsOf(const I8TokenTile& t, const I8Rows& w, size_t token, uint32_t begin, uint32_t end) {
    const uint32_t live = t.live - token < kTokens ? uint32_t(t.live - token) : kTokens;
    GroupTokens<kTokens> tokens;
    for (size_t i = 0; i < 2 * kScaleGroup; ++i) tokens.ones[i] = FewCode(i < kScaleGroup ? 1 : 0);
    for (uint32_t r = 0; r < kTokens; ++r) {
      const size_t at = token + (r < live ? r : live - 1);
      tokens.x[r] = Few::CodesOf(t, at);
      tokens.sums[r] = t.group_sums + at * ::fovea::sums_of(t);
      tokens.scales[r] = t.group_scales + at * t.scaled_groups;
    }
    if (kAsksAhead) AskForFirst(w.weights, begin);
    for (uint32_t j = begin, n; j < end; j += n) {
      n = end - j >= kLanes ? kLanes : end - j < kRowVectors ? end - j : kRowVectors;
      GroupRows<Dot, kType> rows = GroupRows<Dot, kType>::Of(w.weights, t.in_dim, j, n);
      Ahead next = Ahead::From(w.weights.data, (j + kLanes) * uintptr_t(w.weights.row_stride));
      GroupScales<Dot, kType> scales;
      typename Load::template KeptCodes<kType> bytes;
      scales.Put(rows, 0, ::fovea::groups_of(t.in_dim));
      VF totals[kTokens];
      SetAll(totals, hn::Zero(kF));
      for (size_t d = 0; d < t.in_dim; d += kGroupsAtOnce<kType> * kScaleGroup) {
        if constexpr (kGroupsAtOnce<kType> > 1) {
          AddGroupsAtOnce(t, w, tokens, d, rows, scales, next, totals);
        } else {
          AskForGroup<kType>(next);
          AddGroupOfRows<kType>(t, w, tokens, d, rows, scales, bytes, totals);
        }
      }
      FOVEA_EACH(r, uint32_t{kTokens}) {
        if (r >= live) continue;
        VF y = hn::Mul(totals[r], hn::Set(kF, t.scales[token + r]));
        if (w.weights.bias) y = hn::Add(y, hn::LoadN(kF, w.weights.bias + j, n));
        StoreOutputs(w, y, token + r, j, n);
      }
    }
  }

  template <int kTokens, ::fovea::FormatSet kSet = ::fovea::i8_grouped_formats(Dot::kKind, kLanes, true)>
  FOVEA_INLINE void Outputs(const I8TokenTile& t, const I8Rows& w, size_t token, uint32_t begin, uint32_t end) {
    if constexpr (kSet != 0) {
      FOVEA_WITH_FORMAT(kSet, w.weights.dtype, OutputsOf<kTokens, kType>(t, w, token, begin, end));
    }
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_FEW_GROUPS_INL_
