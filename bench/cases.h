// SPDX-License-Identifier: Apache-2.0
//
// What is measured: shapes, and the goal of each. Plain structures that own no memory.
#ifndef FOVEA_BENCH_CASES_H_
#define FOVEA_BENCH_CASES_H_

#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::bench {

// Which keys a block map lists, 64 queries by 64 keys a block.
enum class Blocks {
  kNone,       // no map
  kAll,        // all, 96 queries a block
  kSparse,     // 24 %, at random
  kDocuments,  // of eight documents, the query's own
  kWindow,     // the query's own key and the 127 before it
};
const char* name(Blocks blocks);

// What a modifier does with scores, or with weights.
enum class Change { kNone, kNothing, kAlibi, kNothingToWeights };
const char* name(Change change);

// One attention call, dense arrays in the order [batch][heads][tokens][dim].
struct Shape {
  uint32_t batch = 1, q_heads = 1, kv_heads = 1, q_tokens = 1, kv_tokens = 1, head_dim = 64, value_dim = 64;
  fovea_causal causal = FOVEA_CAUSAL_NONE;
  uint32_t window_left = 0, window_right = 0;
  uint32_t threads = 1;
  uint32_t split = 0;  // key_split_tokens
  uint32_t prefix = 0;  // of the keys: the first ones are a prefix that all entries share
  uint32_t push = 0;   // keys of a piece: a stream instead of one call, each piece an array; 0 = one call
  bool merge = false;  // not a call: merges two states
  bool portable = false;  // portable_bits, which excludes the few-rows kernel for f32
  fovea_dtype dtype = FOVEA_F32, kv_dtype = FOVEA_F32;  // of queries and outputs; of keys and values
  fovea_compute compute = FOVEA_COMPUTE_F32;
  fovea_kv_kind source = FOVEA_KV_STRIDED;  // a ring has wrapped around; pages of 64 tokens, out of order
  fovea_mask_kind mask = FOVEA_MASK_NONE;   // [q_tokens][kv_tokens], the same for all heads
  float softcap = 0, dropout = 0;
  bool additive = false;  // the score
  bool alibi = false, sinks = false, lse = false;
  Blocks blocks = Blocks::kNone;
  bool edges = false;  // in some blocks of the map a byte mask decides
  Change change = Change::kNone;
};

// Whether a query sees a key by the block map. Without edges it sees all keys of a listed block.
constexpr uint32_t kBlockTokens = 64;
bool map_shows(const Shape& shape, uint32_t query, uint32_t key);

// One softmax call.
struct SoftmaxShape {
  uint32_t outer = 1, axis = 1, inner = 1;
  bool log = false, mask = false, in_place = false;
};

// One linear layer, with a bias.
struct LinearShape {
  uint32_t tokens = 1, in_dim = 1, out_dim = 1;
  fovea_dtype dtype = FOVEA_F32;  // of the weights
  fovea_compute compute = FOVEA_COMPUTE_F32;
  fovea_activation_kind activation = FOVEA_ACTIVATION_IDENTITY;
  bool apart = false;  // the activation is a call of its own
};

// Some tokens of linear attention; each head has its own keys and queries.
struct DeltaShape {
  uint32_t heads = 1, tokens = 1, head_dim = 1, value_dim = 1, batch = 1, decay_dim = 1;
  fovea_delta_rule rule = FOVEA_DELTA_RULE_GATED_DELTA;
};

// One call of a layer's operations other than attention.
enum class RowsLayer { kRmsNorm, kGatedNorm, kL2Norm, kSwiGlu, kConv1d, kLayerNorm, kResidualNorm, kGelu };
struct RowsShape {
  RowsLayer layer = RowsLayer::kRmsNorm;
  uint32_t tokens = 1, dim = 1;
};
const char* name(RowsLayer layer);

// What the number of a goal means.
enum class GoalKind {
  kNone,
  kFmaPeak,    // at least this fraction of the multiply-add peak
  kReadSpeed,  // at least this fraction of the read bandwidth of the memory that holds keys and values
  kExpRate,    // at least this fraction of the exp rate
  kPeakTime,   // at most this many times the time at the multiply-add peak
  kPlainTime,  // at most this many times the reference case's time * tiles / tiles of the reference case
  kLikeRound,  // at least this many times the reference case's fraction of the peak * (rows / rows of whole vectors)
  kTime,       // at most this many times the reference case's time; 0 = only shown
  kSpeedUp,    // at least this many times as fast as the reference case; 0 = only shown
  kNeverSlower,  // at most this many times the reference case's time, with which it is run alternately; on any target
  kF32Speed,   // the same for integers compared with f32; without instructions for integer products at least as fast
};
const char* name(GoalKind kind);  // what the number is compared with, for tables: "fma", "plain", ...

struct Goal {
  GoalKind kind = GoalKind::kNone;
  float value = 0;
  float avx2 = 0;  // the value for targets of 8 lanes; 0 = the same. Such cases also run by default on the best target
                   // of 8 lanes
};

enum class Kind { kAttention, kDelta, kLinear, kRows, kSoftmax };

struct Case {
  const char* suite;
  Kind kind;
  Shape shape;
  SoftmaxShape softmax;
  Goal goal;
  const char* reference;  // the name of the reference case of the last five kinds, or null
  LinearShape linear = {};
  bool extended = false;  // also runs by default on a target that extends the best one, if there is one
  DeltaShape delta = {};
  RowsShape rows = {};
  bool in_order = false;  // runs on a target for in-order processors; its reference on the target that this replaces
  fovea_target turned = FOVEA_TARGET_BEST;  // kNeverSlower: on this target the reference replaces the case

  bool multiplies_integers() const { return shape.compute == FOVEA_COMPUTE_I8 || linear.compute == FOVEA_COMPUTE_I8; }
};

constexpr size_t kNameBytes = 128;

// "prefill/8x512x512x64": suite, then [batch.]heads x queries x keys x head_dim, then options.
// For softmax: rows x axis [x inner]. For linear layers: tokens x in_dim x out_dim. For linear attention: [batch.]heads
// x tokens x head_dim x value_dim. For RowsLayer: tokens x dim.
void name_of(const Case& one, char (&text)[kNameBytes]);

size_t case_count();
const Case& case_at(size_t index);

// The number of cases of the suite "board", the last of all: small cases, for machines of a few hundred kilobytes.
size_t board_case_count();
const Case& board_case_at(size_t index);

const Case* find_case(const char* name);  // or null

// Suites in the order of the table; null past the last.
const char* suite_at(size_t index);

// The keys of parse_shape and their defaults, as lines of a usage text.
extern const char* const kShapeKeys;

// Reads "q=197 k=197 heads=3 dim=64 causal=1 ..." (spaces or commas) into *shape. Returns null, or what is wrong.
const char* parse_shape(const char* text, Shape* shape);

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_CASES_H_
