// SPDX-License-Identifier: Apache-2.0
//
// The interface between the call, which has the algorithm, and the kernel texts, which have the vector code: plain
// structures, and the list of kernels of each target.
#ifndef FOVEA_SRC_ATTENTION_KERNELS_H_
#define FOVEA_SRC_ATTENTION_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "ground/base/member_if.h"
#include "ground/base/numbers.h"
#include "ground/base/strides.h"
#include "ground/formats/formats.h"
#include "ground/targets/choice.h"
#include "ground/targets/dot_traits.h"
#include "ground/targets/registry.h"

namespace fovea {

// Keys in a tile: the same on every target, so that the bits are the same.
constexpr uint32_t kKeyTile = FOVEA_KEY_TILE;
// Work on a key tile begins at a multiple of this many keys: the largest register block of keys.
constexpr uint32_t kKeyGrain = 8;
// Scores are kept in base 2.
constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

// Weights of a query tile that are kept until its sums are known, for fovea_attention_args.key_mass. A slot for each key
// tile that the query tile went through has: a KeptKeys; weights, [kKeyTile][rows] as in the tile's s; and [columns]
// row_max, with which these weights were computed.
struct KeptWeights {
  float* slots;
  uint32_t count;  // of slots
  uint32_t from;   // rows before this one are not kept; UINT32_MAX = none is
};
struct KeptKeys {
  uint32_t first, begin, end;  // of KeySpan
  uint32_t unused;
};
constexpr size_t kKeptKeysFloats = sizeof(KeptKeys) / sizeof(float);
template <class T>
using IfKeyMass = MemberIf<config::kKeyMass, T>;

// A tile of query rows and its running softmax. Rows are token-major: row = token * group + head in group. The first
// `live` rows are real; the others repeat the last one and are never stored.
//
// Two kernels use it. The tile kernel has a lane for each row: its matrices are [..][columns], and a row is a column.
// The few-rows kernel has its lanes along head_dim: its matrices are [row][..], and in the arrays of columns a row has
// `row_lanes` lanes.
struct QueryTile {
  uint32_t head_dim, value_dim;
  uint32_t columns;      // of the arrays below: a multiple of the lanes of a vector
  uint32_t live;         // rows that exist
  uint32_t group;        // query heads that share the key head
  uint32_t first_token;  // row 0: its token
  uint32_t first_head;   // row 0: its head within the group
  // Columns for each row; 1 in the tile kernel.
  [[no_unique_address]] MemberIf<kFewRowsServed, uint32_t> row_lanes;

  void* q;         // [head_dim][columns], few-rows [row][head_dim rounded up to lanes]   queries times scale * log2(e),
                   // or unscaled for an additive score: floats, halves or codes, as the products read them
  float* s;        // [kKeyTile][columns]   scores in base 2, then weights
  float* o;        // [value_dim][columns], few-rows [row][value_dim rounded up to lanes] sum of weight * value
  float* row_max;  // [columns]  largest score so far, base 2; -inf at first
  float* row_sum;  // [columns]  sum of weights so far
  float* rescale;  // [columns]  what the last key tile multiplied row_sum by
  int32_t* lo;     // two arrays: see row_hi
  [[no_unique_address]] MemberIf<config::kAlibi, int32_t*> alibi;  // three arrays: see alibi_pos
  [[no_unique_address]] MemberIf<config::kSinks, float*> sink;     // [columns]  sink logit * log2(e)
  [[no_unique_address]] IfKeyMass<KeptWeights> kept;
};

// Arrays of columns that have one pointer, because tiles are on the stack, are this far apart.
constexpr size_t column_stride(size_t columns) { return round_up(columns, FOVEA_WORKSPACE_ALIGNMENT / 4); }

// Each row may see the keys [lo, hi) by its position. Without limits only the first and the last column are filled.
inline int32_t* row_lo(const QueryTile& t) { return t.lo; }
inline int32_t* row_hi(const QueryTile& t) { return t.lo + column_stride(t.columns); }

// What ALiBi needs to know about the rows of a tile: the position of the query, limited to 2^30 in magnitude; the rest of
// the position; the slope times log2(e).
inline int32_t* alibi_pos(const QueryTile& t) { return *t.alibi; }
inline float* alibi_far_pos(const QueryTile& t) {
  return reinterpret_cast<float*>(*t.alibi) + column_stride(t.columns);
}
inline float* alibi_slope(const QueryTile& t) { return alibi_far_pos(t) + column_stride(t.columns); }

inline uint32_t row_lanes(const QueryTile& t) { return kFewRowsServed ? uint32_t(t.row_lanes) : 1; }

// The floats of a slot of kept weights.
constexpr size_t kept_slot_floats(size_t rows, size_t columns) { return kKeptKeysFloats + kKeyTile * rows + columns; }
inline size_t kept_slot_floats(const QueryTile& t) { return kept_slot_floats(t.columns / row_lanes(t), t.columns); }

// Formats of queries and outputs.
constexpr bool kHasI8Tensors = config::kI8Tensors;
constexpr FormatSet kTensorFormats = kUnscaledFormats | (kHasI8Tensors ? FormatSet{1} << FOVEA_I8 : 0);
constexpr size_t tensor_bytes(fovea_dtype dtype) { return number_of<&Format::unit_bytes, kTensorFormats>(dtype); }

// With products of halves, a row follows rescale: what scores are multiplied by. With integer products, four more rows
// do: the scales of the queries; the factors of sums of values; what the zero point of keys adds to the scores of a row,
// base 2; what the zero point of values adds to a sum of values.
inline float* query_scales(const QueryTile& t) { return t.rescale + t.columns; }
inline float* value_factors(const QueryTile& t) { return t.rescale + 2 * size_t{t.columns}; }
inline float* row_shifts(const QueryTile& t) { return t.rescale + 3 * size_t{t.columns}; }
inline float* zero_sums(const QueryTile& t) { return t.rescale + 4 * size_t{t.columns}; }

// Where the rows of a tile are in an array of the caller. `data`: the element of the entry's first token and the head
// group's first head.
template <class T>
struct RowArray {
  T* data;
  ptrdiff_t token_stride, head_stride;
};

// The rows of queries or outputs in such an array. Their elements are of the type that the description names, one of kTensorFormats.
struct TypedRows {
  void* data;
  ptrdiff_t token_stride, head_stride;  // bytes
  [[no_unique_address]] MemberIf<kTensorFormats != kOnlyF32, fovea_dtype> dtype;
};

// Rows of keys or of values, in a format of ground/formats/formats.h. Strides count units of this format. The tile kernel for
// f32 products takes only f32.
struct KeyRows {
  const void* data;
  [[no_unique_address]] MemberIf<kScaledKeyFormats != 0, const void*> scales;
  ptrdiff_t stride;
  [[no_unique_address]] MemberIf<kScaledKeyFormats != 0, ptrdiff_t> scale_stride;
  [[no_unique_address]] MemberIf<kKeyFormats != kOnlyF32, fovea_dtype> dtype;

  const float* f32(ptrdiff_t row) const { return static_cast<const float*>(data) + row * stride; }
};

// The format of a mask that is added.
constexpr fovea_dtype mask_dtype(fovea_mask_kind kind) {
  return kind == FOVEA_MASK_F16 ? FOVEA_F16 : kind == FOVEA_MASK_BF16 ? FOVEA_BF16 : FOVEA_F32;
}
constexpr size_t mask_element_bytes(fovea_mask_kind kind) {
  return kind == FOVEA_MASK_BYTE ? 1 : unit_bytes(mask_dtype(kind));
}

// ---------------------------------------------------------------------------------------------- integer products

// Whether integer products, and products of halves, are compiled in.
constexpr bool kHasI8Products = config::kComputeI8;
constexpr bool kHasF16Products = config::kComputeF16;
// Whether plans may take the few-rows kernel for halves, which processors with arithmetic of halves have.
constexpr bool kPlansFewHalves = kHasF16Products;
// The most rows that it takes. Where size counts, the tile kernel takes two.
constexpr uint32_t kFewHalfRows = config::kPreferSize ? 1 : 2;
constexpr FormatSet kF16Rows = FormatSet{1} << FOVEA_F16;

// The largest head_dim for which float sums of products of codes are exact: 127 * 128 * 1024 < 2^24.
constexpr uint32_t kMostI8Products = 1024;

// What attend needs of a key tile in addition to its codes, in the order of keys from the tile's first on. A vector
// that ends past one of the arrays of floats reads the first elements of the next array, and does not use them.
struct I8Numbers {
  float key_scale[kKeyTile];    // finite or NaN
  float value_scale[kKeyTile];  // finite; 0 for a scale that counts as NaN
  float value_nan[kKeyTile];    // NaN for such a scale, else 0. Filled where any_nan is set
  float key_shift[kKeyTile];    // what the zero point of queries adds to a score, base 2. Filled if scores are shifted
  union {
    int32_t key_start[kKeyTile];  // the initial value of the sums of products with a key
    float widened[kScaleGroup];   // where these are all 0: the group of a row that is widened
  };
  float value_zero_point;  // the zero point of values
  uint32_t any_nan;
  uint32_t begin, end;     // the keys that were brought
  int32_t value_start[1];  // [value_dim rounded up to kValueGrain] the initial value of an element's sums
};

// The sum of the codes of a row.
inline int32_t sum_of_codes(const int8_t* row, size_t dim) {
  int32_t sum = 0;
  for (size_t d = 0; d < dim; ++d) sum += row[d];
  return sum;
}

// Rows of keys or values to be brought to where attend reads them.
struct RowsToBring {
  KeyRows rows;              // from the first one on
  uint32_t at, count;        // where they are in the key tile
  uint32_t begin, end;       // the keys of the tile that all calls together bring
  size_t dim;                // of the rows
  size_t element, elements;  // the elements that are wanted
  void* to;                  // keys: rows of codes, from the row `at` on, or null: they stay in place. values: packed
  I8Numbers* numbers;
};

// Keys [begin, end) of the tile that starts at absolute key `first`. begin is a multiple of kKeyGrain.
struct KeySpan {
  uint32_t first;
  uint32_t begin, end;  // 0 <= begin < end <= kKeyTile
  bool edge;            // by position, some row may not see some of these keys
  [[no_unique_address]] MemberIf<config::kBlockMaps, bool> masked;  // the mask, if there is one, applies
  // For a vector of rows at an edge: all of them see the keys [begin, seen), if these are any; seen is below end then.
  [[no_unique_address]] MemberIf<!config::kPreferSize, uint32_t> seen = 0;
};
// Which parts of its step one call of attend performs. Where rows are brought in pieces, attend is called once for each
// piece: for the score part with a piece of the keys, for the value part with some elements of the values.
enum AttendPart : uint32_t { kScorePart = 1, kWeightPart = 2, kValuePart = 4, kAllParts = 7 };

struct KeyTile : KeySpan {
  KeyRows keys, values;  // from key `first` on
  // For an additive score: its vector [head_dim], null = the score is the dot product; and scale * log2(e).
  [[no_unique_address]] MemberIf<config::kAdditive, const float*> score_vector;
  [[no_unique_address]] MemberIf<config::kAdditive, float> score_factor;
  // Keys of the next tile, if these are worth prefetching; else null.
  [[no_unique_address]] MemberIf<kFewRowsServed, const void*> next_keys;
  [[no_unique_address]] MemberIf<kHasI8Products, const I8Numbers*> codes = nullptr;  // for integer products
  [[no_unique_address]] MemberIf<kPiecesServed, AttendPart> parts = kAllParts;
  [[no_unique_address]] IfKeyMass<float*> kept = nullptr;  // a slot for the weights, or null

  const I8Numbers& numbers() const { return **codes; }
};

// The parameters of the score steps.
struct SoftcapStep {
  float cap;          // in base 2; 0 = none
  float inverse_cap;  // 1 / cap
};
struct MaskStep {
  fovea_mask_kind kind;
  RowArray<const char> rows;    // [token][head] rows of keys, at absolute key 0; strides in bytes
  uint32_t step;                // elements from a key to the next: 1, or 0 if a row has one element for all keys
  float hides;                  // an added mask hides keys with values at or below this
  RowArray<const char> factor;  // [head] floats: the factors of an added mask
  [[no_unique_address]] MemberIf<config::kBlockMaps, uint32_t> begin;  // the mask does not apply before this key
};
// The passes of a call. Modified weights need two, because the normalisation must be known first.
enum WeightPass : uint32_t { kOnlyPass, kMeasuringPass, kWeighingPass };
struct ModifierStep {
  const fovea_modifier* modifier;  // or null
  uint32_t worker;
  WeightPass pass;
  int64_t first_position, first_key;  // of token 0, and of local key 0
};
// What decides which weights are dropped. Keys are as the random-number generator counts them.
struct DropoutStep {
  uint64_t seed;
  float probability;    // 0 = none
  uint32_t first_quad;  // key / 4 of local key 0
};
// The steps between the dot product and the softmax, in their order. Dropout follows the softmax.
struct ScoreSteps {
  uint32_t entry, kv_head;                                      // that they are for
  [[no_unique_address]] MemberIf<kHasI8Tensors, bool> shifted;  // by the zero points of queries and keys
  [[no_unique_address]] MemberIf<config::kAlibi, bool> alibi;
  [[no_unique_address]] MemberIf<config::kSoftcap, SoftcapStep> softcap;
  [[no_unique_address]] MemberIf<config::kModifiers, ModifierStep> modifier;
  [[no_unique_address]] MemberIf<config::kMask, MaskStep> mask;
  [[no_unique_address]] MemberIf<config::kDropout, DropoutStep> dropout;
};

// What is done with an output after its normalisation, if values or outputs are tensors of int8.
struct OutputTensor {
  bool is_plain;                // nothing
  const float* channel_scales;  // [value_dim], or null
  float inverse_scale, zero;    // of outputs of i8
};

struct RowOutputs {
  TypedRows out;
  [[no_unique_address]] MemberIf<config::kLse, RowArray<float>> lse;  // data may be null
  [[no_unique_address]] MemberIf<config::kSinks, bool> sinks;
  [[no_unique_address]] MemberIf<kHasI8Tensors, OutputTensor> tensor;
  [[no_unique_address]] MemberIf<config::kModifiers, WeightPass> pass = kOnlyPass;
};

// What is known of a kernel without its code, so that one machine can plan for another.
struct KernelTraits {
  bool any_rows;        // it takes any number of query rows; else at most TargetTraits::few_rows()
  bool lanes_are_rows;  // a lane is a query row; else lanes run along head_dim
  bool portable_bits;   // its bits are the same for all counts of rows, and on all targets that fuse
  bool drops;           // it serves dropout
  uint8_t compute;      // fovea_compute
};
// Best first: a plan takes the first that fits, of those for any rows and of those for few.
enum KernelIndex : uint32_t {
  kFewRowsKernel,
  kTileKernel,
  kI8FewRowsKernel,
  kI8TileKernel,
  kF16TileKernel,
  kF16FewRowsKernel,
  kKernels
};
// A row for each kernel that plans may take.
constexpr uint32_t kKernelsServed = kPlansFewHalves   ? uint32_t(kKernels)
                                    : kHasF16Products ? uint32_t(kF16FewRowsKernel)
                                    : kHasI8Products  ? uint32_t(kF16TileKernel)
                                                      : uint32_t(kI8FewRowsKernel);
template <class Row>
struct KernelRows {
  Row rows[kKernelsServed];

  explicit constexpr KernelRows(const Row (&all)[kKernels]) : rows() {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) rows[i] = all[i];
  }
  constexpr const Row& operator[](uint32_t index) const { return rows[index]; }
};
constexpr KernelRows<const char*> kKernelNames({"few-rows", "tile", "i8 few-rows", "i8 tile", "f16 tile",
                                                "f16 few-rows"});
inline constexpr KernelRows<KernelTraits> kKernelTraits({
    // any rows, lanes are rows, portable bits, drops, compute
    {false, false, false, false, FOVEA_COMPUTE_F32},
    {true, true, true, true, FOVEA_COMPUTE_F32},
    {false, false, true, false, FOVEA_COMPUTE_I8},
    {true, true, true, true, FOVEA_COMPUTE_I8},
    {true, true, true, true, FOVEA_COMPUTE_F16},
    {false, false, true, false, FOVEA_COMPUTE_F16},
});

// Adjacent rows of a partial state. For a tile the first of them is row 0 of the tile.
struct StateRows {
  float* max;  // [rows], base 2
  float* sum;  // [rows]
  float* o;    // [rows][value_dim]

  StateRows from(size_t row, size_t value_dim) const { return {max + row, sum + row, o + row * value_dim}; }
};

// What a kernel does around its products and its softmax. Functions that a build leaves out are null.
struct StepKernels {
  // Applies the steps that are on, up to the stage `last`, to the scores of the vector of rows at `column`; few-rows: of
  // all rows, with column 0.
  void (*apply)(const QueryTile&, const KeyTile&, const ScoreSteps&, fovea_scores_stage last, size_t column);
  // These two are for weights of one vector of rows. Tile kernels alone have them.
  void (*modify_weights)(const QueryTile&, const KeyTile&, const ScoreSteps&, size_t column, bool hides);
  void (*drop_weights)(const QueryTile&, const KeySpan&, const ScoreSteps&, size_t column);
  // Applies the steps up to this stage and stores the scores of [begin, end), at absolute key `first` + begin.
  void (*store_scores)(const QueryTile&, const KeyTile&, const ScoreSteps&, fovea_scores_stage,
                       const RowArray<float>& scores, size_t column);
  // Stores -inf or 0 as the scores of keys that no row sees.
  void (*store_hidden_scores)(const QueryTile&, uint32_t first, uint32_t count, fovea_scores_stage,
                              const RowArray<float>& scores);
  // Adds the sinks, normalises rows and stores them. It leaves two numbers for store_scores: row_max is what to subtract
  // from a score, row_sum is what to multiply the exponential by. After kMeasuringPass only lse is stored; after
  // kWeighingPass rows are stored without normalisation.
  void (*end)(const QueryTile&, const RowOutputs&);
  // resume loads a partial state into a tile, after begin. suspend stores the live rows of a tile in a partial state.
  void (*resume)(const QueryTile&, const StateRows&);
  void (*suspend)(const QueryTile&, const StateRows&);
  // keep_weights copies weights of this layout, few-rows: of all rows, to the slot. add_mass, after end, adds what was
  // kept, normalised, to the elements of the head's keys.
  [[no_unique_address]] IfKeyMass<void (*)(const QueryTile&, const KeyTile&, const float* weights, size_t column)>
      keep_weights;
  [[no_unique_address]] IfKeyMass<void (*)(const QueryTile&, float* mass)> add_mass;
};

// Whether what the heads of a small call share is prepared once: LoneTile.
constexpr bool kHasLoneTiles = kFewRowsServed && !config::kPreferSize;
// Whether the next keys are prefetched for a single row, too. Kernels do so for several rows alone; to ask costs code.
constexpr bool kPrefetchesForOneRow = config::kPreferSize;

// A kernel: its functions, and what they read.
struct AttentionKernel {
  FormatSet formats;  // keys and values that it reads as stored; others, and all for additive scores, are widened
  const StepKernels* steps;
  // q = queries * scale; the running softmax starts.
  void (*begin)(const QueryTile&, const TypedRows& q, float scale);
  // One step of the running softmax over the keys of a tile. It changes their span and restores it.
  void (*attend)(const QueryTile&, KeyTile&, const ScoreSteps&);
  // Computes the scores of [begin, end) again, and stores them as steps->store_scores does.
  void (*scores_out)(const QueryTile&, const KeyTile&, const ScoreSteps&, fovea_scores_stage,
                     const RowArray<float>& scores);
  // With integer products: bring rows of keys or values to where attend reads them. Else null.
  void (*bring_keys)(const RowsToBring&);
  void (*bring_values)(const RowsToBring&);
  bool takes_byte_rows;  // with integer products: keys and values are rows of i8, which may stay in place
  // What begin, attend and steps->end do, for the tile of a small call: it sees one key tile. Null where it would save
  // nothing.
  [[no_unique_address]] MemberIf<kHasLoneTiles, void (*)(const QueryTile&, KeyTile&, const ScoreSteps&,
                                                         const TypedRows& q, float scale, const RowOutputs&)> whole =
      nullptr;
};

struct AttentionKernels {
  uint32_t lanes;
  uint32_t tile_vectors;  // the most vectors of columns in a tile
  // In the order of kKernelTraits; without a few-rows kernel in the build, the tile kernel alone. Null functions where the
  // target lacks one.
  AttentionKernel list[kFewRowsServed ? uint32_t(kI8FewRowsKernel) : 1];
};

// Most rows in a tile of the few-rows kernel.
constexpr uint32_t kMostRowsOfFew = 4;

FOVEA_TABLES_AND_IN_ORDER(AttentionKernels, kAttention, attention_kernels)

// The kernels for integer products: for each kind of dot product that the target's processors may have.
struct I8Kernels {
  AttentionKernel list[kDotRows][kF16TileKernel - kI8FewRowsKernel];
};
FOVEA_TABLES(I8Kernels, kI8, i8_kernels)

// The kernels for products of halves: by f32 arithmetic, and for processors with arithmetic of halves. Only the
// latter have a few-rows kernel.
constexpr bool kHalfFewRowsServed = kHasF16Products && kFewRowsServed && (kNeonOf64Bits || FOVEA_COMPILED_HELIUM);
struct F16Kernels {
  AttentionKernel tile[2];
  [[no_unique_address]] MemberIf<kHalfFewRowsServed, AttentionKernel> few = AttentionKernel{};
};
FOVEA_TABLES(F16Kernels, kF16, f16_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_KERNELS_H_
