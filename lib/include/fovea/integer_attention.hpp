// SPDX-License-Identifier: Apache-2.0
//
// fovea/integer_attention.hpp: attention on int8 tensors without floating point. integer_attention.h is the manual.
#ifndef FOVEA_INTEGER_ATTENTION_HPP_
#define FOVEA_INTEGER_ATTENTION_HPP_

#include <cstddef>

#include "fovea/base.hpp"
#include "fovea/integer_attention.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

struct IntegerAttentionArgs : Sized<fovea_integer_attention_args> {
  // Set a multiplier and its shift. FOVEA_ERR_NUMBER where shift would not be from -31 to 31.
  fovea_status set_score(double octaves) { return fovea_integer_multiplier(octaves, &score_multiplier, &score_shift); }
  fovea_status set_out(double factor) { return fovea_integer_multiplier(factor, &out_multiplier, &out_shift); }
};

inline fovea_status integer_attention_workspace_bytes(const fovea_integer_attention_args& args, std::size_t* bytes) {
  return fovea_integer_attention_workspace_bytes(&args, bytes);
}
inline fovea_status integer_attention(const fovea_integer_attention_args& args, Span<std::byte> workspace) {
  return fovea_integer_attention(&args, workspace.data(), workspace.size());
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_INTEGER_ATTENTION_HPP_
