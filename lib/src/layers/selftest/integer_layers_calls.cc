// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

constexpr uint32_t kLayerTokens = 4, kLayerDim = 61;
constexpr size_t kLayerCodes = kLayerTokens * kLayerDim;

// Rows of each layer, in and out.
template <class Args>
int8_t* set_up_layer(Trial& trial, Args* args) {
  args->struct_bytes = sizeof *args;
  args->batch = args->heads = 1, args->tokens = kLayerTokens, args->dim = kLayerDim;
  int8_t* const y = trial.zeros<int8_t>(kLayerCodes);
  args->y = {y, 0, 0, kLayerDim};
  return y;
}

fovea_status integer_layers_norm(Trial& trial) {
  fovea_integer_norm_args args = {};
  int8_t* const y = set_up_layer(trial, &args);
  int16_t* const weight = trial.zeros<int16_t>(kLayerDim);
  for (uint32_t i = 0; weight && i < kLayerDim; ++i) weight[i] = static_cast<int16_t>(9000 + 173 * i);
  args.x = {trial.codes(kLayerCodes), 0, 0, kLayerDim}, args.weight = weight, args.bias = weight;
  args.x_zero_point = 4, args.y_zero_point = -3;
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(0.0021, &args.weight_multiplier, &args.weight_shift));
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(0.02, &args.epsilon_multiplier, &args.epsilon_shift));
  static constexpr fovea_norm_kind kKinds[] = {FOVEA_NORM_LAYER, FOVEA_NORM_RMS};
  for (const fovea_norm_kind kind : kKinds) {
    args.norm = kind;
    FOVEA_RETURN_IF_ERROR(fovea_integer_norm(&args));
    trial.digest(y, kLayerCodes);
  }
  return FOVEA_OK;
}

fovea_status integer_layers_pairs(Trial& trial) {
  fovea_integer_binary_args args = {};
  int8_t* const y = set_up_layer(trial, &args);
  args.a = {trial.codes(kLayerCodes), 0, 0, kLayerDim}, args.b = {trial.codes(kLayerDim), 0, 0, 0};
  args.a_zero_point = 5, args.b_zero_point = -9, args.y_zero_point = 2;
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(0.6, &args.a_multiplier, &args.a_shift));
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(0.8, &args.b_multiplier, &args.b_shift));
  FOVEA_RETURN_IF_ERROR(fovea_integer_add(&args));
  trial.digest(y, kLayerCodes);
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(0.013, &args.a_multiplier, &args.a_shift));
  return trial.digest_after(fovea_integer_multiply(&args), y, kLayerCodes);
}

fovea_status integer_layers_activation(Trial& trial) {
  fovea_integer_activation_args args = {};
  int8_t* const y = set_up_layer(trial, &args);
  int8_t* const table = trial.zeros<int8_t>(256);
  args.x = {trial.codes(kLayerCodes), 0, 0, kLayerDim}, args.table = table;
  FOVEA_RETURN_IF_ERROR(fovea_integer_activation_table(FOVEA_ACTIVATION_TANH, 0, 0.03f, 1, 0.0079f, -1, table));
  FOVEA_RETURN_IF_ERROR(fovea_integer_activation(&args));
  trial.digest(table, 256);
  trial.digest(y, kLayerCodes);
  return FOVEA_OK;
}

fovea_status integer_layers_hard_swish(Trial& trial) {
  fovea_integer_hard_swish_args args = {};
  int8_t* const y = set_up_layer(trial, &args);
  args.x = {trial.codes(kLayerCodes), 0, 0, kLayerDim}, args.x_zero_point = 6, args.y_zero_point = -50;
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(3 / 0.05, &args.three_multiplier, &args.three_shift));
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(0.05 * 0.05 / (6 * 0.04), &args.out_multiplier, &args.out_shift));
  return trial.digest_after(fovea_integer_hard_swish(&args), y, kLayerCodes);
}

fovea_status integer_layers_mean(Trial& trial) {
  fovea_integer_mean_args args = {};
  int8_t* const y = set_up_layer(trial, &args);
  args.x = {trial.codes(kLayerCodes), 0, 0, kLayerDim}, args.x_zero_point = -2, args.y_zero_point = 8;
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(1.9, &args.multiplier, &args.shift));
  return trial.digest_after(fovea_integer_mean(&args), y, kLayerDim);
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(integer_layers, INTEGER_LAYERS)
