/* SPDX-License-Identifier: Apache-2.0 */
/* By tests/scripts/check_kept.py: fovea.h of 1.0, to be included before it. */
#define FOVEA_FOVEA_H_
#include <stddef.h>
#include <stdint.h>
#if defined(FOVEA_USE)
#include "fovea/lean/names.h"
#endif
#ifdef __cplusplus
#define FOVEA_EXTERN_C_BEGIN_ extern "C" {
#define FOVEA_EXTERN_C_END_ }
#else
#define FOVEA_EXTERN_C_BEGIN_
#define FOVEA_EXTERN_C_END_
#endif
#if defined(__GNUC__)
#define FOVEA_DECLARATIONS_BEGIN_ _Pragma("GCC visibility push(default)") FOVEA_EXTERN_C_BEGIN_
#define FOVEA_DECLARATIONS_END_ FOVEA_EXTERN_C_END_ _Pragma("GCC visibility pop")
#else
#define FOVEA_DECLARATIONS_BEGIN_ FOVEA_EXTERN_C_BEGIN_
#define FOVEA_DECLARATIONS_END_ FOVEA_EXTERN_C_END_
#endif
FOVEA_DECLARATIONS_BEGIN_
#define FOVEA_VERSION_MAJOR 1
#define FOVEA_VERSION_MINOR 0
#define FOVEA_VERSION_PATCH 0
#define FOVEA_VERSION_TEXT "1.0.0-rc.1"
#define FOVEA_VERSION (FOVEA_VERSION_MAJOR * 10000 + FOVEA_VERSION_MINOR * 100 + FOVEA_VERSION_PATCH)
uint32_t fovea_version(void);
#define FOVEA_WORKSPACE_ALIGNMENT 64
#if defined(__cplusplus) && (__cplusplus >= 201103L || defined(_MSVC_LANG))
#define FOVEA_ENUM_(name, type) enum name : type
#else
#define FOVEA_ENUM_(name, type) typedef type name; enum
#endif
FOVEA_ENUM_(fovea_status, int32_t) { FOVEA_OK = 0, FOVEA_ERR_NULL = -1, FOVEA_ERR_STRUCT = -2, FOVEA_ERR_ENUM = -3, FOVEA_ERR_UNSUPPORTED = -4, FOVEA_ERR_TARGET = -5, FOVEA_ERR_DIM = -6, FOVEA_ERR_HEADS = -7, FOVEA_ERR_SIZE = -8, FOVEA_ERR_NUMBER = -9, FOVEA_ERR_BUDGET = -10, FOVEA_ERR_PLAN = -11, FOVEA_ERR_CAPACITY = -12, FOVEA_ERR_LENGTH = -13, FOVEA_ERR_POSITIONS_MISSING = -14, FOVEA_ERR_MASK = -15, FOVEA_ERR_STRIDE = -16, FOVEA_ERR_OVERLAP = -17, FOVEA_ERR_ALIGNMENT = -18, FOVEA_ERR_WORKSPACE = -19, FOVEA_ERR_LOAD = -20, FOVEA_ERR_STATE = -21, FOVEA_ERR_IMAGE = -22, FOVEA_ERR_EXECUTOR = -23, FOVEA_ERR_PAGE = -24, FOVEA_ERR_FULL = -25, FOVEA_ERR_POSITIONS_TWICE = -26, FOVEA_ERR_POSITION_RANGE = -27, FOVEA_ERR_RING = -28, FOVEA_ERR_MAP = -29, FOVEA_ERR_LEFT_OUT = -30, };
const char* fovea_status_string(fovea_status status);
uint32_t fovea_has(const char* feature);
FOVEA_ENUM_(fovea_target, uint32_t) { FOVEA_TARGET_BEST = 0, FOVEA_TARGET_SCALAR = 1, FOVEA_TARGET_SSE4 = 2, FOVEA_TARGET_AVX2 = 3, FOVEA_TARGET_AVX512 = 4, FOVEA_TARGET_NEON = 5, FOVEA_TARGET_HELIUM = 6, FOVEA_TARGET_WASM = 7, FOVEA_TARGET_AVX512_VNNI = 8, FOVEA_TARGET_AVX2_VNNI = 9, FOVEA_TARGET_NEON_DOTPROD = 10, FOVEA_TARGET_NEON_I8MM = 11, FOVEA_TARGET_NEON_IN_ORDER = 12, FOVEA_TARGET_NEON_IN_ORDER_DOTPROD = 13, FOVEA_TARGET_NEON_IN_ORDER_I8MM = 14, FOVEA_TARGET_RVV128 = 15, FOVEA_TARGET_RVV256 = 16, FOVEA_TARGET_RVV512 = 17, FOVEA_TARGET_XSIMD = 64, };
#define FOVEA_NO_TARGET 0x7fffffffu
#define FOVEA_FEATURE_NEON_DOTPROD 1u
#define FOVEA_FEATURE_NEON_I8MM 2u
#define FOVEA_FEATURE_NEON_IN_ORDER 4u
#define FOVEA_FEATURE_NEON_FP16 8u
uint32_t fovea_target_count(void);
fovea_target fovea_target_at(uint32_t index);
const char* fovea_target_name(fovea_target target);
fovea_target fovea_target_from_name(const char* name);
const char* fovea_target_backend(fovea_target target);
FOVEA_ENUM_(fovea_dtype, uint32_t) { FOVEA_F32 = 0, FOVEA_F16 = 1, FOVEA_BF16 = 2, FOVEA_I8 = 3, FOVEA_I4 = 4, FOVEA_Q8_0 = 5, FOVEA_Q4_0 = 6, FOVEA_Q4_1 = 7, FOVEA_Q4_K = 8, FOVEA_Q6_K = 9, FOVEA_Q5_0 = 10, FOVEA_Q5_1 = 11, FOVEA_IQ4_NL = 12, FOVEA_MXFP4 = 13, FOVEA_Q5_K = 14, FOVEA_IQ4_XS = 15, FOVEA_TQ2_0 = 16, FOVEA_Q3_K = 17, FOVEA_Q2_K = 18, };
FOVEA_ENUM_(fovea_activation_kind, uint32_t) { FOVEA_ACTIVATION_IDENTITY = 0, FOVEA_ACTIVATION_SILU = 1, FOVEA_ACTIVATION_SIGMOID = 2, FOVEA_ACTIVATION_RELU = 3, FOVEA_ACTIVATION_RELU6 = 4, FOVEA_ACTIVATION_HARD_SWISH = 5, FOVEA_ACTIVATION_GELU = 6, FOVEA_ACTIVATION_GELU_TANH = 7, FOVEA_ACTIVATION_TANH = 8, };
FOVEA_ENUM_(fovea_compute, uint32_t) { FOVEA_COMPUTE_F32 = 0, FOVEA_COMPUTE_I8 = 1, FOVEA_COMPUTE_F16 = 2, };
FOVEA_ENUM_(fovea_causal, uint32_t) { FOVEA_CAUSAL_NONE = 0, FOVEA_CAUSAL_TOP_LEFT = 1, FOVEA_CAUSAL_BOTTOM_RIGHT = 2, FOVEA_CAUSAL_POSITIONS = 3, };
typedef struct fovea_in { const void* data; ptrdiff_t batch_stride, head_stride, token_stride; } fovea_in;
typedef struct fovea_out { void* data; ptrdiff_t batch_stride, head_stride, token_stride; } fovea_out;
typedef struct fovea_executor { int (*run)(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg); void* self; uint32_t workers; } fovea_executor;
#define FOVEA_ALL_ENTRIES 0xffffffffu
#define FOVEA_BLOCK_ALL 0x80000000u
typedef struct fovea_block_map { uint32_t q_block; uint32_t kv_block; const uint32_t* offsets; ptrdiff_t batch_stride, head_stride; const uint32_t* blocks; uint32_t block_count; } fovea_block_map;
FOVEA_ENUM_(fovea_block_kind, uint32_t) { FOVEA_BLOCK_HIDDEN = 0, FOVEA_BLOCK_PARTIAL = 1, FOVEA_BLOCK_FULL = 2, };
typedef struct fovea_block { uint32_t batch, kv_head; uint32_t first_query, queries; uint32_t first_key, keys; } fovea_block;
typedef struct fovea_block_map_args { uint32_t struct_bytes; uint32_t batch, q_heads, kv_heads, q_tokens, kv_tokens; uint32_t q_block, kv_block; fovea_in mask; fovea_block_kind (*classify)(void* self, const fovea_block* block); void* self; uint32_t* offsets; uint32_t* blocks; uint32_t most_blocks; uint32_t reserved; } fovea_block_map_args;
fovea_status fovea_block_map_make(const fovea_block_map_args* args, fovea_block_map* map);
fovea_status fovea_block_map_count(const fovea_block_map_args* args, uint32_t* count);
FOVEA_ENUM_(fovea_kv_kind, uint32_t) { FOVEA_KV_STRIDED = 0, FOVEA_KV_RING = 1, FOVEA_KV_PAGED = 2, FOVEA_KV_LOAD = 3, };
FOVEA_ENUM_(fovea_hadamard_rows, uint32_t) { FOVEA_HADAMARD_NONE = 0, FOVEA_HADAMARD_KEYS = 1, FOVEA_HADAMARD_VALUES = 2, FOVEA_HADAMARD_BOTH = 3, };
typedef struct fovea_kv_tile { uint32_t batch, kv_head; uint32_t first, count; uint32_t worker; uint32_t buffer; void *keys, *values; void *key_scales, *value_scales; } fovea_kv_tile;
typedef struct fovea_loader { int (*start)(void* self, const fovea_kv_tile* tile); int (*finish)(void* self, const fovea_kv_tile* tile); void* self; } fovea_loader;
typedef struct fovea_kv_prefix { uint32_t struct_bytes; uint32_t tokens; fovea_in keys, values; fovea_in key_scales, value_scales; } fovea_kv_prefix;
typedef struct fovea_kv_source { fovea_in keys, values; fovea_in key_scales, value_scales; const uint32_t* first_tokens; const uint32_t* page_table; ptrdiff_t page_table_stride; uint32_t pages; const fovea_loader* loader; const float* key_center; const fovea_kv_prefix* const* prefixes; } fovea_kv_source;
FOVEA_DECLARATIONS_END_
#if defined(__AVX512FP16__)
#define FOVEA_TILE_ROWS_MAX 96
#define FOVEA_BLOCK_ROWS_MAX 96
#elif defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(__riscv_vector) || (defined(FOVEA_SIMD_LANES) && FOVEA_SIMD_LANES > 1)
#define FOVEA_TILE_ROWS_MAX 48
#define FOVEA_BLOCK_ROWS_MAX 48
#elif defined(__ARM_NEON) && !defined(__aarch64__)
#define FOVEA_TILE_ROWS_MAX 24
#define FOVEA_BLOCK_ROWS_MAX 48
#elif defined(__ARM_NEON) || defined(__ARM_FEATURE_MVE) || defined(__wasm_simd128__)
#define FOVEA_TILE_ROWS_MAX 12
#define FOVEA_BLOCK_ROWS_MAX 48
#else
#define FOVEA_TILE_ROWS_MAX 4
#define FOVEA_BLOCK_ROWS_MAX 16
#endif
#define FOVEA_KEY_TILE 64
#define FOVEA_PIECE_KEYS 16
#define FOVEA_PIECE_ELEMENTS 8
#define FOVEA_ATTENTION_WORKSPACE_BYTES(head_dim, value_dim) FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_TILE_ROWS_MAX)
#define FOVEA_ATTENTION_KV_WORKSPACE_BYTES(head_dim, value_dim) (4u * FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_BLOCK_ROWS_MAX / 4u) + FOVEA_KV_STAGE_BYTES_(head_dim, value_dim))
#define FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows) FOVEA_LARGER_( FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_LINEAR_ROWS_(rows, FOVEA_TILE_ROWS_MAX)), FOVEA_FEW_ROWS_BYTES_(head_dim, value_dim, (rows) < FOVEA_FEW_ROWS_MAX_ ? (rows) : FOVEA_FEW_ROWS_MAX_))
#define FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows) ((rows) > FOVEA_FEW_ROWS_MAX_ ? FOVEA_ATTENTION_KV_WORKSPACE_BYTES(head_dim, value_dim) : FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows) + FOVEA_KV_STAGE_BYTES_(head_dim, value_dim))
#define FOVEA_ATTENTION_HADAMARD_WORKSPACE_BYTES(head_dim) FOVEA_ALIGN_UP_(FOVEA_SIZE_(head_dim) * FOVEA_TILE_ROWS_MAX * 4u)
#define FOVEA_ATTENTION_KEY_MASS_WORKSPACE_BYTES(kv_tokens, rows) ((FOVEA_SIZE_(kv_tokens) / FOVEA_KEY_TILE + FOVEA_KEY_MASS_MORE_TILES_) * 4u * (FOVEA_KEY_MASS_ROWS_(rows) * (FOVEA_KEY_TILE + 1u) + 4u * (4u + FOVEA_LANES_MAX_)) + 4u * 64u)
#define FOVEA_ATTENTION_I8_WORKSPACE_BYTES(head_dim, value_dim) (4u * FOVEA_WORKSPACE_BYTES_FOR_ROWS_(FOVEA_I8_HEAD_DIM_(head_dim), value_dim, FOVEA_TILE_ROWS_MAX) + FOVEA_I8_BYTES_(head_dim, value_dim, 4u * FOVEA_TILE_ROWS_MAX))
#define FOVEA_ATTENTION_I8_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows) ((rows) > FOVEA_FEW_ROWS_MAX_ ? FOVEA_ATTENTION_I8_WORKSPACE_BYTES(head_dim, value_dim) : FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(FOVEA_I8_HEAD_DIM_(head_dim), value_dim, rows) + FOVEA_I8_BYTES_(head_dim, value_dim, FOVEA_LINEAR_ROWS_(rows, FOVEA_TILE_ROWS_MAX)))
#define FOVEA_STREAM_STATE_BYTES(rows, value_dim) (sizeof(fovea_stream_state) + FOVEA_SIZE_(rows) * (FOVEA_SIZE_(value_dim) + 2u) * 4u)
#define FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(head_dim, value_dim, rows) FOVEA_INTEGER_BYTES_(FOVEA_INTEGER_DIM_(head_dim), FOVEA_INTEGER_DIM_(value_dim), FOVEA_INTEGER_ROWS_OF_(rows))
#define FOVEA_LINEAR_WORKSPACE_BYTES(in_dim, dtype) FOVEA_LINEAR_BYTES_FOR_TOKENS_(in_dim, 2u * FOVEA_TILE_ROWS_MAX, dtype)
#define FOVEA_LINEAR_I8_WORKSPACE_BYTES(in_dim) FOVEA_LINEAR_I8_BYTES_FOR_TOKENS_(in_dim, FOVEA_LINEAR_I8_ROWS_MAX_)
#define FOVEA_DELTA_STATE_BYTES(batch, v_heads, head_dim, value_dim, decay_dim) (sizeof(fovea_delta_state) + FOVEA_ALIGN_UP_(FOVEA_SIZE_(batch) * 4u) + FOVEA_SIZE_(batch) * (v_heads) * FOVEA_DELTA_HEAD_BYTES_(head_dim, value_dim, decay_dim))
#define FOVEA_DELTA_WORKSPACE_BYTES(head_dim, readers) FOVEA_DELTA_BYTES_FOR_GROUPS_(head_dim, FOVEA_DELTA_GROUPS_ * FOVEA_SIZE_(readers))
#define FOVEA_DELTA_GENERAL_WORKSPACE_BYTES(head_dim, readers) (FOVEA_DELTA_WORKSPACE_BYTES(head_dim, readers) + FOVEA_DELTA_GIVEN_BYTES_FOR_GROUPS_(head_dim, FOVEA_DELTA_GROUPS_ * FOVEA_SIZE_(readers)))
#define FOVEA_KV_CACHE_BYTES(key_dtype, value_dtype, batch, kv_heads, max_tokens, head_dim, value_dim) FOVEA_KV_CACHE_BYTES_(FOVEA_ROW_BYTES_(key_dtype, head_dim) + FOVEA_ROW_BYTES_(value_dtype, value_dim), FOVEA_SIZE_(batch) * (kv_heads) * (max_tokens), FOVEA_SIZE_(batch), FOVEA_SIZE_(batch))
#define FOVEA_KV_PAGED_CACHE_BYTES(key_dtype, value_dtype, batch, kv_heads, max_tokens, head_dim, value_dim, page_tokens, pages) FOVEA_KV_CACHE_BYTES_(FOVEA_ROW_BYTES_(key_dtype, head_dim) + FOVEA_ROW_BYTES_(value_dtype, value_dim), FOVEA_SIZE_(pages) * (kv_heads) * (page_tokens), FOVEA_SIZE_(batch), FOVEA_SIZE_(batch) * ((max_tokens) / (page_tokens) + ((max_tokens) % (page_tokens) != 0)))
#define FOVEA_MULTIHEAD_WORKSPACE_BYTES(d_model, q_heads, kv_heads, head_dim, q_rows, kv_rows, weight_dtype) FOVEA_MULTIHEAD_BYTES_(q_heads, kv_heads, head_dim, q_rows, kv_rows, FOVEA_LINEAR_BYTES_FOR_TOKENS_( FOVEA_LARGER_(FOVEA_SIZE_(d_model), FOVEA_SIZE_(q_heads) * (head_dim)), FOVEA_LARGER_(FOVEA_SIZE_(q_rows), FOVEA_SIZE_(kv_rows)), weight_dtype))
#define FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(d_model, q_heads, kv_heads, head_dim, q_rows, kv_rows) FOVEA_MULTIHEAD_BYTES_(q_heads, kv_heads, head_dim, q_rows, kv_rows, FOVEA_LINEAR_I8_BYTES_FOR_TOKENS_( FOVEA_LARGER_(FOVEA_SIZE_(d_model), FOVEA_SIZE_(q_heads) * (head_dim)), FOVEA_LARGER_(FOVEA_SIZE_(q_rows), FOVEA_SIZE_(kv_rows))))
#define FOVEA_SIZE_(count) (sizeof(char) * (count))
#if FOVEA_TILE_ROWS_MAX == 24
#define FOVEA_LANES_MAX_ 4u
#else
#define FOVEA_LANES_MAX_ (FOVEA_TILE_ROWS_MAX / 3u)
#endif
#define FOVEA_ALIGN_UP_(bytes) ((FOVEA_SIZE_(bytes) + 63u) / 64u * 64u)
#define FOVEA_TILE_ARRAYS_ 9u
#define FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, rows) (FOVEA_ALIGN_UP_(FOVEA_SIZE_(head_dim) * (rows) * 4u) + FOVEA_ALIGN_UP_(FOVEA_SIZE_(value_dim) * (rows) * 4u) + FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * FOVEA_SIZE_(rows) * 4u) + FOVEA_TILE_ARRAYS_ * FOVEA_ALIGN_UP_(FOVEA_SIZE_(rows) * 4u))
#define FOVEA_LARGER_(a, b) ((a) > (b) ? (a) : (b))
#define FOVEA_STAGED_ELEMENTS_MIN_ 9u
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_KV_STAGE_BYTES_(head_dim, value_dim) FOVEA_LARGER_(FOVEA_PIECE_KEYS * FOVEA_SIZE_(head_dim) * 4u, FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS * 4u)
#else
#define FOVEA_KV_STAGE_BYTES_(head_dim, value_dim) (FOVEA_KEY_TILE * 4u * (FOVEA_LARGER_(FOVEA_SIZE_(head_dim), FOVEA_STAGED_ELEMENTS_MIN_) + FOVEA_LARGER_(FOVEA_SIZE_(value_dim), FOVEA_STAGED_ELEMENTS_MIN_)) + 4u * FOVEA_ALIGN_UP_(FOVEA_BLOCK_ROWS_MAX))
#endif
#define FOVEA_I8_HEAD_DIM_(head_dim) ((FOVEA_SIZE_(head_dim) + 15u) / 16u * 16u)
#define FOVEA_I8_VALUE_DIM_(value_dim) ((FOVEA_SIZE_(value_dim) + 7u) / 8u * 8u)
#if FOVEA_LANES_MAX_ == 4u
#define FOVEA_I8_WEIGHT_BYTES_ 1u
#else
#define FOVEA_I8_WEIGHT_BYTES_ 2u
#endif
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_I8_STAGE_BYTES_(head_dim, value_dim) (FOVEA_PIECE_KEYS * FOVEA_I8_HEAD_DIM_(head_dim) * 4u + FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS * 4u)
#else
#define FOVEA_I8_STAGE_BYTES_(head_dim, value_dim) (FOVEA_KEY_TILE * 4u * (FOVEA_I8_HEAD_DIM_(head_dim) + FOVEA_I8_VALUE_DIM_(value_dim)))
#endif
#define FOVEA_I8_BYTES_(head_dim, value_dim, rows) ((rows) * (FOVEA_KEY_TILE * FOVEA_I8_WEIGHT_BYTES_ + 16u) + FOVEA_I8_STAGE_BYTES_(head_dim, value_dim) + FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * 20u + FOVEA_I8_VALUE_DIM_(value_dim) * 4u) + 4u * 64u)
#if defined(__ARM_FEATURE_MVE) || defined(__ARM_FEATURE_SIMD32)
#define FOVEA_INTEGER_ROWS_ 32u
#else
#define FOVEA_INTEGER_ROWS_ 4u
#endif
#define FOVEA_INTEGER_ROWS_OF_(rows) ((rows) < FOVEA_INTEGER_ROWS_ ? (FOVEA_SIZE_(rows) + ((rows) == 0) + 3u) / 4u * 4u : FOVEA_SIZE_(FOVEA_INTEGER_ROWS_))
#define FOVEA_INTEGER_DIM_(dim) ((FOVEA_SIZE_(dim) + 15u) / 16u * 16u)
#define FOVEA_INTEGER_STATE_BYTES_ (2u * sizeof(void*) + 32u)
#if defined(__ARM_FEATURE_MVE) || defined(__ARM_FEATURE_SIMD32)
#define FOVEA_INTEGER_BROUGHT_BYTES_(head_dim, value_dim) FOVEA_LARGER_(FOVEA_PIECE_KEYS * (head_dim) * 2u, FOVEA_LARGER_(FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS * 8u, (FOVEA_KEY_TILE + 12u) * (value_dim) + FOVEA_KEY_TILE * 4u))
#else
#define FOVEA_INTEGER_BROUGHT_BYTES_(head_dim, value_dim) 0u
#endif
#define FOVEA_INTEGER_BYTES_(head_dim, value_dim, rows) (FOVEA_ALIGN_UP_((rows) * FOVEA_INTEGER_STATE_BYTES_) + FOVEA_ALIGN_UP_((head_dim) * 2u * (rows)) + FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * 4u * (rows)) + FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * 2u * (rows)) + FOVEA_ALIGN_UP_((value_dim) * 4u * (rows)) + FOVEA_ALIGN_UP_(FOVEA_INTEGER_BROUGHT_BYTES_(head_dim, value_dim)))
#if FOVEA_TILE_ROWS_MAX >= 48
#define FOVEA_FEW_ROWS_MAX_ 8u
#else
#define FOVEA_FEW_ROWS_MAX_ 4u
#endif
#define FOVEA_FEW_ROWS_BYTES_(head_dim, value_dim, rows) (((rows) + 3u) / 4u * (FOVEA_WHOLE_VECTORS_BYTES_(head_dim, (rows) > 2u ? 4u : (rows)) + FOVEA_WHOLE_VECTORS_BYTES_(value_dim, (rows) > 2u ? 4u : (rows)) + FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * FOVEA_LANES_MAX_ * 4u) + FOVEA_TILE_ARRAYS_ * FOVEA_ALIGN_UP_(FOVEA_LANES_MAX_ * 4u)))
#define FOVEA_KEY_MASS_MORE_TILES_ 4u
#if FOVEA_TILE_ROWS_MAX == 12
#define FOVEA_KEY_MASS_TILE_ROWS_ (2u * FOVEA_TILE_ROWS_MAX)
#else
#define FOVEA_KEY_MASS_TILE_ROWS_ FOVEA_TILE_ROWS_MAX
#endif
#define FOVEA_KEY_MASS_ROWS_(rows) ((rows) <= FOVEA_FEW_ROWS_MAX_ ? FOVEA_LARGER_(FOVEA_SIZE_(2u * FOVEA_LANES_MAX_), FOVEA_FEW_ROWS_MAX_) : (rows) < 3u * FOVEA_KEY_MASS_TILE_ROWS_ ? FOVEA_SIZE_(rows) + FOVEA_KEY_MASS_TILE_ROWS_ : FOVEA_SIZE_(4u * FOVEA_KEY_MASS_TILE_ROWS_))
#define FOVEA_WHOLE_VECTORS_BYTES_(dim, rows) FOVEA_ALIGN_UP_((FOVEA_SIZE_(dim) + FOVEA_LANES_MAX_ - 1u) / FOVEA_LANES_MAX_ * FOVEA_LANES_MAX_ * (rows) * 4u)
#define FOVEA_LINEAR_ROWS_(tokens, most) ((tokens) < (most) ? (FOVEA_SIZE_(tokens) + FOVEA_LANES_MAX_ - 1u) / FOVEA_LANES_MAX_ * FOVEA_LANES_MAX_ : FOVEA_SIZE_(most))
#define FOVEA_LINEAR_OUTPUTS_ 64u
#define FOVEA_LINEAR_WIDENED_BYTES_ 4096u
#define FOVEA_LINEAR_BYTES_FOR_TOKENS_(in_dim, tokens, dtype) ((dtype) == FOVEA_F32 ? FOVEA_LINEAR_BYTES_FOR_ROWS_(in_dim, FOVEA_LINEAR_ROWS_(tokens, FOVEA_TILE_ROWS_MAX)) : FOVEA_LINEAR_BYTES_FOR_ROWS_(in_dim, FOVEA_LINEAR_ROWS_(tokens, 2u * FOVEA_TILE_ROWS_MAX)) + FOVEA_LINEAR_WIDENED_BYTES_)
#define FOVEA_LINEAR_BYTES_FOR_ROWS_(in_dim, rows) (FOVEA_ALIGN_UP_(FOVEA_SIZE_(in_dim) * (rows) * 4u) + FOVEA_LINEAR_OUTPUTS_ * (rows) * 4u)
#if FOVEA_LANES_MAX_ == 4u
#define FOVEA_LINEAR_I8_ROWS_MAX_ 16u
#elif FOVEA_LANES_MAX_ > 4u
#define FOVEA_LINEAR_I8_ROWS_MAX_ (2u * FOVEA_TILE_ROWS_MAX)
#else
#define FOVEA_LINEAR_I8_ROWS_MAX_ FOVEA_TILE_ROWS_MAX
#endif
#define FOVEA_LINEAR_I8_BYTES_FOR_TOKENS_(in_dim, tokens) FOVEA_LINEAR_I8_BYTES_FOR_ROWS_(in_dim, FOVEA_LINEAR_ROWS_(tokens, FOVEA_LINEAR_I8_ROWS_MAX_))
#define FOVEA_LINEAR_I8_BYTES_FOR_ROWS_(in_dim, rows) (FOVEA_ALIGN_UP_((FOVEA_SIZE_(in_dim) + 15u) / 16u * 16u * (rows) * 4u) + FOVEA_ALIGN_UP_((rows) * 4u) + FOVEA_ALIGN_UP_((FOVEA_SIZE_(in_dim) + 31u) / 32u * (rows) * 4u) + FOVEA_ALIGN_UP_((FOVEA_SIZE_(in_dim) + 15u) / 16u * (rows) * 4u) + FOVEA_LINEAR_OUTPUTS_ * ((rows) + 1u) * 4u + FOVEA_LINEAR_WIDENED_BYTES_)
#define FOVEA_MULTIHEAD_BYTES_(q_heads, kv_heads, head_dim, q_rows, kv_rows, linear_bytes) (2u * FOVEA_ALIGN_UP_(FOVEA_SIZE_(q_rows) * (q_heads) * (head_dim) * 4u) + 2u * FOVEA_ALIGN_UP_(FOVEA_SIZE_(kv_rows) * (kv_heads) * (head_dim) * 4u) + FOVEA_LARGER_(FOVEA_ATTENTION_WORKSPACE_BYTES(head_dim, head_dim), linear_bytes))
#define FOVEA_DELTA_DIM_(dim) ((FOVEA_SIZE_(dim) + 15u) / 16u * 16u)
#define FOVEA_DELTA_HEAD_BYTES_(head_dim, value_dim, decay_dim) (4u * ((FOVEA_SIZE_(head_dim) + 4u) * FOVEA_DELTA_DIM_(value_dim) + 4u * (FOVEA_DELTA_DIM_(head_dim) + ((decay_dim) > 1u ? FOVEA_DELTA_DIM_(head_dim) : 4u)) + ((decay_dim) == 2u * (head_dim) ? 4u * (FOVEA_DELTA_DIM_(head_dim) + FOVEA_DELTA_DIM_(value_dim)) : 0u)))
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_DELTA_GROUPS_ 1u
#else
#define FOVEA_DELTA_GROUPS_ 8u
#endif
#define FOVEA_DELTA_GROUP_BYTES_ (160u + sizeof(void*))
#if FOVEA_TILE_ROWS_MAX >= 48
#define FOVEA_DELTA_FACTORS_(head_dim) FOVEA_LARGER_(FOVEA_DELTA_DIM_(head_dim) * 16u, (FOVEA_SIZE_(head_dim) + 127u) / 128u * 1872u)
#else
#define FOVEA_DELTA_FACTORS_(head_dim) (FOVEA_DELTA_DIM_(head_dim) * 16u)
#endif
#define FOVEA_DELTA_BYTES_FOR_GROUPS_(head_dim, groups) (FOVEA_DELTA_DIM_(head_dim) * 48u + 1024u + FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_GROUP_BYTES_) + FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_FACTORS_(head_dim) * 4u))
#define FOVEA_DELTA_GIVEN_GROUP_BYTES_ (128u + sizeof(void*))
#if FOVEA_TILE_ROWS_MAX >= 48
#define FOVEA_DELTA_GIVEN_FACTORS_(head_dim) FOVEA_LARGER_(FOVEA_DELTA_DIM_(head_dim) * 4u, (FOVEA_SIZE_(head_dim) + 127u) / 128u * 576u)
#else
#define FOVEA_DELTA_GIVEN_FACTORS_(head_dim) (FOVEA_DELTA_DIM_(head_dim) * 4u)
#endif
#define FOVEA_DELTA_GIVEN_BYTES_FOR_GROUPS_(head_dim, groups) (FOVEA_DELTA_DIM_(head_dim) * 48u + 1024u + FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_GIVEN_GROUP_BYTES_) + FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_GIVEN_FACTORS_(head_dim) * 4u))
#define FOVEA_ROW_BYTES_(dtype, dim) ((dtype) == FOVEA_F32 ? FOVEA_SIZE_(dim) * 4u : (dtype) == FOVEA_F16 || (dtype) == FOVEA_BF16 ? FOVEA_SIZE_(dim) * 2u : (dtype) == FOVEA_I8 ? FOVEA_SIZE_(dim) + 4u : (FOVEA_SIZE_(dim) + 31u) / 32u * ((dtype) == FOVEA_Q8_0 ? 34u : (dtype) == FOVEA_Q5_0 ? 22u : (dtype) == FOVEA_Q5_1 ? 24u : (dtype) == FOVEA_Q4_1 ? 20u : 18u))
#define FOVEA_KV_CACHE_BYTES_(row_bytes, rows, lengths, of_kind) ((rows) * (row_bytes) + FOVEA_ALIGN_UP_((lengths) * 4u) + FOVEA_ALIGN_UP_((of_kind) * 4u) + 4u * 63u)
FOVEA_DECLARATIONS_BEGIN_
FOVEA_ENUM_(fovea_diagonal, uint32_t) { FOVEA_DIAGONAL_AS_CAUSAL = 0, FOVEA_DIAGONAL_TOP_LEFT = 1, FOVEA_DIAGONAL_BOTTOM_RIGHT = 2, FOVEA_DIAGONAL_POSITIONS = 3, };
FOVEA_ENUM_(fovea_score, uint32_t) { FOVEA_SCORE_SCALED_DOT = 0, FOVEA_SCORE_DOT = 1, FOVEA_SCORE_ADDITIVE = 2, FOVEA_SCORE_GENERAL = FOVEA_SCORE_DOT, FOVEA_SCORE_CONCAT = FOVEA_SCORE_ADDITIVE, };
typedef struct fovea_attention_desc { uint32_t struct_bytes; uint32_t q_heads, kv_heads; uint32_t head_dim; uint32_t value_dim; uint32_t max_batch, max_q_tokens, max_kv_tokens; fovea_score score; float scale; float softcap; fovea_causal causal; fovea_diagonal diagonal; uint32_t window_left, window_right; float dropout; fovea_dtype q_dtype, key_dtype, value_dtype, out_dtype; fovea_compute compute; float q_scale, key_scale, value_scale, out_scale; int32_t q_zero_point, key_zero_point, value_zero_point, out_zero_point; fovea_hadamard_rows hadamard; uint64_t hadamard_seed; fovea_kv_kind kv_kind; uint32_t ring_tokens; uint32_t pinned_tokens; uint32_t allow_evicted; uint32_t page_tokens; fovea_target target; uint32_t portable_bits; uint32_t max_workers; uint64_t processor_features; size_t workspace_budget_bytes; uint32_t key_split_tokens; uint32_t key_mass_queries; size_t max_prefix_tokens; } fovea_attention_desc;
#define FOVEA_ATTENTION_PLAN_BYTES 320
typedef union fovea_attention_plan { unsigned char bytes[FOVEA_ATTENTION_PLAN_BYTES]; uint64_t alignment; } fovea_attention_plan;
fovea_status fovea_attention_plan_init(fovea_attention_plan* plan, const fovea_attention_desc* desc);
fovea_status fovea_attention_workspace_bytes(const fovea_attention_plan* plan, size_t* bytes);
fovea_status fovea_attention_workspace_bytes_for(const fovea_attention_desc* desc, fovea_target target, size_t* bytes);
fovea_status fovea_attention_slow_workspace_bytes(const fovea_attention_plan* plan, size_t workspace_bytes, size_t* bytes);
const fovea_attention_desc* fovea_attention_plan_desc(const fovea_attention_plan* plan);
typedef struct fovea_attention_kernel { uint32_t lanes; uint32_t most_rows; uint32_t tile_rows; uint32_t tiles; } fovea_attention_kernel;
fovea_status fovea_attention_plan_kernel(const fovea_attention_plan* plan, uint32_t rows, fovea_attention_kernel* kernel);
size_t fovea_attention_plan_describe(const fovea_attention_plan* plan, uint32_t q_tokens, uint32_t kv_tokens, char* text, size_t text_bytes);
FOVEA_ENUM_(fovea_mask_kind, uint32_t) { FOVEA_MASK_NONE = 0, FOVEA_MASK_F32 = 1, FOVEA_MASK_BYTE = 2, FOVEA_MASK_F16 = 3, FOVEA_MASK_BF16 = 4, };
#define FOVEA_MASK_NO_KEYS 0xffffffffu
typedef struct fovea_mask { fovea_mask_kind kind; uint32_t kv_tokens; const void* data; ptrdiff_t batch_stride, head_stride, q_stride; uint32_t broadcast_keys; const float* head_factors; uint32_t at_end; const void* reserved; } fovea_mask;
fovea_status fovea_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride);
typedef struct fovea_score_block { float* data; ptrdiff_t row_stride, key_stride; uint32_t rows, keys; uint32_t batch; uint32_t kv_head; const uint32_t* heads; const uint32_t* tokens; int64_t first_position; int64_t first_key; uint32_t worker; } fovea_score_block;
typedef struct fovea_modifier { void (*score_mod)(void* self, const fovea_score_block* block); void (*weight_mod)(void* self, const fovea_score_block* block); void* self; } fovea_modifier;
FOVEA_ENUM_(fovea_scores_stage, uint32_t) { FOVEA_SCORES_NONE = 0, FOVEA_SCORES_SCALED = 1, FOVEA_SCORES_CAPPED = 2, FOVEA_SCORES_MASKED = 3, FOVEA_SCORES_SOFTMAX = 4, };
typedef struct fovea_attention_args { uint32_t struct_bytes; uint32_t batch, q_tokens, kv_tokens; fovea_out out; fovea_out lse; fovea_out scores; fovea_scores_stage scores_stage; fovea_in q; fovea_in q_scales; fovea_kv_source kv; const float* value_channel_scales; ptrdiff_t value_channel_stride; const uint32_t* kv_lengths; const uint32_t* q_offsets; const uint32_t* kv_offsets; const int64_t* first_positions; fovea_mask mask; const float* alibi_slopes; const float* sinks; const float* score_vector; ptrdiff_t score_vector_stride; uint64_t dropout_seed; void* slow_workspace; size_t slow_workspace_bytes; const fovea_executor* executor; const fovea_block_map* block_map; const fovea_modifier* modifier; fovea_out key_mass; const void* reserved; } fovea_attention_args;
fovea_status fovea_attention(const fovea_attention_plan* plan, const fovea_attention_args* args, void* workspace, size_t workspace_bytes);
#define FOVEA_DELTA_GENERAL_DIM(head_dim) (2u * (head_dim))
FOVEA_ENUM_(fovea_delta_rule, uint32_t) { FOVEA_DELTA_RULE_LINEAR = 0, FOVEA_DELTA_RULE_GATED = 1, FOVEA_DELTA_RULE_DELTA = 2, FOVEA_DELTA_RULE_GATED_DELTA = 3, FOVEA_DELTA_RULE_GENERAL = 4, };
typedef struct fovea_delta_state { uint32_t magic; uint32_t checksum; uint32_t batch, v_heads, head_dim, value_dim, decay_dim; uint32_t reserved[9]; } fovea_delta_state;
fovea_status fovea_delta_state_bytes(uint32_t batch, uint32_t v_heads, uint32_t head_dim, uint32_t value_dim, uint32_t decay_dim, size_t* bytes);
fovea_status fovea_delta_begin(fovea_delta_state* state, size_t state_bytes, uint32_t batch, uint32_t v_heads, uint32_t head_dim, uint32_t value_dim, uint32_t decay_dim);
fovea_status fovea_delta_set(fovea_delta_state* state, uint32_t entry, const fovea_in* matrices);
fovea_status fovea_delta_get(const fovea_delta_state* state, fovea_target target, uint32_t entry, const fovea_out* matrices);
uint32_t fovea_delta_pending(const fovea_delta_state* state, uint32_t entry);
fovea_status fovea_delta_roll_back(fovea_delta_state* state, uint32_t entry, uint32_t tokens);
fovea_status fovea_delta_export(const fovea_delta_state* state, void* image, size_t image_bytes);
fovea_status fovea_delta_import(fovea_delta_state* state, size_t state_bytes, const void* image, size_t image_bytes);
typedef struct fovea_delta_args { uint32_t struct_bytes; fovea_target target; fovea_delta_rule rule; uint32_t entry, batch; uint32_t q_heads, k_heads; uint32_t v_heads, head_dim, value_dim, decay_dim; uint32_t tokens; const uint32_t* offsets; float scale; fovea_dtype dtype, out_dtype; fovea_out out; fovea_in q; fovea_in k; fovea_in v; fovea_in decay; fovea_in beta; fovea_in a, b; size_t workspace_budget_bytes; const fovea_executor* executor; } fovea_delta_args;
fovea_status fovea_delta_workspace_bytes(const fovea_delta_args* args, size_t* bytes);
fovea_status fovea_delta(fovea_delta_state* state, const fovea_delta_args* args, void* workspace, size_t workspace_bytes);
fovea_status fovea_delta_matrices(const fovea_delta_args* args, const fovea_in* before, const fovea_out* after, void* workspace, size_t workspace_bytes);
fovea_status fovea_delta_matrices_workspace_bytes(const fovea_delta_args* args, size_t* bytes);
typedef struct fovea_integer_attention_args { uint32_t struct_bytes; uint32_t batch; uint32_t q_heads, kv_heads; uint32_t q_tokens, kv_tokens; uint32_t head_dim, value_dim; fovea_out out; fovea_in q; fovea_in keys; fovea_in values; int32_t q_zero_point, value_zero_point, out_zero_point; int32_t score_multiplier, score_shift; int32_t out_multiplier, out_shift; fovea_causal causal; uint32_t window_left, window_right; const int64_t* first_positions; const uint32_t* kv_lengths; } fovea_integer_attention_args;
fovea_status fovea_integer_attention(const fovea_integer_attention_args* args, void* workspace, size_t workspace_bytes);
fovea_status fovea_integer_attention_workspace_bytes(const fovea_integer_attention_args* args, size_t* bytes);
fovea_status fovea_integer_multiplier(double real, int32_t* multiplier, int32_t* shift);
typedef struct fovea_softmax_args { uint32_t struct_bytes; fovea_target target; float* y; ptrdiff_t y_outer_stride, y_axis_stride; const float* x; ptrdiff_t x_outer_stride, x_axis_stride; const float* mask; ptrdiff_t mask_outer_stride, mask_axis_stride, mask_inner_stride; size_t outer, axis, inner; float scale; uint32_t reserved; } fovea_softmax_args;
fovea_status fovea_softmax(const fovea_softmax_args* args);
fovea_status fovea_log_softmax(const fovea_softmax_args* args);
FOVEA_ENUM_(fovea_rope_layout, uint32_t) { FOVEA_ROPE_INTERLEAVED = 1, FOVEA_ROPE_HALF_SPLIT = 2, };
fovea_status fovea_rope_frequencies(uint64_t* turns, double base, double position_scale, uint32_t rotary_dim);
typedef struct fovea_rope_args { uint32_t struct_bytes; fovea_target target; uint32_t batch, heads, tokens; uint32_t dim; uint32_t rotary_dim; fovea_rope_layout layout; uint32_t inverse; fovea_out y; fovea_in x; const uint64_t* turns; const float* cos; const float* sin; ptrdiff_t table_stride; size_t table_positions; const int64_t* first_positions; const int64_t* position_ids; ptrdiff_t position_ids_stride; int64_t position_offset; } fovea_rope_args;
fovea_status fovea_rope(const fovea_rope_args* args);
typedef struct fovea_hadamard_args { uint32_t struct_bytes; fovea_target target; uint32_t batch, heads, tokens; uint32_t dim; uint32_t block; uint32_t inverse; uint64_t seed; fovea_out y; fovea_in x; } fovea_hadamard_args;
fovea_status fovea_hadamard(const fovea_hadamard_args* args);
typedef struct fovea_activation_args { uint32_t struct_bytes; fovea_target target; fovea_activation_kind activation; float alpha; uint32_t batch, heads, tokens; uint32_t dim; fovea_dtype x_dtype, y_dtype; fovea_out y; fovea_in x; fovea_in factor; } fovea_activation_args;
fovea_status fovea_activation(const fovea_activation_args* args);
FOVEA_ENUM_(fovea_norm_kind, uint32_t) { FOVEA_NORM_RMS = 0, FOVEA_NORM_L2 = 1, FOVEA_NORM_LAYER = 2, };
FOVEA_ENUM_(fovea_norm_gate, uint32_t) { FOVEA_NORM_GATE_AFTER = 0, FOVEA_NORM_GATE_BEFORE = 1, };
typedef struct fovea_norm_args { uint32_t struct_bytes; fovea_target target; fovea_norm_kind norm; float epsilon; uint32_t batch, heads, tokens; uint32_t dim; fovea_dtype x_dtype, y_dtype; fovea_dtype residual_dtype; fovea_out y; fovea_in x; fovea_in residual; fovea_out sum; const float* weight; const float* bias; ptrdiff_t weight_head_stride; float weight_offset; fovea_in gate; fovea_norm_gate gate_order; fovea_activation_kind gate_activation; } fovea_norm_args;
fovea_status fovea_norm(const fovea_norm_args* args);
#define FOVEA_CONV1D_MAX_KERNEL_SIZE 8
typedef struct fovea_conv1d_args { uint32_t struct_bytes; fovea_target target; uint32_t batch, tokens; uint32_t channels; uint32_t kernel_size; uint32_t silu; float* y; ptrdiff_t y_batch_stride, y_token_stride, y_channel_stride; const float* x; ptrdiff_t x_batch_stride, x_token_stride, x_channel_stride; const float* weight; ptrdiff_t weight_stride; const float* bias; float* state; } fovea_conv1d_args;
fovea_status fovea_conv1d(const fovea_conv1d_args* args);
typedef struct fovea_integer_norm_args { uint32_t struct_bytes; fovea_norm_kind norm; uint32_t batch, heads, tokens; uint32_t dim; fovea_out y; fovea_in x; const int16_t* weight; const int16_t* bias; int32_t x_zero_point, y_zero_point; int32_t weight_multiplier, weight_shift; int32_t epsilon_multiplier, epsilon_shift; } fovea_integer_norm_args;
fovea_status fovea_integer_norm(const fovea_integer_norm_args* args);
typedef struct fovea_integer_binary_args { uint32_t struct_bytes; uint32_t batch, heads, tokens; uint32_t dim; fovea_out y; fovea_in a, b; int32_t a_zero_point, b_zero_point, y_zero_point; int32_t a_multiplier, a_shift; int32_t b_multiplier, b_shift; int32_t activation_min, activation_max; uint32_t reserved; } fovea_integer_binary_args;
fovea_status fovea_integer_add(const fovea_integer_binary_args* args);
fovea_status fovea_integer_multiply(const fovea_integer_binary_args* args);
fovea_status fovea_integer_activation_table(fovea_activation_kind activation, float alpha, float x_scale, int32_t x_zero_point, float y_scale, int32_t y_zero_point, int8_t* table);
typedef struct fovea_integer_activation_args { uint32_t struct_bytes; uint32_t batch, heads, tokens; uint32_t dim; fovea_out y; fovea_in x; const int8_t* table; } fovea_integer_activation_args;
fovea_status fovea_integer_activation(const fovea_integer_activation_args* args);
typedef struct fovea_integer_hard_swish_args { uint32_t struct_bytes; uint32_t batch, heads, tokens; uint32_t dim; fovea_out y; fovea_in x; int32_t x_zero_point, y_zero_point; int32_t three_multiplier, three_shift; int32_t out_multiplier, out_shift; } fovea_integer_hard_swish_args;
fovea_status fovea_integer_hard_swish(const fovea_integer_hard_swish_args* args);
typedef struct fovea_integer_mean_args { uint32_t struct_bytes; uint32_t batch, heads, tokens; uint32_t dim; fovea_out y; fovea_in x; const uint32_t* lengths; int32_t x_zero_point, y_zero_point; int32_t multiplier, shift; } fovea_integer_mean_args;
fovea_status fovea_integer_mean(const fovea_integer_mean_args* args);
fovea_status fovea_integer_argmax(const int8_t* x, uint32_t count, uint32_t* index);
fovea_status fovea_integer_top_k(const int8_t* x, uint32_t count, uint32_t k, uint32_t* indices);
#define FOVEA_NO_PAGE 0xffffffffu
typedef struct fovea_kv_cache_desc { uint32_t struct_bytes; fovea_kv_kind kind; fovea_dtype key_dtype, value_dtype; uint32_t batch; uint32_t kv_heads, head_dim, value_dim; uint32_t max_tokens; uint32_t pinned_tokens; uint32_t page_tokens; uint32_t pages; uint32_t values_in_keys; fovea_hadamard_rows hadamard; const float* key_center; uint64_t hadamard_seed; } fovea_kv_cache_desc;
fovea_status fovea_kv_cache_bytes(const fovea_kv_cache_desc* desc, size_t* bytes);
typedef union fovea_kv_cache { unsigned char bytes[96u + (40u * sizeof(void*))]; uint64_t alignment; } fovea_kv_cache;
fovea_status fovea_kv_cache_init(fovea_kv_cache* cache, const fovea_kv_cache_desc* desc, void* memory, size_t memory_bytes);
typedef struct fovea_kv_arrays { fovea_kv_source source; uint32_t* lengths; uint32_t* first_tokens; uint32_t* page_table; } fovea_kv_arrays;
const fovea_kv_arrays* fovea_kv_cache_arrays(const fovea_kv_cache* cache);
typedef struct fovea_kv_append_args { uint32_t struct_bytes; fovea_target target; uint32_t entry, batch; uint32_t tokens; const uint32_t* counts; const uint32_t* offsets; fovea_dtype dtype; fovea_in keys; fovea_in values; const fovea_rope_args* rope; const int64_t* position_offsets; void* workspace; size_t workspace_bytes; } fovea_kv_append_args;
fovea_status fovea_kv_center(float* center, uint64_t* count, const fovea_in* keys, uint32_t batch, uint32_t kv_heads, uint32_t tokens, uint32_t head_dim);
fovea_status fovea_kv_append(fovea_kv_cache* cache, const fovea_kv_append_args* args);
fovea_status fovea_kv_append_workspace_bytes(const fovea_kv_cache* cache, const fovea_kv_append_args* args, size_t* bytes);
fovea_status fovea_kv_copy(fovea_kv_cache* to, uint32_t to_entry, const fovea_kv_cache* from, uint32_t from_entry, uint32_t tokens);
fovea_status fovea_kv_set_length(fovea_kv_cache* cache, uint32_t entry, uint32_t length, uint32_t first_token);
fovea_status fovea_kv_truncate(fovea_kv_cache* cache, uint32_t entry, uint32_t length);
fovea_status fovea_kv_compact(fovea_kv_cache* cache, uint32_t entry, const uint32_t* kept, uint32_t count);
typedef struct fovea_kv_shift_args { uint32_t struct_bytes; fovea_target target; uint32_t entry; uint32_t first, tokens; const fovea_rope_args* rope; void* workspace; size_t workspace_bytes; int64_t difference; } fovea_kv_shift_args;
fovea_status fovea_kv_shift(fovea_kv_cache* cache, const fovea_kv_shift_args* args);
fovea_status fovea_kv_reset(fovea_kv_cache* cache, uint32_t entry);
typedef struct fovea_kv_image_args { uint32_t struct_bytes; uint32_t entry; uint32_t first; uint32_t tokens; int64_t position; uint64_t fingerprint; } fovea_kv_image_args;
fovea_status fovea_kv_image_bytes(const fovea_kv_cache* cache, uint32_t tokens, size_t* bytes);
fovea_status fovea_kv_export(const fovea_kv_cache* cache, const fovea_kv_image_args* args, void* image, size_t image_bytes);
fovea_status fovea_kv_import(fovea_kv_cache* cache, const fovea_kv_image_args* args, const void* image, size_t image_bytes);
fovea_status fovea_kv_image_prefix(const fovea_kv_cache* cache, const fovea_kv_image_args* args, const void* image, size_t image_bytes, fovea_kv_prefix* prefix);
fovea_status fovea_kv_describe(const fovea_kv_cache* cache, fovea_attention_desc* desc);
fovea_status fovea_kv_attach(const fovea_kv_cache* cache, fovea_attention_args* args);
typedef struct fovea_linear_weights { fovea_dtype dtype; const void* data; ptrdiff_t row_stride; const void* scales; const float* bias; const int32_t* bias_i32; const void* reserved; } fovea_linear_weights;
typedef struct fovea_linear_args { uint32_t struct_bytes; fovea_target target; uint32_t portable_bits; fovea_compute compute; uint64_t processor_features; uint32_t tokens; uint32_t in_dim, out_dim; fovea_dtype x_dtype, y_dtype; void* y; ptrdiff_t y_stride; const void* x; ptrdiff_t x_stride; fovea_linear_weights weights; const float* x_scales; ptrdiff_t x_scales_stride; int32_t x_zero_point; fovea_activation_kind activation; float y_scale; int32_t y_zero_point; size_t workspace_budget_bytes; const fovea_executor* executor; } fovea_linear_args;
fovea_status fovea_linear_workspace_bytes(const fovea_linear_args* args, size_t* bytes);
fovea_status fovea_linear(const fovea_linear_args* args, void* workspace, size_t workspace_bytes);
typedef struct fovea_multihead_desc { uint32_t struct_bytes; uint32_t d_model; uint32_t key_model; uint32_t value_model; fovea_dtype weight_dtype; fovea_compute linear_compute; fovea_dtype x_dtype, y_dtype; float x_scale, y_scale; int32_t x_zero_point, y_zero_point; uint32_t max_new_tokens; fovea_attention_desc attention; } fovea_multihead_desc;
#define FOVEA_MULTIHEAD_PLAN_BYTES 640
typedef union fovea_multihead_plan { unsigned char bytes[FOVEA_MULTIHEAD_PLAN_BYTES]; uint64_t alignment; } fovea_multihead_plan;
fovea_status fovea_multihead_plan_init(fovea_multihead_plan* plan, const fovea_multihead_desc* desc);
const fovea_multihead_desc* fovea_multihead_plan_desc(const fovea_multihead_plan* plan);
fovea_status fovea_multihead_workspace_bytes(const fovea_multihead_plan* plan, size_t* bytes);
fovea_status fovea_multihead_workspace_bytes_for(const fovea_multihead_desc* desc, fovea_target target, size_t* bytes);
typedef struct fovea_multihead_weights { fovea_linear_weights q; fovea_linear_weights k; fovea_linear_weights v; fovea_linear_weights out; fovea_linear_weights qkv; const void* reserved; } fovea_multihead_weights;
typedef struct fovea_multihead_args { uint32_t struct_bytes; uint32_t batch; uint32_t q_tokens; uint32_t kv_tokens; fovea_out y; fovea_in x; fovea_in keys; fovea_in values; fovea_multihead_weights weights; const fovea_kv_cache* cache; const fovea_rope_args* rope; fovea_attention_args attention; } fovea_multihead_args;
fovea_status fovea_multihead(const fovea_multihead_plan* plan, const fovea_multihead_args* args, void* workspace, size_t workspace_bytes);
fovea_status fovea_multihead_append(const fovea_multihead_plan* plan, fovea_kv_cache* cache, const fovea_multihead_args* args, void* workspace, size_t workspace_bytes);
#define FOVEA_QUANTIZE_BINS 2048
typedef struct fovea_quantize_range { uint32_t struct_bytes; float least, most; float width; uint64_t count; uint64_t bins[FOVEA_QUANTIZE_BINS]; } fovea_quantize_range;
fovea_status fovea_quantize_observe(fovea_quantize_range* range, const float* x, size_t count);
fovea_status fovea_quantize_choose(const fovea_quantize_range* range, float fraction, uint32_t asymmetric, float* scale, int32_t* zero_point);
fovea_status fovea_quantize_to_i8(const float* x, size_t count, float scale, int32_t zero_point, int8_t* codes);
fovea_status fovea_quantize_from_i8(const int8_t* codes, size_t count, float scale, int32_t zero_point, float* x);
fovea_status fovea_quantize_rows(const float* x, size_t rows, size_t dim, fovea_dtype dtype, void* data, void* scales);
#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(__riscv_vector) || defined(__ARM_NEON) || defined(__ARM_FEATURE_MVE) || defined(__wasm_simd128__)
#define FOVEA_SELFTEST_BYTES 98304
#else
#define FOVEA_SELFTEST_BYTES 32768
#endif
typedef struct fovea_selftest_args { uint32_t struct_bytes; fovea_target target; uint64_t processor_features; uint32_t call; void* memory; size_t memory_bytes; size_t reserved; } fovea_selftest_args;
typedef struct fovea_selftest_result { const char* name; const char* shared_by; uint64_t digest; uint64_t published; } fovea_selftest_result;
typedef fovea_status (*fovea_selftest_part)(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_attention(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_cache(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_conv1d(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_delta(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_halves(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_integer_attention(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_integer_layers(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_linear(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_multihead(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_norm(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_quantize(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_rope(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_hadamard(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_softmax(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_sources(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_stream(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_tensors(const fovea_selftest_args* args, fovea_selftest_result* result);
#ifndef FOVEA_SELFTEST_PARTS
#define FOVEA_SELFTEST_PARTS fovea_selftest_integer_attention, fovea_selftest_integer_layers, fovea_selftest_softmax, fovea_selftest_norm, fovea_selftest_rope, fovea_selftest_hadamard, fovea_selftest_attention, fovea_selftest_sources, fovea_selftest_stream, fovea_selftest_cache, fovea_selftest_linear, fovea_selftest_multihead, fovea_selftest_delta, fovea_selftest_conv1d, fovea_selftest_tensors, fovea_selftest_quantize, fovea_selftest_halves
#endif
typedef struct fovea_stream_state { uint32_t magic; uint32_t checksum; uint32_t batch, q_heads, kv_heads, q_tokens, value_dim; uint32_t reserved; int64_t next_key; uint32_t reserved_too[6]; } fovea_stream_state;
fovea_status fovea_stream_state_bytes(const fovea_attention_plan* plan, uint32_t batch, uint32_t q_tokens, size_t* bytes);
fovea_status fovea_stream_begin(const fovea_attention_plan* plan, fovea_stream_state* state, size_t state_bytes, uint32_t batch, uint32_t q_tokens, int64_t first_key);
fovea_status fovea_stream_push(const fovea_attention_plan* plan, fovea_stream_state* state, const fovea_attention_args* args, void* workspace, size_t workspace_bytes);
fovea_status fovea_stream_merge(const fovea_attention_plan* plan, fovea_stream_state* into, const fovea_stream_state* from);
fovea_status fovea_stream_end(const fovea_attention_plan* plan, const fovea_stream_state* state, const fovea_attention_args* args, void* workspace, size_t workspace_bytes);
fovea_status fovea_stream_export(const fovea_stream_state* state, void* image, size_t image_bytes);
fovea_status fovea_stream_import(fovea_stream_state* state, size_t state_bytes, const void* image, size_t image_bytes);
typedef struct fovea_binary_args { uint32_t struct_bytes; fovea_target target; fovea_dtype y_dtype, a_dtype, b_dtype; uint32_t batch, heads, tokens; uint32_t dim; fovea_out y; fovea_in a, b; } fovea_binary_args;
fovea_status fovea_add(const fovea_binary_args* args);
fovea_status fovea_multiply(const fovea_binary_args* args);
FOVEA_ENUM_(fovea_pooling_kind, uint32_t) { FOVEA_POOLING_MEAN = 0, FOVEA_POOLING_FIRST = 1, };
typedef struct fovea_pooling_args { uint32_t struct_bytes; fovea_target target; fovea_pooling_kind pooling; fovea_dtype y_dtype, x_dtype; uint32_t batch, heads, tokens; uint32_t dim; fovea_out y; fovea_in x; const uint32_t* lengths; } fovea_pooling_args;
fovea_status fovea_pooling(const fovea_pooling_args* args);
typedef struct fovea_embedding_args { uint32_t struct_bytes; fovea_target target; uint32_t tokens; uint32_t dim; uint32_t rows; float* y; ptrdiff_t y_stride; const uint32_t* indices; fovea_linear_weights table; } fovea_embedding_args;
fovea_status fovea_embedding(const fovea_embedding_args* args);
fovea_status fovea_argmax(const float* x, uint32_t count, uint32_t* index);
fovea_status fovea_top_k(const float* x, uint32_t count, uint32_t k, uint32_t* indices);
FOVEA_DECLARATIONS_END_
