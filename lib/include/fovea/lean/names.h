/* fovea/lean/names.h: the names of the functions of a lean configuration. Other headers of fovea include this file if FOVEA_USE is
 * defined; a program includes fovea/lean/streaming.h, for example, or is compiled with -DFOVEA_USE=streaming.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One archive can hold the library several times: with all features, and with those of the lean configurations that CMake's
 * FOVEA_LEAN names. The functions of the configuration streaming have names of their own, as fovea_streaming_attention. With
 * FOVEA_USE=streaming, fovea_attention in a source file is that name, and the linker takes nothing of the other
 * configurations. Types, constants and bits are the same. An object that a function of one configuration has made, a plan
 * for example, is for functions of that configuration. */
#ifndef FOVEA_LEAN_NAMES_H_
#define FOVEA_LEAN_NAMES_H_

#define FOVEA_PASTE_NAME_(use, name) fovea_##use##_##name
#define FOVEA_LEAN_NAME_(use, name) FOVEA_PASTE_NAME_(use, name)

#define fovea_activation FOVEA_LEAN_NAME_(FOVEA_USE, activation)
#define fovea_attention FOVEA_LEAN_NAME_(FOVEA_USE, attention)
#define fovea_block_map_count FOVEA_LEAN_NAME_(FOVEA_USE, block_map_count)
#define fovea_block_map_make FOVEA_LEAN_NAME_(FOVEA_USE, block_map_make)
#define fovea_conv1d_f32 FOVEA_LEAN_NAME_(FOVEA_USE, conv1d_f32)
#define fovea_delta FOVEA_LEAN_NAME_(FOVEA_USE, delta)
#define fovea_delta_begin FOVEA_LEAN_NAME_(FOVEA_USE, delta_begin)
#define fovea_delta_export FOVEA_LEAN_NAME_(FOVEA_USE, delta_export)
#define fovea_delta_get FOVEA_LEAN_NAME_(FOVEA_USE, delta_get)
#define fovea_delta_import FOVEA_LEAN_NAME_(FOVEA_USE, delta_import)
#define fovea_delta_pending FOVEA_LEAN_NAME_(FOVEA_USE, delta_pending)
#define fovea_delta_roll_back FOVEA_LEAN_NAME_(FOVEA_USE, delta_roll_back)
#define fovea_delta_set FOVEA_LEAN_NAME_(FOVEA_USE, delta_set)
#define fovea_delta_state_bytes FOVEA_LEAN_NAME_(FOVEA_USE, delta_state_bytes)
#define fovea_delta_workspace_bytes FOVEA_LEAN_NAME_(FOVEA_USE, delta_workspace_bytes)
#define fovea_integer_activation FOVEA_LEAN_NAME_(FOVEA_USE, integer_activation)
#define fovea_integer_activation_table FOVEA_LEAN_NAME_(FOVEA_USE, integer_activation_table)
#define fovea_integer_add FOVEA_LEAN_NAME_(FOVEA_USE, integer_add)
#define fovea_integer_attention FOVEA_LEAN_NAME_(FOVEA_USE, integer_attention)
#define fovea_integer_attention_workspace_bytes FOVEA_LEAN_NAME_(FOVEA_USE, integer_attention_workspace_bytes)
#define fovea_integer_hard_swish FOVEA_LEAN_NAME_(FOVEA_USE, integer_hard_swish)
#define fovea_integer_mean FOVEA_LEAN_NAME_(FOVEA_USE, integer_mean)
#define fovea_integer_multiplier FOVEA_LEAN_NAME_(FOVEA_USE, integer_multiplier)
#define fovea_integer_multiply FOVEA_LEAN_NAME_(FOVEA_USE, integer_multiply)
#define fovea_integer_norm FOVEA_LEAN_NAME_(FOVEA_USE, integer_norm)
#define fovea_kv_append FOVEA_LEAN_NAME_(FOVEA_USE, kv_append)
#define fovea_kv_attach FOVEA_LEAN_NAME_(FOVEA_USE, kv_attach)
#define fovea_kv_cache_bytes FOVEA_LEAN_NAME_(FOVEA_USE, kv_cache_bytes)
#define fovea_kv_cache_init FOVEA_LEAN_NAME_(FOVEA_USE, kv_cache_init)
#define fovea_kv_center FOVEA_LEAN_NAME_(FOVEA_USE, kv_center)
#define fovea_kv_copy FOVEA_LEAN_NAME_(FOVEA_USE, kv_copy)
#define fovea_kv_describe FOVEA_LEAN_NAME_(FOVEA_USE, kv_describe)
#define fovea_kv_reset FOVEA_LEAN_NAME_(FOVEA_USE, kv_reset)
#define fovea_kv_set_length FOVEA_LEAN_NAME_(FOVEA_USE, kv_set_length)
#define fovea_kv_truncate FOVEA_LEAN_NAME_(FOVEA_USE, kv_truncate)
#define fovea_linear FOVEA_LEAN_NAME_(FOVEA_USE, linear)
#define fovea_linear_workspace_bytes FOVEA_LEAN_NAME_(FOVEA_USE, linear_workspace_bytes)
#define fovea_log_softmax_f32 FOVEA_LEAN_NAME_(FOVEA_USE, log_softmax_f32)
#define fovea_multihead FOVEA_LEAN_NAME_(FOVEA_USE, multihead)
#define fovea_multihead_append FOVEA_LEAN_NAME_(FOVEA_USE, multihead_append)
#define fovea_multihead_plan_init FOVEA_LEAN_NAME_(FOVEA_USE, multihead_plan_init)
#define fovea_multihead_workspace_bytes FOVEA_LEAN_NAME_(FOVEA_USE, multihead_workspace_bytes)
#define fovea_multihead_workspace_bytes_for FOVEA_LEAN_NAME_(FOVEA_USE, multihead_workspace_bytes_for)
#define fovea_norm FOVEA_LEAN_NAME_(FOVEA_USE, norm)
#define fovea_plan_describe FOVEA_LEAN_NAME_(FOVEA_USE, plan_describe)
#define fovea_plan_init FOVEA_LEAN_NAME_(FOVEA_USE, plan_init)
#define fovea_quantize_choose FOVEA_LEAN_NAME_(FOVEA_USE, quantize_choose)
#define fovea_quantize_from_i8 FOVEA_LEAN_NAME_(FOVEA_USE, quantize_from_i8)
#define fovea_quantize_observe FOVEA_LEAN_NAME_(FOVEA_USE, quantize_observe)
#define fovea_quantize_to_i8 FOVEA_LEAN_NAME_(FOVEA_USE, quantize_to_i8)
#define fovea_rope_f32 FOVEA_LEAN_NAME_(FOVEA_USE, rope_f32)
#define fovea_rope_frequencies FOVEA_LEAN_NAME_(FOVEA_USE, rope_frequencies)
#define fovea_slow_workspace_bytes FOVEA_LEAN_NAME_(FOVEA_USE, slow_workspace_bytes)
#define fovea_softmax_f32 FOVEA_LEAN_NAME_(FOVEA_USE, softmax_f32)
#define fovea_state_bytes FOVEA_LEAN_NAME_(FOVEA_USE, state_bytes)
#define fovea_status_string FOVEA_LEAN_NAME_(FOVEA_USE, status_string)
#define fovea_stream_begin FOVEA_LEAN_NAME_(FOVEA_USE, stream_begin)
#define fovea_stream_end FOVEA_LEAN_NAME_(FOVEA_USE, stream_end)
#define fovea_stream_export FOVEA_LEAN_NAME_(FOVEA_USE, stream_export)
#define fovea_stream_import FOVEA_LEAN_NAME_(FOVEA_USE, stream_import)
#define fovea_stream_merge FOVEA_LEAN_NAME_(FOVEA_USE, stream_merge)
#define fovea_stream_push FOVEA_LEAN_NAME_(FOVEA_USE, stream_push)
#define fovea_target_at FOVEA_LEAN_NAME_(FOVEA_USE, target_at)
#define fovea_target_backend FOVEA_LEAN_NAME_(FOVEA_USE, target_backend)
#define fovea_target_count FOVEA_LEAN_NAME_(FOVEA_USE, target_count)
#define fovea_target_from_name FOVEA_LEAN_NAME_(FOVEA_USE, target_from_name)
#define fovea_target_name FOVEA_LEAN_NAME_(FOVEA_USE, target_name)
#define fovea_tree_mask FOVEA_LEAN_NAME_(FOVEA_USE, tree_mask)
#define fovea_version FOVEA_LEAN_NAME_(FOVEA_USE, version)
#define fovea_workspace_bytes FOVEA_LEAN_NAME_(FOVEA_USE, workspace_bytes)
#define fovea_workspace_bytes_for FOVEA_LEAN_NAME_(FOVEA_USE, workspace_bytes_for)

#endif /* FOVEA_LEAN_NAMES_H_ */
