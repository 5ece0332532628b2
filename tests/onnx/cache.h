// SPDX-License-Identifier: Apache-2.0
//
// A cache of the library's that holds tensors of ONNX. All throw Refused.
#pragma once

#include <string>
#include <vector>

#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {

class Cache {
 public:
  // With the entries, heads, dims and types of keys and values, and room for max_tokens of each entry.
  Cache(fovea_kv_kind kind, const Heads& keys, const Heads& values, size_t max_tokens, fovea_target target,
        Verdict* verdict);

  void append(const Tensor& keys, const Heads& key_shape, const Tensor& values, const Heads& value_shape);
  void truncate(size_t entry, size_t length);

  // All rows that there is memory for, behind the tokens too, as float: [batch][heads][max_tokens][dim].
  std::vector<float> key_rows() const;
  std::vector<float> value_rows() const;

  const fovea::KvCache& get() const { return cache_; }
  const std::string& where() const { return where_; }  // "ring, avx2"

 private:
  std::vector<float> rows(const fovea_in& array, DType dtype, size_t dim) const;

  fovea::KvCacheDesc desc_;
  DType key_dtype_, value_dtype_;
  fovea::KvCache cache_;
  std::vector<Line> memory_;
  fovea_target target_;
  std::string where_;
  Verdict* verdict_;
};

}  // namespace fovea_onnx
