// SPDX-License-Identifier: Apache-2.0
//
// fovea/integer_layers.hpp: the layers around attention on int8 tensors without floating point. integer_layers.h is the
// manual.
#ifndef FOVEA_INTEGER_LAYERS_HPP_
#define FOVEA_INTEGER_LAYERS_HPP_

#include <cstdint>

#include "fovea/base.hpp"
#include "fovea/integer_layers.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

// These set a multiplier and its shift. FOVEA_ERR_NUMBER where the shift would not be from -31 to 31.
struct IntegerNormArgs : Sized<fovea_integer_norm_args> {
  fovea_status set_weight(double factor) { return fovea_integer_multiplier(factor, &weight_multiplier, &weight_shift); }
  fovea_status set_epsilon(double in_codes) {
    return fovea_integer_multiplier(in_codes, &epsilon_multiplier, &epsilon_shift);
  }
};
struct IntegerBinaryArgs : Sized<fovea_integer_binary_args> {
  fovea_status set_a(double factor) { return fovea_integer_multiplier(factor, &a_multiplier, &a_shift); }
  fovea_status set_b(double factor) { return fovea_integer_multiplier(factor, &b_multiplier, &b_shift); }
};
using IntegerActivationArgs = Sized<fovea_integer_activation_args>;
struct IntegerHardSwishArgs : Sized<fovea_integer_hard_swish_args> {
  fovea_status set_three(double codes) { return fovea_integer_multiplier(codes, &three_multiplier, &three_shift); }
  fovea_status set_out(double factor) { return fovea_integer_multiplier(factor, &out_multiplier, &out_shift); }
};
struct IntegerMeanArgs : Sized<fovea_integer_mean_args> {
  fovea_status set_out(double factor) { return fovea_integer_multiplier(factor, &multiplier, &shift); }
};

inline fovea_status integer_norm(const fovea_integer_norm_args& args) { return fovea_integer_norm(&args); }
inline fovea_status integer_add(const fovea_integer_binary_args& args) { return fovea_integer_add(&args); }
inline fovea_status integer_multiply(const fovea_integer_binary_args& args) { return fovea_integer_multiply(&args); }
inline fovea_status integer_activation(const fovea_integer_activation_args& args) {
  return fovea_integer_activation(&args);
}
inline fovea_status integer_hard_swish(const fovea_integer_hard_swish_args& args) {
  return fovea_integer_hard_swish(&args);
}
inline fovea_status integer_mean(const fovea_integer_mean_args& args) { return fovea_integer_mean(&args); }

inline fovea_status integer_activation_table(fovea_activation_kind activation, float x_scale, std::int32_t x_zero_point,
                                             float y_scale, std::int32_t y_zero_point, std::int8_t (&table)[256],
                                             float alpha = 0) {
  return fovea_integer_activation_table(activation, alpha, x_scale, x_zero_point, y_scale, y_zero_point, table);
}

// FOVEA_ERR_SIZE where x has more than 2^32 - 1 elements.
inline fovea_status integer_argmax(Span<const std::int8_t> x, std::uint32_t* index) {
  const auto count = static_cast<std::uint32_t>(x.size());
  return count == x.size() ? fovea_integer_argmax(x.data(), count, index) : FOVEA_ERR_SIZE;
}
inline fovea_status integer_top_k(Span<const std::int8_t> x, Span<std::uint32_t> indices) {
  const auto count = static_cast<std::uint32_t>(x.size()), k = static_cast<std::uint32_t>(indices.size());
  return count == x.size() && k == indices.size() ? fovea_integer_top_k(x.data(), count, k, indices.data())
                                                  : FOVEA_ERR_SIZE;
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_INTEGER_LAYERS_HPP_
