// SPDX-License-Identifier: Apache-2.0
//
// fovea/layers.hpp: softmax, rotary embedding, Hadamard transform, normalisation, activation, short convolution.
// layers.h is the manual.
#ifndef FOVEA_LAYERS_HPP_
#define FOVEA_LAYERS_HPP_

#include <cstdint>

#include "fovea/base.hpp"
#include "fovea/layers.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

// --------------------------------------------------------------------------------------------------------- softmax

using SoftmaxArgs = Sized<fovea_softmax_args>;

inline fovea_status softmax(const fovea_softmax_args& args) { return fovea_softmax(&args); }
inline fovea_status log_softmax(const fovea_softmax_args& args) { return fovea_log_softmax(&args); }

// The arguments for one row of in.size() elements. out has as many elements as in, and may be the same memory.
inline SoftmaxArgs softmax_row(Span<float> out, Span<const float> in, float scale = 1.0f) {
  SoftmaxArgs args;
  args.y = out.data();
  args.x = in.data();
  args.y_axis_stride = args.x_axis_stride = 1;
  args.outer = args.inner = 1;
  args.axis = in.size();
  args.scale = scale;
  return args;
}

// One row. FOVEA_ERR_SIZE when out does not have as many elements as in.
inline fovea_status softmax(Span<float> out, Span<const float> in, float scale = 1.0f) {
  return out.size() == in.size() ? softmax(softmax_row(out, in, scale)) : FOVEA_ERR_SIZE;
}

inline fovea_status log_softmax(Span<float> out, Span<const float> in, float scale = 1.0f) {
  return out.size() == in.size() ? log_softmax(softmax_row(out, in, scale)) : FOVEA_ERR_SIZE;
}

// ------------------------------------------------------------------------------------------------ rotary embedding

using RopeArgs = Sized<fovea_rope_args>;

inline fovea_status rope(const fovea_rope_args& args) { return fovea_rope(&args); }

// rotary_dim is twice the number of turns.
inline fovea_status rope_frequencies(Span<std::uint64_t> turns, double base = 0, double position_scale = 0) {
  if (turns.size() > 0x7fffffff) return FOVEA_ERR_SIZE;
  const auto rotary_dim = static_cast<std::uint32_t>(2 * turns.size());
  return fovea_rope_frequencies(turns.data(), base, position_scale, rotary_dim);
}

// ---------------------------------------------------------------------------------------------- Hadamard transform

using HadamardArgs = Sized<fovea_hadamard_args>;

inline fovea_status hadamard(const fovea_hadamard_args& args) { return fovea_hadamard(&args); }

// -------------------------------------------------------------------------- normalisation, activation, convolution

using NormArgs = Sized<fovea_norm_args>;
using ActivationArgs = Sized<fovea_activation_args>;
using Conv1dArgs = Sized<fovea_conv1d_args>;

inline fovea_status norm(const fovea_norm_args& args) { return fovea_norm(&args); }
inline fovea_status activation(const fovea_activation_args& args) { return fovea_activation(&args); }
inline fovea_status conv1d(const fovea_conv1d_args& args) { return fovea_conv1d(&args); }

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_LAYERS_HPP_
