// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/keys.h"

#include "ground/formats/kernels.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

// Makes row `row` the new row 0.
void move_to_row(KeyRows* rows, ptrdiff_t row) {
  rows->data = advanced(rows->data, stride_bytes(rows->stride, unit_bytes(rows->dtype), row));
  if (!rows->scales) return;
  rows->scales = advanced(*rows->scales, stride_bytes(rows->scale_stride, scale_bytes(rows->dtype), row));
}

// Finds the rows of a buffer, whose first row is row `first` of a key tile.
void find_dense(const BufferRows& buffer, fovea_dtype dtype, size_t dim, uint32_t first, KeyRows* rows) {
  *rows = {buffer.data, buffer.scales, ptrdiff_t(dense_stride(dtype, dim)), ptrdiff_t(dense_scale_stride(dtype, dim)),
           dtype};
  move_to_row(rows, -ptrdiff_t(first));
}

// Copies `count` rows of row_units units to an array of adjacent rows, from its row `at` on.
void copy_rows(void* to, const void* from, size_t at, size_t count, ptrdiff_t stride, size_t row_units, size_t unit) {
  const size_t row_bytes = row_units * unit;
  char* out = static_cast<char*>(to) + at * row_bytes;
  const char* in = static_cast<const char*>(from);
  for (size_t r = 0; r < count; ++r, out += row_bytes, in += stride_bytes(stride, unit)) {
    __builtin_memcpy(out, in, row_bytes);
  }
}

}  // namespace

void KeySource::enter(const AttentionCall& of_call, const AttentionKernel& of_kernel, const KeyBuffersIf& buffers,
                      uint32_t entry, uint32_t first_key, uint32_t worker) {
  call_ = &of_call;
  kernel_ = &of_kernel;
  const EntryTokens tokens = of_call.keys(entry);
  if (kBringsKeys) {
    brought_->buffers = &*buffers;
    brought_->first_key = first_key;
    brought_->entry = tokens.entry;
    brought_->first = tokens.first;
    brought_->kv_head = 0;
    brought_->worker = worker;
    brought_->prefix = of_call.prefix(entry);
    const fovea_attention_desc& d = desc();
    brought_->in_place = is_in_place(d);
    constexpr FormatSet kBytes = kKeyFormats & kByteFormats;  // which no kernel reads as stored
    const bool bytes = is_one_of<kBytes>(d.key_dtype) || is_one_of<kBytes>(d.value_dtype);
    brought_->widens = of_kernel.formats == kOnlyF32 || is_additive(d) || bytes;
    // f32 rows in strided arrays need no buffers where the prefix ends with a key tile.
    const bool whole = kHasPrefixes && d.kv_kind == FOVEA_KV_STRIDED && d.key_dtype == FOVEA_F32 &&
                       d.value_dtype == FOVEA_F32 && !rows_part();
    brought_->in_pieces = takes_pieces(of_call.plan.lanes) && (buffers->keys.data || buffers->values.data) && !whole;
    brought_->stays = false;
    if (!brought_->in_place) return;
  }
  const auto in_place = [&](const fovea_in& array) -> RowsInPlace {
    const TypedRows rows = rows_of_head(array, FOVEA_F32, tokens, 0);
    const ptrdiff_t before = stride_bytes(array.token_stride, sizeof(float), ptrdiff_t(first_key));
    return {advanced(static_cast<const float*>(rows.data), -before), array.token_stride};
  };
  keys_ = in_place(of_call.kv().keys);
  values_ = in_place(of_call.kv().values);
}

// Finds the row of a token, which a prefix has if it is one of its tokens, and returns the number of tokens from this one on
// whose rows follow one another. Never called where the constant kBringsKeys is false. The functions below that begin with
// such a test are like it.
size_t KeySource::find_at(uint32_t token, bool values, uint32_t kv_head, KeyRows* rows) const {
  if constexpr (!kBringsKeys) __builtin_unreachable();
  const fovea_attention_desc& d = desc();
  const fovea_kv_source& kv = call().kv();
  const fovea_dtype dtype = dtype_of(values);
  const fovea_in* array = values ? &kv.values : &kv.keys;
  const fovea_in* row_scales = values ? &kv.value_scales : &kv.key_scales;
  KeyPlace place;
  const uint32_t before = prefix() ? prefix()->tokens : 0;
  if (token < before) {
    place = {0, token, before - token};
    array = values ? &prefix()->values : &prefix()->keys;
    row_scales = values ? &prefix()->value_scales : &prefix()->key_scales;
  } else {
    const KeyPlacement places = {d.kv_kind,     d.ring_tokens, d.pinned_tokens,
                                 d.page_tokens, kv.page_table, kv.page_table_stride};
    place = places.of(brought_->entry, token - before);
    place.row += brought_->first;
  }
  const auto at = [&](const fovea_in& in, size_t unit) {
    return row_of(in, unit, ptrdiff_t(place.entry_or_page), ptrdiff_t(kv_head), ptrdiff_t(place.row));
  };
  *rows = {at(*array, unit_bytes(dtype)), nullptr, array->token_stride, 0, dtype};
  if (scale_bytes(dtype) == 0) return place.count;
  const fovea_in scales = values ? call().value_scales(*row_scales) : call().key_scales(*row_scales);
  rows->scales = at(scales, scale_bytes(dtype));
  rows->scale_stride = scales.token_stride;
  return place.count;
}

// Finds the rows of a tile from row begin + done on, as far as they are in one run, and returns their number. A
// loader's rows are where the tile says.
uint32_t KeySource::find_run(const KeyTile& tile, bool values, uint32_t done, KeyRows* rows) const {
  if constexpr (!kBringsKeys) __builtin_unreachable();
  const uint32_t left = tile.end - tile.begin - done;
  if (is_loaded(desc())) {
    *rows = values ? tile.values : tile.keys;
    move_to_row(rows, ptrdiff_t(tile.begin));
    return left;
  }
  const size_t run = find_at(tile.first + tile.begin - brought_->first_key + done, values, brought_->kv_head, rows);
  return run < left ? uint32_t(run) : left;
}

void KeySource::find_rows(const KeyTile& tile, bool values, size_t element, size_t elements, KeyRows* rows) const {
  if (is_i8(desc())) return find_codes(tile, values, element, elements, rows);
  find_floats(tile, values, element, elements, rows);
}

// Rows in a format that the kernel does not read, or in several runs, are widened or copied into the buffers.
void KeySource::find_floats(const KeyTile& tile, bool values, size_t element, size_t elements, KeyRows* rows) const {
  if constexpr (!kBringsKeys) __builtin_unreachable();
  const fovea_dtype dtype = dtype_of(values);
  const BufferRows& buffer = values ? brought_->buffers->values : brought_->buffers->keys;
  const bool widens = brought_->widens;
  const uint32_t count = tile.end - tile.begin;
  for (uint32_t done = 0, n; done < count; done += n) {
    KeyRows run;
    n = find_run(tile, values, done, &run);
    if (n == count && (!widens || dtype == FOVEA_F32)) {
      run.data = advanced(run.data, ptrdiff_t(element * unit_bytes(dtype)));
      move_to_row(&run, -ptrdiff_t(tile.begin));
      *rows = run;
      return;
    }
    if (widens) {
      float* const out = static_cast<float*>(buffer.data) + done * elements;
      widen_kernels(desc().target)
          .widen(dtype,
                 {n, elements, out, ptrdiff_t(elements), run.data, run.stride, run.scales, run.scale_stride, element});
    } else {
      copy_rows(buffer.data, run.data, done, n, run.stride, dense_stride(dtype, elements), unit_bytes(dtype));
      if (scale_bytes(dtype)) {
        copy_rows(buffer.scales, run.scales, done, n, run.scale_stride, dense_scale_stride(dtype, elements),
                  scale_bytes(dtype));
      }
    }
  }
  find_dense(buffer, widens ? FOVEA_F32 : dtype, elements, tile.begin, rows);
}

// For integer products the kernel brings the codes, run by run, and notes the scales. Rows of i8 in one run may stay in
// place.
void KeySource::find_codes(const KeyTile& tile, bool values, size_t element, size_t elements, KeyRows* rows) const {
  if constexpr (!kBringsKeys) __builtin_unreachable();
  const KeyBuffers& buffers = *brought_->buffers;
  const uint32_t count = tile.end - tile.begin;
  const bool bytes = (kFewRowsServed && kernel().takes_byte_rows) || stays(), packs = values && !bytes;
  const bool may_stay = dtype_of(values) == FOVEA_I8 && (bytes || (!values && dot().code_bytes == 1));
  const size_t code_bytes = bytes ? 1 : dot().code_bytes;
  const size_t row_bytes = (bytes ? elements : round_up(elements, dot().reads)) * code_bytes;
  char* const to = static_cast<char*>(values ? buffers.values.data : buffers.keys.data);
  RowsToBring run;
  run.begin = tile.begin;
  run.end = tile.end;
  run.dim = values ? desc().value_dim : desc().head_dim;
  run.element = element;
  run.elements = elements;
  run.numbers = buffers.numbers();
  if (run.numbers) run.numbers->value_zero_point = float(desc().value_zero_point);
  for (uint32_t done = 0; done < count; done += run.count) {
    run.count = find_run(tile, values, done, &run.rows);
    run.at = tile.begin + done;
    const bool stays = may_stay && run.count == count;
    run.to = stays ? nullptr : packs ? to : to + done * row_bytes;
    if (values) {
      kernel().bring_values(run);
    } else {
      kernel().bring_keys(run);
      if (call().shifts_scores()) note_key_shifts(run);
    }
    if (!stays) continue;
    *rows = run.rows;
    move_to_row(rows, -ptrdiff_t(tile.begin));
    return;
  }
  // Packed codes have no rows: with a stride of 0 their address does not move.
  *rows = {to, nullptr, ptrdiff_t(packs ? 0 : row_bytes), 0, FOVEA_I8};
  move_to_row(rows, -ptrdiff_t(tile.begin));
}

// What the zero point of queries adds to the scores with each key.
void KeySource::note_key_shifts(const RowsToBring& run) const {
  const float query_scale = desc().scale * kLog2E * desc().q_scale;
  const int8_t* row = static_cast<const int8_t*>(run.rows.data);
  for (uint32_t i = 0; i < run.count; ++i, row += run.rows.stride) {
    const int32_t sum = desc().q_zero_point != 0 ? sum_of_codes(row, run.dim) : 0;
    const uint32_t key = run.at + i;
    run.numbers->key_shift[key] = float(-desc().q_zero_point * sum) * run.numbers->key_scale[key] * query_scale;
  }
}

const void* KeySource::next_head() const {
  if constexpr (!kBringsKeys) __builtin_unreachable();
  const uint32_t next = brought_->kv_head + 1;
  if (brought_->widens || is_loaded(desc()) || next == desc().kv_heads) return nullptr;
  KeyRows rows;
  find_at(0, false, next, &rows);
  return rows.data;
}

bool KeySource::start_loader(uint32_t first, uint32_t begin, uint32_t end) {
  if constexpr (!kHasLoaders) __builtin_unreachable();
  const fovea_loader& loader = *call().kv().loader;
  const LoadedRows& loaded = *brought_->buffers->loaded;
  const uint32_t buffer = loaded.notes->next_buffer;
  loaded.notes->next_buffer = buffer ^ 1;
  const BufferRows &keys = loaded.keys[buffer], &values = loaded.values[buffer];
  fovea_kv_tile& asked = loaded.notes->asked;
  asked.batch = brought_->entry;
  asked.kv_head = brought_->kv_head;
  asked.first = first + begin - brought_->first_key;
  asked.count = end - begin;
  asked.worker = brought_->worker;
  asked.buffer = buffer;
  asked.keys = keys.data;
  asked.key_scales = key_tensor() ? nullptr : keys.scales;
  asked.values = values.data;
  asked.value_scales = value_tensor() ? nullptr : values.scales;
  return loader.start(loader.self, &asked) == 0;
}

bool KeySource::bring_buffered(KeyTile* tile, uint32_t next) {
  if constexpr (!kBringsKeys) __builtin_unreachable();
  tile->next_keys = nullptr;
  tile->codes = brought_->buffers->numbers();
  if (is_loaded(desc())) {
    const fovea_loader& loader = *call().kv().loader;
    const fovea_kv_tile& asked = brought_->buffers->loaded->notes->asked;
    if (loader.finish && loader.finish(loader.self, &asked) != 0) return false;
    find_dense({asked.keys, asked.key_scales}, desc().key_dtype, desc().head_dim, tile->begin, &tile->keys);
    find_dense({asked.values, asked.value_scales}, desc().value_dtype, desc().value_dim, tile->begin, &tile->values);
    if (key_tensor()) tile->keys.scales = call().key_scales().data, tile->keys.scale_stride = 0;
    if (value_tensor()) tile->values.scales = call().value_scales().data, tile->values.scale_stride = 0;
  } else if (kFewRowsServed && next && !brought_->widens && (!is_i8(desc()) || desc().key_dtype == FOVEA_I8)) {
    KeyRows rows;
    find_at(next - brought_->first_key, false, brought_->kv_head, &rows);
    tile->next_keys = rows.data;
  }
  if (in_pieces()) return true;
  find_keys(*tile, &tile->keys);
  find_values(*tile, 0, desc().value_dim, &tile->values);
  return true;
}

}  // namespace fovea
