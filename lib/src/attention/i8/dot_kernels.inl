// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one instruction for integer products: a FOVEA_DOT_FILE of simd/each_dot.inl.

namespace FOVEA_DOT_NAMESPACE {
#if defined(FOVEA_DOT_WEIGHS_ROW)
using dot = HeliumRow;
#else
using dot = FOVEA_DOT_WORDS;
#endif

// Parts that an instruction has in the place of those below.
#if FOVEA_DOT_SMLAD
#define FOVEA_DOT_PRODUCTS "attention/i8/products_smlad.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_row.inl"
#define FOVEA_DOT_BRING "attention/i8/bring_smlad.inl"
#elif FOVEA_DOT_HELIUM
#define FOVEA_DOT_PRODUCTS "attention/i8/products_helium.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_helium.inl"
#define FOVEA_DOT_FEW_SCORES "attention/i8/few_scores_helium.inl"
#elif FOVEA_DOT_VWMACC
#define FOVEA_DOT_SUMS "attention/i8/sums_rvv.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_rvv.inl"
#elif FOVEA_DOT_SDOT || FOVEA_DOT_SMMLA
#define FOVEA_DOT_PRODUCTS "attention/i8/products_neon64.inl"
#define FOVEA_DOT_QUERIES "attention/i8/queries_neon64.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_block.inl"
#endif
// A single lane is never empty; for few rows smmla takes sdot's kernel, and the user's instruction the tile kernel.
#if !FOVEA_FOR_ONE_LANE && !FOVEA_DOT_SMMLA && !FOVEA_DOT_OWN
#define FOVEA_DOT_FEW_ROWS "attention/i8/few_rows.inl"
#endif

#if !defined(FOVEA_DOT_BRING)
#define FOVEA_DOT_BRING "attention/i8/bring.inl"
#endif
#if !defined(FOVEA_DOT_PRODUCTS)
#define FOVEA_DOT_PRODUCTS "attention/i8/products.inl"
#endif
#if !defined(FOVEA_DOT_SUMS)
#define FOVEA_DOT_SUMS "attention/i8/sums.inl"
#endif
#if !defined(FOVEA_DOT_WHOLE)
#define FOVEA_DOT_WHOLE "attention/i8/whole.inl"
#endif
constexpr int kBlockVectors = dot::kBlockVectors;
constexpr size_t kGroup = dot::kGroup, kReads = dot::kReads;
using Block = DotBlock<dot>;
#include "attention/i8/tile.inl"
#include FOVEA_DOT_PRODUCTS
#include "attention/i8/softmax.inl"
#include "attention/i8/zero.inl"
#include "attention/i8/weights.inl"
#include FOVEA_DOT_WHOLE
#include "attention/i8/rows.inl"
#include FOVEA_DOT_BRING
constexpr size_t kProductLanes = kLanes;

// The functions above as the parts of a tile kernel.
struct TileParts {
  static constexpr size_t kProductLanes = FOVEA_DOT_NAMESPACE::kProductLanes;
  static constexpr int kBlockVectors = FOVEA_DOT_NAMESPACE::kBlockVectors;
  template <int kVectors>
  FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    FOVEA_DOT_NAMESPACE::Scores<kVectors>(t, keys, column);
  }
  template <int kVectors>
  FOVEA_INLINE void ScaleScores(const QueryTile& t, const KeyTile& keys, size_t column) {
    FOVEA_DOT_NAMESPACE::ScaleScores<kVectors>(t, keys, column);
  }
  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    FOVEA_DOT_NAMESPACE::Values<kHides, kVectors>(t, keys, column);
  }
  FOVEA_INLINE void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool changed) {
    FOVEA_DOT_NAMESPACE::PackWeights(t, keys, column, changed);
  }
  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool hides) {
    return FOVEA_DOT_NAMESPACE::WeighBlock<kVectors>(t, keys, column, hides);
  }
  template <int kVectors>
  FOVEA_INLINE void TakeOutZeros(const QueryTile& t, const KeyTile& keys, size_t column) {
    FOVEA_DOT_NAMESPACE::TakeOutZeros<kVectors>(t, keys, column);
  }
  FOVEA_INLINE void SoftmaxTile(const QueryTile& t, const KeyTile& keys, size_t column, bool hides) {
    FOVEA_DOT_NAMESPACE::SoftmaxTile(t, keys, column, hides);
  }
  static constexpr auto* Begin = FOVEA_DOT_NAMESPACE::Begin;
};

#if defined(FOVEA_DOT_FEW_ROWS)
constexpr uint32_t kMostFewRows = kLanes > 4 ? 4 : 2;  // with 4 lanes, 4 rows fill the tile kernel
#include FOVEA_DOT_FEW_ROWS

// The functions above as the parts of a few-rows kernel.
struct FewParts {
  static constexpr uint32_t kMostFewRows = FOVEA_DOT_NAMESPACE::kMostFewRows;
  static constexpr auto* FewBegin = FOVEA_DOT_NAMESPACE::FewBegin;
  template <int kRows>
  FOVEA_INLINE bool PrefetchesAhead(const QueryTile& t, const KeyTile& keys) {
    return FOVEA_DOT_NAMESPACE::PrefetchesAhead<kRows>(t, keys);
  }
  template <int kRows, bool kPrefetch>
  FOVEA_INLINE void FewScores(const QueryTile& t, const KeyTile& keys) {
    FOVEA_DOT_NAMESPACE::FewScores<kRows, kPrefetch>(t, keys);
  }
  template <int kRows>
  FOVEA_INLINE void FewSoftmax(const QueryTile& t, const KeyTile& keys, bool hides) {
    FOVEA_DOT_NAMESPACE::FewSoftmax<kRows>(t, keys, hides);
  }
  template <int kRows>
  FOVEA_INLINE void FewValues(const QueryTile& t, const KeyTile& keys, bool hides) {
    FOVEA_DOT_NAMESPACE::FewValues<kRows>(t, keys, hides);
  }
  FOVEA_INLINE auto* WeightsToKeep(const QueryTile& t, const KeyTile& keys) {
    return FOVEA_DOT_NAMESPACE::WeightsToKeep(t, keys);
  }
};
constexpr AttentionKernel kFewRowsOfDot = FewRowsKernel<FewParts>::Kernel(kCodedFormats, FewBringKeys, FewBringValues);
#else
constexpr AttentionKernel kFewRowsOfDot = {};
#endif

#undef FOVEA_DOT_BRING
#undef FOVEA_DOT_FEW_ROWS
#undef FOVEA_DOT_FEW_SCORES
#undef FOVEA_DOT_PRODUCTS
#undef FOVEA_DOT_QUERIES
#undef FOVEA_DOT_SUMS
#undef FOVEA_DOT_WHOLE

constexpr void AddKernels(I8Kernels* table) {
  AttentionKernel(&list)[kF16TileKernel - kI8FewRowsKernel] = table->list[dot_row(dot::kKind)];
  list[kI8FewRowsKernel - kI8FewRowsKernel] = kFewRowsOfDot;
  list[kI8TileKernel - kI8FewRowsKernel] = TileKernel<TileParts>::Kernel(kCodedFormats, BringKeys, BringValues);
}

}  // namespace FOVEA_DOT_NAMESPACE
