// SPDX-License-Identifier: Apache-2.0
#include "run/key_source.h"

#include "targets/registry.h"

namespace fovea {
namespace {

// The same rows, counted from `rows` rows before.
KeyRows from_before(KeyRows rows, uint32_t count) {
  rows.data = advanced(rows.data, stride_bytes(rows.stride, unit_bytes(rows.dtype), -ptrdiff_t(count)));
  if (rows.scales) {
    rows.scales = advanced(rows.scales, stride_bytes(rows.scale_stride, scale_bytes(rows.dtype), -ptrdiff_t(count)));
  }
  return rows;
}

KeyRows dense(const StagedRows& staged, fovea_dtype dtype, size_t dim) {
  return {staged.data, staged.scales, ptrdiff_t(dense_stride(dtype, dim)), ptrdiff_t(dense_scale_stride(dtype, dim)),
          dtype};
}

void copy_rows(void* to, const void* from, ptrdiff_t stride_bytes, size_t row_bytes, size_t count) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  for (size_t r = 0; r < count; ++r, out += row_bytes, in += stride_bytes) __builtin_memcpy(out, in, row_bytes);
}

}  // namespace

KeyRanges ranges_of(const fovea_attention_desc& d, const fovea_attention_args& args, uint32_t batch, uint32_t length) {
  if (config::kRing && d.kv_kind == FOVEA_KV_RING) {
    const uint32_t first = ring_first(d, args.kv, batch, length);
    if (first > d.pinned_tokens && length > d.pinned_tokens) return {{{0, d.pinned_tokens}, {first, length}}, 2};
  }
  return {{{0, length}, {0, 0}}, 1};
}

KeySource::KeySource(const fovea_plan& plan, const fovea_attention_args& args, const KeyStage& stage, bool widens,
                     uint32_t first_key, uint32_t worker)
    : desc_(plan.desc),
      args_(args),
      places_{desc_.kv_kind,     desc_.ring_tokens,  desc_.pinned_tokens,
              desc_.page_tokens, args.kv.page_table, args.kv.page_table_stride},
      stage_(stage),
      widens_(widens),
      in_place_(!config::kStaged ||
                (desc_.kv_kind == FOVEA_KV_STRIDED && desc_.key_dtype == FOVEA_F32 && desc_.value_dtype == FOVEA_F32)),
      first_key_(first_key),
      worker_(worker) {}

void KeySource::enter_head(uint32_t batch, uint32_t kv_head) {
  batch_ = batch;
  kv_head_ = kv_head;
  if (config::kRagged && args_.kv_offsets) {
    batch_ = 0;
    first_row_ = args_.kv_offsets[batch];
  }
  if (!in_place_) return;
  const KeyPlace first = {batch_, first_row_, SIZE_MAX};
  keys_ = rows_at(args_.kv.keys, args_.kv.key_scales, FOVEA_F32, first);
  values_ = rows_at(args_.kv.values, args_.kv.value_scales, FOVEA_F32, first);
}

KeyPlace KeySource::place(uint32_t token) const {
  KeyPlace place = places_.of(batch_, token);
  if (config::kRagged) place.row += first_row_;
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
  if (config::kNarrow && scale_bytes(dtype)) {
    rows.scales = at(scales, scale_bytes(dtype));
    rows.scale_stride = scales.token_stride;
  }
  return rows;
}

// `count` rows to f32, from row `at` of the staged ones on.
KeyRows KeySource::widen(const KeyRows& rows, size_t dim, const StagedRows& staged, size_t at, size_t count) const {
  float* const out = static_cast<float*>(staged.data) + at * dim;
  const WidenRows widened = {count, dim, out, ptrdiff_t(dim), rows.data, rows.stride, rows.scales, rows.scale_stride};
  convert_kernels(desc_.target).widen[rows.dtype](widened);
  return {staged.data, nullptr, ptrdiff_t(dim), 0, FOVEA_F32};
}

// Tokens that lie in several runs, one after the other: widened, or as they are.
KeyRows KeySource::gather(const fovea_in& array, const fovea_in& scales, fovea_dtype dtype, size_t dim,
                          const StagedRows& staged, uint32_t token, uint32_t count) const {
  const size_t row_bytes = dense_stride(dtype, dim) * unit_bytes(dtype);
  const size_t scales_bytes = dense_scale_stride(dtype, dim) * scale_bytes(dtype);
  for (uint32_t done = 0; done < count;) {
    const KeyPlace from = place(token + done);
    const uint32_t left = count - done, n = from.count < left ? uint32_t(from.count) : left;
    const KeyRows rows = rows_at(array, scales, dtype, from);
    if (widens_) {
      widen(rows, dim, staged, done, n);
    } else {
      copy_rows(static_cast<char*>(staged.data) + done * row_bytes, rows.data,
                stride_bytes(rows.stride, unit_bytes(dtype)), row_bytes, n);
      if (config::kNarrow && scales_bytes) {
        copy_rows(static_cast<char*>(staged.scales) + done * scales_bytes, rows.scales,
                  stride_bytes(rows.scale_stride, scale_bytes(dtype)), scales_bytes, n);
      }
    }
    done += n;
  }
  return dense(staged, widens_ ? FOVEA_F32 : dtype, dim);
}

const void* KeySource::next_head() const {
  if (widens_ || (config::kLoad && desc_.kv_kind == FOVEA_KV_LOAD) || kv_head_ + 1 == desc_.kv_heads) return nullptr;
  KeySource next = *this;
  ++next.kv_head_;
  return next.rows_at(args_.kv.keys, args_.kv.key_scales, desc_.key_dtype, place(0)).data;
}

bool KeySource::start_loader(uint32_t first, uint32_t begin, uint32_t end) {
  const StagedRows& keys = stage_.loaded_keys[buffer_];
  const StagedRows& values = stage_.loaded_values[buffer_];
  asked_.batch = batch_;
  asked_.kv_head = kv_head_;
  asked_.first = first + begin - first_key_;
  asked_.count = end - begin;
  asked_.worker = worker_;
  asked_.buffer = buffer_;
  asked_.keys = keys.data;
  asked_.key_scales = keys.scales;
  asked_.values = values.data;
  asked_.value_scales = values.scales;
  buffer_ ^= 1;
  return args_.kv.loader->start(args_.kv.loader->self, &asked_) == 0;
}

bool KeySource::bring_staged(KeyTile* tile, bool more) {
  const uint32_t token = tile->first + tile->begin - first_key_, count = tile->end - tile->begin;
  const fovea_kv_source& kv = args_.kv;
  tile->next_keys = nullptr;
  const size_t head_dim = desc_.head_dim, value_dim = desc_.value_dim;
  if (config::kLoad && desc_.kv_kind == FOVEA_KV_LOAD) {
    if (kv.loader->finish && kv.loader->finish(kv.loader->self, &asked_) != 0) return false;
    tile->keys = dense({asked_.keys, asked_.key_scales}, desc_.key_dtype, head_dim);
    tile->values = dense({asked_.values, asked_.value_scales}, desc_.value_dtype, value_dim);
  } else {
    const KeyPlace from = place(token);
    if (config::kStaged && from.count < count) {
      tile->keys = gather(kv.keys, kv.key_scales, desc_.key_dtype, head_dim, stage_.keys, token, count);
      tile->values = gather(kv.values, kv.value_scales, desc_.value_dtype, value_dim, stage_.values, token, count);
    } else {
      tile->keys = rows_at(kv.keys, kv.key_scales, desc_.key_dtype, from);
      tile->values = rows_at(kv.values, kv.value_scales, desc_.value_dtype, from);
    }
    if (kFewRowsServed && more && !widens_) {
      tile->next_keys =
          rows_at(kv.keys, kv.key_scales, desc_.key_dtype, place(tile->first - first_key_ + kKeyTile)).data;
    }
  }
  if (config::kNarrow && widens_ && tile->keys.dtype != FOVEA_F32) {
    tile->keys = widen(tile->keys, head_dim, stage_.keys, 0, count);
  }
  if (config::kNarrow && widens_ && tile->values.dtype != FOVEA_F32) {
    tile->values = widen(tile->values, value_dim, stage_.values, 0, count);
  }
  tile->keys = from_before(tile->keys, tile->begin);
  tile->values = from_before(tile->values, tile->begin);
  return true;
}

}  // namespace fovea
