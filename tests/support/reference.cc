// SPDX-License-Identifier: Apache-2.0
#include "support/reference.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "support/array.h"
#include "support/every.h"
#include "support/formats.h"
#include "support/tolerance.h"

namespace fovea_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ptrdiff_t mask_offset(const fovea_mask& m, uint32_t b, uint32_t h, uint32_t i, uint32_t j) {
  return ptrdiff_t(b) * m.batch_stride + ptrdiff_t(h) * m.head_stride + ptrdiff_t(i) * m.q_stride +
         ptrdiff_t(m.broadcast_keys != 0 ? 0 : j);
}

uint32_t length(const fovea_attention_args& args, uint32_t b) {
  return args.kv_lengths != nullptr ? args.kv_lengths[b] : args.kv_tokens;
}

// Philox 4x32-10 in its authors' form (Salmon et al., SC 2011).
struct Words {
  uint32_t word[4];
};
Words philox(Words c, uint64_t seed) {
  uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53u} * c.word[0], b = uint64_t{0xcd9e8d57u} * c.word[2];
    c = {{uint32_t(b >> 32) ^ c.word[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ c.word[3] ^ key[1], uint32_t(a)}};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return c;
}

// The error of an output row by the rounding of weights, for integer products: a sum over the key tiles. Where parts of
// a tile are attended to one after the other, the error is less.
class RoundedWeights {
 public:
  // scale: of all values; 0 if each row has its own, the smallest possible.
  RoundedWeights(size_t value_dim, double scale) : scale_(scale), codes_(value_dim), errors_(value_dim) {}

  // Called for each key, in order.
  void add(uint32_t j, double weight, const float* value) {
    if (j / FOVEA_KEY_TILE != tile_) end_tile();
    tile_ = j / FOVEA_KEY_TILE;
    double largest = 0;
    for (size_t e = 0; e < codes_.size(); ++e) largest = std::max(largest, std::fabs(double{value[e]}));
    if (scale_ == 0 && !(largest > 0))
      return;  // the row's own scale is 0, but one scale of all values weighs zeros too
    const double scale = scale_ != 0 ? scale_ : largest / 127;
    top_ = std::max(top_, weight * scale);
    for (size_t e = 0; e < codes_.size(); ++e) codes_[e] += std::fabs(double{value[e]}) / scale;
  }
  // The largest error of an element.
  double error() {
    end_tile();
    return *std::max_element(errors_.begin(), errors_.end());
  }

 private:
  void end_tile() {
    for (size_t e = 0; e < codes_.size(); ++e) errors_[e] += rounded_weights_error(top_, codes_[e]);
    std::fill(codes_.begin(), codes_.end(), 0.0);
    top_ = kLeastTop;
  }

  double scale_;
  std::vector<double> codes_, errors_;
  double top_ = kLeastTop;
  uint32_t tile_ = 0;
};

bool hides(float mask) { return mask <= -FLT_MAX / 2; }

// An element of a mask that is added.
float mask_element(const fovea_mask& m, ptrdiff_t at) {
  if (m.kind == FOVEA_MASK_F32) return static_cast<const float*>(m.data)[at];
  const uint16_t bits = static_cast<const uint16_t*>(m.data)[at];
  return float(value_of(m.kind == FOVEA_MASK_F16 ? kF16 : kBf16, bits));
}

// Whether position, length and the keys that the mask covers allow key j, even if its ring has replaced it.
bool within_limits(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b, uint32_t i,
                   uint32_t j) {
  const int64_t p = position(desc, args, b, i);
  if (j >= length(args, b)) return false;
  if (desc.causal != FOVEA_CAUSAL_NONE && j > p) return false;
  if (desc.window_left != 0 && j >= desc.pinned_tokens && j <= p - desc.window_left) return false;
  if (desc.window_right != 0 && j >= p + desc.window_right) return false;
  const fovea_mask& m = args.mask;
  return m.kv_tokens == 0 || m.at_end != 0 || (m.kv_tokens != FOVEA_MASK_NO_KEYS && j < m.kv_tokens);
}

// The kind that a block map gives the block of query i and key j.
fovea_block_kind block_kind(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b, uint32_t h,
                            uint32_t i, uint32_t j) {
  if (args.block_map == nullptr) return FOVEA_BLOCK_PARTIAL;
  const fovea_block_map& map = *args.block_map;
  const uint32_t* list = map.offsets + ptrdiff_t(b) * map.batch_stride +
                         ptrdiff_t(h / (desc.q_heads / desc.kv_heads)) * map.head_stride + i / map.q_block;
  for (uint32_t at = list[0]; at < list[1]; ++at) {
    if ((map.blocks[at] & ~FOVEA_BLOCK_ALL) != j / map.kv_block) continue;
    return (map.blocks[at] & FOVEA_BLOCK_ALL) != 0 ? FOVEA_BLOCK_FULL : FOVEA_BLOCK_PARTIAL;
  }
  return FOVEA_BLOCK_HIDDEN;
}

// The mask's column of key j; negative if the mask begins after key j.
int64_t mask_column(const fovea_attention_args& args, uint32_t b, uint32_t j) {
  return int64_t{j} - (args.mask.at_end != 0 ? int64_t{length(args, b)} - args.mask.kv_tokens : 0);
}

// A number after a modifier.
double modified(void (*function)(void*, const fovea_score_block*), const fovea_attention_desc& desc,
                const fovea_attention_args& args, uint32_t b, uint32_t h, uint32_t i, uint32_t j, double number) {
  if (function == nullptr) return number;
  auto x = float(number);
  const fovea_score_block block = {
      &x, 1, 1, 1, 1, b, h / (desc.q_heads / desc.kv_heads), &h, &i, position(desc, args, b, 0), j, 0};
  function(args.modifier->self, &block);
  return double{x};
}

bool gone(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b, uint32_t j) {
  if (desc.kv_kind != FOVEA_KV_RING || j < desc.pinned_tokens || j < prefix_of(desc, args, b)) return false;
  const uint32_t n = length(args, b), slots = desc.ring_tokens - desc.pinned_tokens;
  return int64_t{j} < int64_t{n} - slots || (args.kv.first_tokens != nullptr && j < args.kv.first_tokens[b]);
}

}  // namespace

uint32_t prefix_of(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b) {
  const auto most = uint32_t(desc.max_prefix_tokens);
  const uint32_t n = length(args, b);
  return b % 3 == 2 && n + most <= args.kv_tokens ? 0 : std::min(most, n);
}

bool dropped(float probability, uint64_t seed, uint32_t b, uint32_t h, uint32_t i, uint32_t j) {
  const uint32_t word = philox({{j / 4, i, h, b}}, seed).word[j % 4];
  return double(word >> 8) < double(probability) * 16777216.0;
}

int64_t position(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b, uint32_t i) {
  switch (desc.causal != FOVEA_CAUSAL_NONE ? uint32_t{desc.causal} : uint32_t{desc.diagonal}) {
    case FOVEA_DIAGONAL_TOP_LEFT: return i;
    case FOVEA_DIAGONAL_BOTTOM_RIGHT: return int64_t{i} + length(args, b) - args.q_tokens;
    default: return i + (args.first_positions != nullptr ? args.first_positions[b] : 0);
  }
}

bool visible(const fovea_attention_desc& desc, const fovea_attention_args& args, uint32_t b, uint32_t h, uint32_t i,
             uint32_t j) {
  if (!within_limits(desc, args, b, i, j) || gone(desc, args, b, j)) return false;
  const fovea_mask& m = args.mask;
  const fovea_block_kind kind = block_kind(desc, args, b, h, i, j);
  if (kind == FOVEA_BLOCK_HIDDEN) return false;
  const int64_t column = mask_column(args, b, j);
  if (m.kind == FOVEA_MASK_NONE || kind == FOVEA_BLOCK_FULL || column < 0) return true;
  const ptrdiff_t at = mask_offset(m, b, h, i, uint32_t(column));
  if (m.kind == FOVEA_MASK_BYTE) return static_cast<const uint8_t*>(m.data)[at] != 0;
  const float mask = mask_element(m, at);
  return !hides(mask) && !(m.kind == FOVEA_MASK_F16 && mask <= -65504.0f);
}

bool sees_gone_token(const fovea_attention_desc& desc, const fovea_attention_args& args) {
  for (uint32_t b = 0; b < args.batch; ++b) {
    for (uint32_t j = 0; j < length(args, b); ++j) {
      for (uint32_t i = 0; i < args.q_tokens && gone(desc, args, b, j); ++i) {
        if (within_limits(desc, args, b, i, j)) return true;
      }
    }
  }
  return false;
}

Attention attention(const fovea_attention_desc& desc, const fovea_attention_args& args) {
  const uint32_t group = desc.q_heads / desc.kv_heads;
  const bool additive = desc.score == FOVEA_SCORE_ADDITIVE, integers = desc.compute == FOVEA_COMPUTE_I8;
  const bool halves = desc.compute == FOVEA_COMPUTE_F16;
  const double unit_error = (additive ? additive_error(1.0, desc.head_dim) : score_error(1.0, desc.head_dim)) +
                            (halves ? half_error(1.0) : 0.0);
  const double no_scale = desc.score == FOVEA_SCORE_SCALED_DOT ? 1.0 / std::sqrt(double(desc.head_dim)) : 1.0;
  // As a sum: for a conditional conversion g++ 12 writes an instruction that Arm's assembler refuses.
  const double scale = double{desc.scale} + (desc.scale != 0 ? 0.0 : no_scale);
  const fovea_scores_stage stage = args.scores_stage;
  const bool every_key = stage == FOVEA_SCORES_SCALED || stage == FOVEA_SCORES_CAPPED;
  const fovea_modifier modifier = args.modifier != nullptr ? *args.modifier : fovea_modifier{};
  const size_t n = args.kv_tokens;
  const size_t rows = size_t{args.batch} * desc.q_heads * args.q_tokens;

  Attention answer;
  answer.out.resize(rows * desc.value_dim);
  answer.out_tolerance.resize(rows);
  answer.lse.resize(rows);
  answer.lse_tolerance.resize(rows);
  if (stage != FOVEA_SCORES_NONE) {
    answer.scores.resize(rows * n);
    answer.scores_tolerance.resize(rows * n);
  }

  std::vector<double> x(n);        // scores; -inf where hidden
  std::vector<double> error(n);    // of x in f32
  std::vector<double> weights(n);  // after the softmax
  size_t r = 0;
  for (const auto& [b, h] : indices(args.batch, desc.q_heads)) {
    for (uint32_t i = 0; i < args.q_tokens; ++i, ++r) {
      const float* q = row(args.q, b, h, i);
      const float* v = additive ? args.score_vector + ptrdiff_t(h / group) * args.score_vector_stride : nullptr;
      const int64_t p = position(desc, args, b, i);
      double largest = -kInfinity;
      float largest_value = 0;
      size_t seen = 0;
      for (uint32_t j = 0; j < n; ++j) {
        const bool sees = visible(desc, args, b, h, i, j);
        x[j] = -kInfinity;
        error[j] = 0;
        if (!sees && !every_key) continue;

        const float* key = row(args.kv.keys, b, h / group, j);
        double sum = 0;
        float magnitude = 0;  // only for a tolerance, so f32 is exact enough
        for (uint32_t d = 0; d < desc.head_dim; ++d) {
          sum += additive ? double{v[d]} * std::tanh(double{q[d]} + key[d]) : double{q[d]} * key[d];
          magnitude += std::fabs(additive ? v[d] : q[d] * key[d]);
        }
        double score = scale * sum;
        double e = unit_error * std::fabs(scale) * double(magnitude);
        if (halves) e += small_halves_error(key, desc.head_dim);
        double written = score;
        if (desc.softcap != 0) {
          score = desc.softcap * std::tanh(score / desc.softcap);
          e += softcap_error(score);
        }
        if (stage == FOVEA_SCORES_CAPPED) written = score;
        if (every_key) {
          answer.scores[r * n + j] = written;
          answer.scores_tolerance[r * n + j] = score_tolerance(e, written);
        }
        if (!sees) continue;

        if (args.alibi_slopes != nullptr) {
          const double bias = -double{args.alibi_slopes[h]} * std::fabs(double(p - j));
          score += bias;
          e += bias_error(bias, score);
        }
        if (modifier.score_mod != nullptr) {
          const double before = score;
          score = modified(modifier.score_mod, desc, args, b, h, i, j, score);
          e += bias_error(score - before, score) + bias_error(before, before);
        }
        const int64_t column = mask_column(args, b, j);
        if (args.mask.kind != FOVEA_MASK_NONE && args.mask.kind != FOVEA_MASK_BYTE && column >= 0 &&
            block_kind(desc, args, b, h, i, j) == FOVEA_BLOCK_PARTIAL) {
          const double factor = args.mask.head_factors != nullptr ? args.mask.head_factors[h] : 1;
          const double bias = factor * mask_element(args.mask, mask_offset(args.mask, b, h, i, uint32_t(column)));
          score += bias;
          e += bias_error(bias, score);
        }
        x[j] = score;
        error[j] = e;
        ++seen;
        if (score > largest) largest = score;
      }
      if (args.sinks != nullptr) largest = std::max(largest, double{args.sinks[h]});

      const double shift = largest == -kInfinity ? 0 : largest;
      double sum = args.sinks != nullptr ? std::exp(args.sinks[h] - shift) : 0;
      for (uint32_t j = 0; j < n; ++j) {
        weights[j] = visible(desc, args, b, h, i, j) ? std::exp(x[j] - shift) : 0;
        sum += weights[j];
      }
      double weighted_error = integers || halves ? kShortExp2Error : 0;
      RoundedWeights rounded(desc.value_dim, double{desc.value_scale});
      for (uint32_t j = 0; j < n; ++j) {
        if (sum != 0) weights[j] /= sum;
        if (!visible(desc, args, b, h, i, j)) continue;
        if (weights[j] != 0) weighted_error += weights[j] * error[j];
        weights[j] = std::max(modified(modifier.weight_mod, desc, args, b, h, i, j, weights[j]), 0.0);
        if (desc.dropout != 0) {
          weights[j] *= dropped(desc.dropout, args.dropout_seed, b, h, i, j) ? 0 : 1 / (1 - double{desc.dropout});
        }
        const float* value = row(args.kv.values, b, h / group, j);
        if (integers) rounded.add(j, weights[j], value);
        for (uint32_t e = 0; e < desc.value_dim; ++e) {
          answer.out[r * desc.value_dim + e] += weights[j] * value[e];
          largest_value = std::max(largest_value, std::fabs(value[e]));
        }
      }
      const double lse = sum == 0 ? -kInfinity : shift + std::log(sum);
      answer.lse[r] = lse;
      answer.lse_tolerance[r] = lse_tolerance(weighted_error, lse, seen);
      answer.out_tolerance[r] = (out_tolerance(weighted_error, double{largest_value}, seen) +
                                 (halves ? half_values_error(double{largest_value}, seen) : 0.0)) /
                                    (1 - double{desc.dropout}) +
                                rounded.error();
      for (uint32_t j = 0; j < n && (stage == FOVEA_SCORES_MASKED || stage == FOVEA_SCORES_SOFTMAX); ++j) {
        const bool masked = stage == FOVEA_SCORES_MASKED;
        answer.scores[r * n + j] = masked ? x[j] : weights[j];
        answer.scores_tolerance[r * n + j] =
            masked ? score_tolerance(error[j], x[j])
                   : weight_tolerance(weights[j], error[j], answer.lse_tolerance[r], x[j], lse) /
                         (1 - double{desc.dropout});
      }
    }
  }
  return answer;
}

Softmax softmax(const fovea_softmax_args& args, bool log) {
  const double scale = args.scale != 0 ? double{args.scale} : 1.0;
  Softmax answer;
  answer.out.resize(args.outer * args.axis * args.inner);
  answer.tolerance.resize(answer.out.size());
  std::vector<double> x(args.axis), magnitude(args.axis);
  for (const auto& [o, i] : indices<size_t>(args.outer, args.inner)) {
    double largest = -kInfinity, sum = 0;
    for (size_t a = 0; a < args.axis; ++a) {
      float mask = 0;
      if (args.mask != nullptr) {
        mask = args.mask[ptrdiff_t(o) * args.mask_outer_stride + ptrdiff_t(a) * args.mask_axis_stride +
                         ptrdiff_t(i) * args.mask_inner_stride];
      }
      x[a] = -kInfinity;
      magnitude[a] = 0;
      if (hides(mask)) continue;
      const float in = args.x[ptrdiff_t(o) * args.x_outer_stride + ptrdiff_t(a) * args.x_axis_stride + ptrdiff_t(i)];
      x[a] = scale * in + mask;
      if (std::isinf(float(x[a]))) x[a] = std::copysign(kInfinity, x[a]);
      if (std::isfinite(x[a])) magnitude[a] = std::fabs(scale * in) + std::fabs(double{mask});
      if (x[a] > largest) largest = x[a];
    }
    const double shift = largest == -kInfinity ? 0 : largest;
    double error_of_largest = 0;
    for (size_t a = 0; a < args.axis; ++a) {
      sum += std::exp(x[a] - shift);
      if (x[a] == largest) error_of_largest = magnitude[a];
    }
    for (size_t a = 0; a < args.axis; ++a) {
      const size_t at = (o * args.axis + a) * args.inner + i;
      const double log_weight = x[a] - shift - std::log(sum);
      const double weight = sum == 0 ? 0 : std::exp(x[a] - shift) / sum;
      const double errors = magnitude[a] + error_of_largest;
      answer.out[at] = !log ? weight : sum == 0 ? -kInfinity : log_weight;
      answer.tolerance[at] = log ? log_softmax_tolerance(std::isfinite(log_weight) ? log_weight : 0, errors, args.axis)
                                 : softmax_tolerance(weight, errors, args.axis);
      // Of scores so large that their rounding is no small part of 1, any that round to the largest share its weight.
      const double rounding = 2.0 * kEpsilon * errors;
      if (!log && rounding > 0.1 && !std::isnan(log_weight)) {
        answer.tolerance[at] += std::max(weight, std::exp(std::min(0.0, log_weight + rounding)));
      }
    }
  }
  return answer;
}

}  // namespace fovea_test
