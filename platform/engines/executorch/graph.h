// SPDX-License-Identifier: Apache-2.0
//
// What operators for graphs of PyTorch share, in floats and on int8 tensors.
#pragma once

#include <string_view>

#include "adapter.h"

namespace fovea_executorch {

// The tensors of attention, each [batch][heads][tokens][dim] or, by a bit of tokens_first, [batch][tokens][heads][dim].
struct GraphAttention {
  GraphAttention(const Tensor& q, const Tensor& k, const Tensor& v, Tensor& o, int64_t tokens_first);

  // Sizes fit together, and elements are adjacent. Types are not looked at.
  bool is_valid(Context& context) const;
  bool resize(Context& context) const;

  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  Tensor& out;
  const Layout q, k, v, o;
};

// An activation by its name.
bool activation_of(std::string_view name, fovea_activation_kind* kind);

// Gives out the shape of a linear layer's result: [...][in_dim] becomes [...][out_dim].
bool resize_linear(Context& context, const Tensor& x, const Tensor& weight, Tensor& out);

// Computes a linear layer for arguments that are complete but for workspace and threads.
void run_linear(Context& context, fovea_linear_args& args);

}  // namespace fovea_executorch
