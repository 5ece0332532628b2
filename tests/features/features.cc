// SPDX-License-Identifier: Apache-2.0
//
// One call for each feature of fovea_config.h, of small shapes. Prints for each: what it is | the features that it
// needs | status | hash of what was written. check_features.py links it with libraries that lack some features, and
// compares.
#include <fovea/fovea.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr uint32_t kBatch = 2, kQHeads = 4, kKvHeads = 2, kQTokens = 9, kKvTokens = 150, kHeadDim = 12, kValueDim = 7;
constexpr uint32_t kRotaryDim = 8;
constexpr unsigned char kUntouched = 0xa5;
constexpr size_t kWorkspaceBytes = size_t(1) << 20;

// Numbers of any kind, in arrays that are large enough for every format.
float q[kBatch * kQHeads * kQTokens * kHeadDim];
float keys[kBatch * kKvHeads * kKvTokens * kHeadDim], values[kBatch * kKvHeads * kKvTokens * kValueDim];
uint16_t half[kBatch * kKvHeads * kKvTokens * kHeadDim];  // from 1 to 2 as f16, below 2 as bf16
uint8_t codes[kBatch * kKvHeads * kKvTokens * 16];
uint8_t blocks[kBatch * kKvHeads * kKvTokens * 34];  // of q8_0, with the scale 1
float scales[kBatch * kKvHeads * kKvTokens], few[16];
float mask_f32[kQTokens * kKvTokens];
uint8_t mask_byte[kQTokens * kKvTokens];
int64_t positions[kBatch] = {3, -2};
const uint32_t lengths[] = {77, 150}, q_offsets[] = {0, 4, 9}, kv_offsets[] = {0, 70, 150};
const uint32_t pages[] = {5, 0, 3, 2, 4, 1};
const uint32_t list_offsets[] = {0, 2, 4, 5}, listed[] = {0, 2, 1, 2, 1};
const fovea_block_map map = {4, 64, list_offsets, 0, 0, listed, 5};
float key_mass[kBatch * kKvHeads * kKvTokens];
uint64_t turns[kRotaryDim / 2];

// What a call may write.
struct Outputs {
  float out[kBatch * kQHeads * kQTokens * kHeadDim];
  float lse[kBatch * kQHeads * kQTokens];
  float scores[kBatch * kQHeads * kQTokens * kKvTokens];
} outputs;

alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[kWorkspaceBytes];
alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char slow_workspace[kWorkspaceBytes];
alignas(
    FOVEA_WORKSPACE_ALIGNMENT) unsigned char state[FOVEA_STREAM_STATE_BYTES(kBatch * kQHeads * kQTokens, kValueDim)];

template <class T>
T sized() {
  T all = {};
  all.struct_bytes = sizeof all;
  return all;
}

uint32_t next_random = 1;
uint32_t random_bits() { return next_random = next_random * 1664525u + 1013904223u; }
template <size_t kCount>
void fill(float (&x)[kCount]) {
  for (float& element : x) element = float(int32_t(random_bits()) >> 8) / float(1 << 22);
}

void fill_inputs() {
  fill(q), fill(keys), fill(values), fill(scales), fill(few), fill(mask_f32);
  for (uint16_t& element : half) element = uint16_t(0x3c00u | (random_bits() >> 22));
  for (uint8_t& element : codes) element = uint8_t(random_bits() >> 24);
  for (uint8_t& element : blocks) element = uint8_t(random_bits() >> 24);
  for (size_t i = 0; i < sizeof blocks; i += 34) blocks[i] = 0x00, blocks[i + 1] = 0x3c;
  for (uint8_t& element : mask_byte) element = random_bits() >> 31;
  for (uint64_t& element : turns) element = uint64_t(random_bits()) << 30;
}

// ------------------------------------------------------------------------------------------------ attention

struct Call {
  fovea_attention_desc desc = {};
  fovea_attention_args args = {};
  bool streams = false;
  size_t fast_bytes = kWorkspaceBytes;
};

fovea_in input(const void* data, uint32_t heads, uint32_t tokens, uint32_t dim) {
  return {data, ptrdiff_t(heads * tokens * dim), ptrdiff_t(tokens * dim), ptrdiff_t(dim)};
}
fovea_out output(void* data, uint32_t tokens, uint32_t dim) {
  return {data, ptrdiff_t(kQHeads * tokens * dim), ptrdiff_t(tokens * dim), ptrdiff_t(dim)};
}

Call plain_call() {
  Call call;
  fovea_attention_desc& d = call.desc;
  d.struct_bytes = sizeof d;
  d.q_heads = kQHeads, d.kv_heads = kKvHeads, d.head_dim = kHeadDim, d.value_dim = kValueDim;
  d.max_batch = kBatch, d.max_q_tokens = kQTokens, d.max_kv_tokens = kKvTokens;
  fovea_attention_args& a = call.args;
  a.struct_bytes = sizeof a, a.batch = kBatch, a.q_tokens = kQTokens, a.kv_tokens = kKvTokens;
  a.out = output(outputs.out, kQTokens, kValueDim);
  a.q = input(q, kQHeads, kQTokens, kHeadDim);
  a.kv.keys = input(keys, kKvHeads, kKvTokens, kHeadDim);
  a.kv.values = input(values, kKvHeads, kKvTokens, kValueDim);
  return call;
}

int run_tasks(void*, size_t tasks, void (*task)(void*, size_t, uint32_t), void* arg) {
  for (size_t i = tasks; i-- > 0;) task(arg, i, uint32_t(i % 2));
  return 0;
}
const fovea_executor executor = {run_tasks, nullptr, 2};

int load(void*, const fovea_kv_tile* tile) {
  const size_t row = (size_t(tile->batch) * kKvHeads + tile->kv_head) * kKvTokens + tile->first;
  std::memcpy(tile->keys, keys + row * kHeadDim, tile->count * kHeadDim * sizeof(float));
  std::memcpy(tile->values, values + row * kValueDim, tile->count * kValueDim * sizeof(float));
  return 0;
}
const fovea_loader loader = {load, nullptr, nullptr};

void set_keys(Call& c, fovea_dtype dtype, const void* data, uint32_t key_units, uint32_t value_units) {
  c.desc.key_dtype = c.desc.value_dtype = dtype;
  c.args.kv.keys = input(data, kKvHeads, kKvTokens, key_units);
  c.args.kv.values = input(data, kKvHeads, kKvTokens, value_units);
}
void set_i8(Call& c) {
  set_keys(c, FOVEA_I8, codes, kHeadDim, kValueDim);
  c.args.kv.key_scales = c.args.kv.value_scales = input(scales, kKvHeads, kKvTokens, 1);
}
void set_i4(Call& c) {
  set_keys(c, FOVEA_I4, codes, 16, 16);
  c.args.kv.key_scales = c.args.kv.value_scales = input(half, kKvHeads, kKvTokens, 1);
}
void set_q8_0(Call& c) { set_keys(c, FOVEA_Q8_0, blocks, 34, 34); }
void set_all(Call& c, fovea_dtype dtype) {
  set_keys(c, dtype, half, kHeadDim, kValueDim);
  c.desc.q_dtype = c.desc.out_dtype = dtype;
  c.args.q = input(half, kQHeads, kQTokens, kHeadDim);
}
void set_mask(Call& c, fovea_mask_kind kind, const void* data) {
  c.args.mask = {kind, kKvTokens, data, 0, 0, kKvTokens, 0, nullptr, 0, nullptr};
}

void scale(void* self, const fovea_score_block* block) {
  for (uint32_t r = 0; r < block->rows; ++r) {
    for (uint32_t k = 0; k < block->keys; ++k) {
      block->data[ptrdiff_t(r) * block->row_stride + ptrdiff_t(k) * block->key_stride] *= *static_cast<float*>(self);
    }
  }
}
float factor = 0.5f;
const fovea_modifier of_scores = {scale, nullptr, &factor}, of_weights = {nullptr, scale, &factor};

struct Request {
  const char* title;
  const char* needs;  // features, with commas
  void (*change)(Call&);
};

const Request kAttentionRequests[] = {
    {"attention", "", [](Call&) {}},
    {"key lengths", "", [](auto& c) { c.args.kv_lengths = lengths; }},
    {"causal", "", [](auto& c) { c.desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT; }},
    {"causal at positions", "",
     [](auto& c) { c.desc.causal = FOVEA_CAUSAL_POSITIONS, c.args.first_positions = positions; }},
    {"positions", "", [](auto& c) { c.args.first_positions = positions; }},
    {"window", "WINDOWS",
     [](auto& c) { c.desc.window_left = 2, c.desc.window_right = 5, c.args.first_positions = positions; }},
    {"window from a diagonal", "WINDOWS",
     [](auto& c) { c.desc.window_left = 2, c.desc.diagonal = FOVEA_DIAGONAL_BOTTOM_RIGHT; }},
    {"causal window", "WINDOWS", [](auto& c) { c.desc.window_left = 4, c.desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT; }},
    {"rotated keys and values", "HADAMARD",
     [](auto& c) { c.desc.hadamard = FOVEA_HADAMARD_BOTH, c.desc.hadamard_seed = 5; }},
    {"softcap", "SOFTCAP", [](auto& c) { c.desc.softcap = 1.5f; }},
    {"dot score", "", [](auto& c) { c.desc.score = FOVEA_SCORE_DOT; }},
    {"additive score", "ADDITIVE", [](auto& c) { c.desc.score = FOVEA_SCORE_ADDITIVE, c.args.score_vector = few; }},
    {"dropout", "DROPOUT", [](auto& c) { c.desc.dropout = 0.25f, c.args.dropout_seed = 7; }},
    {"alibi", "ALIBI", [](auto& c) { c.args.alibi_slopes = few, c.args.first_positions = positions; }},
    {"causal alibi", "ALIBI", [](auto& c) { c.args.alibi_slopes = few, c.desc.causal = FOVEA_CAUSAL_TOP_LEFT; }},
    {"key mass", "KEY_MASS",
     [](auto& c) { c.desc.key_mass_queries = 2, c.args.key_mass = {key_mass, kKvHeads * kKvTokens, kKvTokens, 0}; }},
    {"lse", "LSE", [](auto& c) { c.args.lse = output(outputs.lse, kQTokens, 1); }},
    {"byte mask", "MASK_BYTE", [](auto& c) { set_mask(c, FOVEA_MASK_BYTE, mask_byte); }},
    {"float mask", "MASK_F32", [](auto& c) { set_mask(c, FOVEA_MASK_F32, mask_f32); }},
    {"float mask times factors", "MASK_F32",
     [](auto& c) { set_mask(c, FOVEA_MASK_F32, mask_f32), c.args.mask.head_factors = few; }},
    {"f16 mask", "F16,MASK_F32", [](auto& c) { set_mask(c, FOVEA_MASK_F16, half); }},
    {"bf16 mask", "BF16,MASK_F32", [](auto& c) { set_mask(c, FOVEA_MASK_BF16, half); }},
    {"mask at the end", "MASK_BYTE,BLOCK_MAPS",
     [](auto& c) { set_mask(c, FOVEA_MASK_BYTE, mask_byte), c.args.mask.kv_tokens = 70, c.args.mask.at_end = 1; }},
    {"block map", "BLOCK_MAPS", [](auto& c) { c.args.block_map = &map, c.desc.portable_bits = 1; }},
    {"scores modified", "MODIFIERS", [](auto& c) { c.args.modifier = &of_scores; }},
    {"weights modified", "MODIFIERS", [](auto& c) { c.args.modifier = &of_weights; }},
    {"weights", "SCORES",
     [](auto& c) {
       c.args.scores = output(outputs.scores, kQTokens, kKvTokens), c.args.scores_stage = FOVEA_SCORES_SOFTMAX;
     }},
    {"sinks", "SINKS", [](auto& c) { c.args.sinks = few; }},
    {"slow workspace", "SLOW_WORKSPACE",
     [](auto& c) {
       c.fast_bytes = 1024, c.args.slow_workspace = slow_workspace, c.args.slow_workspace_bytes = kWorkspaceBytes;
     }},
    {"one query", "FEW_ROWS", [](auto& c) { c.args.q_tokens = 1; }},
    {"one query, portable bits", "", [](auto& c) { c.args.q_tokens = 1, c.desc.portable_bits = 1; }},
    {"executor", "EXECUTOR", [](auto& c) { c.desc.max_workers = 2, c.args.executor = &executor; }},
    {"key splits", "KEY_SPLITS", [](auto& c) { c.desc.key_split_tokens = 64; }},
    {"stream", "STREAMS", [](auto& c) { c.streams = true; }},
    {"ragged", "RAGGED", [](auto& c) { c.args.q_offsets = q_offsets, c.args.kv_offsets = kv_offsets; }},
    {"prefix", "PREFIX",
     [](auto& c) {
       static fovea_kv_prefix prefix;
       static const fovea_kv_prefix* const prefixes[] = {&prefix, &prefix};
       prefix = {sizeof prefix, 70, c.args.kv.keys, c.args.kv.values, {}, {}};
       c.args.kv.prefixes = prefixes, c.desc.max_prefix_tokens = 70;
     }},
    {"ring", "RING",
     [](auto& c) {
       constexpr uint32_t slots = 100;
       c.desc.kv_kind = FOVEA_KV_RING, c.desc.ring_tokens = slots, c.desc.pinned_tokens = 3;
       c.desc.allow_evicted = 1;
       c.args.kv.keys = input(keys, kKvHeads, slots, kHeadDim);
       c.args.kv.values = input(values, kKvHeads, slots, kValueDim);
     }},
    {"pinned tokens", "RING,WINDOWS",
     [](auto& c) { c.desc.pinned_tokens = 3, c.desc.window_left = 4, c.desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT; }},
    {"pages", "PAGES",
     [](auto& c) {
       c.desc.kv_kind = FOVEA_KV_PAGED, c.desc.page_tokens = 50;
       c.args.kv.page_table = pages, c.args.kv.page_table_stride = 3, c.args.kv.pages = 6;
       c.args.kv.keys = input(keys, kKvHeads, 50, kHeadDim);
       c.args.kv.values = input(values, kKvHeads, 50, kValueDim);
     }},
    {"loader", "LOAD", [](auto& c) { c.desc.kv_kind = FOVEA_KV_LOAD, c.args.kv = {}, c.args.kv.loader = &loader; }},
    {"bf16", "BF16", [](auto& c) { set_all(c, FOVEA_BF16); }},
    {"f16", "F16", [](auto& c) { set_all(c, FOVEA_F16); }},
    {"i8", "I8", set_i8},
    {"i4", "I4", set_i4},
    {"blocks of ggml", "GGML", set_q8_0},
    {"integer products of i8", "COMPUTE_I8,I8", [](auto& c) { set_i8(c), c.desc.compute = FOVEA_COMPUTE_I8; }},
    {"integer products of i4", "COMPUTE_I8,I4", [](auto& c) { set_i4(c), c.desc.compute = FOVEA_COMPUTE_I8; }},
    {"tensors of i8", "I8_TENSORS,COMPUTE_I8,I8",
     [](auto& c) {
       set_i8(c), c.desc.compute = FOVEA_COMPUTE_I8;
       c.desc.key_scale = c.desc.value_scale = 0.5f, c.desc.value_zero_point = 3;
       c.args.kv.key_scales = {}, c.args.kv.value_scales = {};
     }},
    {"integer products of blocks", "COMPUTE_I8,GGML", [](auto& c) { set_q8_0(c), c.desc.compute = FOVEA_COMPUTE_I8; }},
    {"products of halves", "COMPUTE_F16,F16",
     [](auto& c) { set_all(c, FOVEA_F16), c.desc.compute = FOVEA_COMPUTE_F16; }},
    {"integer products of one query", "COMPUTE_I8,I8",
     [](auto& c) { set_i8(c), c.desc.compute = FOVEA_COMPUTE_I8, c.args.q_tokens = 1; }},
};

fovea_status attend(const Call& call) {
  fovea_attention_plan plan;
  fovea_status status = fovea_attention_plan_init(&plan, &call.desc);
  if (status != FOVEA_OK) return status;
  if (!call.streams) return fovea_attention(&plan, &call.args, workspace, call.fast_bytes);
  fovea_stream_state* const stream = reinterpret_cast<fovea_stream_state*>(state);
  status = fovea_stream_begin(&plan, stream, sizeof state, kBatch, kQTokens, 0);
  if (status == FOVEA_OK) status = fovea_stream_push(&plan, stream, &call.args, workspace, call.fast_bytes);
  if (status == FOVEA_OK) status = fovea_stream_end(&plan, stream, &call.args, workspace, call.fast_bytes);
  return status;
}

// -------------------------------------------------------------------------------------------- other functions

fovea_status softmax(bool logarithm, bool masked, bool strided) {
  auto a = sized<fovea_softmax_args>();
  a.outer = 3, a.axis = 21, a.inner = strided ? 5 : 1;
  a.x = q, a.y = outputs.out;
  a.x_axis_stride = a.y_axis_stride = ptrdiff_t(a.inner);
  a.x_outer_stride = a.y_outer_stride = ptrdiff_t(a.axis * a.inner);
  if (masked) a.mask = mask_f32, a.mask_axis_stride = 1;
  return logarithm ? fovea_log_softmax(&a) : fovea_softmax(&a);
}

fovea_status rope(fovea_rope_layout layout, bool tables) {
  auto a = sized<fovea_rope_args>();
  a.batch = kBatch, a.heads = kQHeads, a.tokens = kQTokens, a.dim = kHeadDim, a.rotary_dim = kRotaryDim;
  a.layout = layout;
  a.x = input(q, kQHeads, kQTokens, kHeadDim);
  a.y = output(outputs.out, kQTokens, kHeadDim);
  if (tables) {
    a.cos = keys, a.sin = keys + 100, a.table_stride = kRotaryDim / 2, a.table_positions = kQTokens;
  } else {
    a.turns = turns;
  }
  return fovea_rope(&a);
}

fovea_status integer_attention() {
  static int8_t rows[kBatch * kQHeads * kQTokens * kHeadDim];
  std::memcpy(rows, codes, sizeof rows);
  auto a = sized<fovea_integer_attention_args>();
  a.batch = kBatch, a.q_heads = kQHeads, a.kv_heads = kKvHeads, a.q_tokens = kQTokens, a.kv_tokens = kKvTokens;
  a.head_dim = kHeadDim, a.value_dim = kValueDim;
  a.out = output(outputs.out, kQTokens, kValueDim);
  a.q = input(rows, kQHeads, kQTokens, kHeadDim);
  a.keys = input(codes, kKvHeads, kKvTokens, kHeadDim);
  a.values = input(codes, kKvHeads, kKvTokens, kValueDim);
  a.score_multiplier = a.out_multiplier = 1 << 30, a.score_shift = -10, a.out_shift = 1;
  return fovea_integer_attention(&a, workspace, sizeof workspace);
}

// Keys and values of two entries, into a cache of f32.
fovea_status append(fovea_dtype dtype, bool packed) {
  static const uint32_t offsets[] = {0, 70, kKvTokens};
  static float token[kKvHeads * kHeadDim];
  auto d = sized<fovea_kv_cache_desc>();
  d.batch = 2, d.kv_heads = kKvHeads, d.head_dim = kHeadDim, d.value_dim = kValueDim, d.max_tokens = kKvTokens;
  fovea_kv_cache cache;
  auto a = sized<fovea_kv_append_args>();
  a.batch = packed ? 2 : 1, a.tokens = kKvTokens, a.dtype = dtype;
  if (packed) a.offsets = offsets;
  const bool whole = dtype == FOVEA_F32;
  a.keys = input(whole ? static_cast<const void*>(keys) : half, kKvHeads, kKvTokens, kHeadDim);
  a.values = input(whole ? static_cast<const void*>(values) : half, kKvHeads, kKvTokens, kValueDim);
  a.workspace = token, a.workspace_bytes = sizeof token;
  std::memset(workspace, 0, sizeof workspace);
  fovea_status status = fovea_kv_cache_init(&cache, &d, workspace, sizeof workspace);
  if (status == FOVEA_OK) status = fovea_kv_append(&cache, &a);
  const size_t rows = size_t(kKvHeads) * kKvTokens * kHeadDim;  // of the first entry
  if (status == FOVEA_OK) std::memcpy(outputs.scores, fovea_kv_cache_arrays(&cache)->source.keys.data, rows * sizeof(float));
  return status;
}

// The same keys and values, by an image, into a cache of their own.
fovea_status image() {
  alignas(FOVEA_WORKSPACE_ALIGNMENT) static unsigned char memory[kWorkspaceBytes / 4], bytes[kWorkspaceBytes / 4];
  auto d = sized<fovea_kv_cache_desc>();
  d.batch = 1, d.kv_heads = kKvHeads, d.head_dim = kHeadDim, d.value_dim = kValueDim, d.max_tokens = kKvTokens;
  fovea_kv_cache from, to;
  auto append = sized<fovea_kv_append_args>();
  append.batch = 1, append.tokens = kKvTokens;
  append.keys = input(keys, kKvHeads, kKvTokens, kHeadDim), append.values = input(values, kKvHeads, kKvTokens, kValueDim);
  auto a = sized<fovea_kv_image_args>();
  a.tokens = kKvTokens;
  std::memset(memory, 0, sizeof memory);
  fovea_status status = fovea_kv_cache_init(&from, &d, workspace, sizeof workspace);
  if (status == FOVEA_OK) status = fovea_kv_cache_init(&to, &d, memory, sizeof memory);
  if (status == FOVEA_OK) status = fovea_kv_append(&from, &append);
  if (status == FOVEA_OK) status = fovea_kv_export(&from, &a, bytes, sizeof bytes);
  if (status == FOVEA_OK) status = fovea_kv_import(&to, &a, bytes, sizeof bytes);
  if (status == FOVEA_OK) std::memcpy(outputs.scores, memory, sizeof outputs.scores);
  return status;
}

// Empty texts count as a refusal.
fovea_status texts() {
  const Call call = plain_call();
  fovea_attention_plan plan;
  fovea_attention_plan_init(&plan, &call.desc);
  char* const text = reinterpret_cast<char*>(outputs.out);
  const size_t bytes = fovea_attention_plan_describe(&plan, kQTokens, kKvTokens, text, sizeof outputs.out);
  const char* const status = fovea_status_string(FOVEA_ERR_NULL);
  const bool described = bytes > 1 && text[0], named = status[0];
  std::memset(text, kUntouched, sizeof outputs.out);
  text[0] = described && named ? 1 : described || named ? 2 : char(kUntouched);  // the description's bytes may differ
  return described ? FOVEA_OK : FOVEA_ERR_LEFT_OUT;
}

// A linear layer of 9 outputs.
fovea_linear_args linear_layer(uint32_t tokens, uint32_t in_dim, fovea_dtype dtype, const void* weights,
                               ptrdiff_t stride) {
  auto a = sized<fovea_linear_args>();
  a.tokens = tokens, a.in_dim = in_dim, a.out_dim = 9;
  a.x = q, a.x_stride = in_dim, a.y = outputs.out, a.y_stride = 9;
  a.weights.dtype = dtype, a.weights.data = weights, a.weights.row_stride = stride;
  return a;
}
fovea_status run(const fovea_linear_args& a) { return fovea_linear(&a, workspace, sizeof workspace); }

// Weights whose rows are blocks.
fovea_status linear(fovea_dtype dtype, size_t block_bytes) {
  return run(linear_layer(9, 40, dtype, blocks, ptrdiff_t(2 * block_bytes)));
}
fovea_status activated_linear() {
  fovea_linear_args a = linear_layer(1, 8, FOVEA_F32, keys, 8);
  a.activation = FOVEA_ACTIVATION_SILU;
  return run(a);
}
fovea_status linear_of_integers() {
  fovea_linear_args a = linear_layer(2, 40, FOVEA_I8, codes, 40);
  a.compute = FOVEA_COMPUTE_I8, a.weights.scales = scales;
  return run(a);
}
fovea_status linear_of_halves() {
  fovea_linear_args a = linear_layer(2, 40, FOVEA_F16, half, 0);
  a.compute = FOVEA_COMPUTE_F16;
  return run(a);
}

// Linear attention of two sequences, of which the second is longer where they stand one behind the other.
fovea_status delta(fovea_dtype dtype, bool packed, const fovea_executor* on, bool general = false) {
  static const uint32_t offsets[] = {0, 3, kQTokens};
  alignas(FOVEA_WORKSPACE_ALIGNMENT) static unsigned char
      memory[FOVEA_DELTA_STATE_BYTES(kBatch, kQHeads, kHeadDim, kValueDim, FOVEA_DELTA_GENERAL_DIM(kHeadDim))];
  fovea_delta_state* const matrices = reinterpret_cast<fovea_delta_state*>(memory);
  auto a = sized<fovea_delta_args>();
  a.rule = FOVEA_DELTA_RULE_GATED_DELTA;
  a.batch = kBatch, a.q_heads = a.k_heads = a.v_heads = kQHeads, a.tokens = kQTokens;
  a.head_dim = kHeadDim, a.value_dim = kValueDim, a.decay_dim = 1, a.dtype = dtype, a.executor = on;
  if (packed) a.offsets = offsets;
  const void* const rows = dtype == FOVEA_F32 ? static_cast<const void*>(q) : half;
  a.out = output(outputs.out, kQTokens, kValueDim);
  a.q = a.k = input(rows, kQHeads, kQTokens, kHeadDim);
  a.v = input(rows, kQHeads, kQTokens, kValueDim);
  a.decay = a.beta = input(mask_f32, kQHeads, kQTokens, 1);
  if (general) {
    a.rule = FOVEA_DELTA_RULE_GENERAL, a.decay_dim = FOVEA_DELTA_GENERAL_DIM(kHeadDim);
    a.a = a.b = a.decay = a.k;
  }
  const fovea_status status =
      fovea_delta_begin(matrices, sizeof memory, kBatch, kQHeads, kHeadDim, kValueDim, a.decay_dim);
  return status == FOVEA_OK ? fovea_delta(matrices, &a, workspace, sizeof workspace) : status;
}

template <class Args>
Args rows() {
  Args a = {};
  a.struct_bytes = sizeof a, a.batch = kBatch, a.heads = kQHeads, a.tokens = kQTokens, a.dim = kHeadDim;
  a.y = output(outputs.out, kQTokens, kHeadDim);
  a.x = input(q, kQHeads, kQTokens, kHeadDim);
  return a;
}
fovea_status norm(fovea_norm_kind kind, fovea_dtype x_dtype, bool residual) {
  auto a = rows<fovea_norm_args>();
  a.norm = kind, a.epsilon = 1e-5f, a.x_dtype = x_dtype;
  if (x_dtype != FOVEA_F32) a.heads = kKvHeads, a.x = input(half, kKvHeads, kQTokens, kHeadDim);
  if (residual) a.residual = a.x;
  return fovea_norm(&a);
}
fovea_status activation(fovea_activation_kind kind) {
  auto a = rows<fovea_activation_args>();
  a.activation = kind;
  return fovea_activation(&a);
}

fovea_status conv1d() {
  auto a = sized<fovea_conv1d_args>();
  a.batch = 1, a.tokens = kQTokens, a.channels = kHeadDim, a.kernel_size = 4, a.silu = 1;
  a.y = outputs.out, a.x = q, a.weight = keys;
  a.y_token_stride = a.x_token_stride = kHeadDim, a.y_channel_stride = a.x_channel_stride = 1;
  a.weight_stride = 4;
  return fovea_conv1d(&a);
}

fovea_status sum(fovea_dtype dtype) {
  auto a = sized<fovea_binary_args>();
  a.batch = 1, a.heads = kKvHeads, a.tokens = kQTokens, a.dim = kHeadDim;
  a.y = output(outputs.out, kQTokens, kHeadDim);
  a.a = dtype == FOVEA_F32 ? input(q, kKvHeads, kQTokens, kHeadDim) : input(half, kKvHeads, kQTokens, kHeadDim);
  a.b = a.a, a.a_dtype = a.b_dtype = dtype;
  return fovea_add(&a);
}
fovea_status embedding(fovea_dtype dtype, ptrdiff_t row_stride) {
  static const uint32_t indices[2] = {1, 0};
  auto a = sized<fovea_embedding_args>();
  a.tokens = a.rows = 2, a.dim = kHeadDim;
  a.y = outputs.out, a.y_stride = kHeadDim, a.indices = indices;
  a.table.dtype = dtype, a.table.row_stride = row_stride, a.table.data = codes;
  return fovea_embedding(&a);
}
fovea_status integer_sum() {
  auto a = sized<fovea_integer_binary_args>();
  a.batch = a.heads = 1, a.tokens = kQTokens, a.dim = kHeadDim;
  a.y = output(outputs.out, kQTokens, kHeadDim);
  a.a = a.b = input(codes, 1, kQTokens, kHeadDim);
  a.a_multiplier = a.b_multiplier = 1 << 30;
  return fovea_integer_add(&a);
}

struct OtherRequest {
  const char* title;
  const char* needs;
  fovea_status (*run)();
};

const OtherRequest kOtherRequests[] = {
    {"softmax", "", [] { return softmax(false, false, false); }},
    {"log-softmax", "LOG_SOFTMAX", [] { return softmax(true, false, false); }},
    {"masked softmax", "SOFTMAX_MASK", [] { return softmax(false, true, false); }},
    {"softmax of columns", "SOFTMAX_STRIDED", [] { return softmax(false, false, true); }},
    {"integer attention", "INTEGER_ATTENTION", [] { return integer_attention(); }},
    {"rope, halves, tables", "ROPE_HALF_SPLIT", [] { return rope(FOVEA_ROPE_HALF_SPLIT, true); }},
    {"rope, halves, turns", "ROPE_HALF_SPLIT,ROPE_TURNS", [] { return rope(FOVEA_ROPE_HALF_SPLIT, false); }},
    {"rope, pairs, tables", "ROPE_INTERLEAVED", [] { return rope(FOVEA_ROPE_INTERLEAVED, true); }},
    {"rope, pairs, turns", "ROPE_INTERLEAVED,ROPE_TURNS", [] { return rope(FOVEA_ROPE_INTERLEAVED, false); }},
    {"linear layer of blocks", "GGML", [] { return linear(FOVEA_Q8_0, 34); }},
    {"linear layer of five bits", "IQ", [] { return linear(FOVEA_Q5_1, 24); }},
    {"linear layer of super-blocks", "K_QUANTS", [] { return linear(FOVEA_Q4_K, 144); }},
    {"linear layer of integers", "COMPUTE_I8,I8", linear_of_integers},
    {"linear layer of halves", "COMPUTE_F16,F16", linear_of_halves},
    {"linear attention", "", [] { return delta(FOVEA_F32, false, nullptr); }},
    {"linear attention of f16", "F16", [] { return delta(FOVEA_F16, false, nullptr); }},
    {"linear attention of bf16", "BF16", [] { return delta(FOVEA_BF16, false, nullptr); }},
    {"linear attention, packed", "RAGGED", [] { return delta(FOVEA_F32, true, nullptr); }},
    {"linear attention by an executor", "EXECUTOR", [] { return delta(FOVEA_F32, false, &executor); }},
    {"linear attention, general", "GENERAL_DELTA", [] { return delta(FOVEA_F32, false, nullptr, true); }},
    {"norm", "", [] { return norm(FOVEA_NORM_RMS, FOVEA_F32, false); }},
    {"layer norm", "LAYER_NORM", [] { return norm(FOVEA_NORM_LAYER, FOVEA_F32, false); }},
    {"norm of f16", "F16", [] { return norm(FOVEA_NORM_RMS, FOVEA_F16, false); }},
    {"norm of a residual", "RESIDUAL", [] { return norm(FOVEA_NORM_L2, FOVEA_F32, true); }},
    {"silu", "", [] { return activation(FOVEA_ACTIVATION_SILU); }},
    {"relu", "", [] { return activation(FOVEA_ACTIVATION_RELU); }},
    {"gelu", "GELU", [] { return activation(FOVEA_ACTIVATION_GELU); }},
    {"gelu by tanh", "", [] { return activation(FOVEA_ACTIVATION_GELU_TANH); }},
    {"tanh", "TANH", [] { return activation(FOVEA_ACTIVATION_TANH); }},
    {"activated linear layer", "LINEAR_ACTIVATION", [] { return activated_linear(); }},
    {"conv1d", "", conv1d},
    {"integer sum", "", integer_sum},
    {"sum", "", [] { return sum(FOVEA_F32); }},
    {"sum of f16", "F16", [] { return sum(FOVEA_F16); }},
    {"sum of bf16", "BF16", [] { return sum(FOVEA_BF16); }},
    {"embeddings of blocks", "GGML", [] { return embedding(FOVEA_Q8_0, 34); }},
    {"embeddings of numbers of a table", "IQ", [] { return embedding(FOVEA_IQ4_NL, 18); }},
    {"embeddings of super-blocks", "K_QUANTS", [] { return embedding(FOVEA_Q6_K, 210); }},
    {"append", "", [] { return append(FOVEA_F32, false); }},
    {"packed append", "RAGGED", [] { return append(FOVEA_F32, true); }},
    {"append of f16", "F16", [] { return append(FOVEA_F16, false); }},
    {"append of bf16", "BF16", [] { return append(FOVEA_BF16, false); }},
    {"image of tokens", "IMAGES", image},
    {"texts", "TEXT", texts},
};

// ------------------------------------------------------------------------------------------------------------

// Status, and the hash (FNV-1a) of all outputs; 0 where nothing was written.
void print(const char* title, const char* needs, fovea_status status) {
  uint64_t hash = 14695981039346656037u;
  bool untouched = true;
  const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(&outputs);
  for (size_t i = 0; i < sizeof outputs; ++i) {
    untouched = untouched && bytes[i] == kUntouched;
    hash = (hash ^ bytes[i]) * 1099511628211u;
  }
  std::printf("%s|%s|%d|%016llx\n", title, needs, int(status),
              untouched ? 0ull : static_cast<unsigned long long>(hash));
  std::memset(&outputs, kUntouched, sizeof outputs);
}

}  // namespace

int main() {
  fill_inputs();
  std::memset(&outputs, kUntouched, sizeof outputs);
  for (const Request& request : kAttentionRequests) {
    Call call = plain_call();
    request.change(call);
    print(request.title, request.needs, attend(call));
  }
  for (const OtherRequest& request : kOtherRequests) print(request.title, request.needs, request.run());
  return 0;
}
