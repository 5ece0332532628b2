// SPDX-License-Identifier: Apache-2.0
#include "bench/subjects.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "bench/work.h"
#include "platform/platform.h"

namespace fovea::bench {
namespace {

constexpr size_t kDrawFloats = 4096;     // new random values in each array before each batch
constexpr float kUnitVariance = 1.732f;  // half width at which the variance is 1, so that scores vary as in a model

constexpr uint32_t kPageTokens = 64;

bool is_cached(const Shape& s) { return s.kv_dtype != FOVEA_F32 || s.source != FOVEA_KV_STRIDED || s.prefix; }
uint32_t entries_drawn(const Shape& s) { return is_cached(s) ? 1 : s.batch; }  // all of a cache are alike

// Tokens that are appended to a ring: enough to wrap around.
uint32_t tokens_put_in(const fovea_kv_cache_desc& c) {
  return c.kind == FOVEA_KV_RING ? c.max_tokens + c.max_tokens / 2 : c.max_tokens;
}

fovea_kv_cache_desc cache_of(const Shape& s) {
  fovea_kv_cache_desc c = {};
  c.struct_bytes = sizeof c;
  c.kind = s.source;
  c.key_dtype = c.value_dtype = s.kv_dtype;
  c.batch = s.batch;
  c.kv_heads = s.kv_heads;
  c.head_dim = s.head_dim;
  c.value_dim = s.value_dim;
  c.max_tokens = s.kv_tokens - s.prefix;
  if (s.source == FOVEA_KV_PAGED) {
    c.page_tokens = kPageTokens;
    c.pages = s.batch * ((c.max_tokens + kPageTokens - 1) / kPageTokens);
  }
  return c;
}

fovea_kv_cache_desc prefix_of(Shape s) {
  s.source = FOVEA_KV_STRIDED, s.batch = 1, s.kv_tokens = s.prefix, s.prefix = 0;
  return cache_of(s);
}

fovea_attention_desc description(const Shape& s, fovea_target target) {
  fovea_attention_desc d = {};
  d.struct_bytes = sizeof d;
  d.q_heads = s.q_heads;
  d.kv_heads = s.kv_heads;
  d.head_dim = s.head_dim;
  d.value_dim = s.value_dim;
  d.max_batch = s.batch;
  d.max_q_tokens = s.q_tokens;
  d.max_kv_tokens = s.kv_tokens - s.prefix;
  d.max_prefix_tokens = s.prefix;
  if (s.additive) d.score = FOVEA_SCORE_ADDITIVE;
  d.softcap = s.softcap;
  d.dropout = s.dropout;
  d.causal = s.causal;
  d.window_left = s.window_left;
  d.window_right = s.window_right;
  d.q_dtype = d.out_dtype = s.dtype;
  d.key_dtype = d.value_dtype = s.kv_dtype;
  d.compute = s.compute;
  d.portable_bits = s.portable;
  d.kv_kind = s.source;
  if (s.source == FOVEA_KV_RING)
    d.ring_tokens = s.kv_tokens, d.max_kv_tokens = tokens_put_in(cache_of(s)), d.allow_evicted = 1;
  if (s.source == FOVEA_KV_PAGED) d.page_tokens = kPageTokens;
  d.target = target;
  d.processor_features = platform::processor_features();
  d.max_workers = s.threads;
  d.key_split_tokens = s.split;
  return d;
}

// Strides of a dense [batch][heads][tokens][dim].
template <class Array, class T>
Array dense(T* data, size_t heads, size_t tokens, size_t dim) {
  return {data, static_cast<ptrdiff_t>(heads * tokens * dim), static_cast<ptrdiff_t>(tokens * dim),
          static_cast<ptrdiff_t>(dim)};
}

constexpr uint32_t kFullTiles = 96;  // queries that fill whole tiles on every target
uint32_t blocks_of(uint32_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

void change_nothing(void*, const fovea_score_block*) {}

// Compiled for this machine, as a program's own code mostly is.
#if defined(__x86_64__) && defined(__ELF__) && !defined(__clang__)
#define FOR_THIS_MACHINE __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#else
#define FOR_THIS_MACHINE
#endif

// Either rows or keys are adjacent in memory, depending on the kernel.
FOR_THIS_MACHINE void add_alibi(void* self, const fovea_score_block* block) {
  const float* const slopes = static_cast<const float*>(self);
  const int64_t offset = block->first_position - block->first_key;
  if (block->row_stride == 1) {
    float slope[64], position[64];
    for (uint32_t r = 0; r < block->rows; ++r) {
      slope[r] = slopes[block->heads[r]];
      position[r] = static_cast<float>(offset + block->tokens[r]);
    }
    for (uint32_t k = 0; k < block->keys; ++k) {
      float* const s = block->data + static_cast<ptrdiff_t>(k) * block->key_stride;
      const float key = static_cast<float>(k);
      for (uint32_t r = 0; r < block->rows; ++r) s[r] -= slope[r] * std::fabs(position[r] - key);
    }
    return;
  }
  for (uint32_t r = 0; r < block->rows; ++r) {
    float* const s = block->data + static_cast<ptrdiff_t>(r) * block->row_stride;
    const float slope = slopes[block->heads[r]], position = static_cast<float>(offset + block->tokens[r]);
    for (uint32_t k = 0; k < block->keys; ++k) s[k] -= slope * std::fabs(position - static_cast<float>(k));
  }
}

}  // namespace

void RandomFloats::take(Arena& arena, size_t count, float half_width) {
  data_ = arena.take<float>(count);
  count_ = count;
  half_width_ = half_width;
}

void RandomFloats::draw(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    state_ = state_ * 1664525u + 1013904223u;
    data_[i] = (static_cast<float>(state_ >> 8) * 0x1p-23f - 1.0f) * half_width_;
  }
}

void RandomFloats::draw_all() { draw(0, count_); }

void RandomFloats::draw_some(uint32_t round) {
  if (!count_) return;
  const size_t parts = (count_ + kDrawFloats - 1) / kDrawFloats;
  const size_t begin = round % parts * kDrawFloats;
  draw(begin, std::min(begin + kDrawFloats, count_));
}

bool Subject::output_is_finite() const {
  for (size_t i = 0; i < out_count_; ++i) {
    if (out_[i] - out_[i] != 0.0f) return false;
  }
  return true;
}

size_t AttentionCall::arena_bytes(const Shape& shape, fovea_target target) {
  AttentionCall call;
  const fovea_attention_desc d = description(shape, target);
  if (fovea_attention_plan_init(&call.plan_, &d) != FOVEA_OK) return 0;
  Arena counter;
  call.take(shape, counter);
  return counter.used();
}

void AttentionCall::take(const Shape& s, Arena& arena) {
  const size_t q_rows = size_t{s.batch} * s.q_heads * s.q_tokens,
               keys = size_t{entries_drawn(s)} * s.kv_heads * s.kv_tokens;
  q_.take(arena, q_rows * s.head_dim, kUnitVariance);
  keys_.take(arena, keys * s.head_dim, kUnitVariance);
  values_.take(arena, keys * s.value_dim, 1.0f);
  const fovea_kv_cache_desc kept = cache_of(s), shared = prefix_of(s);
  if (is_cached(s)) cache_memory_ = arena.take<unsigned char>(bytes_of(fovea_kv_cache_bytes, &kept));
  if (s.prefix) prefix_memory_ = arena.take<unsigned char>(bytes_of(fovea_kv_cache_bytes, &shared));
  if (s.prefix) prefixes_ = arena.take<const fovea_kv_prefix*>(s.batch);
  out_count_ = q_rows * s.value_dim;
  out_ = arena.take<float>(out_count_);
  if (s.lse) lse_ = arena.take<float>(q_rows);
  mask_count_ = s.mask == FOVEA_MASK_BYTE ? size_t{s.q_tokens} * s.kv_tokens : 0;
  if (s.mask == FOVEA_MASK_F32) mask_f32_.take(arena, size_t{s.q_tokens} * s.kv_tokens, 1.0f);
  if (s.mask == FOVEA_MASK_BYTE) mask_byte_ = arena.take<uint8_t>(mask_count_);
  if (s.alibi || s.change == Change::kAlibi) slopes_.take(arena, s.q_heads, 0.1f);
  if (s.blocks != Blocks::kNone) {
    const size_t lists = blocks_of(s.q_tokens);
    map_offsets_ = arena.take<uint32_t>(lists + 1);
    map_blocks_ = arena.take<uint32_t>(lists * blocks_of(s.kv_tokens));
  }
  if (s.additive) score_vector_.take(arena, s.head_dim, 0.1f);
  if (s.sinks) sinks_.take(arena, s.q_heads, 1.0f);
  positions_ = arena.take<int64_t>(s.batch);
  workspace_bytes_ = bytes_of(fovea_attention_workspace_bytes, &plan_);
  workspace_ = arena.take<unsigned char>(workspace_bytes_);
  state_bytes_ = s.push || s.merge ? bytes_of(fovea_stream_state_bytes, &plan_, s.batch, s.q_tokens) : 0;
  if (state_bytes_) state_ = reinterpret_cast<fovea_stream_state*>(arena.take<unsigned char>(state_bytes_));
  if (s.merge) other_ = reinterpret_cast<fovea_stream_state*>(arena.take<unsigned char>(state_bytes_));
}

fovea_status AttentionCall::init(const Shape& s, fovea_target target, const fovea_executor* executor, Arena& arena) {
  shape_ = s;
  const fovea_attention_desc d = description(s, target);
  status_ = fovea_attention_plan_init(&plan_, &d);
  if (status_ != FOVEA_OK) return status_;
  take(s, arena);
  if (!workspace_ || (state_bytes_ && !state_)) return status_ = FOVEA_ERR_SIZE;
  for (RandomFloats* array : {&q_, &keys_, &values_, &mask_f32_, &slopes_, &sinks_, &score_vector_}) array->draw_all();
  for (size_t i = 0; i < mask_count_; ++i) mask_byte_[i] = static_cast<uint8_t>((i * 2654435761u >> 7) % 4 != 0);
  std::fill_n(positions_, s.batch, 0);

  fovea_attention_args& a = args_;
  a.struct_bytes = sizeof a;
  a.batch = s.batch;
  a.q_tokens = s.q_tokens;
  a.kv_tokens = s.kv_tokens;
  a.q = dense<fovea_in>(q_.data(), s.q_heads, s.q_tokens, s.head_dim);
  a.kv.keys = dense<fovea_in>(keys_.data(), s.kv_heads, s.kv_tokens, s.head_dim);
  a.kv.values = dense<fovea_in>(values_.data(), s.kv_heads, s.kv_tokens, s.value_dim);
  a.out = dense<fovea_out>(out_, s.q_heads, s.q_tokens, s.value_dim);
  if (s.lse) a.lse = dense<fovea_out>(lse_, s.q_heads, s.q_tokens, 1);
  if (s.mask != FOVEA_MASK_NONE) {
    const void* data = s.mask == FOVEA_MASK_F32 ? static_cast<const void*>(mask_f32_.data()) : mask_byte_;
    a.mask = {s.mask, s.kv_tokens, data, 0, 0, static_cast<ptrdiff_t>(s.kv_tokens), 0, nullptr, 0, nullptr};
  }
  if (s.alibi) a.alibi_slopes = slopes_.data();
  if (s.additive) a.score_vector = score_vector_.data();
  if (s.sinks) a.sinks = sinks_.data();
  if (s.causal == FOVEA_CAUSAL_NONE && (s.alibi || s.window_left || s.window_right)) a.first_positions = positions_;
  a.executor = executor;
  if (s.blocks != Blocks::kNone) {
    status_ = make_map();
    if (status_ != FOVEA_OK) return status_;
    a.block_map = &map_;
  }
  if (s.change != Change::kNone) {
    const bool weights = s.change == Change::kNothingToWeights;
    const auto scores = s.change == Change::kAlibi ? add_alibi : weights ? nullptr : change_nothing;
    modifier_ = {scores, weights ? change_nothing : nullptr, slopes_.data()};
    a.modifier = &modifier_;
  }
  if (is_cached(s)) {
    status_ = fill(&cache_, cache_of(s), cache_memory_);
    if (status_ == FOVEA_OK) status_ = fovea_kv_attach(&cache_, &a);
    if (status_ == FOVEA_OK && s.prefix) status_ = share_prefix();
    if (status_ != FOVEA_OK) return status_;
  }
  if (s.merge) {
    shape_.push = s.kv_tokens;
    for (fovea_stream_state* state : {state_, other_}) {
      if (status_ == FOVEA_OK) status_ = begin(state);
      if (status_ == FOVEA_OK) status_ = push_all(state);
    }
    if (status_ == FOVEA_OK) status_ = fovea_stream_end(&plan_, state_, &a, workspace_, workspace_bytes_);
  }
  call();
  return status_;
}

// With edges the byte mask hides keys; else a block is seen or hidden as a whole.
fovea_status AttentionCall::make_map() {
  const Shape& s = shape_;
  if (s.edges) {
    for (uint32_t i = 0; i < s.q_tokens; ++i) {
      for (uint32_t j = 0; j < s.kv_tokens; ++j) mask_byte_[size_t{i} * s.kv_tokens + j] = map_shows(s, i, j);
    }
  }
  fovea_block_map_args args = {};
  args.struct_bytes = sizeof args;
  args.batch = args.q_heads = args.kv_heads = 1;
  args.q_tokens = s.q_tokens, args.kv_tokens = s.kv_tokens;
  args.q_block = s.blocks == Blocks::kAll ? kFullTiles : kBlockTokens;
  args.kv_block = kBlockTokens;
  if (s.edges) {
    args.mask = {mask_byte_, 0, 0, static_cast<ptrdiff_t>(s.kv_tokens)};
  } else {
    args.classify = [](void* self, const fovea_block* block) {
      const Shape& shape = *static_cast<const Shape*>(self);
      bool seen = false;
      for (uint32_t i = 0; i < block->queries; ++i) {
        for (uint32_t j = 0; j < block->keys; ++j)
          seen = seen || map_shows(shape, block->first_query + i, block->first_key + j);
      }
      return seen ? FOVEA_BLOCK_FULL : FOVEA_BLOCK_HIDDEN;
    };
    args.self = &shape_;
  }
  args.offsets = map_offsets_;
  args.blocks = map_blocks_;
  args.most_blocks = blocks_of(s.q_tokens) * blocks_of(s.kv_tokens);
  return fovea_block_map_make(&args, &map_);
}

// With the same tokens in each entry.
fovea_status AttentionCall::fill(fovea_kv_cache* cache, const fovea_kv_cache_desc& kept, void* memory) {
  const fovea_status status = fovea_kv_cache_init(cache, &kept, memory, bytes_of(fovea_kv_cache_bytes, &kept));
  if (status != FOVEA_OK) return status;
  for (uint32_t page = 0; page < kept.pages; ++page) {  // neighbours are far apart
    const uint32_t half = (kept.pages + 1) / 2;
    fovea_kv_cache_arrays(cache)->page_table[page] = page % 2 ? half + page / 2 : page / 2;
  }
  fovea_kv_append_args append = {};
  append.struct_bytes = sizeof append;
  append.batch = 1;
  append.keys = dense<fovea_in>(keys_.data(), kept.kv_heads, shape_.kv_tokens, kept.head_dim);
  append.values = dense<fovea_in>(values_.data(), kept.kv_heads, shape_.kv_tokens, kept.value_dim);
  for (; append.entry < kept.batch; ++append.entry) {
    for (uint32_t left = tokens_put_in(kept); left > 0; left -= append.tokens) {
      append.tokens = std::min(left, kept.max_tokens);
      const fovea_status appended = fovea_kv_append(cache, &append);
      if (appended != FOVEA_OK) return appended;
    }
  }
  return FOVEA_OK;
}

// The rows of a cache of its own, which all entries name.
fovea_status AttentionCall::share_prefix() {
  const fovea_status status = fill(&prefix_cache_, prefix_of(shape_), prefix_memory_);
  const fovea_kv_source& rows = fovea_kv_cache_arrays(&prefix_cache_)->source;
  prefix_ = {sizeof prefix_, shape_.prefix, rows.keys, rows.values, rows.key_scales, rows.value_scales};
  std::fill_n(prefixes_, shape_.batch, &prefix_);
  args_.kv.prefixes = prefixes_;
  return status;
}

fovea_status AttentionCall::begin(fovea_stream_state* state) {
  return fovea_stream_begin(&plan_, state, state_bytes_, shape_.batch, shape_.q_tokens, 0);
}

fovea_status AttentionCall::push_all(fovea_stream_state* state) {
  fovea_attention_args piece = args_;
  const size_t key_heads = size_t{shape_.batch} * shape_.kv_heads;
  const uint32_t mask_bytes = shape_.mask == FOVEA_MASK_F32 ? 4 : 1;
  for (uint32_t first = 0; first < shape_.kv_tokens; first += shape_.push) {
    piece.kv_tokens = std::min(shape_.push, shape_.kv_tokens - first);
    // Pieces are adjacent, each [batch][kv_heads][tokens][dim].
    piece.kv.keys = dense<fovea_in>(keys_.data() + first * key_heads * shape_.head_dim, shape_.kv_heads,
                                    piece.kv_tokens, shape_.head_dim);
    piece.kv.values = dense<fovea_in>(values_.data() + first * key_heads * shape_.value_dim, shape_.kv_heads,
                                      piece.kv_tokens, shape_.value_dim);
    if (shape_.mask != FOVEA_MASK_NONE) {
      piece.mask.data = static_cast<const unsigned char*>(args_.mask.data) + size_t{first} * mask_bytes;
      piece.mask.kv_tokens = piece.kv_tokens;
    }
    const fovea_status status = fovea_stream_push(&plan_, state, &piece, workspace_, workspace_bytes_);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

fovea_status AttentionCall::call_once() {
  if (shape_.merge) return fovea_stream_merge(&plan_, state_, other_);
  if (!shape_.push) return fovea_attention(&plan_, &args_, workspace_, workspace_bytes_);
  fovea_status status = begin(state_);
  if (status == FOVEA_OK) status = push_all(state_);
  if (status == FOVEA_OK) status = fovea_stream_end(&plan_, state_, &args_, workspace_, workspace_bytes_);
  return status;
}

void AttentionCall::call() { note(call_once()); }

void AttentionCall::redraw(uint32_t round) {
  for (RandomFloats* array : {&q_, &keys_, &values_, &mask_f32_, &slopes_, &sinks_, &score_vector_})
    array->draw_some(round);
}

void SoftmaxCall::take(const SoftmaxShape& s, Arena& arena) {
  out_count_ = size_t{s.outer} * s.axis * s.inner;
  in_.take(arena, out_count_, 4.0f);
  out_ = s.in_place ? in_.data() : arena.take<float>(out_count_);
  if (s.mask) mask_.take(arena, out_count_, 1.0f);
}

fovea_status SoftmaxCall::init(const SoftmaxShape& s, fovea_target target, Arena& arena) {
  take(s, arena);
  if (!out_) return status_ = FOVEA_ERR_SIZE;
  in_.draw_all();
  mask_.draw_all();
  log_ = s.log;
  const ptrdiff_t axis_stride = s.inner, outer_stride = static_cast<ptrdiff_t>(size_t{s.axis} * s.inner);
  args_.struct_bytes = sizeof args_;
  args_.target = target;
  args_.y = out_;
  args_.x = in_.data();
  args_.y_outer_stride = args_.x_outer_stride = outer_stride;
  args_.y_axis_stride = args_.x_axis_stride = axis_stride;
  if (s.mask) {
    args_.mask = mask_.data();
    args_.mask_outer_stride = outer_stride;
    args_.mask_axis_stride = axis_stride;
    args_.mask_inner_stride = 1;
  }
  args_.outer = s.outer;
  args_.axis = s.axis;
  args_.inner = s.inner;
  call();
  return status_;
}

void SoftmaxCall::call() { note(log_ ? fovea_log_softmax(&args_) : fovea_softmax(&args_)); }

void SoftmaxCall::redraw(uint32_t round) {
  in_.draw_some(round);
  mask_.draw_some(round);
}

}  // namespace fovea::bench
