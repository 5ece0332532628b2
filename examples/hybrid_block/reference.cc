// SPDX-License-Identifier: Apache-2.0
//
// The model by its definitions, in double, a layer at a time over the whole sequence.
#include <cmath>

#include "model.h"

namespace hybrid_block {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

template <size_t kOut, size_t kIn>
void product(const float (&weights)[kOut][kIn], const double* x, double* y) {
  for (size_t o = 0; o < kOut; ++o) {
    y[o] = 0;
    for (size_t i = 0; i < kIn; ++i) y[o] += static_cast<double>(weights[o][i]) * x[i];
  }
}

// y = x / sqrt(sum of x^2 / parts + epsilon) * weight
void normalize(const double* x, size_t dim, double parts, const float* weight, double* y) {
  double sum = 0;
  for (size_t i = 0; i < dim; ++i) sum += x[i] * x[i];
  const double scale = 1 / std::sqrt(sum / parts + static_cast<double>(kEpsilon));
  for (size_t i = 0; i < dim; ++i) y[i] = x[i] * scale * (weight ? static_cast<double>(weight[i]) : 1.0);
}

// The output of linear attention for each token, from normalised tokens.
void delta_layer(const DeltaWeights& w, const double (&x)[kTokens][kDim], double (&y)[kTokens][kDim]) {
  static double in[kTokens][kChannels];
  double s[kValueHeads][kKeyDim][kValueDim] = {};
  for (size_t t = 0; t < kTokens; ++t) {
    product(w.in, x[t], in[t]);
    double mixed[kChannels], gate[kValues], beta[kValueHeads], decay[kValueHeads], out[kValues];
    for (size_t c = 0; c < kChannels; ++c) {
      double sum = 0;
      for (size_t tap = 0; tap < kWidth; ++tap) {
        const size_t back = kWidth - 1 - tap;
        if (t >= back) sum += static_cast<double>(w.conv[c][tap]) * in[t - back][c];
      }
      mixed[c] = silu(sum);
    }
    product(w.gate, x[t], gate);
    product(w.beta, x[t], beta);
    product(w.decay, x[t], decay);
    for (size_t h = 0; h < kValueHeads; ++h) {
      const size_t key_head = h / (kValueHeads / kKeyHeads);
      double q[kKeyDim], k[kKeyDim], u[kValueDim], o[kValueDim] = {};
      normalize(mixed + key_head * kKeyDim, kKeyDim, 1, nullptr, q);
      normalize(mixed + kKeys + key_head * kKeyDim, kKeyDim, 1, nullptr, k);
      const double* const v = mixed + 2 * kKeys + h * kValueDim;
      const double g =
          std::exp(-static_cast<double>(w.decay_rate[h]) * softplus(decay[h] + static_cast<double>(w.decay_bias[h])));
      for (size_t e = 0; e < kValueDim; ++e) {
        double held = 0;
        for (size_t d = 0; d < kKeyDim; ++d) held += (s[h][d][e] *= g) * k[d];
        u[e] = sigmoid(beta[h]) * (v[e] - held);
        for (size_t d = 0; d < kKeyDim; ++d) o[e] += (s[h][d][e] += k[d] * u[e]) * q[d] / std::sqrt(kKeyDim);
      }
      normalize(o, kValueDim, kValueDim, w.norm, out + h * kValueDim);
      for (size_t e = 0; e < kValueDim; ++e) out[h * kValueDim + e] *= silu(gate[h * kValueDim + e]);
    }
    product(w.out, out, y[t]);
  }
}

// Rotates the first kRotaryDim elements of a row; the elements of a pair are kRotaryDim / 2 apart.
void turn(double* x, size_t position) {
  for (size_t i = 0; i < kRotaryDim / 2; ++i) {
    const double angle = static_cast<double>(position) * std::pow(10000.0, -2.0 * static_cast<double>(i) / kRotaryDim);
    const double a = x[i], b = x[i + kRotaryDim / 2];
    x[i] = a * std::cos(angle) - b * std::sin(angle);
    x[i + kRotaryDim / 2] = b * std::cos(angle) + a * std::sin(angle);
  }
}

// The same of softmax attention.
void attention_layer(const AttentionWeights& w, const double (&x)[kTokens][kDim], double (&y)[kTokens][kDim]) {
  static double keys[kTokens][kKvs], values[kTokens][kKvs];
  for (size_t t = 0; t < kTokens; ++t) {
    double q[kQueries], gate[kQueries], out[kQueries] = {};
    product(w.q, x[t], q);
    product(w.gate, x[t], gate);
    product(w.k, x[t], keys[t]);
    product(w.v, x[t], values[t]);
    for (size_t h = 0; h < kKvHeads; ++h) {
      double* const k = keys[t] + h * kHeadDim;
      normalize(k, kHeadDim, kHeadDim, w.k_norm, k);
      turn(k, t);
    }
    for (size_t h = 0; h < kQHeads; ++h) {
      double* const query = q + h * kHeadDim;
      const size_t kv = h / (kQHeads / kKvHeads) * kHeadDim;
      normalize(query, kHeadDim, kHeadDim, w.q_norm, query);
      turn(query, t);
      double sum = 0;
      for (size_t j = 0; j <= t; ++j) {
        double score = 0;
        for (size_t d = 0; d < kHeadDim; ++d) score += query[d] * keys[j][kv + d];
        const double weight = std::exp(score / std::sqrt(kHeadDim));
        sum += weight;
        for (size_t e = 0; e < kHeadDim; ++e) out[h * kHeadDim + e] += weight * values[j][kv + e];
      }
      for (size_t e = 0; e < kHeadDim; ++e) out[h * kHeadDim + e] *= sigmoid(gate[h * kHeadDim + e]) / sum;
    }
    product(w.out, out, y[t]);
  }
}

}  // namespace

void reference(const Model& model, const float (&x)[kTokens][kDim], double (&out)[kTokens][kDim]) {
  static double normed[kTokens][kDim], added[kTokens][kDim];
  for (size_t t = 0; t < kTokens; ++t) {
    for (size_t d = 0; d < kDim; ++d) out[t][d] = static_cast<double>(x[t][d]);
  }
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (size_t t = 0; t < kTokens; ++t) normalize(out[t], kDim, kDim, model.norm[layer], normed[t]);
    if (layer < kDeltaLayers) {
      delta_layer(model.delta[layer], normed, added);
    } else {
      attention_layer(model.attention, normed, added);
    }
    for (size_t t = 0; t < kTokens; ++t) {
      double gate[kHidden], up[kHidden], down[kDim];
      for (size_t d = 0; d < kDim; ++d) out[t][d] += added[t][d];
      normalize(out[t], kDim, kDim, model.mlp_norm[layer], normed[t]);
      product(model.mlp_gate[layer], normed[t], gate);
      product(model.mlp_up[layer], normed[t], up);
      for (size_t i = 0; i < kHidden; ++i) up[i] *= silu(gate[i]);
      product(model.mlp_down[layer], up, down);
      for (size_t d = 0; d < kDim; ++d) out[t][d] += down[d];
    }
  }
}

}  // namespace hybrid_block
