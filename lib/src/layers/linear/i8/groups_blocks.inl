// SPDX-License-Identifier: Apache-2.0
//
// Products of groups by register blocks, whose sums become floats at once.
#ifndef FOVEA_SRC_LINEAR_I8_GROUPS_BLOCKS_INL_
#define FOVEA_SRC_LINEAR_I8_GROUPS_BLOCKS_INL_

#include "layers/linear/i8/codes.inl"
#include "layers/linear/i8/linear.inl"
#include "layers/linear/i8/reader.inl"

template <class Dot>
struct GroupBlocks {
  using Block = DotBlock<Dot>;
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  template <int kRows, int kVectors>
  using BlockSums = typename Block::template Sums<kRows, kVectors>;

  // An instruction may want one side as unsigned bytes. Here this side is the codes of rows: they exceed the numbers
  // that they stand for by a bias, and the sum of a column's codes times this bias is subtracted. If instead the codes
  // of columns were unsigned, each group of a row would have to be summed.
  static constexpr bool kUnsignedRows = Dot::kUnsignedRows;
  static constexpr ::fovea::FormatSet kFormats = ::fovea::i8_grouped_formats(Dot::kKind, kLanes, false);
  FOVEA_INLINE int32_t RowBias(fovea_dtype dtype) {
    return !kUnsignedRows ? 0 : ::fovea::is_one_of<::fovea::kSignedFormats>(dtype) ? 128 : CodeBias(dtype);
  }
  template <fovea_dtype kType>
  static constexpr uint8_t kLess = ::fovea::is_one_of<::fovea::kSignedFormats>(kType) ? (kUnsignedRows ? 128 : 0)
                                   : kUnsignedRows                                    ? 0
                                                   : ::fovea::format_of(kType).code_bias;
  // Groups of a row that are brought at a time, for all columns of a tile.
  static constexpr size_t kGroupsOfRows = TokenProducts<Dot>::kInputsAtOnce / kScaleGroup;
  static constexpr size_t kGroupsAtOnce = kGroupsOfRows < kLinearGrain ? kGroupsOfRows : kLinearGrain;

  template <fovea_dtype kType>
  using Reader = GroupReader<kType, 1>;

  // The codes of groups of up to kLinearGrain rows: in place, or in a buffer.
  struct BroughtGroups {
    uint32_t count;                       // of the rows
    const RowCode* codes[kGroupsAtOnce];  // of a group in the first row
    ptrdiff_t strides[kGroupsAtOnce];     // from a row to the next
    // For each row: what is added to the group's sum, which stays 0 without a zero point; its scale; and its least
    // number, which some formats have. In q6_k scales are integers, and the place of the first least number has d.
    int32_t starts[kGroupsAtOnce][kLinearGrain];
    float scales[kGroupsAtOnce][kLinearGrain], leasts[kGroupsAtOnce][kLinearGrain];
  };

  // Codes of groups as bytes, before they are brought.
  using GroupBytes = int8_t[kLinearGrain][kScaleGroup];

  // The inputs of a group that begins at d; kStep limits their number.
  template <size_t kStep>
  FOVEA_INLINE size_t InGroup(size_t inputs, size_t d) {
    return inputs - d < kStep ? inputs - d : kStep;
  }

  // Stores a row's codes of a group, from element d of the reader on, as the dot product reads them.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutCodes(const Reader<kType>& rows, uint32_t k, size_t d, int8_t* to) {
    const FormatRow<kType> row = rows.Row(k);
    if constexpr (kInSuper<kType> || kInBytes<kType>) {
      PutGroupCodes<kType, kLess<kType>, kScaleStep<kType>>(row.Block(d), rows.place + d, to);
    } else if constexpr (kType != FOVEA_Q8_0) {
      PutNibbles(row.Codes(d), kUnsignedRows ? 0 : CodeBias(kType), to);
    } else if constexpr (kUnsignedRows) {  // else they are read in place
      FlipSigns(row.Codes(d), to);
    }
  }
  FOVEA_INLINE void FlipSigns(const uint8_t* codes, int8_t* to) {
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < kScaleGroup; i += sizeof(uint64_t)) {
      uint64_t bytes;
      __builtin_memcpy(&bytes, codes + i, sizeof bytes);
      bytes ^= UINT64_MAX / 255 * 128;
      __builtin_memcpy(to + i, &bytes, sizeof bytes);
    }
  }

  // Asks for the rows that are brought next: only a part of a row is read at a time, so a processor's own prefetcher
  // does not see which address is next.
  FOVEA_INLINE void AskForNext(const fovea_linear_weights& w, size_t row, size_t d, size_t inputs) {
    const size_t bytes = ::fovea::number_of<&::fovea::Format::group_bytes, kI8GroupedFormats>(w.dtype);
    const size_t elements = IsInSuper(w.dtype) ? kSuperBlock : kScaleGroup;
    Ahead next = Ahead::From(w.data, (row + kLinearGrain) * uintptr_t(w.row_stride) + d / elements * bytes);
    const size_t asked = inputs * bytes / elements;
    for (uint32_t k = 0; k < kLinearGrain; ++k, next.at += uintptr_t(w.row_stride)) next.AskAll(asked);
  }

  // Stores the scales of groups that are in one super-block.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutScalesOfSuper(const Reader<kType>& rows, size_t inputs, BroughtGroups* b) {
    const size_t first = rows.place / kScaleStep<kType>;
    for (uint32_t k = 0; k < b->count; ++k) {
      float all[kScalesOf<kType>];
      PutSuperScales<kType, false>(rows.Row(k).Block(0), all);
      if constexpr (kScaleStep<kType> < kScaleGroup && !kHasLeast<kType>) {
        hn::StoreN(FormatRow<kType>::CommonScale(rows.Row(k).Block(0)), kF, &b->leasts[0][k], 1);
      }
      for (size_t g = 0; g * kScaleStep<kType> < inputs; ++g) {
        b->scales[g][k] = all[first + g];
        if constexpr (kHasLeast<kType>) b->leasts[g][k] = all[kScalesOf<kType> / 2 + first + g];
      }
    }
  }

  // Stores the codes of inputs that are in one super-block: [row][kScaleStep * kGroupsAtOnce].
  template <fovea_dtype kType>
  FOVEA_INLINE void PutRunsOfSuper(const Reader<kType>& rows, uint32_t count, size_t inputs, int8_t* to) {
    constexpr size_t kMost = kScaleStep<kType> * kGroupsAtOnce, kRun = kSuperRun<kType>;
    static_assert(!Block::kRowsInPlace || kMost % kRun == 0, "runs are brought whole");
    for (uint32_t k = 0; k < count; ++k, to += kMost) {
      for (size_t d = 0; d < inputs; d += kRun) {
        PutRun<kType, kLess<kType>>(rows.Row(k).Block(0), rows.place + d, to + d);
      }
    }
  }

  // Brings groups of `inputs` inputs, from input `first` on, of b->count rows from `row` on. `bytes` has room for one
  // group, or for all if rows are multiplied in place.
  template <fovea_dtype kType>
  FOVEA_CALLED_TEMPLATE void BringGroups(const I8TokenTile& t, const fovea_linear_weights& w, int32_t zero,
                                         uint32_t row, size_t first, size_t inputs, GroupBytes* bytes,
                                         BroughtGroups* b) {
    constexpr size_t kHalves = kGroupsAtOnce * kLinearGrain, kStep = kScaleStep<kType>;
    constexpr bool kRuns = kInSuper<kType> && Block::kRowsInPlace;
    uint16_t scales[kHalves] = {}, leasts[kHalves] = {};  // as in *b, but f16
    const Reader<kType> rows = Reader<kType>::Of(w, t.in_dim, row, b->count, first);
    RowCode* to = static_cast<RowCode*>(t.rows);
    int8_t* const super = (*bytes)[0];  // [row][kStep * kGroupsAtOnce] codes of super-blocks, if there is room for all
    if constexpr (kRuns) PutRunsOfSuper<kType>(rows, b->count, inputs, super);
    for (size_t g = 0, d = 0; d < inputs; ++g, d += kStep) {
      const size_t n = InGroup<kStep>(inputs, d);
      const int8_t* codes = kRuns ? super + d : (*bytes)[0];
      ptrdiff_t stride = kRuns ? kStep * kGroupsAtOnce : kScaleGroup;
      if constexpr (kType == FOVEA_Q8_0 && !kUnsignedRows) {
        codes = reinterpret_cast<const int8_t*>(rows.Row(0).Codes(d));
        stride = w.row_stride;
      }
      for (uint32_t k = 0; !kRuns && k < b->count; ++k) PutCodes<kType>(rows, k, d, (*bytes)[k]);
      for (uint32_t k = 0; k < b->count; ++k) {
        if constexpr (!kInSuper<kType>) scales[g * kLinearGrain + k] = rows.Row(k).ScaleBits(d);
        if constexpr (kHasLeast<kType> && !kInSuper<kType>) leasts[g * kLinearGrain + k] = rows.Row(k).LeastBits(d);
      }
      for (uint32_t k = 0; zero != 0 && k < b->count; ++k) {
        const int32_t sum = Dot::SumOfRow(codes + ptrdiff_t(k) * stride, n);
        b->starts[g][k] = -zero * (sum - RowBias(kType) * int32_t(n));
      }
      b->codes[g] = Block::ReachRows(codes, b->count, n, to, &stride);
      b->strides[g] = stride;
      if (Block::kRowsInPlace) {
        bytes += kInSuper<kType> ? 0 : 1;
      } else {
        to += kLinearGrain * kScaleGroup;
      }
    }
    if constexpr (kInSuper<kType>) return PutScalesOfSuper<kType>(rows, inputs, b);
    float *const all_scales = b->scales[0], *const all_leasts = b->leasts[0];
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kHalves; i += kLanes) {
      hn::StoreU(ScalesAt<kType>(scales + i), kF, all_scales + i);
      if constexpr (kHasLeast<kType>) hn::StoreU(hn::LoadF16(kF, leasts + i), kF, all_leasts + i);
    }
  }

  template <::fovea::FormatSet kSet = kFormats>
  FOVEA_INLINE void BringGroupsOf(const I8TokenTile& t, const fovea_linear_weights& w, int32_t zero, uint32_t row,
                                  size_t first, size_t inputs, GroupBytes* bytes, BroughtGroups* b) {
    if constexpr (kSet != 0) {
      FOVEA_WITH_FORMAT(kSet, w.dtype, BringGroups<kType>(t, w, zero, row, first, inputs, bytes, b));
    }
  }

  // What becomes of a group's sums: they are added to `sums`; or they are of the first half of a group of q6_k, and are
  // kept; or of the second half, and both are added.
  enum class Of { kWhole, kFirstHalf, kSecondHalf };
  // Group g of the rows from `row` on, and of some columns: the sums of their codes, and their scales.
  struct ScaledGroup {
    const BroughtGroups& b;
    uint32_t row;
    size_t g, columns;
    const float *x_sums, *x_scales;
  };

  // The sums of a group become floats; those of rows past the last are not used. `kept` is [kRows][kVectors * kLanes].
  template <Of kOf, bool kLeast, int kRows, int kVectors>
  FOVEA_INLINE void AddScaled(const ScaledGroup& of, const BlockSums<kRows, kVectors>& block, float* kept,
                              float* sums) {
    const BroughtGroups& b = of.b;
    const uint32_t row = of.row;
    const size_t g = of.g;
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < uint32_t(kRows); ++k, kept += kVectors * kLanes) {
      const VF scale = hn::Set(kF, b.scales[g][row + k]);
      const VF more = hn::Set(kF, kLeast ? b.leasts[g][row + k] : kOf == Of::kWhole ? 0.0f : b.leasts[0][row + k]);
      const VI start = hn::Set(kI, b.starts[g][row + k]);
      float* const out = sums + k * of.columns;
      FOVEA_EACH(v, kVectors) {
        VI sum = hn::Add(Block::IntsOf(block, k, v), start);
        if constexpr (kUnsignedRows && !kLeast) sum = hn::Add(sum, LoadInts(of.x_sums + v * kLanes));
        VF product = hn::ConvertTo(kF, sum);
        if constexpr (kOf == Of::kFirstHalf) {
          hn::StoreU(hn::Mul(product, scale), kF, kept + v * kLanes);
          continue;
        }
        if constexpr (kOf == Of::kSecondHalf) {
          product = hn::Mul(fused::MulAdd(product, scale, hn::LoadU(kF, kept + v * kLanes)), more);
        } else {
          product = hn::Mul(product, scale);
        }
        if constexpr (kLeast) product = hn::Add(product, hn::Mul(hn::LoadU(kF, of.x_sums + v * kLanes), more));
        product = hn::Mul(product, hn::LoadU(kF, of.x_scales + v * kLanes));
        hn::StoreU(hn::Add(hn::LoadU(kF, out + v * kLanes), product), kF, out + v * kLanes);
      }
    }
  }

  // sums[row][column] += the products of groups of `inputs` inputs, from d on, times both scales: for kVectors vectors
  // of columns, and all rows that were brought.
  template <int kVectors, bool kLeast, size_t kStep>
  FOVEA_CALLED_TEMPLATE void AddGroupsOfVectors(const I8TokenTile& t, const BroughtGroups& b, size_t d, size_t inputs,
                                                const float* x_sums, float* sums, size_t column) {
    constexpr int kRows = Block::template kRows<kVectors>;
    const size_t columns = t.columns;
    float kept[kStep < kScaleGroup ? kRows * kVectors * kLanes : 1];
    sums += column;
    x_sums += column;
    for (uint32_t row = 0; row < b.count; row += uint32_t(kRows), sums += size_t(kRows) * columns) {
      const Code* x = static_cast<const Code*>(t.x) + (d / Dot::kGroup * columns + column) * Dot::kGroup;
      for (size_t g = 0, from = 0; from < inputs; ++g, from += kStep, x += kStep * columns) {
        const RowCode* codes[kRows];
        const RowCode* next = b.codes[g] + ptrdiff_t(row) * b.strides[g];
        FOVEA_EACH(k, uint32_t(kRows)) {  // rows past the last repeat it
          codes[k] = next;
          next += row + k + 1 < b.count ? b.strides[g] : 0;
        }
        BlockSums<kRows, kVectors> block;
        FOVEA_EACH(k, kRows) Block::Begin(k, 0, block);
        // Rows that were brought have room for whole reads, and codes of 0 follow those of columns.
        const size_t n = InGroup<kStep>(inputs, from);
        if constexpr (!Block::kHasWhole) {
          Block::template MultiplyRows<kVectors>(x, columns, codes, n, block);
        } else if (n == kStep) {
          Block::template MultiplyWhole<kStep>(x, columns, codes, block);
        } else {
          FOVEA_EACH(k, kRows) FOVEA_OPAQUE(codes[k]);  // g++ 12 would load codes for both branches, and spill them
          Block::template MultiplyRows<kVectors>(x, columns, codes, ::fovea::round_up(n, Dot::kReads), block);
        }
        const ScaledGroup of = {
            b, row, g, columns, x_sums + g * columns, GroupScalesOf(t, (d + from) / kScaleGroup) + column};
        if constexpr (kStep == kScaleGroup || kLeast) {
          AddScaled<Of::kWhole, kLeast, kRows, kVectors>(of, block, kept, sums);
        } else if (g % 2 == 0 && from + kStep < inputs) {
          AddScaled<Of::kFirstHalf, kLeast, kRows, kVectors>(of, block, kept, sums);
        } else {
          for (size_t i = 0; g % 2 == 0 && i < kRows * kVectors * kLanes; i += kLanes) {  // there is no second half
            hn::StoreU(hn::Zero(kF), kF, kept + i);
          }
          AddScaled<Of::kSecondHalf, kLeast, kRows, kVectors>(of, block, kept, sums);
        }
      }
    }
  }

  template <bool kLeast, size_t kStep>
  FOVEA_INLINE void AddGroupsOfColumns(const I8TokenTile& t, const BroughtGroups& b, size_t d, size_t inputs,
                                       const float* x_sums, float* sums) {
    ForColumns<Dot::kBlockVectors, true>(t.columns, [&](auto vectors, size_t column) __attribute__((always_inline)) {
      AddGroupsOfVectors<vectors.kCount, kLeast, kStep>(t, b, d, inputs, x_sums, sums, column);
    });
  }

  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Begin(const I8TokenTile& t, const I8Tokens& tokens) {
    int8_t ones[kScaleGroup];
    for (int8_t& one : ones) one = 1;
    TokenCodes<Dot>::Begin(t, tokens);
    float* to = t.group_sums;
    const size_t step = ::fovea::sum_step_of(t);
    for (size_t d = 0; d < t.in_dim; d += step, to += t.columns) {
      const size_t n = t.in_dim - d < step ? t.in_dim - d : step;
      TileRows<Dot>::Multiply(t, ones, kScaleGroup, 1, d, n, false, t.sums);  // only row 0 is used
      for (size_t c = 0; c < t.columns; c += kLanes) hn::StoreU(hn::LoadU(kF, t.sums + c), kF, to + c);
    }
  }

  // x_sums[group][column], from the sum of a column's codes in a group. Where rows have a bias: -bias times this sum,
  // an integer, which takes the bias out of a product. For rows with a least number, which have none: this sum without
  // the zero points, a float.
  FOVEA_INLINE void PutSumsOfTokens(const I8TokenTile& t, int32_t zero, int32_t bias, size_t d, size_t inputs,
                                    float* x_sums) {
    const size_t step = ::fovea::sum_step_of(t);
    const float* sums = t.group_sums + d / step * t.columns;
    for (size_t from = 0; from < inputs; from += step, x_sums += t.columns, sums += t.columns) {
      const VI start = hn::Set(kI, -zero * int32_t(inputs - from < step ? inputs - from : step));
      for (size_t c = 0; c < t.columns; c += kLanes) {
        const VI sum = LoadInts(sums + c);
        if (bias != 0) {
          const VI four = hn::ShiftLeft<2>(sum), eight = hn::ShiftLeft<3>(sum);
          const VI less = bias == 4    ? four
                          : bias == 8  ? eight
                          : bias == 32 ? hn::ShiftLeft<3>(four)
                                       : hn::ShiftLeft<4>(eight);
          StoreInts(hn::Sub(hn::Set(kI, 0), less), x_sums + c);
        } else {
          hn::StoreU(hn::ConvertTo(kF, hn::Add(sum, start)), kF, x_sums + c);
        }
      }
    }
  }

  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Multiply(const I8TokenTile& t, const I8Rows& w) {
    const size_t most = kGroupsAtOnce * ::fovea::scale_step(w.weights.dtype);
    const int32_t zero = w.x_zero_point + (Dot::kUnsignedQueries ? 128 : 0);
    float* const x_sums = t.sums + size_t(kGroupedOutputs + kLinearGrain) * t.columns;
    GroupBytes bytes[Block::kRowsInPlace ? kGroupsAtOnce : 1];
    BroughtGroups b = {};
    for (size_t i = 0; i < size_t(kGroupedOutputs + kLinearGrain) * t.columns; i += kLanes) {
      hn::StoreU(hn::Zero(kF), kF, t.sums + i);
    }
    for (size_t d = 0; d < t.in_dim; d += most) {
      const size_t inputs = t.in_dim - d < most ? t.in_dim - d : most;
      const bool has_least = HasLeast(w.weights.dtype);
      if (kUnsignedRows || has_least) PutSumsOfTokens(t, zero, RowBias(w.weights.dtype), d, inputs, x_sums);
      for (uint32_t row = 0; row < w.outputs; row += kLinearGrain) {
        b.count = w.outputs - row < kLinearGrain ? w.outputs - row : kLinearGrain;
        if (kAsksAhead) AskForNext(w.weights, row, d, inputs);
        BringGroupsOf(t, w.weights, zero, row, d, inputs, bytes, &b);
        float* const sums = t.sums + size_t(row) * t.columns;
        if ((kFormats & ::fovea::kLeastFormats) != 0 && has_least) {
          constexpr ::fovea::FormatSet kInHalves = kFormats & kI8LeastHalves;
          if (!::fovea::is_one_of<kInHalves>(w.weights.dtype)) {
            AddGroupsOfColumns<true, kScaleGroup>(t, b, d, inputs, x_sums, sums);
          } else if constexpr (kInHalves != 0) {
            AddGroupsOfColumns<true, kScaleGroup / 2>(t, b, d, inputs, x_sums, sums);
          }
        } else if ((kFormats & kI8SuperFormats) == 0 || ::fovea::scale_step(w.weights.dtype) == kScaleGroup) {
          AddGroupsOfColumns<false, kScaleGroup>(t, b, d, inputs, x_sums, sums);
        } else if constexpr ((kFormats & ::fovea::kHalfFormats) != 0) {
          AddGroupsOfColumns<false, kScaleGroup / 2>(t, b, d, inputs, x_sums, sums);
        }
      }
    }
    TokenProducts<Dot>::template End<true>(t, w);
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_GROUPS_BLOCKS_INL_
