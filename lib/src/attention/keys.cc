// SPDX-License-Identifier: Apache-2.0
#include "attention/keys.h"

#include "formats/kernels.h"
#include "targets/registry.h"

namespace fovea {
namespace {

// The same rows, counted from this one on.
KeyRows from_row(KeyRows rows, ptrdiff_t row) {
  rows.data = advanced(rows.data, stride_bytes(rows.stride, unit_bytes(rows.dtype), row));
  if (rows.scales) rows.scales = advanced(rows.scales, stride_bytes(rows.scale_stride, scale_bytes(rows.dtype), row));
  return rows;
}

KeyRows dense(const BufferRows& buffer, fovea_dtype dtype, size_t dim) {
  return {buffer.data, buffer.scales, ptrdiff_t(dense_stride(dtype, dim)), ptrdiff_t(dense_scale_stride(dtype, dim)),
          dtype};
}

// Copies `count` rows of row_units units to row `at` of an array whose rows are dense.
void copy_rows(void* to, const void* from, size_t at, size_t count, ptrdiff_t stride, size_t row_units, size_t unit) {
  const size_t row_bytes = row_units * unit;
  char* out = static_cast<char*>(to) + at * row_bytes;
  const char* in = static_cast<const char*>(from);
  for (size_t r = 0; r < count; ++r, out += row_bytes, in += stride_bytes(stride, unit)) {
    __builtin_memcpy(out, in, row_bytes);
  }
}

}  // namespace

KeySource::KeySource(const AttentionCall& call, const AttentionKernel& kernel, const KeyBuffers& buffers,
                     uint32_t entry, uint32_t kv_head, uint32_t first_key, uint32_t worker)
    : IntegerKeys(call.shifts_scores()),
      desc_(call.desc),
      kernel_(kernel),
      kv_(call.kv()),
      key_scales_(call.key_scales()),
      value_scales_(call.value_scales()),
      places_{desc_.kv_kind,     desc_.ring_tokens, desc_.pinned_tokens,
              desc_.page_tokens, kv_.page_table,    kv_.page_table_stride},
      buffers_(buffers),
      widens_(kernel.formats == kOnlyF32 || is_additive(desc_)),
      in_place_(is_in_place(desc_)),
      in_pieces_(takes_pieces(call.plan.lanes) && (buffers.keys.data || buffers.values.data)),
      dot_(DotKind(call.plan.dot)),
      first_key_(first_key),
      worker_(worker),
      batch_(entry),
      kv_head_(kv_head) {
  if (const uint32_t* const offsets = call.kv_offsets()) {
    batch_ = 0;
    first_row_ = offsets[entry];
  }
  if (!in_place_) return;
  const KeyPlace first = {batch_, first_row_, SIZE_MAX};
  keys_ = rows_at(kv_.keys, key_scales_, FOVEA_F32, first);
  values_ = rows_at(kv_.values, value_scales_, FOVEA_F32, first);
}

KeyPlace KeySource::place(uint32_t token) const {
  KeyPlace place = places_.of(batch_, token);
  place.row += first_row_;
  return place;
}

KeyRows KeySource::rows_at(const fovea_in& array, const fovea_in& scales, fovea_dtype dtype,
                           const KeyPlace& place) const {
  const auto at = [&](const fovea_in& in, size_t unit) {
    const ptrdiff_t block = stride_bytes(in.batch_stride, unit, ptrdiff_t(place.block));
    const ptrdiff_t head = stride_bytes(in.head_stride, unit, ptrdiff_t(kv_head_));
    const ptrdiff_t row = stride_bytes(in.token_stride, unit, ptrdiff_t(place.row));
    return advanced(in.data, ptrdiff_t(size_t(block) + size_t(head) + size_t(row)));
  };
  KeyRows rows = {at(array, unit_bytes(dtype)), nullptr, array.token_stride, 0, dtype};
  if (scale_bytes(dtype)) {
    rows.scales = at(scales, scale_bytes(dtype));
    rows.scale_stride = scales.token_stride;
  }
  return rows;
}

// Finds these elements of the keys [begin, end) of a tile, or of their values. The kernel may take them where they lie;
// else they are widened or copied, one row after the other, into the buffers. A loader's rows lie where the tile says.
KeyRows KeySource::rows_of(const KeyTile& tile, bool values, size_t element, size_t elements) const {
  if (is_i8(desc_)) return codes_of(tile, values, element, elements);
  const fovea_in& array = values ? kv_.values : kv_.keys;
  const fovea_in& scales = values ? value_scales_ : key_scales_;
  const fovea_dtype dtype = values ? desc_.value_dtype : desc_.key_dtype;
  const BufferRows& buffer = values ? buffers_.values : buffers_.keys;
  const bool loads = is_loaded(desc_), widens = widens_ && dtype != FOVEA_F32;
  const uint32_t token = tile.first + tile.begin - first_key_, count = tile.end - tile.begin;
  for (uint32_t done = 0; done < count;) {
    const KeyPlace from = loads ? KeyPlace{0, 0, count} : place(token + done);
    const uint32_t left = count - done, n = from.count < left ? uint32_t(from.count) : left;
    KeyRows rows = !loads ? rows_at(array, scales, dtype, from) : values ? tile.values : tile.keys;
    if (loads) rows = from_row(rows, ptrdiff_t(tile.begin));
    if (n == count && !widens) {
      rows.data = advanced(rows.data, ptrdiff_t(element * unit_bytes(dtype)));
      return from_row(rows, -ptrdiff_t(tile.begin));
    }
    if (widens_) {
      float* const out = static_cast<float*>(buffer.data) + done * elements;
      convert_kernels(desc_.target)
          .widen(dtype, {n, elements, out, ptrdiff_t(elements), rows.data, rows.stride, rows.scales, rows.scale_stride,
                         element});
    } else {
      copy_rows(buffer.data, rows.data, done, n, rows.stride, dense_stride(dtype, elements), unit_bytes(dtype));
      if (scale_bytes(dtype)) {
        copy_rows(buffer.scales, rows.scales, done, n, rows.scale_stride, dense_scale_stride(dtype, elements),
                  scale_bytes(dtype));
      }
    }
    done += n;
  }
  return from_row(dense(buffer, widens_ ? FOVEA_F32 : dtype, elements), -ptrdiff_t(tile.begin));
}

// The same for integer products: the kernel brings the codes, run by run, and notes the scales. Rows of i8 in one run
// may stay where they lie.
KeyRows KeySource::codes_of(const KeyTile& tile, bool values, size_t element, size_t elements) const {
  const fovea_in& array = values ? kv_.values : kv_.keys;
  const fovea_in& scales = values ? value_scales_ : key_scales_;
  const fovea_dtype dtype = values ? desc_.value_dtype : desc_.key_dtype;
  const uint32_t token = tile.first + tile.begin - first_key_, count = tile.end - tile.begin;
  const bool bytes = (kFewRowsServed && kernel_.takes_byte_rows) || stays(), packs = values && !bytes;
  const bool may_stay = dtype == FOVEA_I8 && (bytes || (!values && dot().code_bytes == 1));
  const size_t code_bytes = bytes ? 1 : dot().code_bytes;
  const size_t row_codes = bytes ? elements : round_up(elements, dot().reads);
  char* const to = static_cast<char*>(values ? buffers_.values.data : buffers_.keys.data);
  RowsToBring run;
  run.begin = tile.begin;
  run.end = tile.end;
  run.dim = values ? desc_.value_dim : desc_.head_dim;
  run.element = element;
  run.elements = elements;
  run.numbers = buffers_.numbers();
  if (run.numbers) run.numbers->value_zero = float(desc_.value_zero);
  for (uint32_t done = 0; done < count; done += run.count) {
    const KeyPlace from = is_loaded(desc_) ? KeyPlace{0, 0, count} : place(token + done);
    const uint32_t left = count - done;
    run.count = from.count < left ? uint32_t(from.count) : left;
    run.at = tile.begin + done;
    run.rows = !is_loaded(desc_) ? rows_at(array, scales, dtype, from) : values ? tile.values : tile.keys;
    if (is_loaded(desc_)) run.rows = from_row(run.rows, ptrdiff_t(tile.begin));
    const bool stays = may_stay && run.count == count;
    run.to = stays ? nullptr : packs ? to : to + done * row_codes * code_bytes;
    if (values) {
      kernel_.bring_values(run);
    } else {
      kernel_.bring_keys(run);
      if (shifts()) note_key_shifts(run);
    }
    if (stays) return from_row(run.rows, -ptrdiff_t(tile.begin));
  }
  const size_t stride = packs ? 0 : row_codes * code_bytes;
  return from_row({to, nullptr, ptrdiff_t(stride), 0, FOVEA_I8}, packs ? 0 : -ptrdiff_t(tile.begin));
}

// What the zero point of queries adds to the scores with each key.
void KeySource::note_key_shifts(const RowsToBring& run) const {
  const float query_scale = desc_.scale * kLog2E * desc_.q_scale;
  const int8_t* row = static_cast<const int8_t*>(run.rows.data);
  for (uint32_t i = 0; i < run.count; ++i, row += run.rows.stride) {
    const int32_t sum = desc_.q_zero != 0 ? sum_of_codes(row, run.dim) : 0;
    const uint32_t key = run.at + i;
    run.numbers->key_shift[key] = float(-desc_.q_zero * sum) * run.numbers->key_scale[key] * query_scale;
  }
}

const void* KeySource::next_head() const {
  if (widens_ || is_loaded(desc_) || kv_head_ + 1 == desc_.kv_heads) return nullptr;
  KeySource next = *this;
  ++next.kv_head_;
  return next.rows_at(kv_.keys, key_scales_, desc_.key_dtype, place(0)).data;
}

bool KeySource::start_loader(uint32_t first, uint32_t begin, uint32_t end) {
  const uint32_t buffer = *buffers_.turn;
  *buffers_.turn = buffer ^ 1;
  const BufferRows& keys = buffers_.loaded_keys[buffer];
  const BufferRows& values = buffers_.loaded_values[buffer];
  asked_.batch = batch_;
  asked_.kv_head = kv_head_;
  asked_.first = first + begin - first_key_;
  asked_.count = end - begin;
  asked_.worker = worker_;
  asked_.buffer = buffer;
  asked_.keys = keys.data;
  asked_.key_scales = key_tensor() ? nullptr : keys.scales;
  asked_.values = values.data;
  asked_.value_scales = value_tensor() ? nullptr : values.scales;
  return kv_.loader->start(kv_.loader->self, &asked_) == 0;
}

bool KeySource::bring_buffered(KeyTile* tile, bool more) {
  tile->next_keys = nullptr;
  tile->enter_numbers(buffers_.numbers());
  if (is_loaded(desc_)) {
    if (kv_.loader->finish && kv_.loader->finish(kv_.loader->self, &asked_) != 0) return false;
    const ptrdiff_t before = -ptrdiff_t(tile->begin);
    KeyRows keys = dense({asked_.keys, asked_.key_scales}, desc_.key_dtype, desc_.head_dim);
    KeyRows values = dense({asked_.values, asked_.value_scales}, desc_.value_dtype, desc_.value_dim);
    if (key_tensor()) keys.scales = key_scales_.data, keys.scale_stride = 0;
    if (value_tensor()) values.scales = value_scales_.data, values.scale_stride = 0;
    tile->keys = from_row(keys, before);
    tile->values = from_row(values, before);
  } else if (kFewRowsServed && more && !widens_ && (!is_i8(desc_) || desc_.key_dtype == FOVEA_I8)) {
    tile->next_keys =
        rows_at(kv_.keys, key_scales_, desc_.key_dtype, place(tile->first - first_key_ + kKeyTile)).data;
  }
  if (in_pieces()) return true;
  tile->keys = rows_of(*tile, false, 0, desc_.head_dim);
  tile->values = rows_of(*tile, true, 0, desc_.value_dim);
  return true;
}

}  // namespace fovea
