// SPDX-License-Identifier: Apache-2.0
//
// Descriptions and arguments with any numbers in any field. What is refused must have written nothing; what is accepted
// runs with arrays of exactly the bytes that the arguments describe, so that the address sanitizer sees any other byte
// touched. Where they describe more than a test has memory for, the workspace is too small, and the call must be
// refused.
#include <algorithm>

#include "fuzz/draw.h"
#include "support/formats.h"
#include "support/problem.h"
#include "support/shuffler.h"

namespace fovea_test {
namespace {

constexpr double kMostWork = 2e6;        // multiply-adds of a call

bool is_scaled(fovea_dtype dtype) { return dtype == FOVEA_I8 || is_grouped(dtype); }

// Scales and zero points of tensors, some of which may not go together.
void add_tensors(Bytes& bytes, fovea_attention_desc* d) {
  const uint32_t which = bytes.below(64);
  if (which % 4 != 0) return;
  if (which & 4) d->q_dtype = FOVEA_I8, d->q_scale = which & 8 ? 0.02f : 0;
  if (which & 16) d->out_dtype = FOVEA_I8, d->out_scale = 0.03f, d->out_zero_point = bytes.take<int8_t>();
  if (which & 32 && d->key_dtype == FOVEA_I8) d->key_scale = 0.01f, d->key_zero_point = bytes.take<int8_t>();
  if (bytes.flag() && d->value_dtype == FOVEA_I8) d->value_scale = 0.01f, d->value_zero_point = bytes.take<int8_t>();
  if (bytes.flag()) d->q_zero_point = bytes.take<int8_t>();
}

fovea_attention_desc description(Bytes& bytes) {
  auto d = sized<fovea_attention_desc>();
  d.kv_heads = 1 + bytes.below(3), d.q_heads = d.kv_heads * (1 + bytes.below(4));
  d.head_dim = 1 + bytes.below(70), d.value_dim = 1 + bytes.below(70);
  d.max_batch = bytes.below(4), d.max_q_tokens = bytes.below(20), d.max_kv_tokens = bytes.below(150);
  d.causal = bytes.choose(kCausals);
  d.q_dtype = bytes.choose(kFloatTypes);
  d.out_dtype = bytes.choose(kFloatTypes);
  d.key_dtype = bytes.choose(kKeyTypes);
  d.value_dtype = bytes.choose(kKeyTypes);
  d.kv_kind = bytes.choose({FOVEA_KV_STRIDED, FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED, FOVEA_KV_LOAD});
  d.pinned_tokens = bytes.below(10);
  if (d.kv_kind == FOVEA_KV_RING) d.ring_tokens = d.pinned_tokens + 1 + bytes.below(90);
  if (d.kv_kind == FOVEA_KV_RING && bytes.flag()) d.window_left = 1 + bytes.below(60);
  d.allow_evicted = bytes.flag();
  if (d.kv_kind == FOVEA_KV_PAGED) d.page_tokens = bytes.flag() ? 64 * (1 + bytes.below(2)) : 1 + bytes.below(80);
  d.target = fovea_target_at(bytes.below(fovea_target_count()));
  d.portable_bits = bytes.flag();
  const uint32_t features = bytes.below(64);
  d.processor_features = features % 16;
  if (features / 16 == 2) {
    d.compute = FOVEA_COMPUTE_F16, d.key_dtype = d.value_dtype = FOVEA_F16;
  } else if (features / 16 == 3) {
    d.compute = FOVEA_COMPUTE_I8;
    if (!is_scaled(d.key_dtype)) d.key_dtype = FOVEA_I8;
    if (!is_scaled(d.value_dtype)) d.value_dtype = FOVEA_I8;
    add_tensors(bytes, &d);
  }
  d.max_workers = bytes.below(4);
  d.key_split_tokens = bytes.choose({0u, 0u, 64u});
  if (bytes.below(4) == 1) d.diagonal = enum_of<fovea_diagonal>(bytes.below(4));
  if (bytes.below(4) == 1) d.hadamard = enum_of<fovea_hadamard_rows>(bytes.below(4)), d.hadamard_seed = bytes.below(2);
  if (bytes.below(4) == 1) d.key_mass_queries = bytes.below(8);
  damage(bytes, &d, sizeof d / 4);
  return d;
}

int start(void*, const fovea_kv_tile* tile) {
  // All that the contract gives to it.
  expect(tile->count <= FOVEA_KEY_TILE, "a tile of too many tokens");
  return 0;
}

struct Loading {
  fovea_attention_desc desc;
  static int load(void* self, const fovea_kv_tile* tile) {
    const fovea_attention_desc& d = static_cast<Loading*>(self)->desc;
    std::memset(tile->keys, 1, tile->count * row_units(d.key_dtype, d.head_dim) * unit_size(d.key_dtype));
    std::memset(tile->values, 1, tile->count * row_units(d.value_dtype, d.value_dim) * unit_size(d.value_dtype));
    const size_t key_scales = row_scales(d.key_dtype, d.head_dim) * scale_size(d.key_dtype);
    const size_t value_scales = row_scales(d.value_dtype, d.value_dim) * scale_size(d.value_dtype);
    if (tile->key_scales != nullptr) std::memset(tile->key_scales, 1, tile->count * key_scales);
    if (tile->value_scales != nullptr) std::memset(tile->value_scales, 1, tile->count * value_scales);
    return start(self, tile);
  }
};

// Changes each element, which the block must have.
void halve(void*, const fovea_score_block* block) {
  expect(block->rows > 0 && block->keys > 0 && block->keys <= FOVEA_KEY_TILE, "a block of no or too many elements");
  for (const auto& [r, k] : indices(block->rows, block->keys)) {
    block->data[ptrdiff_t(r) * block->row_stride + ptrdiff_t(k) * block->key_stride] *= 0.5f;
  }
}

// Counts and strides of arguments, then memory for exactly that.
class Arguments {
 public:
  Arguments(const fovea_attention_plan& plan, Bytes& bytes, bool streams)
      : d_(*fovea_attention_plan_desc(&plan)), memory(bytes.take<uint8_t>()), shuffler(1 + bytes.below(4)) {
    a.struct_bytes = sizeof a;
    a.batch = count(bytes, d_.max_batch), a.q_tokens = count(bytes, d_.max_q_tokens);
    a.kv_tokens = count(bytes, d_.max_kv_tokens);
    // fovea_stream_end does not look at offsets.
    ragged_q = bytes.below(6) == 0 && !streams, ragged_kv = bytes.below(6) == 0 && !streams;
    if (ragged_kv) a.kv_tokens = count(bytes, d_.max_batch * d_.max_kv_tokens);
    if (bytes.below(16) == 0) a.struct_bytes = struct_bytes(bytes, sizeof a);
    if (bytes.below(16) == 0) a.q_tokens = word(bytes);
    if (bytes.below(16) == 0) a.kv_tokens = word(bytes);
    if (bytes.below(16) == 0) a.batch = word(bytes);
    if (bytes.below(3) == 0) a.scores_stage = enum_of<fovea_scores_stage>(bytes.below(6));
    if (bytes.below(3) == 0) a.mask.kind = enum_of<fovea_mask_kind>(bytes.below(6));
    if (a.mask.kind != FOVEA_MASK_NONE || bytes.below(16) == 0) {
      a.mask.kv_tokens = bytes.below(8) == 0 ? word(bytes) : bytes.below(8) == 0 ? 0 : a.kv_tokens;
    }
    a.kv.pages = bytes.below(8) == 0 ? word(bytes) : bytes.below(20);
    a.dropout_seed = bytes.take<uint8_t>();

    const bool lse = bytes.flag();
    const size_t key_units = row_units(d_.key_dtype, d_.head_dim),
                 value_units = row_units(d_.value_dtype, d_.value_dim);
    rows(bytes, &a.q, d_.q_heads, a.q_tokens, d_.head_dim);
    rows(bytes, &a.out, d_.q_heads, a.q_tokens, d_.value_dim);
    if (d_.q_dtype == FOVEA_I8) rows(bytes, &a.q_scales, d_.q_heads, a.q_tokens, 1);
    a.value_channel_stride = bytes.below(4) == 0 ? stride(bytes) : ptrdiff_t(d_.value_dim);
    rows(bytes, &a.lse, d_.q_heads, a.q_tokens, 1);
    rows(bytes, &a.scores, d_.q_heads, a.q_tokens, a.kv_tokens);
    rows(bytes, &a.key_mass, d_.kv_heads, 1, a.kv_tokens);
    tokens_ = d_.kv_kind == FOVEA_KV_RING    ? d_.ring_tokens
              : d_.kv_kind == FOVEA_KV_PAGED ? d_.page_tokens
                                             : a.kv_tokens;
    blocks_ = d_.kv_kind == FOVEA_KV_PAGED ? a.kv.pages : ragged_kv ? 1 : a.batch;
    rows(bytes, &a.kv.keys, d_.kv_heads, tokens_, key_units);
    rows(bytes, &a.kv.values, d_.kv_heads, tokens_, value_units);
    rows(bytes, &a.kv.key_scales, d_.kv_heads, tokens_, row_scales(d_.key_dtype, d_.head_dim));
    rows(bytes, &a.kv.value_scales, d_.kv_heads, tokens_, row_scales(d_.value_dtype, d_.value_dim));
    fovea_in mask{};
    a.mask.broadcast_keys = a.mask.kind != FOVEA_MASK_NONE && bytes.below(4) == 1;
    const auto columns = uint32_t(columns_of(a.mask, a.kv_tokens));
    rows(bytes, &mask, d_.q_heads, a.q_tokens, columns);
    a.mask.batch_stride = mask.batch_stride, a.mask.head_stride = mask.head_stride, a.mask.q_stride = mask.token_stride;
    a.score_vector_stride = bytes.below(4) == 0 ? stride(bytes) : ptrdiff_t(d_.head_dim);
    a.kv.page_table_stride = bytes.below(8) == 0 ? stride(bytes) : table_columns();

    // Memory.
    memory.complete = a.batch <= kMostEntries;
    const uint32_t q_batch = ragged_q ? 1 : a.batch;
    a.q.data = of(a.q, unit_size(d_.q_dtype), d_.head_dim, q_batch, d_.q_heads, a.q_tokens, false);
    a.out.data = of(a.out, unit_size(d_.out_dtype), d_.value_dim, q_batch, d_.q_heads, a.q_tokens, true);
    if (d_.q_dtype == FOVEA_I8 && d_.q_scale == 0) {
      a.q_scales.data = of(a.q_scales, 4, 1, q_batch, d_.q_heads, a.q_tokens, false);
    }
    if (d_.compute == FOVEA_COMPUTE_I8 && bytes.below(4) == 1) {
      a.value_channel_scales = memory.in<float>(d_.value_dim, {d_.kv_heads}, {a.value_channel_stride});
    }
    if (lse) a.lse.data = of(a.lse, 4, 1, q_batch, d_.q_heads, a.q_tokens, true);
    if (a.scores_stage != FOVEA_SCORES_NONE) {
      a.scores.data = of(a.scores, 4, a.kv_tokens, a.batch, d_.q_heads, a.q_tokens, true);
    }
    if (d_.key_mass_queries != 0 ? bytes.flag() : bytes.below(16) == 0) {
      a.key_mass.data = of(a.key_mass, 4, a.kv_tokens, ragged_kv ? 1 : a.batch, d_.kv_heads, 1, true);
    }
    if (d_.kv_kind != FOVEA_KV_LOAD) {
      a.kv.keys.data = of(a.kv.keys, unit_size(d_.key_dtype), key_units, blocks_, d_.kv_heads, tokens_, false);
      a.kv.values.data = of(a.kv.values, unit_size(d_.value_dtype), value_units, blocks_, d_.kv_heads, tokens_, false);
      if (d_.key_scale == 0) scales(&a.kv.key_scales, d_.key_dtype, d_.head_dim);
      if (d_.value_scale == 0) scales(&a.kv.value_scales, d_.value_dtype, d_.value_dim);
    }
    if (a.mask.kind != FOVEA_MASK_NONE) {
      a.mask.data = of(mask, mask_element_size(a.mask.kind), columns, a.batch, d_.q_heads, a.q_tokens, false);
      if (bytes.below(4) == 1) a.mask.head_factors = numbers<float>(d_.q_heads, [&] { return 0.5f; });
    }
    const bool places = d_.diagonal == FOVEA_DIAGONAL_POSITIONS || d_.diagonal == FOVEA_DIAGONAL_AS_CAUSAL;
    if (bytes.below(8) != 0 ? places : !places) {
      a.first_positions =
          numbers<int64_t>(a.batch, [&] { return bytes.below(8) == 0 ? bytes.take<int64_t>() : bytes.take<int8_t>(); });
    }
    if (bytes.flag()) a.kv_lengths = indices(bytes, a.batch, a.kv_tokens);
    if (ragged_q) a.q_offsets = offsets(bytes, a.q_tokens);
    if (ragged_kv) a.kv_offsets = offsets(bytes, a.kv_tokens);
    if (d_.kv_kind == FOVEA_KV_RING && bytes.flag()) a.kv.first_tokens = indices(bytes, a.batch, a.kv_tokens);
    if (d_.kv_kind == FOVEA_KV_PAGED) page_table(bytes);
    if (bytes.flag()) a.alibi_slopes = numbers<float>(d_.q_heads, [&] { return 0.5f; });
    if (bytes.flag()) a.sinks = numbers<float>(d_.q_heads, [&] { return 0.5f; });
    if (bytes.below(8) == 1) a.kv.key_center = numbers<float>(d_.kv_heads * d_.head_dim, [&] { return 0.5f; });
    if (d_.score == FOVEA_SCORE_ADDITIVE) {
      a.score_vector = memory.in<float>(d_.head_dim, {d_.kv_heads}, {a.score_vector_stride});
    }
    loading.desc = d_;
    loader = {Loading::load, bytes.flag() ? start : nullptr, &loading};
    if (d_.kv_kind == FOVEA_KV_LOAD) a.kv.loader = &loader;
    if (bytes.flag()) a.executor = shuffler.executor();
    spoil(bytes, streams);
    a.mask.at_end = bytes.below(4) == 1;
    if (bytes.below(4) == 1) block_map(bytes);
    modifier = {bytes.flag() ? halve : nullptr, bytes.flag() ? halve : nullptr, nullptr};
    if (bytes.below(4) == 1) a.modifier = &modifier;
  }

  fovea_attention_args a{};
  bool overlaps = false;  // out lies on q: never right
  bool ragged_q, ragged_kv;

  double work() const {
    // Every head of every entry is visited, whatever its counts.
    const double heads = (double{1} + a.batch) * d_.q_heads;
    const double keys = a.kv_tokens + 64.0, dims = 16.0 + d_.head_dim + d_.value_dim;
    return heads * (1.0 + a.q_tokens) * keys * dims;
  }

 private:
  const fovea_attention_desc d_;

 public:
  Memory memory;

 private:
  Shuffler shuffler;
  Loading loading;
  fovea_loader loader;
  fovea_block_map map{};
  fovea_modifier modifier{};
  uint32_t tokens_, blocks_;

  static uint32_t count(Bytes& bytes, uint32_t most) { return most < 200 ? bytes.below(most + 1) : bytes.below(200); }

  // Dense strides, mostly: then one or all of any value.
  template <class Array>
  void rows(Bytes& bytes, Array* array, uint32_t heads, uint32_t tokens, size_t row) {
    const Wide token = static_cast<Wide>(row), head = token * tokens;
    const uint32_t any = bytes.below(8) == 0 ? bytes.below(8) : 0;
    array->token_stride = any & 1 ? stride(bytes) : as_stride(token);
    array->head_stride = any & 2 ? stride(bytes) : as_stride(head);
    array->batch_stride = any & 4 ? stride(bytes) : as_stride(head * heads);
  }
  template <class Array>
  void* of(const Array& array, size_t element, size_t row, uint32_t batch, uint32_t heads, uint32_t tokens,
           bool output) {
    return fovea_test::rows(memory, array, {batch, heads, tokens, row}, output, element);
  }
  void scales(fovea_in* array, fovea_dtype type, uint32_t dim) {
    if (scale_size(type) != 0)
      array->data = of(*array, scale_size(type), row_scales(type, dim), blocks_, d_.kv_heads, tokens_, false);
  }
  template <class T, class Number>
  const T* numbers(uint32_t elements, Number number) {
    if (elements > kMostBytes / sizeof(T)) {
      memory.complete = false;
      return nullptr;
    }
    T* const values = static_cast<T*>(memory.allocate(alignof(T), elements * sizeof(T), false));
    for (uint32_t i = 0; i < elements; ++i) values[i] = number();
    return values;
  }
  const uint32_t* indices(Bytes& bytes, uint32_t elements, uint32_t most) {
    return numbers<uint32_t>(
        elements, [&] { return bytes.below(32) == 0 ? word(bytes) : bytes.below(most < 1000 ? most + 1 : 1000); });
  }
  const uint32_t* offsets(Bytes& bytes, uint32_t most) {
    uint32_t last = 0;
    return numbers<uint32_t>(a.batch == UINT32_MAX ? UINT32_MAX : a.batch + 1, [&] {
      if (bytes.below(32) == 0) return word(bytes);
      const uint32_t left = most > last ? most - last : 0;
      return last += bytes.below(left < 200 ? left + 1 : 200);
    });
  }
  uint32_t table_columns() const {
    return d_.page_tokens == 0 ? 0 : uint32_t((uint64_t{a.kv_tokens} + d_.page_tokens - 1) / d_.page_tokens);
  }
  void page_table(Bytes& bytes) {
    auto* const table =
        static_cast<uint32_t*>(memory.array(4, table_columns(), {a.batch}, {a.kv.page_table_stride}, false));
    a.kv.page_table = table;
    if (!memory.complete) return;
    for (const auto& [b, column] : fovea_test::indices(a.batch, table_columns())) {
      uint32_t& page = table[ptrdiff_t(b) * a.kv.page_table_stride + column];
      page = bytes.below(64) == 1 ? word(bytes) : bytes.below(a.kv.pages < 255 ? a.kv.pages + (a.kv.pages == 0) : 255);
    }
  }
  // Lists that rise, mostly, of numbers that exist.
  void block_map(Bytes& bytes) {
    map.q_block = bytes.below(16) == 1 ? word(bytes) : 1 + bytes.below(20);
    map.kv_block = bytes.below(16) == 1 ? word(bytes) : 64 * (1 + bytes.below(2));
    const uint64_t lists = map.q_block == 0 ? 0 : (uint64_t{a.q_tokens} + map.q_block - 1) / map.q_block;
    const uint32_t keys = map.kv_block == 0 ? 0 : (a.kv_tokens + map.kv_block - 1) / map.kv_block;
    map.head_stride = bytes.below(8) == 1 ? stride(bytes) : bytes.flag() ? 0 : ptrdiff_t(lists + 1);
    map.batch_stride = bytes.below(8) == 1 ? stride(bytes) : bytes.flag() ? 0 : ptrdiff_t((lists + 1) * d_.kv_heads);
    auto* const list_offsets = static_cast<uint32_t*>(
        memory.array(4, size_t(lists + 1), {a.batch, d_.kv_heads}, {map.batch_stride, map.head_stride}, false));
    map.offsets = list_offsets;
    map.block_count = bytes.below(40);
    uint32_t last = 0;
    map.blocks = numbers<uint32_t>(map.block_count, [&] {
      if (bytes.below(64) == 1) return word(bytes);
      last = last + 1 + bytes.below(2);
      if (last > keys) last = 1;
      return (last - 1) | (bytes.flag() ? FOVEA_BLOCK_ALL : 0);
    });
    a.block_map = &map;
    if (!memory.complete || lists > 64) return;
    for (const auto& [b, h] : fovea_test::indices(a.batch, d_.kv_heads)) {
      uint32_t offset = bytes.below(8);
      for (uint64_t r = 0; r <= lists; ++r) {
        list_offsets[ptrdiff_t(b) * map.batch_stride + ptrdiff_t(h) * map.head_stride + ptrdiff_t(r)] =
            bytes.below(64) == 1 ? word(bytes) : offset;
        offset = std::min(offset + bytes.below(3), map.block_count);
      }
    }
  }
  // Spoils a pointer now and then: null, off its alignment, or an output that lies on an input.
  void spoil(Bytes& bytes, bool streams) {
    struct Pointer {
      const void** data;
      size_t element;
    };
    const auto output = [](auto& array) { return const_cast<const void**>(&array.data); };
    const Pointer pointers[] = {{&a.q.data, unit_size(d_.q_dtype)},
                                {output(a.out), unit_size(d_.out_dtype)},
                                {output(a.lse), 4},
                                {output(a.scores), 4},
                                {&a.kv.keys.data, unit_size(d_.key_dtype)},
                                {&a.kv.values.data, unit_size(d_.value_dtype)},
                                {&a.kv.key_scales.data, scale_size(d_.key_dtype)},
                                {&a.kv.value_scales.data, scale_size(d_.value_dtype)},
                                {&a.q_scales.data, 4},
                                {&a.mask.data, mask_element_size(a.mask.kind)}};
    const Pointer& one = pointers[bytes.below(10)];
    switch (bytes.below(16)) {
      case 0: *one.data = nullptr; break;
      case 1:
        if (*one.data != nullptr && one.element > 1) *one.data = static_cast<const char*>(*one.data) + 1;
        break;
      case 2:
        if (streams) break;  // whose end does not look at queries
        overlaps = a.batch != 0 && a.q_tokens != 0;
        a.out.data = const_cast<void*>(a.q.data);
        break;
      default: break;
    }
  }
};

}  // namespace

void run(Bytes bytes) {
  const fovea_attention_desc desc = description(bytes);
  fovea_attention_plan plan;
  std::memset(&plan, 0xa5, sizeof plan);
  const fovea_status planned = fovea_attention_plan_init(&plan, &desc);
  for (uint32_t i = 0; i < fovea_target_count(); ++i) bytes_of(fovea_attention_workspace_bytes_for, &desc, fovea_target_at(i));
  if (planned != FOVEA_OK) {
    for (size_t i = 0; i < sizeof plan; ++i) {
      expect(reinterpret_cast<const uint8_t*>(&plan)[i] == 0xa5, "a refused description wrote the plan");
    }
    return;
  }
  char text[256];
  fovea_attention_plan_describe(&plan, 1, 1, text, sizeof text);

  const bool streams = bytes.below(4) == 0;
  Arguments arguments(plan, bytes, streams);
  fovea_attention_args& a = arguments.a;
  const size_t whole = bytes_of(fovea_attention_workspace_bytes, &plan);
  size_t fast_bytes = whole;
  if (bytes.below(4) == 0) fast_bytes = bytes.below(uint32_t(std::min(whole, kMostBytes) / 64 + 1)) * 64;
  const size_t slow_bytes = bytes_of(fovea_attention_slow_workspace_bytes, &plan, fast_bytes);
  const bool runs =
      arguments.memory.complete && arguments.work() < kMostWork && fast_bytes <= kMostBytes && slow_bytes <= kMostBytes;
  if (!runs) {
    // Nothing may be touched: arrays may be anywhere.
    if (whole == 0) return;
    alignas(64) char byte[64];
    expect(fovea_attention(&plan, &a, byte, 0) != FOVEA_OK, "no workspace is enough");
    return;
  }
  void* const fast = arguments.memory.allocate(64, std::max<size_t>(fast_bytes, 1), true);
  a.slow_workspace_bytes = slow_bytes;
  if (slow_bytes != 0) a.slow_workspace = arguments.memory.allocate(64, slow_bytes, true);
  fovea_status status = FOVEA_OK;
  if (!streams) {
    status = fovea_attention(&plan, &a, fast, fast_bytes);
  } else {
    const size_t state_bytes = bytes_of(fovea_stream_state_bytes, &plan, a.batch, a.q_tokens);
    if (state_bytes == 0 || state_bytes > kMostBytes) return;
    auto* const state = static_cast<fovea_stream_state*>(arguments.memory.allocate(64, state_bytes, false));
    const int64_t first_key = bytes.below(4) == 0 ? bytes.take<int64_t>() : bytes.take<uint8_t>();
    if (fovea_stream_begin(&plan, state, state_bytes, a.batch, a.q_tokens, first_key) != FOVEA_OK) return;
    fovea_stream_push(&plan, state, &a, fast, fast_bytes);
    status = fovea_stream_end(&plan, state, &a, fast, fast_bytes);
  }
  if (arguments.overlaps) expect(status != FOVEA_OK, "an overlap is not refused");
  if (!streams && status != FOVEA_OK && status != FOVEA_ERR_LOAD && status != FOVEA_ERR_EXECUTOR) {
    expect(arguments.memory.outputs_untouched(), "a refused call wrote something");
  }
}

}  // namespace fovea_test
