// SPDX-License-Identifier: Apache-2.0
//
// The source of a head's keys and values. Wherever they are stored, and in whatever format, kernels get tiles of rows.
#ifndef FOVEA_SRC_ATTENTION_KEYS_H_
#define FOVEA_SRC_ATTENTION_KEYS_H_

#include "core/attention/call.h"
#include "fovea/fovea.h"
#include "ground/base/key_places.h"
#include "ground/base/strides.h"

namespace fovea {

// What KeySource knows about the keys and values of a head, in a build that may have to bring them.
struct BroughtKeys {
  const KeyBuffers* buffers;
  uint32_t first_key;     // the index of the first key of the call
  uint32_t entry, first;  // where the entry's first key is in the arrays
  uint32_t kv_head;
  uint32_t worker;
  [[no_unique_address]] MemberIf<kHasPrefixes, const fovea_kv_prefix*> prefix;  // of the entry, or null
  bool in_place;
  bool widens;
  bool in_pieces;
  bool stays;  // rows for integer products stay in place, since only one row of queries reads them
};

// Keys or values of f32 that are read in place, from local key 0 on.
struct RowsInPlace {
  const float* data;
  ptrdiff_t stride;

  KeyRows from(uint32_t key) const {
    return {advanced(data, stride_bytes(stride, sizeof(float), ptrdiff_t(key))), nullptr, stride, 0, FOVEA_F32};
  }
};

// The keys and values of one key head of one batch entry.
class KeySource {
 public:
  // Enters a batch entry, at its first key head.
  void enter(const AttentionCall& call, const AttentionKernel& kernel, const KeyBuffersIf& buffers, uint32_t entry,
             uint32_t first_key, uint32_t worker);
  // Moves on by a number of key heads, which may be negative.
  void move(ptrdiff_t heads) {
    if (kBringsKeys) brought_->kv_head += uint32_t(heads);
    if (!in_place()) return;
    keys_.data = advanced(keys_.data, stride_bytes(call().kv().keys.head_stride, sizeof(float), heads));
    values_.data = advanced(values_.data, stride_bytes(call().kv().values.head_stride, sizeof(float), heads));
  }

  const AttentionCall& call() const { return *call_; }
  const AttentionKernel& kernel() const { return *kernel_; }

  // Sets the number of rows of queries that keys and values are brought for.
  void serve(uint32_t rows) {
    const fovea_attention_desc& d = desc();
    const bool bytes = d.key_dtype == FOVEA_I8 && d.value_dtype == FOVEA_I8;
    brought_->stays = is_i8(d) && rows == 1 && dot().row_in_place && bytes && !rows_part() && !is_paged(d);
  }

  // Asks a loader, if there is one, for keys [begin, end) of the tile that starts at key `first`: the next bring() must
  // be for the same. False if that fails; then no load was started.
  bool ask(uint32_t first, uint32_t begin, uint32_t end) {
    return !is_loaded(desc()) || start_loader(first, begin, end);
  }

  // Sets where the rows of the tile are; requires its first, begin and end. False if a loader failed. The tile at key
  // `next` comes next and is worth prefetching, unless `next` is 0.
  bool bring(KeyTile* tile, uint32_t next) {
    if (!in_place()) return bring_buffered(tile, next);
    tile->keys = keys_.from(tile->first);
    tile->values = values_.from(tile->first);
    tile->next_keys = kFewRowsServed && next ? keys_.from(next).data : nullptr;
    return true;
  }

  // Whether rows are brought in pieces instead, on a target with one lane. Pieces need less memory: each replaces the
  // one before it. bring() is called first nevertheless, because it finishes what a loader began.
  bool in_pieces() const { return kPiecesServed && brought_->in_pieces && !stays(); }
  uint32_t piece_keys() const {
    return in_pieces() && brought_->buffers->keys.data ? kPieceKeys * piece_scale() : kKeyTile;
  }
  uint32_t piece_elements() const {
    return brought_->buffers->values.data ? kPieceElements * piece_scale() : desc().value_dim;
  }
  // Finds the keys [begin, end) of a piece, or these elements of the values of a tile, and brings them unless the
  // kernel reads them in place.
  void find_keys(const KeyTile& piece, KeyRows* keys) const { find_rows(piece, false, 0, desc().head_dim, keys); }
  void find_values(const KeyTile& tile, uint32_t element, uint32_t elements, KeyRows* values) const {
    find_rows(tile, true, element, elements, values);
  }

  // Where the keys of the next head begin, to prefetch them. Null if there is no next head, or keys are widened or
  // loaded.
  const void* next_head() const;

 private:
  const fovea_attention_desc& desc() const { return call().desc; }
  const DotTraits& dot() const { return kDotTraits[call().plan.dot]; }
  uint32_t piece_scale() const { return is_i8(desc()) ? codes_in_float(dot()) : 1; }
  fovea_dtype dtype_of(bool values) const { return values ? desc().value_dtype : desc().key_dtype; }
  bool key_tensor() const { return kHasI8Tensors && desc().key_scale != 0.0f; }
  bool value_tensor() const { return kHasI8Tensors && desc().value_scale != 0.0f; }
  bool in_place() const { return !kBringsKeys || brought_->in_place; }
  bool stays() const { return kHasI8Products && brought_->stays; }
  bool start_loader(uint32_t first, uint32_t begin, uint32_t end);
  bool bring_buffered(KeyTile* tile, uint32_t next);

  const fovea_kv_prefix* prefix() const { return kHasPrefixes ? *brought_->prefix : nullptr; }
  // Whether the rows of a key tile of this entry may be in more than one run.
  bool rows_part() const { return own_rows_may_part(desc()) || (prefix() && prefix()->tokens % kKeyTile != 0); }
  size_t find_at(uint32_t token, bool values, uint32_t kv_head, KeyRows* rows) const;
  uint32_t find_run(const KeyTile& tile, bool values, uint32_t done, KeyRows* rows) const;
  void find_rows(const KeyTile& tile, bool values, size_t element, size_t elements, KeyRows* rows) const;
  void find_floats(const KeyTile& tile, bool values, size_t element, size_t elements, KeyRows* rows) const;
  void find_codes(const KeyTile& tile, bool values, size_t element, size_t elements, KeyRows* rows) const;
  void note_key_shifts(const RowsToBring& run) const;

  const AttentionCall* call_;
  const AttentionKernel* kernel_;
  [[no_unique_address]] MemberIf<kBringsKeys, BroughtKeys> brought_;
  RowsInPlace keys_, values_;
};

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_KEYS_H_
