// SPDX-License-Identifier: Apache-2.0
//
// The operators that fovea computes. README.md says where results differ from those of ExecuTorch and PyTorch.
#pragma once

#include <string_view>

#include "adapter.h"

namespace fovea_executorch {

// ---------------------------------------------------------- ExecuTorch's own operators for language models: namespace
// llama. Names, arguments and results are theirs.

// Attention. query and out are [batch][tokens][heads][dim]; key and value have as many tokens as the cache has room
// for. Without a mask a query sees the first start_pos + tokens keys; if is_causal, query i sees those up to start_pos + i.
// With a mask, f32 [tokens][tokens of key], start_pos is not read.
Tensor& custom_sdpa_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                        int64_t start_pos, const OptionalTensor& attn_mask, double dropout_p, bool is_causal,
                        std::optional<double> scale, Tensor& out);

// The same after the rows of key and value were put into the caches, from token start_pos on.
Tensor& sdpa_with_kv_cache_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                               Tensor& key_cache, Tensor& value_cache, int64_t start_pos, int64_t seq_len,
                               const OptionalTensor& attn_mask, double dropout_p, bool is_causal,
                               std::optional<double> scale, Tensor& out);

// Attention on int8 with a scale and a zero point for each token and head, f32 out. If is_seq_at_dim_2, tensors are
// [batch][heads][tokens][dim]. Tensors of float are served as custom_sdpa does.
Tensor& custom_quantized_sdpa_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                                  int64_t start_pos, const OptionalTensor& attn_mask, double dropout_p, bool is_causal,
                                  std::optional<double> scale, const OptionalTensor& q_zero_points,
                                  const OptionalTensor& q_scales, const OptionalTensor& k_zero_points,
                                  const OptionalTensor& k_scales, const OptionalTensor& v_zero_points,
                                  const OptionalTensor& v_scales, bool is_seq_at_dim_2, Tensor& out);

// Copies value, [batch][tokens][heads][dim], into the cache from token start_pos on, or to the tokens that indices,
// int64 [batch][tokens], name. Nothing is written to out.
Tensor& update_cache_out(Context& context, const Tensor& value, Tensor& cache, int64_t start_pos, Tensor& out);
Tensor& update_cache_with_indices_out(Context& context, const Tensor& value, Tensor& cache, int64_t start_pos,
                                      const Tensor& indices, Tensor& out);

// The gated delta rule. query is [batch][q_heads][tokens][head_dim], key and value [batch][heads][tokens][dim], decay
// [batch][heads][tokens] or [batch][heads][tokens][head_dim], beta [batch][heads][tokens], the states
// [batch][heads][head_dim][value_dim].
void gated_delta_rule_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& decay, const Tensor& beta, const Tensor& initial_state, Tensor& out,
                          Tensor& final_state_out);

// ------------------------------------------------------------ Operators for graphs of PyTorch: namespace fovea. Their
// definitions in Python, and the pass that puts them into a graph, are fovea.executorch of fovea's Python package.

// Attention as aten.scaled_dot_product_attention has it. Tensors are [batch][heads][tokens][dim], and key heads divide
// query heads. The mask, bool or of floats, has up to four dimensions, each as large as that of the scores or 1.
// is_causal: query i sees the keys up to i. tokens_first: a bit for each of query, key, value and out that is
// [batch][tokens][heads][dim].
Tensor& attention_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                      const OptionalTensor& mask, bool is_causal, std::optional<double> scale, int64_t tokens_first,
                      Tensor& out);

// out = activation(x weight^T + bias): x [...][in_dim], weight [out_dim][in_dim]. F32.
Tensor& linear_out(Context& context, const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                   std::string_view activation, Tensor& out);

// Normalisation of the last dimension, with f32 weights.
Tensor& layer_norm_out(Context& context, const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                       double epsilon, Tensor& out);
Tensor& rms_norm_out(Context& context, const Tensor& x, const OptionalTensor& weight, double epsilon, Tensor& out);

// out = activation(x) * factor. Activations: none, relu, silu, sigmoid, tanh, gelu, gelu_tanh, hardswish, relu6.
Tensor& activation_out(Context& context, const Tensor& x, const OptionalTensor& factor, std::string_view activation,
                       Tensor& out);

// Softmax along a dimension. F32.
Tensor& softmax_out(Context& context, const Tensor& x, int64_t dim, Tensor& out);

// ------------------------------------------------------------ The same on int8 tensors: x = scale * (code - zero), with
// one scale and one zero point for a tensor. Multipliers and shifts are those of CMSIS-NN, multiplier * 2^(shift - 31).
// An operator of multipliers and shifts computes in integers alone; its equations are those of fovea_integer_...

// score: query_scale * key_scale * scale * log2(e). out: value_scale / out_scale. A zero point of keys changes nothing.
Tensor& quantized_attention_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                                bool is_causal, int64_t query_zero_point, int64_t value_zero_point, int64_t out_zero_point,
                                int64_t score_multiplier, int64_t score_shift, int64_t out_multiplier,
                                int64_t out_shift, int64_t tokens_first, Tensor& out);

// weight: int8 [out_dim][in_dim] with f32 scales [out_dim]; bias: f32.
Tensor& quantized_linear_out(Context& context, const Tensor& x, const Tensor& weight, const Tensor& weight_scales,
                             const OptionalTensor& bias, double x_scale, int64_t x_zero_point, double y_scale,
                             int64_t y_zero_point, std::string_view activation, Tensor& out);

// weight: int16 of one scale; bias: int16 in units of y_scale / 128. The numbers are weight_scale / y_scale and
// epsilon / x_scale^2.
Tensor& quantized_layer_norm_out(Context& context, const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                                 int64_t x_zero_point, int64_t y_zero_point, int64_t weight_multiplier,
                                 int64_t weight_shift, int64_t epsilon_multiplier, int64_t epsilon_shift, Tensor& out);
Tensor& quantized_rms_norm_out(Context& context, const Tensor& x, const Tensor& weight, int64_t x_zero_point,
                               int64_t y_zero_point, int64_t weight_multiplier, int64_t weight_shift,
                               int64_t epsilon_multiplier, int64_t epsilon_shift, Tensor& out);

// out = table[x], where the table is int8 [256], first the results of the codes 0 to 127, then those of -128 to -1.
Tensor& quantized_activation_out(Context& context, const Tensor& x, const Tensor& table, Tensor& out);

// Softmax along a dimension, through f32.
Tensor& quantized_softmax_out(Context& context, const Tensor& x, int64_t dim, double x_scale, double y_scale,
                              int64_t y_zero_point, Tensor& out);

}  // namespace fovea_executorch
