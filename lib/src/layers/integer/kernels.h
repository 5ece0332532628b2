// SPDX-License-Identifier: Apache-2.0
//
// The kernel of all-integer attention: one in each build, chosen when it is compiled.
#ifndef FOVEA_SRC_INTEGER_KERNELS_H_
#define FOVEA_SRC_INTEGER_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/targets/dot_traits.h"

namespace fovea {

// Most query rows of an IntegerBlock: keys and values are brought once for all. Arrays have room for whole groups.
constexpr uint32_t kIntegerRows = FOVEA_INTEGER_ROWS_, kIntegerRowGroup = 4;
constexpr uint32_t kIntegerKeyTile = FOVEA_KEY_TILE;

constexpr bool kIntegerPrefersSize = config::kPreferSize;

// The instructions that the build multiplies with.
constexpr bool kIntegerHelium = FOVEA_WITH_HELIUM != 0;
constexpr bool kIntegerSmlad = !kIntegerHelium && FOVEA_SMLAD != 0;

// Rows of queries and of sums are padded to whole vectors of bytes.
constexpr size_t integer_dim(size_t dim) { return (dim + 15) / 16 * 16; }

// Rows whose scores are in memory at a time: all if keys are brought in pieces.
constexpr uint32_t kIntegerScoreRows = kIntegerSmlad ? kIntegerRows : kIntegerRowGroup;
// Rows whose scores alternate, key by key.
constexpr uint32_t kIntegerScoreStep = kIntegerSmlad ? 4 : 1;

// With smlad keys are brought in pieces of some keys, and values in pieces of some elements.
constexpr uint32_t kIntegerPieceKeys = FOVEA_PIECE_KEYS, kIntegerPieceValues = 4 * FOVEA_PIECE_ELEMENTS;

// A query row and its running softmax.
struct IntegerRow {
  const int8_t* query;
  int8_t* out;
  uint32_t lo, hi;        // the keys that it sees
  uint32_t sum;           // of weights, in units of 2^-14 of a code; 0 before the first key
  int32_t kept, taken;    // factors of the sums so far and of those of the key tile, in units of 2^-31. Where nothing
                          // is kept, all is taken
  int64_t reference;      // the score that sums are relative to, in steps
};

struct IntegerArrays {
  IntegerRow* rows;  // [rows]
  void* queries;     // the codes of each row
  int32_t* scores;   // [some rows / step][key tile][step]
  void* weights;     // their codes, as the products read them
  int32_t* sums;     // [rows][value_dim, padded], in units of 2^-6
  void* brought;     // keys and values, as the products read them
};

constexpr size_t integer_brought_bytes(size_t head_dim, size_t value_dim) {
  if (kIntegerHelium) {  // packed values and their sums; sums of keys; sums of two rows
    return integer_dim(value_dim) * (kIntegerKeyTile + sizeof(int32_t)) + 3 * kIntegerKeyTile * sizeof(int32_t);
  }
  const size_t keys = kIntegerPieceKeys * integer_dim(head_dim), values = kIntegerKeyTile * kIntegerPieceValues;
  return kIntegerSmlad ? (keys > values ? keys : values) * sizeof(int16_t) : 0;
}

// Takes the arrays for this many rows, a multiple of kIntegerRowGroup, from what measures or carves.
template <class Carve>
constexpr void take_integer_arrays(Carve& carver, size_t head_dim, size_t value_dim, size_t rows, IntegerArrays* a) {
  uint8_t *queries = nullptr, *weights = nullptr, *brought = nullptr;
  carver.take(&a->rows, rows);
  carver.take(&queries, integer_dim(head_dim) * (kIntegerHelium ? 1 : 2), rows);
  carver.take(&a->scores, kIntegerKeyTile, rows < kIntegerScoreRows ? rows : kIntegerScoreRows);
  carver.take(&weights, kIntegerKeyTile * (kIntegerSmlad ? 2 : 1), rows);
  carver.take(&a->sums, integer_dim(value_dim), rows);
  carver.take(&brought, integer_brought_bytes(head_dim, value_dim));
  a->queries = queries, a->weights = weights, a->brought = brought;
}

// Query rows that share a key head, and its keys and values.
struct IntegerBlock {
  IntegerArrays arrays;
  uint32_t count;  // of rows
  size_t head_dim, value_dim;
  const int8_t *keys, *values;
  ptrdiff_t key_stride, value_stride;
  int32_t q_zero_point, value_zero_point, out_zero_point;
  int32_t score_multiplier, score_shift, out_multiplier, out_shift;

  size_t sum_stride() const { return integer_dim(value_dim); }
};

// Computes the outputs of the rows, whose query, out, lo and hi are set.
namespace FOVEA_ONE_TARGET {
namespace integer_kernels {
void attend_integer_block(const IntegerBlock& block);
}  // namespace integer_kernels
}  // namespace FOVEA_ONE_TARGET
using FOVEA_ONE_TARGET::integer_kernels::attend_integer_block;

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_KERNELS_H_
