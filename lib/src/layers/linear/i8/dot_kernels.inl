// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one instruction for integer products.
#ifndef FOVEA_SRC_LINEAR_I8_DOT_KERNELS_INL_
#define FOVEA_SRC_LINEAR_I8_DOT_KERNELS_INL_

#include "layers/linear/i8/few_groups.inl"
#include "layers/linear/i8/groups_blocks.inl"
#include "layers/linear/i8/groups_rows.inl"

// Whether few tokens have a kernel of their own. For smmla they take sdot's.
template <class Dot>
constexpr bool kHasFew = kDotTraits[Dot::kKind].few_rows && kLanes > 1 && Dot::kKind != kDotSmmla;
// Whether weights in groups are worth one, and register blocks for many tokens.
template <class Dot>
constexpr bool kHasFastGroups = kI8GroupedFormats != 0 && kDotTraits[Dot::kKind].few_groups && kLanes > 1;

template <class Dot>
struct FewKernel {
  using Few = FewProducts<Dot>;

  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Begin(const I8TokenTile& t, const I8Tokens& tokens) {
    const size_t padded = ::fovea::round_up(t.in_dim, ::fovea::kFewReads);
    const bool in_groups = kHasFastGroups<Dot> && HasGroupScales(t);
    for (size_t token = 0; token < t.live; ++token) {
      if (tokens.in.dtype == FOVEA_I8) {
        const CodeRow row = CodeRow::Of(RowOf(tokens, token));
        t.scales[token] = GivenScale(tokens, token);
        if (in_groups) t.group_scales[token] = 1.0f;
        Few::PutCodes(row, CodesAsTheyAre{}, t.in_dim, padded, Few::CodesOf(t, token));
      } else {
        const float* const row = reinterpret_cast<const float*>(RowOf(tokens, token));
        const size_t step = in_groups ? kScaleGroup : size_t(t.in_dim);
        float* scale = in_groups ? t.group_scales + token * t.scaled_groups : t.scales + token;
        if (in_groups) t.scales[token] = 1.0f;
        for (size_t d = 0; d < t.in_dim; d += step, ++scale) {
          const size_t left = t.in_dim - d, n = left < step ? left : step;
          const FloatRow part = {row + d};
          const ScaleI8 fit = ScaleI8::Of(part, n);
          hn::StoreN(fit.scale, kF, scale, 1);
          Few::PutCodes(part, fit, n, left <= step ? padded - d : n, Few::CodesOf(t, token) + d);
        }
      }
      if constexpr (kHasFastGroups<Dot>) {
        if (t.group_sums) FewGroups<Dot>::PutGroupSums(t, token, tokens.in.zero);
      }
    }
  }

  template <class Products>
  FOVEA_INLINE void MultiplyBy(const I8TokenTile& t, const I8Rows& w) {
    constexpr uint32_t kMost = kLanes > 4 ? 4 : 2;
    const uint32_t step = t.live > kMost ? kFewOutputsAtOnce : w.outputs;
    for (uint32_t j = 0; j < w.outputs; j += step) {
      const uint32_t end = w.outputs - j < step ? w.outputs : j + step;
      for (uint32_t token = 0; token < t.live; token += kMost) {
        const uint32_t left = t.live - token;
        if (left == 1) {
          Products::template Outputs<1>(t, w, token, j, end);
        } else if (left == 2 || kMost == 2) {
          Products::template Outputs<2>(t, w, token, j, end);
        } else {
          Products::template Outputs<int(kMost)>(t, w, token, j, end);
        }
      }
    }
  }
  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Multiply(const I8TokenTile& t, const I8Rows& w) { MultiplyBy<Few>(t, w); }
  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void MultiplyGroups(const I8TokenTile& t, const I8Rows& w) { MultiplyBy<FewGroups<Dot>>(t, w); }
};

// The words that multiply weights in groups.
template <class Dot, DotKind kKind = Dot::kKind>
struct GroupWords {
  using Words = Dot;
};
template <class Dot>
struct GroupWords<Dot, kDotVnni> {
  using Words = typename Dot::GroupWords;
};

template <class Dot>
constexpr void AddGroupKernels(I8LinearTable* table) {
  using Groups = GroupBlocks<typename GroupWords<Dot>::Words>;
  I8LinearKernel(&list)[kI8LinearKernels] = table->list[dot_row(Dot::kKind)];
  I8LinearKernel &few = list[kI8FewTokens], &tile = list[kI8TokenTile];
  tile.begin_groups = Groups::Begin, tile.multiply_groups = Groups::Multiply;
  if constexpr (Dot::kKind != kDotSmmla) {
    few.begin_groups = FewKernel<Dot>::Begin, few.multiply_groups = FewKernel<Dot>::MultiplyGroups;
  }
}
template <class Dot>
constexpr void AddKernels(I8LinearTable* table) {
  I8LinearKernel(&list)[kI8LinearKernels] = table->list[dot_row(Dot::kKind)];
  I8LinearKernel &few = list[kI8FewTokens], &tile = list[kI8TokenTile];
  if constexpr (kHasFew<Dot>) few.begin = FewKernel<Dot>::Begin, few.multiply = FewKernel<Dot>::Multiply;
  if constexpr (Dot::kKind == kDotSmmla) few = table->list[dot_row(kDotSdot)][kI8FewTokens];  // added before
  tile.begin = TokenCodes<Dot>::Begin, tile.multiply = TokenProducts<Dot>::Multiply;
  if constexpr (kHasFastGroups<Dot>) {
    AddGroupKernels<Dot>(table);
  } else if constexpr (kI8GroupedFormats != 0) {
    tile.begin_groups = tile.begin, tile.multiply_groups = GroupProducts<Dot>::Multiply;
  }
}

#endif  // FOVEA_SRC_LINEAR_I8_DOT_KERNELS_INL_
