// SPDX-License-Identifier: Apache-2.0
//
// Activations by their definition in layers.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "fovea/fovea.h"

namespace fovea_test {

constexpr fovea_activation_kind kActivations[] = {
    FOVEA_ACTIVATION_IDENTITY,  FOVEA_ACTIVATION_SILU,       FOVEA_ACTIVATION_SIGMOID,
    FOVEA_ACTIVATION_RELU,      FOVEA_ACTIVATION_RELU6,      FOVEA_ACTIVATION_GELU,
    FOVEA_ACTIVATION_GELU_TANH, FOVEA_ACTIVATION_HARD_SWISH, FOVEA_ACTIVATION_TANH};

// What GELU by tanh takes it of.
template <class T>
T argument_of_tanh(T x) {
  return T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
}

template <class T>
T activated(fovea_activation_kind kind, T x, T alpha = 1) {
  switch (kind) {
    case FOVEA_ACTIVATION_SILU: return x / (1 + std::exp(-alpha * x));
    case FOVEA_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-alpha * x));
    case FOVEA_ACTIVATION_RELU: return std::max(x, T(0));
    case FOVEA_ACTIVATION_RELU6: return std::min(std::max(x, T(0)), T(6));
    case FOVEA_ACTIVATION_GELU: return x * std::erfc(-x / T(1.4142135623730951)) / 2;
    case FOVEA_ACTIVATION_GELU_TANH: return x / (1 + std::exp(-2 * argument_of_tanh(x)));
    case FOVEA_ACTIVATION_HARD_SWISH: return x * std::min(std::max(x + 3, T(0)), T(6)) / 6;
    case FOVEA_ACTIVATION_TANH: return std::tanh(x);
    default: return x;
  }
}

// The largest error of an activation of x, whose exact value is y, as layers.h states it where alpha is a power of two.
inline double stated_error(fovea_activation_kind kind, double x, double y) {
  switch (kind) {
    case FOVEA_ACTIVATION_GELU: return std::min(6e-7, 2e-6 * std::fabs(x));
    case FOVEA_ACTIVATION_TANH: return std::min(3.1e-7, 5e-7 * std::fabs(y));
    case FOVEA_ACTIVATION_GELU_TANH: return (4e-7 + std::fabs(argument_of_tanh(x)) * 0x1p-21) * std::fabs(y);
    case FOVEA_ACTIVATION_SILU:
    case FOVEA_ACTIVATION_SIGMOID: return 4e-7 * std::fabs(y);
    case FOVEA_ACTIVATION_HARD_SWISH: return 2e-7 * std::fabs(y);
    default: return 0;
  }
}

}  // namespace fovea_test
