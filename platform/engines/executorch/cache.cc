// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "operators.h"

namespace fovea_executorch {
namespace {

// A cache takes rows of any type, as bytes.
bool fits(Context& context, const Tensor& value, const Tensor& cache) {
  FOVEA_REQUIRE(context, value.dim() == 4 && cache.dim() == 4, false);
  FOVEA_REQUIRE(context, value.element_size() == cache.element_size(), false);
  FOVEA_REQUIRE(context, value.size(0) == cache.size(0), false);
  FOVEA_REQUIRE(context, value.size(2) == cache.size(2) && value.size(3) == cache.size(3), false);
  FOVEA_REQUIRE(context, is_contiguous(value) && is_contiguous(cache), false);
  return true;
}

// Copies tokens of an entry.
void copy(const Tensor& value, Tensor& cache, int64_t entry, int64_t from, int64_t to, int64_t tokens) {
  const size_t token_bytes = static_cast<size_t>(stride_of(value, 1) * value.element_size());
  const auto* const source = static_cast<const uint8_t*>(value.const_data_ptr());
  auto* const target = static_cast<uint8_t*>(cache.mutable_data_ptr());
  memcpy(target + static_cast<size_t>(entry * cache.size(1) + to) * token_bytes,
         source + static_cast<size_t>(entry * value.size(1) + from) * token_bytes,
         static_cast<size_t>(tokens) * token_bytes);
}

}  // namespace

Tensor& update_cache_out(Context& context, const Tensor& value, Tensor& cache, int64_t start_pos, Tensor& out) {
  if (!fits(context, value, cache)) return out;
  const int64_t tokens = value.size(1);
  FOVEA_REQUIRE(context, start_pos >= 0 && start_pos < cache.size(1) && start_pos <= cache.size(1) - tokens, out);
  if (value.numel() == 0) return out;
  for (int64_t entry = 0; entry < value.size(0); ++entry) copy(value, cache, entry, 0, start_pos, tokens);
  return out;
}

Tensor& update_cache_with_indices_out(Context& context, const Tensor& value, Tensor& cache, int64_t,
                                      const Tensor& indices, Tensor& out) {
  if (!fits(context, value, cache)) return out;
  FOVEA_REQUIRE(context, indices.dim() == 2 && indices.scalar_type() == ScalarType::Long, out);
  FOVEA_REQUIRE(context, indices.size(0) == value.size(0) && indices.size(1) == value.size(1), out);
  FOVEA_REQUIRE(context, is_contiguous(indices), out);
  const int64_t* const places = indices.const_data_ptr<int64_t>();
  for (ssize_t i = 0; i < indices.numel(); ++i) {
    FOVEA_REQUIRE(context, places[i] >= 0 && places[i] < cache.size(1), out);
  }
  if (value.numel() == 0) return out;
  const int64_t tokens = value.size(1);
  for (int64_t entry = 0; entry < value.size(0); ++entry) {
    for (int64_t t = 0; t < tokens; ++t) copy(value, cache, entry, t, places[entry * tokens + t], 1);
  }
  return out;
}

}  // namespace fovea_executorch
