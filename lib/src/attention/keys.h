// SPDX-License-Identifier: Apache-2.0
//
// Where the keys and values of a head come from. Wherever they lie, and in whatever format, kernels get tiles of rows.
#ifndef FOVEA_SRC_ATTENTION_KEYS_H_
#define FOVEA_SRC_ATTENTION_KEYS_H_

#include "attention/call.h"
#include "base/key_places.h"
#include "fovea/fovea.h"

namespace fovea {

// What integer products alone ask of keys and values.
template <bool kHas>
class IntegerKeys {
 protected:
  explicit IntegerKeys(bool shifts) : shifts_(shifts) {}
  void enter_stays(bool stays) { stays_ = stays; }
  bool stays() const { return stays_; }    // rows are taken as they lie that would be brought for more queries
  bool shifts() const { return shifts_; }  // what zero points add to scores is noted as keys are brought

 private:
  bool stays_ = false;
  const bool shifts_;
};
template <>
class IntegerKeys<false> {
 protected:
  explicit IntegerKeys(bool) {}
  void enter_stays(bool) {}
  static constexpr bool stays() { return false; }
  static constexpr bool shifts() { return false; }
};

// The keys and values of one key head of one batch entry, for one task.
class KeySource : IntegerKeys<kHasI8Products> {
 public:
  // first_key: the index of the first key of the call.
  KeySource(const AttentionCall& call, const AttentionKernel& kernel, const KeyBuffers& buffers, uint32_t entry,
            uint32_t kv_head, uint32_t first_key, uint32_t worker);

  const AttentionKernel& kernel() const { return kernel_; }

  // Says that these are all rows of queries that keys and values are brought for.
  void serve(uint32_t rows) {
    const bool bytes = desc_.key_dtype == FOVEA_I8 && desc_.value_dtype == FOVEA_I8;
    enter_stays(is_i8(desc_) && rows == 1 && dot().row_in_place && bytes && !rows_may_part(desc_) && !is_paged(desc_));
  }

  // Asks a loader, where there is one, for keys [begin, end) of the tile that starts at key `first`: the next bring()
  // must be for the same. False where that fails; then nothing was begun.
  bool ask(uint32_t first, uint32_t begin, uint32_t end) {
    return !is_loaded(desc_) || start_loader(first, begin, end);
  }

  // Fills in where the rows of the tile lie; its first, begin and end are set. False where a loader failed. With `more`
  // the following tile comes next, and is worth asking the caches for.
  bool bring(KeyTile* tile, bool more) {
    if (!in_place()) return bring_buffered(tile, more);
    const ptrdiff_t row = ptrdiff_t(tile->first) - ptrdiff_t(first_key_);
    tile->keys = keys_;
    tile->values = values_;
    tile->keys.data = keys_.f32(row);
    tile->values.data = values_.f32(row);
    tile->next_keys = kFewRowsServed && more ? keys_.f32(row + ptrdiff_t(kKeyTile)) : nullptr;
    return true;
  }

  // On a target with one lane, rows are brought in pieces instead, to need less memory: the next piece takes the place
  // of the last one. bring() is called before, and finishes what a loader began.
  bool in_pieces() const { return kPiecesServed && in_pieces_ && !stays(); }
  uint32_t piece_keys() const { return in_pieces() && buffers_.keys.data ? kPieceKeys * piece_scale() : kKeyTile; }
  uint32_t piece_elements() const { return buffers_.values.data ? kPieceElements * piece_scale() : desc_.value_dim; }
  KeyRows keys_of(const KeyTile& piece) const { return rows_of(piece, false, 0, desc_.head_dim); }
  KeyRows values_of(const KeyTile& tile, uint32_t element, uint32_t elements) const {
    return rows_of(tile, true, element, elements);
  }

  // Where the keys of the following head begin, to ask the caches for. Null where there is no such head, or keys are
  // copied.
  const void* next_head() const;

 private:
  uint32_t piece_scale() const { return is_i8(desc_) ? codes_in_float(dot()) : 1; }
  const DotTraits& dot() const { return kDotTraits[dot_]; }
  bool key_tensor() const { return kHasI8Tensors && desc_.key_scale != 0.0f; }
  bool value_tensor() const { return kHasI8Tensors && desc_.value_scale != 0.0f; }
  bool in_place() const { return !kBringsKeys || in_place_; }
  bool start_loader(uint32_t first, uint32_t begin, uint32_t end);
  bool bring_buffered(KeyTile* tile, bool more);

  KeyPlace place(uint32_t token) const;
  KeyRows rows_at(const fovea_in& array, const fovea_in& scales, fovea_dtype dtype, const KeyPlace& place) const;
  KeyRows rows_of(const KeyTile& tile, bool values, size_t element, size_t elements) const;
  KeyRows codes_of(const KeyTile& tile, bool values, size_t element, size_t elements) const;
  void note_key_shifts(const RowsToBring& run) const;

  const fovea_attention_desc& desc_;
  const AttentionKernel& kernel_;
  const fovea_kv_source& kv_;
  const fovea_in key_scales_, value_scales_;
  const KeyPlaces places_;
  const KeyBuffers& buffers_;
  const bool widens_, in_place_, in_pieces_;
  const DotKind dot_;
  const uint32_t first_key_, worker_;
  uint32_t batch_, kv_head_;
  size_t first_row_ = 0;   // the entry's, where keys are ragged
  KeyRows keys_, values_;  // the head's, from its first row on, where they are taken in place
  fovea_kv_tile asked_;    // what the loader was asked for
};

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_KEYS_H_
