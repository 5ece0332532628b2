// SPDX-License-Identifier: Apache-2.0
//
// fovea/tensors.hpp: sums, products, pooling, embedding rows, and the largest of a row. tensors.h is the manual.
#ifndef FOVEA_TENSORS_HPP_
#define FOVEA_TENSORS_HPP_

#include <cstdint>

#include "fovea/base.hpp"
#include "fovea/tensors.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

using BinaryArgs = Sized<fovea_binary_args>;
using PoolingArgs = Sized<fovea_pooling_args>;
using EmbeddingArgs = Sized<fovea_embedding_args>;

inline fovea_status add(const fovea_binary_args& args) { return fovea_add(&args); }
inline fovea_status multiply(const fovea_binary_args& args) { return fovea_multiply(&args); }
inline fovea_status pooling(const fovea_pooling_args& args) { return fovea_pooling(&args); }
inline fovea_status embedding(const fovea_embedding_args& args) { return fovea_embedding(&args); }

// FOVEA_ERR_SIZE where x has more than 2^32 - 1 elements.
inline fovea_status argmax(Span<const float> x, std::uint32_t* index) {
  const auto count = static_cast<std::uint32_t>(x.size());
  return count == x.size() ? fovea_argmax(x.data(), count, index) : FOVEA_ERR_SIZE;
}
inline fovea_status top_k(Span<const float> x, Span<std::uint32_t> indices) {
  const auto count = static_cast<std::uint32_t>(x.size()), k = static_cast<std::uint32_t>(indices.size());
  return count == x.size() && k == indices.size() ? fovea_top_k(x.data(), count, k, indices.data()) : FOVEA_ERR_SIZE;
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_TENSORS_HPP_
