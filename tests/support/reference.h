// SPDX-License-Identifier: Apache-2.0
//
// The definitions of fovea.h in plain loops and in double. The outputs of every target are compared with these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fovea/fovea.h"
#include "support/every.h"

namespace fovea_test {

// All arrays are dense, row-major, in the order of the shapes. Each has a second array: the largest error in f32.
struct Attention {
  std::vector<double> out, out_tolerance;        // [batch][q_heads][q_tokens][value_dim]; one tolerance for each row
  std::vector<double> lse, lse_tolerance;        // [batch][q_heads][q_tokens]
  std::vector<double> scores, scores_tolerance;  // [batch][q_heads][q_tokens][kv_tokens], at args.scores_stage
};

// The outputs of a valid call. Reads the shapes and options of the description, never target or budget. Hidden keys and
// values are not read (except keys for the two stages of scores that include them).
Attention attention(const fovea_attention_desc& desc, const fovea_attention_args& args);

// Whether query i of head h may see key j, in batch entry b.
bool visible(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b, uint32_t h, uint32_t i,
             uint32_t j);

// How many of an entry's tokens are its prefix. Some entries have none.
uint32_t prefix_of(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b);

// Whether some query would see a token that the ring has replaced. The numbers in a mask are not considered.
bool sees_gone_token(const fovea_attention_desc& desc, const fovea_attention_args& args);

// Whether dropout of this probability drops the weight of query i of head h and key j.
bool dropped(float probability, uint64_t seed, uint32_t b, uint32_t h, uint32_t i, uint32_t j);

// The position of query i of batch entry b.
int64_t position(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b, uint32_t i);

struct Softmax {
  std::vector<double> out, tolerance;  // [outer][axis][inner]
};
Softmax softmax(const fovea_softmax_args& args, bool log);

// ---- Attention of one head, on the numbers before they are stored, and how far from it an answer is.

// Rows of queries, keys, values and outputs have `dim` numbers.
inline std::vector<double> attend_in_double(const std::vector<float>& q, const std::vector<float>& keys,
                                            const std::vector<float>& values, size_t dim) {
  const size_t count = keys.size() / dim;
  std::vector<double> out(q.size());
  for (size_t i = 0; i < q.size(); i += dim) {
    std::vector<double> weights(count);
    for (const auto& [j, d] : indices(count, dim)) weights[j] += double{q[i + d]} * double{keys[j * dim + d]};
    const double largest = *std::max_element(weights.begin(), weights.end()), root = std::sqrt(double(dim));
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp((weight - largest) / root);
    for (const auto& [j, d] : indices(count, dim)) out[i + d] += weights[j] / sum * double{values[j * dim + d]};
  }
  return out;
}

// The mean square of the differences over that of what is wanted.
inline double normalised_error(const std::vector<float>& got, const std::vector<double>& want) {
  double error = 0, power = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double off = double{got[i]} - want[i];
    error += off * off, power += want[i] * want[i];
  }
  return power > 0 ? error / power : error;
}

}  // namespace fovea_test
