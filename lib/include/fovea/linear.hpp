// SPDX-License-Identifier: Apache-2.0
//
// fovea/linear.hpp: linear layers. linear.h is the manual.
#ifndef FOVEA_LINEAR_HPP_
#define FOVEA_LINEAR_HPP_

#include <cstddef>

#include "fovea/base.hpp"
#include "fovea/linear.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

using LinearArgs = Sized<fovea_linear_args>;

// Dense f32 weights [out_dim][in_dim]; bias [out_dim], or nullptr for none.
inline fovea_linear_weights linear_weights(const float* data, std::size_t in_dim, const float* bias = nullptr) {
  fovea_linear_weights weights{};
  weights.dtype = FOVEA_F32;
  weights.data = data;
  weights.row_stride = static_cast<std::ptrdiff_t>(in_dim);
  weights.bias = bias;
  return weights;
}

inline fovea_status linear_workspace_bytes(const fovea_linear_args& args, std::size_t* bytes) {
  return fovea_linear_workspace_bytes(&args, bytes);
}

inline fovea_status linear(const fovea_linear_args& args, Span<std::byte> workspace) {
  return fovea_linear(&args, workspace.data(), workspace.size());
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_LINEAR_HPP_
