// SPDX-License-Identifier: Apache-2.0
//
// Tensors of heads, which ONNX writes in two ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "fovea/fovea.hpp"
#include "tensor.h"

namespace fovea_onnx {

inline uint32_t count32(size_t count) {
  if (count > std::numeric_limits<uint32_t>::max()) throw Error("a count of more than 32 bits");
  return static_cast<uint32_t>(count);
}

// The type of a float tensor's elements, as fovea calls it.
inline fovea_dtype type_of(DType dtype) {
  return dtype == DType::kF16 ? FOVEA_F16 : dtype == DType::kBf16 ? FOVEA_BF16 : FOVEA_F32;
}

// [batch][heads][tokens][dim] of a tensor that has this rank, or the rank 3 of [batch][tokens][heads * dim].
struct Heads {
  size_t batch, heads, tokens, dim;
  bool tokens_first;
  DType dtype;

  Heads(const Tensor& tensor, int64_t heads_attribute) : dtype(tensor.dtype) {
    const Shape& s = tensor.shape;
    if (!tensor.is_float()) throw Error("heads of a type that is not float");
    tokens_first = s.size() == 3;
    if (tokens_first) {
      if (heads_attribute <= 0 || s[2] % static_cast<size_t>(heads_attribute) != 0) throw Error("number of heads");
      heads = static_cast<size_t>(heads_attribute);
      batch = s[0], tokens = s[1], dim = s[2] / heads;
    } else if (s.size() == 4) {
      batch = s[0], heads = s[1], tokens = s[2], dim = s[3];
    } else {
      throw Error("heads of rank " + std::to_string(s.size()));
    }
  }

  template <class T>
  fovea::View<T> view(T* data) const {
    return tokens_first ? fovea::tokens_first(data, tokens, heads, dim) : fovea::heads_first(data, heads, tokens, dim);
  }
};

}  // namespace fovea_onnx
