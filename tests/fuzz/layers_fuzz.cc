// SPDX-License-Identifier: Apache-2.0
//
// Softmax, linear layers, rope, rotations, caches, linear attention and multi-head layers, with any numbers in any field: see
// arguments_fuzz.cc. What is refused must have changed nothing, no cache either.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "fuzz/draw.h"
#include "ground/base/image.h"
#include "support/cache_model.h"
#include "support/formats.h"
#include "support/problem.h"
#include "support/shuffler.h"

namespace fovea_test {
namespace {

constexpr size_t kMostWorkspace = size_t{1} << 18;
constexpr double kMostWork = 1e6;        // multiply-adds of a call

size_t unit(fovea_dtype type) { return type < kNoType ? unit_size(type) : 4; }

// Often none, now and then one that breaks its word.
class Executor {
 public:
  explicit Executor(Bytes& bytes) : used_(bytes.below(3) == 1), shuffler_(1 + bytes.below(4)) {
    executor_ = *shuffler_.executor();
    if (!used_) return;
    executor_.workers = number(bytes, executor_.workers);
    if (bytes.below(48) == 1) executor_.run = nullptr;
    shuffler_.answer = bytes.below(48) == 1;
  }
  const fovea_executor* get() const { return used_ ? &executor_ : nullptr; }

 private:
  bool used_;
  Shuffler shuffler_;
  fovea_executor executor_;
};

void softmax(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = begun<fovea_softmax_args>(bytes);
  a.outer = long_count(bytes, 6), a.axis = long_count(bytes, 100);
  a.inner = bytes.flag() ? 1 : long_count(bytes, 40);
  a.scale = real(bytes, 0.5f);
  const Wide axis = static_cast<Wide>(a.inner), outer = axis * static_cast<Wide>(a.axis & UINT32_MAX);
  a.x_axis_stride = a.y_axis_stride = stride_of(bytes, axis);
  a.x_outer_stride = a.y_outer_stride = stride_of(bytes, outer);
  if (bytes.flag()) a.y_axis_stride = stride_of(bytes, axis), a.y_outer_stride = stride_of(bytes, outer);
  a.mask_axis_stride = bytes.flag() ? stride_of(bytes, axis) : 0;
  a.mask_outer_stride = bytes.flag() ? stride_of(bytes, outer) : 0;
  a.mask_inner_stride = bytes.below(16) == 1 ? stride(bytes) : bytes.flag();

  const bool in_place = bytes.flag();
  a.x = memory.in<float>(a.inner, {a.outer, a.axis}, {a.x_outer_stride, a.x_axis_stride});
  a.y = const_cast<float*>(a.x);
  if (!in_place) a.y = memory.out<float>(a.inner, {a.outer, a.axis}, {a.y_outer_stride, a.y_axis_stride});
  if (bytes.flag()) {
    a.mask =
        memory.in<float>(1, {a.outer, a.axis, a.inner}, {a.mask_outer_stride, a.mask_axis_stride, a.mask_inner_stride});
  }
  spoil(bytes, {&a.x, &a.y, &a.mask});
  call(memory, bytes.flag() ? fovea_log_softmax : fovea_softmax, &a, &a.y);
}

fovea_linear_weights weights(Bytes& bytes, Memory& memory, fovea_dtype dtype, size_t out, size_t in) {
  fovea_linear_weights w{};
  w.dtype = dtype;
  const size_t units = row_units(dtype, in), scales = row_scales(dtype, in);
  w.row_stride = stride_of(bytes, static_cast<Wide>(units));
  w.data = memory.array(unit(dtype), units, {out}, {w.row_stride}, false);
  if ((scales != 0) != (bytes.below(48) == 1))
    w.scales = memory.array(scales != 0 ? scale_size(dtype) : 4, out * std::max<size_t>(scales, 1), {}, {}, false);
  if (bytes.flag()) w.bias = memory.in<float>(out);
  spoil(bytes, {scales != 0 ? static_cast<void*>(&w.scales) : &w.data}, scales != 0 || unit(dtype) != 1);
  spoil(bytes, {&w.bias});
  return w;
}

// What a layer with integer products may have beside.
void integers(Bytes& bytes, Memory& memory, fovea_linear_args* a) {
  a->compute = FOVEA_COMPUTE_I8;
  const bool codes = bytes.flag(), one = bytes.flag();
  if (codes) {
    a->x_dtype = FOVEA_I8;
    a->x_scales_stride = one ? 0 : stride_of(bytes, 1);
    a->x_scales = memory.in<float>(1, {a->tokens}, {a->x_scales_stride});
    a->x_zero_point = int32_t(bytes.below(258)) - 129;
    spoil(bytes, {&a->x_scales});
  }
  if (bytes.flag()) {
    a->y_dtype = FOVEA_I8;
    a->y_scale = bytes.below(16) == 1 ? 0.0f : 0.01f * float(1 + bytes.below(100));
    a->y_zero_point = int32_t(bytes.below(258)) - 129;
  }
  if (codes && one && bytes.flag()) {
    a->weights.bias = nullptr;
    a->weights.bias_i32 = memory.in<int32_t>(a->out_dim);
  }
}

void linear(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  const Executor executor(bytes);
  auto a = begun<fovea_linear_args>(bytes);
  a.portable_bits = bytes.flag();
  a.tokens = count(bytes, 60), a.in_dim = count(bytes, 80), a.out_dim = count(bytes, 80);
  a.y_stride = stride_of(bytes, a.out_dim), a.x_stride = stride_of(bytes, a.in_dim);
  a.workspace_budget_bytes = bytes.below(4) == 1 ? word(bytes) : 0;
  a.executor = executor.get();
  a.weights = weights(bytes, memory, choice(bytes, kTypes), a.out_dim, a.in_dim);
  if (a.weights.dtype >= FOVEA_I8 && bytes.flag()) integers(bytes, memory, &a);
  if (a.weights.dtype == FOVEA_F16 && bytes.flag()) {
    a.compute = FOVEA_COMPUTE_F16;
    a.processor_features = bytes.below(16);
    if (bytes.flag()) a.x_dtype = FOVEA_F16;
  }
  if (bytes.flag()) a.activation = fovea_activation_kind(bytes.below(10));
  a.x = memory.array(unit(a.x_dtype), a.in_dim, {a.tokens}, {a.x_stride}, false);
  a.y = memory.array(unit(a.y_dtype), a.out_dim, {a.tokens}, {a.y_stride}, true);
  spoil(bytes, {&a.x}, a.x_dtype != FOVEA_I8);
  spoil(bytes, {&a.y}, a.y_dtype != FOVEA_I8);
  const bool overlaps = bytes.below(24) == 1;
  if (overlaps) a.y = const_cast<void*>(a.x);

  if (double{1} * a.tokens * a.in_dim * a.out_dim > kMostWork) memory.complete = false;
  const Workspace w = draw_workspace(bytes, memory, bytes_of(fovea_linear_workspace_bytes, &a), kMostWorkspace);
  if (!memory.complete) a.y = nullptr;
  const fovea_status status = unchanged_if_refused(memory, [&] { return fovea_linear(&a, w.data, w.bytes()); });
  if (overlaps && a.tokens != 0) expect(status != FOVEA_OK, "an overlap is not refused");
}

// Angles for rows of `dim`, in tables of as many positions as they say.
void draw_angles(Bytes& bytes, Memory& memory, uint32_t dim, fovea_rope_args* a) {
  a->struct_bytes = struct_bytes(bytes, sizeof *a);
  a->layout = choice(bytes, {FOVEA_ROPE_INTERLEAVED, FOVEA_ROPE_HALF_SPLIT});
  a->inverse = bytes.flag();
  a->rotary_dim = bytes.flag() ? count(bytes, dim) & ~bytes.below(2) : 0;
  a->position_offset = bytes.flag() ? position(bytes) : 0;
  const size_t pairs = (a->rotary_dim != 0 ? a->rotary_dim : dim) / 2;
  const uint32_t kind = bytes.below(16);  // 0 = neither, 1 = both
  if (kind % 2 == 1) a->turns = memory.in<uint64_t>(pairs);
  if (kind == 1 || (kind != 0 && kind % 2 == 0)) {
    a->table_positions = long_count(bytes, 120);
    a->table_stride = stride_of(bytes, static_cast<Wide>(pairs));
    for (const float** table : {&a->cos, &a->sin}) {
      *table = memory.in<float>(pairs, {a->table_positions}, {a->table_stride});
    }
  }
  spoil(bytes, {&a->turns, &a->cos, &a->sin});
}

// The same rows, or others; of the same strides, or others.
void draw_turned(Bytes& bytes, Memory& memory, fovea_in* in, fovea_out* out, const Rows& n) {
  dense(bytes, in, n);
  out->batch_stride = in->batch_stride, out->head_stride = in->head_stride, out->token_stride = in->token_stride;
  if (bytes.flag()) dense(bytes, out, n);
  in->data = out->data = rows(memory, *in, n, false);
  if (bytes.flag()) out->data = rows(memory, *out, n, true);
}

void rope(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_rope_args a{};
  a.batch = count(bytes, 4), a.heads = count(bytes, 4), a.tokens = count(bytes, 12);
  a.dim = count(bytes, 80) & ~bytes.below(2);
  draw_angles(bytes, memory, a.dim, &a);
  a.target = target(bytes);
  draw_turned(bytes, memory, &a.x, &a.y, {a.batch, a.heads, a.tokens, a.dim});
  const uint32_t kind = bytes.below(16);
  if (kind % 3 == 1) a.first_positions = list<int64_t>(memory, a.batch, [&] { return position(bytes); });
  if (kind % 3 == 2 || kind == 1) {
    a.position_ids_stride = bytes.flag() ? stride_of(bytes, a.tokens) : 0;
    a.position_ids = memory.in<int64_t>(a.tokens, {a.batch}, {a.position_ids_stride});
    auto* const at = const_cast<int64_t*>(a.position_ids);
    for (uint32_t t = 0; memory.complete && a.batch != 0 && t < a.tokens; ++t) at[t] = position(bytes);
  }
  spoil(bytes, {&a.x.data, &a.y.data, &a.first_positions, &a.position_ids});
  call(memory, fovea_rope, &a, &a.y.data);
}

void rotate(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = sized<fovea_hadamard_args>();
  a.batch = count(bytes, 4), a.heads = count(bytes, 4), a.tokens = count(bytes, 12), a.dim = count(bytes, 130);
  a.block = bytes.flag() ? 0 : bytes.flag() ? 1u << bytes.below(8) : count(bytes, 130);
  a.inverse = bytes.flag(), a.seed = bytes.flag() ? bytes.take<uint64_t>() : 0;
  a.target = target(bytes);
  draw_turned(bytes, memory, &a.x, &a.y, {a.batch, a.heads, a.tokens, a.dim});
  spoil(bytes, {&a.x.data, &a.y.data});
  call(memory, fovea_hadamard, &a, &a.y.data);
}

void frequencies(Bytes& bytes) {
  Memory memory(0);
  const uint32_t rotary_dim = count(bytes, 200);
  const double base = bytes.flag() ? bytes.take<double>() : 10000.0;
  const double scale = bytes.flag() ? bytes.take<double>() : 0.0;
  auto* turns = memory.out<uint64_t>(rotary_dim / 2);
  spoil(bytes, {&turns});
  if (!memory.complete) turns = nullptr;
  unchanged_if_refused(memory, [&] { return fovea_rope_frequencies(turns, base, scale, rotary_dim); });
}

// A cache of any shape in memory of exactly its bytes. False where it is refused, or too large to be tried.
bool make_cache(Bytes& bytes, Memory& memory, Cache* cache) {
  Cache& c = *cache;
  c.kind = bytes.choose({FOVEA_KV_STRIDED, FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED});
  c.key_dtype = bytes.choose(kKeyTypes);
  c.value_dtype = bytes.choose(kKeyTypes);
  c.batch = bytes.below(4), c.kv_heads = 1 + bytes.below(2), c.max_tokens = 1 + bytes.below(80);
  c.head_dim = 2 + 2 * bytes.below(20), c.value_dim = bytes.flag() ? c.head_dim : 1 + bytes.below(40);
  c.pinned_tokens = bytes.below(c.max_tokens);
  if (bytes.flag()) c.hadamard = enum_of<fovea_hadamard_rows>(bytes.below(4)), c.hadamard_seed = bytes.take<uint8_t>();
  if (c.kind == FOVEA_KV_PAGED) c.page_tokens = 1 + bytes.below(40), c.pages = bytes.below(12);
  if (bytes.below(8) == 1) {
    c.values_in_keys = 1, c.value_dtype = c.key_dtype, c.value_dim = std::min(c.value_dim, c.head_dim);
  }
  if (bytes.below(4) == 1) damage(bytes, &c, sizeof(fovea_kv_cache_desc) / 4);
  c.key_center = nullptr;
  const uint64_t centers = uint64_t{c.kv_heads} * c.head_dim;
  if (bytes.below(4) == 1 && centers < kMostBytes / 4) c.key_center = memory.in<float>(size_t(centers));

  const size_t needed = bytes_of(fovea_kv_cache_bytes, &c);
  if (needed > kMostBytes) return false;
  const size_t given = bytes.below(24) == 1 ? bytes.below(uint32_t(needed + 1)) : needed;
  void* data = memory.allocate(64, given, false);
  spoil(bytes, {&data});
  const Cache before = c;
  const fovea_status status = unchanged_if_refused(memory, [&] { return c.init(data, given); });
  if (status == FOVEA_OK) {
    expect(given == needed, "a cache has less memory than it needs");
  } else {
    expect(std::memcmp(&c, &before, sizeof c) == 0, "a refused cache is written");
    return false;
  }
  const size_t entries = c.page_table == nullptr ? 0 : size_t(c.source.page_table_stride) * c.batch;
  for (size_t i = 0; i < entries; ++i) {
    if (c.pages != 0) c.page_table[i] = uint32_t(i % c.pages);
    if (bytes.below(24) == 1) c.page_table[i] = word(bytes);
  }
  return true;
}

void append(Bytes& bytes, Memory& memory, Cache* cache) {
  auto a = begun<fovea_kv_append_args>(bytes);
  a.entry = bytes.flag() ? count(bytes, cache->batch) : 0;
  a.batch = bytes.flag() ? count(bytes, cache->batch) : cache->batch - a.entry;
  a.tokens = count(bytes, 24);
  a.dtype = choice(bytes, {FOVEA_F32, FOVEA_F32, FOVEA_F16, FOVEA_BF16});
  const bool half = a.dtype == FOVEA_F16 || a.dtype == FOVEA_BF16;
  const size_t element = half ? 2 : 4;
  if (bytes.below(3) == 1) {
    uint32_t sum = 0;
    const size_t offsets = size_t{a.batch} + 1;
    a.offsets = list<uint32_t>(memory, offsets, [&] { return sum += count(bytes, a.tokens / 2); });
  }
  const uint32_t blocks = a.offsets != nullptr ? 1 : a.batch;
  draw(bytes, memory, &a.keys, {blocks, cache->kv_heads, a.tokens, cache->head_dim}, element);
  draw(bytes, memory, &a.values, {blocks, cache->kv_heads, a.tokens, cache->value_dim}, element);
  if (cache->values_in_keys != 0 && bytes.flag()) a.values.data = nowhere<void>();  // which is not looked at
  if (bytes.flag()) a.counts = list<uint32_t>(memory, a.batch, [&] { return count(bytes, a.tokens); });
  fovea_rope_args turning{};
  if (bytes.flag()) {
    draw_angles(bytes, memory, cache->head_dim, &turning);
    a.rope = &turning;
    if (bytes.flag()) a.position_offsets = list<int64_t>(memory, a.batch, [&] { return position(bytes); });
  }
  const bool rotates = cache->hadamard != FOVEA_HADAMARD_NONE;
  if (half || rotates || a.rope != nullptr || cache->key_center != nullptr) {
    const uint32_t dim = half || rotates ? std::max(cache->head_dim, cache->value_dim) : cache->head_dim;
    a.workspace_bytes = size_t{cache->kv_heads} * dim * 4 * (1 + bytes.below(3));
    if (bytes.below(24) == 1) a.workspace_bytes = bytes.below(200);
    a.workspace = memory.out<char>(a.workspace_bytes);
  }
  spoil(bytes, {&a.keys.data, &a.values.data, &a.counts, &a.offsets, &a.position_offsets, &a.workspace});
  if (a.offsets == nullptr && blocks != a.batch) memory.complete = false;  // there are no rows but for packed tokens
  const bool overlaps = bytes.below(16) == 1 && cache->memory_bytes != 0;
  if (overlaps) {
    // An input begins in the cache, or in the workspace, all of which may be written.
    const bool scratch = a.workspace != nullptr && a.workspace_bytes >= 8 && bytes.flag();
    const size_t words = (scratch ? a.workspace_bytes : cache->memory_bytes) / 8;
    char* const at = static_cast<char*>(scratch ? a.workspace : cache->memory) + word(bytes) % words * 8;
    switch (bytes.below(turning.turns != nullptr ? 6 : 4)) {
      case 0: a.keys.data = at; break;
      case 1: (cache->values_in_keys != 0 ? a.keys : a.values).data = at; break;
      case 2: a.counts = reinterpret_cast<uint32_t*>(at); break;
      case 3: a.offsets = reinterpret_cast<uint32_t*>(at); break;
      case 4: a.position_offsets = reinterpret_cast<int64_t*>(at); break;
      default: turning.turns = reinterpret_cast<uint64_t*>(at);
    }
  }
  if (!memory.complete) a.keys.data = a.values.data = nullptr;
  const fovea_status status = unchanged_if_refused(memory, [&] { return fovea_kv_append(*cache, &a); });
  if (overlaps && a.batch != 0 && a.tokens != 0) expect(status != FOVEA_OK, "an overlap is not refused");
}

void shift(Bytes& bytes, Memory& memory, Cache* cache) {
  auto a = begun<fovea_kv_shift_args>(bytes);
  a.entry = count(bytes, cache->batch), a.first = count(bytes, 24), a.tokens = count(bytes, 24);
  a.difference = position(bytes);
  fovea_rope_args turning{};
  draw_angles(bytes, memory, cache->head_dim, &turning);
  a.rope = &turning;
  a.workspace_bytes = size_t{cache->head_dim} * 4 * (1 + bytes.below(3));
  if (bytes.below(24) == 1) a.workspace_bytes = bytes.below(200);
  a.workspace = memory.out<char>(a.workspace_bytes);
  spoil(bytes, {&a.workspace});
  if (!memory.complete) a.workspace = nullptr;
  unchanged_if_refused(memory, [&] { return fovea_kv_shift(*cache, &a); });
}

// An image, of which some words are changed and its checksum mended or not, into a cache.
void image(Bytes& bytes, Memory& memory, const Cache& from, Cache* to) {
  auto a = sized<fovea_kv_image_args>();
  a.entry = count(bytes, from.batch), a.first = count(bytes, 24), a.tokens = count(bytes, 24);
  const size_t needed = bytes_of(fovea_kv_image_bytes, from, a.tokens);
  if (needed == 0 || needed > kMostBytes) return;
  auto* const words = memory.out<uint8_t>(needed);
  if (unchanged_if_refused(memory, [&] { return fovea_kv_export(from, &a, words, needed); }) != FOVEA_OK) return;
  const uint32_t changes = bytes.below(4);
  for (uint32_t i = 0; i < changes; ++i) {
    words[bytes.flag() ? bytes.below(64) : word(bytes) % needed] ^= uint8_t(1u << bytes.below(8));
  }
  const uint32_t checksum = fovea::checksum_of(words, needed);
  if (bytes.flag()) fovea::put_word(checksum, words + fovea::kChecksumAt);
  const bool whole = fovea::word_at(words + fovea::kChecksumAt) == checksum;
  const size_t given = bytes.below(8) == 1 ? bytes.below(uint32_t(needed)) : needed;
  a.entry = count(bytes, to->batch);
  if (a.entry < to->batch && bytes.below(8) != 1) a.first = to->lengths[a.entry];
  const fovea_status status = unchanged_if_refused(memory, [&] { return fovea_kv_import(*to, &a, words, given); });
  auto prefix = sized<fovea_kv_prefix>();
  const fovea_status in_place = fovea_kv_image_prefix(*to, &a, words, given, &prefix);
  if (status == FOVEA_OK) expect(in_place == FOVEA_OK, "an image that was taken in is no prefix");
  if (in_place == FOVEA_OK) expect(prefix.tokens == a.tokens, "a prefix has other tokens");
  if (whole && (changes != 0 || given >= needed)) return;
  expect(status != FOVEA_OK && in_place != FOVEA_OK, "a damaged image is taken");
}

void cache(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  Cache c, other;
  if (!make_cache(bytes, memory, &c)) return;
  const bool has_other = bytes.flag() && make_cache(bytes, memory, &other);
  const Cache before = c;
  for (int operations = 0; operations < 6 && !bytes.empty(); ++operations) {
    const uint32_t entry = count(bytes, c.batch), length = count(bytes, c.max_tokens);
    switch (bytes.below(14)) {
      case 12: shift(bytes, memory, &c); break;
      case 13: image(bytes, memory, has_other && bytes.flag() ? other : c, &c); break;
      case 0: unchanged_if_refused(memory, [&] { return fovea_kv_truncate(c, entry, length); }); break;
      case 1: unchanged_if_refused(memory, [&] { return fovea_kv_reset(c, entry); }); break;
      case 2: {
        const uint32_t first = bytes.flag() ? 0 : count(bytes, length);
        unchanged_if_refused(memory, [&] { return fovea_kv_set_length(c, entry, length, first); });
        break;
      }
      case 3: {
        const uint32_t from_entry = count(bytes, c.batch);
        Cache* const from = has_other && bytes.flag() ? &other : &c;
        if (from == &other && bytes.flag()) fovea_kv_set_length(*from, from_entry, count(bytes, from->max_tokens), 0);
        unchanged_if_refused(memory, [&] { return fovea_kv_copy(c, entry, *from, from_entry, length); });
        break;
      }
      case 4: {
        uint32_t next = count(bytes, c.max_tokens);
        const uint32_t tokens = bytes.below(17);
        const uint32_t* kept = list<uint32_t>(memory, tokens, [&] { return next += bytes.below(4); });
        if (bytes.below(8) == 1) kept = c.lengths;
        unchanged_if_refused(memory, [&] { return fovea_kv_compact(c, entry, kept, tokens); });
        break;
      }
      default: append(bytes, memory, &c);
    }
    memory.complete = true;
  }
  expect(std::memcmp(&c, &before, sizeof c) == 0, "a cache's places have changed");
}

// ---- Multi-head layers.

// Some tensors of a layer become int8.
void draw_tensors(Bytes& bytes, fovea_multihead_desc* m, bool keys) {
  fovea_attention_desc& d = m->attention;
  const auto draw = [&](fovea_dtype* dtype, float* scale, int32_t* zero) {
    if (bytes.below(4) == 1) return;
    *dtype = FOVEA_I8, *scale = 0.03125f, *zero = bytes.take<int8_t>();
  };
  draw(&m->x_dtype, &m->x_scale, &m->x_zero_point);
  draw(&m->y_dtype, &m->y_scale, &m->y_zero_point);
  if (bytes.flag()) return;
  if (d.score == FOVEA_SCORE_ADDITIVE) d.score = FOVEA_SCORE_DOT;
  if (keys || (d.key_dtype == FOVEA_I8 && d.value_dtype == FOVEA_I8)) d.compute = FOVEA_COMPUTE_I8;
  draw(&d.q_dtype, &d.q_scale, &d.q_zero_point);
  draw(&d.out_dtype, &d.out_scale, &d.out_zero_point);
  if (!keys) return;
  draw(&d.key_dtype, &d.key_scale, &d.key_zero_point);
  draw(&d.value_dtype, &d.value_scale, &d.value_zero_point);
}

fovea_multihead_desc description(Bytes& bytes, const Cache* cache) {
  fovea_multihead_desc m{};
  fovea_attention_desc& d = m.attention;
  m.struct_bytes = sizeof m, d.struct_bytes = sizeof d;
  m.weight_dtype = bytes.choose(kTypes);
  if (m.weight_dtype >= FOVEA_I8 && bytes.flag()) m.linear_compute = FOVEA_COMPUTE_I8;
  if (m.weight_dtype == FOVEA_F16 && bytes.flag()) m.linear_compute = FOVEA_COMPUTE_F16;
  if (cache != nullptr) {
    expect(fovea_kv_describe(*cache, &d) == FOVEA_OK, "a cache does not describe itself");
    d.allow_evicted = bytes.below(4) != 1;
  } else {
    d.kv_heads = 1 + bytes.below(2), d.head_dim = 1 + bytes.below(20);
    d.value_dim = bytes.flag() ? d.head_dim : 1 + bytes.below(20);
    d.max_batch = bytes.below(4), d.max_kv_tokens = bytes.below(80);
  }
  d.q_heads = d.kv_heads * (1 + bytes.below(3));
  d.max_q_tokens = bytes.below(12), m.max_new_tokens = bytes.below(16);
  if (bytes.below(3) == 1) m.d_model = bytes.below(48);
  if (bytes.below(3) == 1) m.key_model = bytes.below(48);
  if (bytes.below(3) == 1) m.value_model = bytes.below(48);
  d.score = bytes.choose({FOVEA_SCORE_SCALED_DOT, FOVEA_SCORE_DOT, FOVEA_SCORE_ADDITIVE});
  d.causal = bytes.choose(kCausals);
  if (bytes.below(4) == 1) d.window_left = bytes.below(20), d.dropout = 0.25f, d.softcap = 5;
  if (bytes.below(4) == 1) d.key_split_tokens = 64;
  if (bytes.below(4) == 1) d.diagonal = enum_of<fovea_diagonal>(bytes.below(4));
  d.target = bytes.choose({FOVEA_TARGET_BEST, FOVEA_TARGET_SCALAR, fovea_target_at(bytes.below(fovea_target_count()))});
  d.portable_bits = bytes.flag();
  d.processor_features = bytes.below(8);
  d.max_workers = bytes.below(4);
  if (m.linear_compute == FOVEA_COMPUTE_I8) draw_tensors(bytes, &m, cache == nullptr);
  if (bytes.below(4) == 1) damage(bytes, &m, sizeof m / 4);
  return m;
}

// A call's arguments, and memory for exactly that.
class Arguments {
 public:
  Arguments(Bytes& bytes, Memory& memory, const fovea_multihead_plan& plan, const Cache* cache, bool appends)
      : executor_(bytes), m_(*fovea_multihead_plan_desc(&plan)), d_(m_.attention) {
    a.struct_bytes = struct_bytes(bytes, sizeof a);
    a.attention.struct_bytes = struct_bytes(bytes, sizeof a.attention);
    a.batch = count(bytes, d_.max_batch), a.q_tokens = count(bytes, d_.max_q_tokens);
    a.kv_tokens = count(bytes, m_.max_new_tokens);
    a.attention.executor = executor_.get();
    const bool keys = bytes.flag(), values = bytes.flag();
    const bool attends_to_cache = cache != nullptr && !appends && bytes.below(8) != 1;
    if (attends_to_cache) a.cache = *cache;
    if (appends && bytes.flag()) a.cache = nowhere<const fovea_kv_cache>();

    tokens(bytes, memory, &a.x, a.q_tokens, m_.d_model, false);
    tokens(bytes, memory, &a.y, a.q_tokens, m_.d_model, true);
    if (keys && (!attends_to_cache || bytes.below(24) == 1)) {
      tokens(bytes, memory, &a.keys, a.kv_tokens, m_.key_model, false);
    }
    if (values && (!attends_to_cache || bytes.below(24) == 1)) {
      tokens(bytes, memory, &a.values, a.kv_tokens, m_.value_model, false);
    }
    const size_t q = size_t{d_.q_heads} * d_.head_dim, k = size_t{d_.kv_heads} * d_.head_dim,
                 v = size_t{d_.kv_heads} * d_.value_dim, out = size_t{d_.q_heads} * d_.value_dim;
    const auto layer = [&](fovea_linear_weights* w, size_t outputs, size_t inputs) {
      if (bytes.below(6) != 1) *w = weights(bytes, memory, choice(bytes, {m_.weight_dtype}), outputs, inputs);
      if (m_.x_dtype != FOVEA_I8 || w->bias == nullptr || bytes.flag()) return;
      w->bias = nullptr;
      w->bias_i32 = memory.in<int32_t>(outputs);
    };
    layer(&a.weights.out, m_.d_model, out);
    const bool packed = bytes.below(3) == 1;
    if (packed) layer(&a.weights.qkv, q + k + v, m_.d_model);
    if (!packed || bytes.below(48) == 1) {
      layer(&a.weights.q, q, m_.d_model), layer(&a.weights.k, k, m_.key_model);
      layer(&a.weights.v, v, m_.value_model);
    }
    if (bytes.below(3) == 1) {
      draw_angles(bytes, memory, d_.head_dim, &rope_);
      a.rope = &rope_;
      if (bytes.flag()) rope_.first_positions = list<int64_t>(memory, a.batch, [&] { return position(bytes); });
      if (bytes.flag()) rope_.position_ids = nowhere<const int64_t>();  // which is not looked at
    }
    uint32_t longest = a.keys.data != nullptr ? a.kv_tokens : a.q_tokens;
    if (attends_to_cache) {
      longest = 0;
      for (uint32_t b = 0; b < std::min(a.batch, cache->batch); ++b) longest = std::max(longest, cache->lengths[b]);
    }
    if (!appends) draw_options(bytes, memory, longest);
    const bool aligned = m_.x_dtype != FOVEA_I8 && m_.y_dtype != FOVEA_I8;
    spoil(bytes, {&a.x.data, &a.y.data, &a.keys.data, &a.values.data}, aligned);
    overlaps = !appends && bytes.below(24) == 1;
    if (overlaps) a.y.data = attends_to_cache ? cache->memory : const_cast<void*>(a.x.data);

    const double projected =
        1.0 * (double{1} + a.q_tokens) * m_.d_model * double(q + out) +
        (1.0 + longest) * (double{1} * m_.key_model * double(k) + double{1} * m_.value_model * double(v));
    const double attended = (1.0 + a.q_tokens) * (64.0 + longest) * d_.q_heads * (16.0 + d_.head_dim + d_.value_dim);
    if (a.batch > kMostEntries || a.batch * (projected + attended) > kMostWork) memory.complete = false;
  }

  fovea_multihead_args a{};
  bool overlaps = false;  // y lies on an input: never right

 private:
  template <class Array>
  void tokens(Bytes& bytes, Memory& memory, Array* array, uint32_t count, uint32_t model, bool output) {
    const bool tokens_first = bytes.below(4) == 1;
    array->token_stride = stride_of(bytes, Wide{model} * (tokens_first ? a.batch : 1));
    array->batch_stride = stride_of(bytes, Wide{model} * (tokens_first ? 1 : count));
    array->head_stride = bytes.take<int8_t>();  // which is not looked at
    const size_t unit = (output ? m_.y_dtype : m_.x_dtype) == FOVEA_I8 ? 1 : 4;
    array->data = memory.array(unit, model, {a.batch, count}, {array->batch_stride, array->token_stride}, output);
  }

  void draw_options(Bytes& bytes, Memory& memory, uint32_t kv_tokens) {
    fovea_attention_args& o = a.attention;
    o.q.data = o.out.data = nowhere<void>();  // which are not looked at, as kv
    Rows n = {a.batch, d_.q_heads, a.q_tokens, 1};
    if (bytes.flag()) draw(bytes, memory, &o.lse, n);
    n.row = kv_tokens;
    if (bytes.below(3) == 1) {
      o.scores_stage =
          choice(bytes, {FOVEA_SCORES_SCALED, FOVEA_SCORES_CAPPED, FOVEA_SCORES_MASKED, FOVEA_SCORES_SOFTMAX});
      draw(bytes, memory, &o.scores, n);
    }
    if (bytes.below(3) == 1) {
      o.mask.kind = choice(bytes, {FOVEA_MASK_F32, FOVEA_MASK_BYTE, FOVEA_MASK_F16, FOVEA_MASK_BF16});
      draw_mask(bytes, memory, &o.mask, n);
      if (bytes.below(4) == 1) o.mask.head_factors = memory.in<float>(d_.q_heads);
    }
    if (a.cache == nullptr ? bytes.flag() : bytes.below(48) == 1) {
      o.kv_lengths = list<uint32_t>(memory, a.batch, [&] { return count(bytes, kv_tokens); });
    }
    const bool places = d_.diagonal == FOVEA_DIAGONAL_POSITIONS || d_.diagonal == FOVEA_DIAGONAL_AS_CAUSAL;
    if (places != (bytes.below(24) == 1))
      o.first_positions = list<int64_t>(memory, a.batch, [&] { return position(bytes); });
    if (bytes.flag()) o.alibi_slopes = memory.in<float>(d_.q_heads);
    if (bytes.flag()) o.sinks = memory.in<float>(d_.q_heads);
    if (d_.score == FOVEA_SCORE_ADDITIVE) {
      o.score_vector_stride = stride_of(bytes, d_.head_dim);
      o.score_vector = memory.in<float>(d_.head_dim, {d_.kv_heads}, {o.score_vector_stride});
    }
    o.dropout_seed = bytes.take<uint8_t>();
    switch (bytes.below(64)) {
      case 1: o.slow_workspace = nowhere<void>(); break;
      case 2: o.q_offsets = nowhere<const uint32_t>(); break;
      case 3: o.kv_offsets = nowhere<const uint32_t>(); break;
      default: break;
    }
    spoil(bytes,
          {&o.lse.data, &o.scores.data, &o.kv_lengths, &o.first_positions, &o.alibi_slopes, &o.sinks, &o.score_vector});
    if (o.mask.kind != FOVEA_MASK_BYTE) spoil(bytes, {&o.mask.data});
  }

  const Executor executor_;
  const fovea_multihead_desc m_;
  const fovea_attention_desc d_;
  fovea_rope_args rope_{};
};

void multihead(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  Cache made, *cache = nullptr;
  if (bytes.flag()) {
    if (!make_cache(bytes, memory, &made)) return;
    cache = &made;
  }
  const fovea_multihead_desc desc = description(bytes, cache);
  fovea_multihead_plan plan;
  std::memset(&plan, 0xa5, sizeof plan);
  const fovea_multihead_plan unwritten = plan;
  const fovea_status planned = fovea_multihead_plan_init(&plan, &desc);
  bytes_of(fovea_multihead_workspace_bytes_for, &desc, FOVEA_TARGET_BEST);
  if (planned != FOVEA_OK) {
    expect(std::memcmp(&plan, &unwritten, sizeof plan) == 0, "a refused description wrote the plan");
    return;
  }
  const size_t needed = bytes_of(fovea_multihead_workspace_bytes, &plan);
  expect(needed != 0, "a plan without a workspace");
  void* const workspace = needed <= kMostWorkspace ? memory.allocate(64, needed, true) : nowhere<void>();
  for (int calls = 0; calls < 3 && !bytes.empty(); ++calls) {
    memory.complete = needed <= kMostWorkspace;
    const bool appends = cache != nullptr && bytes.flag();
    Arguments arguments(bytes, memory, plan, cache, appends);
    void* given = workspace;
    spoil(bytes, {&given});
    // Where an array is not there, nothing may be touched.
    const size_t given_bytes = memory.complete ? needed - (bytes.below(24) == 1) : 0;
    const fovea_status status = unchanged_if_refused(memory, [&] {
      return appends ? fovea_multihead_append(&plan, *cache, &arguments.a, given, given_bytes)
                     : fovea_multihead(&plan, &arguments.a, given, given_bytes);
    });
    if (given_bytes < needed) expect(status != FOVEA_OK, "too small a workspace is not refused");
    if (arguments.overlaps && arguments.a.batch != 0 && arguments.a.q_tokens != 0) {
      expect(status != FOVEA_OK, "an overlap is not refused");
    }
  }
}

// Some calls on one state, and what else is done with states.
class DeltaFuzz {
 public:
  explicit DeltaFuzz(Bytes& bytes) : bytes_(bytes), memory_(bytes.take<uint8_t>()) {
    batch_ = bytes.below(4), v_heads_ = bytes.choose({1u, 2u, 4u});
    key_dim_ = 1 + bytes.below(40), value_dim_ = 1 + bytes.below(40);
    decay_dim_ = bytes.choose({1u, key_dim_, FOVEA_DELTA_GENERAL_DIM(key_dim_)});
    state_bytes_ = bytes_of(fovea_delta_state_bytes, batch_, v_heads_, key_dim_, value_dim_, decay_dim_);
    expect(state_bytes_ != 0, "a state without bytes");
    state_ = static_cast<fovea_delta_state*>(memory_.allocate(64, state_bytes_, true));
    const fovea_status status =
        fovea_delta_begin(state_, state_bytes_, batch_, v_heads_, key_dim_, value_dim_, decay_dim_);
    expect(status == FOVEA_OK, "a state is refused");
  }

  void run() {
    for (int calls = 0; calls < 4 && !bytes_.empty(); ++calls) {
      switch (bytes_.below(8)) {
        case 0: change(); break;
        case 1: get(); break;
        case 2: image(); break;
        default: call(); break;
      }
    }
  }

 private:
  void change() {
    const uint32_t entry = bytes_.flag() ? FOVEA_ALL_ENTRIES : number(bytes_, bytes_.below(4));
    const uint32_t tokens = number(bytes_, bytes_.below(6)), pending = fovea_delta_pending(state_, entry);
    if (bytes_.flag()) {
      unchanged_if_refused(memory_, [&] { return fovea_delta_set(state_, entry, nullptr); });
      return;
    }
    const fovea_status status =
        unchanged_if_refused(memory_, [&] { return fovea_delta_roll_back(state_, entry, tokens); });
    if (tokens > pending && batch_ != 0) expect(status != FOVEA_OK, "more tokens are rolled back than are pending");
  }

  void get() {
    fovea_out out{};
    draw(bytes_, memory_, &out, {batch_, v_heads_, key_dim_, value_dim_});
    spoil(bytes_, {&out.data});
    if (!memory_.complete) return;
    const fovea_target used = target(bytes_);
    unchanged_if_refused(memory_, [&] { return fovea_delta_get(state_, used, FOVEA_ALL_ENTRIES, &out); });
  }

  void image() {
    std::vector<uint8_t> image(state_bytes_);
    expect(fovea_delta_export(state_, image.data(), image.size()) == FOVEA_OK, "a state has no image");
    const uint32_t at = bytes_.below(uint32_t(state_bytes_)), change = bytes_.below(256);
    image[at] = uint8_t(image[at] ^ change);
    const fovea_status status = unchanged_if_refused(
        memory_, [&] { return fovea_delta_import(state_, state_bytes_, image.data(), image.size()); });
    expect((status == FOVEA_OK) == (change == 0), "a changed image is taken, or a whole one refused");
  }

  void call() {
    const Executor executor(bytes_);
    auto a = begun<fovea_delta_args>(bytes_);
    a.rule = choice(bytes_, {FOVEA_DELTA_RULE_LINEAR, FOVEA_DELTA_RULE_GATED, FOVEA_DELTA_RULE_DELTA,
                             FOVEA_DELTA_RULE_GATED_DELTA});
    if (decay_dim_ > key_dim_ && bytes_.below(8) != 0) a.rule = FOVEA_DELTA_RULE_GENERAL;
    a.batch = number(bytes_, batch_), a.entry = number(bytes_, 0);
    a.v_heads = number(bytes_, v_heads_), a.k_heads = bytes_.flag() ? a.v_heads : count(bytes_, 4);
    a.q_heads = bytes_.flag() ? a.v_heads : count(bytes_, 8);
    a.head_dim = number(bytes_, key_dim_), a.value_dim = number(bytes_, value_dim_);
    a.decay_dim = number(bytes_, decay_dim_);
    a.tokens = count(bytes_, 12), a.scale = real(bytes_, 0);
    a.dtype = choice(bytes_, kFloatTypes);
    a.out_dtype = choice(bytes_, kFloatTypes);
    a.workspace_budget_bytes = bytes_.below(4) == 1 ? word(bytes_) : 0;
    a.executor = executor.get();
    uint32_t offset = 0;
    if (bytes_.below(3) == 1) {
      a.offsets =
          list<uint32_t>(memory_, size_t{batch_} + 1, [&] { return number(bytes_, offset += bytes_.below(4)); });
    }
    const auto array = [&](fovea_in* in, uint32_t heads, size_t dim, fovea_dtype type) {
      draw(bytes_, memory_, in, {a.batch, heads, a.tokens, dim}, unit(type));
    };
    array(&a.q, a.q_heads, a.head_dim, a.dtype), array(&a.k, a.k_heads, a.head_dim, a.dtype);
    array(&a.v, a.v_heads, a.value_dim, a.dtype);
    if (a.rule == FOVEA_DELTA_RULE_GENERAL) {
      array(&a.a, a.k_heads, a.head_dim, a.dtype), array(&a.b, a.k_heads, a.head_dim, a.dtype);
    }
    array(&a.decay, a.v_heads, std::min(key_dim_, decay_dim_), FOVEA_F32), array(&a.beta, a.v_heads, 1, FOVEA_F32);
    const uint32_t heads = std::max(a.q_heads, a.v_heads);
    draw(bytes_, memory_, &a.out, {a.batch, heads, a.tokens, a.value_dim}, unit(a.out_dtype));
    spoil(bytes_, {&a.q.data, &a.k.data, &a.v.data, &a.decay.data, &a.beta.data, &a.out.data, &a.offsets});
    if (a.rule == FOVEA_DELTA_RULE_GENERAL) spoil(bytes_, {&a.a.data, &a.b.data});

    const size_t needed = bytes_of(fovea_delta_workspace_bytes, &a);
    if (needed > kMostWorkspace) memory_.complete = false;
    const Workspace w = workspace(needed);
    if (!memory_.complete) return;
    unchanged_if_refused(memory_, [&] { return fovea_delta(state_, &a, w.data, w.bytes()); });
    if (bytes_.flag()) call_with_matrices(a);
  }

  // The same call on matrices of the caller. No state limits the batch, and there are offsets for that of the state.
  void call_with_matrices(const fovea_delta_args& a) {
    if (a.offsets != nullptr && a.batch > batch_) return;
    fovea_out after{};
    const Rows matrices = {a.batch, a.v_heads, a.head_dim, a.value_dim};
    draw(bytes_, memory_, &after, matrices);
    fovea_in before = {after.data, after.batch_stride, after.head_stride, after.token_stride};
    const bool given = bytes_.flag(), in_place = given && bytes_.flag();
    if (given && !in_place) {
      draw(bytes_, memory_, &before, matrices);
      spoil(bytes_, {&before.data});
    }
    spoil(bytes_, {&after.data});
    const size_t needed = bytes_of(fovea_delta_matrices_workspace_bytes, &a);
    if (needed > kMostWorkspace || !memory_.complete) return;
    const Workspace w = workspace(needed);
    unchanged_if_refused(
        memory_, [&] { return fovea_delta_matrices(&a, given ? &before : nullptr, &after, w.data, w.bytes()); });
  }

  Workspace workspace(size_t needed) {
    void* data = memory_.complete && needed != 0 ? memory_.allocate(64, needed, true) : nullptr;
    spoil(bytes_, {&data});
    if (!memory_.complete || data == nullptr) return {data, 0};
    return {data, needed - (bytes_.below(24) == 1 && needed != 0)};
  }

  Bytes& bytes_;
  Memory memory_;
  uint32_t batch_, v_heads_, key_dim_, value_dim_, decay_dim_;
  size_t state_bytes_;
  fovea_delta_state* state_;
};

void delta(Bytes& bytes) { DeltaFuzz(bytes).run(); }

// Mostly F32, F16 or BF16.
fovea_dtype row_format(Bytes& bytes) { return fovea_dtype(bytes.below(24) == 1 ? 3 + bytes.below(6) : bytes.below(3)); }
fovea_activation_kind activation_kind(Bytes& bytes) { return fovea_activation_kind(bytes.below(10)); }

// Rows of normalisation and activation: x, y, and a third array, or none.
template <class Args>
void draw_rows(Bytes& bytes, Memory& memory, Args* a, fovea_in* third) {
  a->batch = count(bytes, 4), a->heads = count(bytes, 4), a->tokens = count(bytes, 6), a->dim = count(bytes, 80);
  const Rows n = {a->batch, a->heads, a->tokens, a->dim};
  dense(bytes, &a->x, n), dense(bytes, &a->y, n);
  a->x_dtype = row_format(bytes), a->y_dtype = row_format(bytes);
  a->x.data = rows(memory, a->x, n, false, unit(a->x_dtype));
  a->y.data = rows(memory, a->y, n, true, unit(a->y_dtype));
  if (bytes.flag()) draw(bytes, memory, third, n, unit(a->x_dtype));
  spoil(bytes, {&a->x.data, &a->y.data, &third->data});
}
// A value of an enum of two, or one that it has not.
uint32_t one_of_two(Bytes& bytes) { return bytes.below(24) == 1 ? 2 : bytes.below(2); }

void activation(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = begun<fovea_activation_args>(bytes);
  draw_rows(bytes, memory, &a, &a.factor);
  a.activation = activation_kind(bytes);
  if (bytes.flag()) a.alpha = real(bytes, 1.0f);
  call(memory, fovea_activation, &a, &a.y.data);
}

void norm(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = begun<fovea_norm_args>(bytes);
  draw_rows(bytes, memory, &a, &a.gate);
  a.norm = fovea_norm_kind(bytes.below(24) == 1 ? 3 : bytes.below(3));
  a.gate_order = fovea_norm_gate(one_of_two(bytes));
  a.gate_activation = activation_kind(bytes);
  a.residual_dtype = row_format(bytes);
  if (bytes.flag()) {
    const Rows n = {a.batch, a.heads, a.tokens, a.dim};
    draw(bytes, memory, &a.residual, n, unit(a.residual_dtype));
    dense(bytes, &a.sum, n);
    if (bytes.flag()) a.sum.data = rows(memory, a.sum, n, true, unit(a.residual_dtype));
  }
  a.epsilon = real(bytes, 1e-5f);
  if (bytes.flag()) {
    a.weight_head_stride = bytes.flag() ? stride_of(bytes, a.dim) : 0;
    a.weight = memory.in<float>(a.dim, {a.heads}, {a.weight_head_stride});
  }
  if (bytes.flag()) a.bias = memory.in<float>(a.dim, {a.heads}, {a.weight_head_stride});
  a.weight_offset = bytes.flag() ? real(bytes, 1.0f) : 0;
  spoil(bytes, {&a.weight, &a.bias, &a.residual.data});
  call(memory, fovea_norm, &a, &a.y.data);
}

void conv1d(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = begun<fovea_conv1d_args>(bytes);
  a.batch = count(bytes, 4), a.tokens = count(bytes, 40), a.channels = count(bytes, 40), a.kernel_size = count(bytes, 8);
  a.silu = bytes.flag();
  const bool channels_first = bytes.flag();
  const auto strides = [&](ptrdiff_t* batch, ptrdiff_t* token, ptrdiff_t* channel) {
    *channel = channels_first ? stride_of(bytes, a.tokens) : bytes.below(24) == 1 ? stride(bytes) : 1;
    *token = channels_first ? 1 : stride_of(bytes, a.channels);
    *batch = stride_of(bytes, Wide{a.tokens} * a.channels);
  };
  strides(&a.x_batch_stride, &a.x_token_stride, &a.x_channel_stride);
  strides(&a.y_batch_stride, &a.y_token_stride, &a.y_channel_stride);
  a.x = memory.in<float>(1, {a.batch, a.tokens, a.channels}, {a.x_batch_stride, a.x_token_stride, a.x_channel_stride});
  a.y = memory.out<float>(1, {a.batch, a.tokens, a.channels}, {a.y_batch_stride, a.y_token_stride, a.y_channel_stride});
  a.weight_stride = stride_of(bytes, a.kernel_size);
  a.weight = memory.in<float>(a.kernel_size, {a.channels}, {a.weight_stride});
  if (bytes.flag()) a.bias = memory.in<float>(a.channels);
  if (bytes.flag() && a.kernel_size != 0) a.state = memory.out<float>(size_t{a.batch} * (a.kernel_size - 1) * a.channels);
  spoil(bytes, {&a.x, &a.y, &a.weight, &a.bias, &a.state});
  call(memory, fovea_conv1d, &a, &a.y);
}

}  // namespace

void run(Bytes bytes) {
  bytes.choose<void (*)(Bytes&)>(
      {softmax, linear, rope, frequencies, cache, delta, activation, norm, conv1d, rotate, multihead})(bytes);
}

}  // namespace fovea_test
