// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers of f32 or int8 tensors: their arrays, filled by the formula of vectors/make_multihead.py; what plain
// loops in double make of them; and what the steps of a layer make, each called by itself.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "fovea/fovea.h"
#include "layers/multihead/layer_resolve.h"
#include "support/array.h"
#include "support/cache_model.h"
#include "support/guarded.h"

namespace fovea_test {

// Which inputs there are in addition to x; kKeys: they are the values too.
enum Source { kSelf, kKeys, kKeysAndValues };
// Added to the scores or hiding keys; 2: [q_tokens][kv_tokens], 3: [batch * heads][q_tokens][kv_tokens].
enum LayerMask { kNoMask, kBool2, kBool3, kFloat2, kFloat3 };
// Keys that are hidden from all queries; kTail: the last 1 + b of entry b; kHalves: half or all of those of some entries.
enum Padding { kNoPadding, kTail, kAnywhere, kHalves };
// What is drawn, as what is added to the seed: the order is that of make_multihead.py.
enum Draw : uint64_t { kX, kKeyTokens, kValueTokens, kHidden, kMaskBits, kWq, kWk, kWv, kWout, kBin, kBout };

// A tensor: f32 where scale is 0.
struct Scaled {
  float scale = 0.0f;
  int32_t zero = 0;
  fovea_dtype dtype() const { return scale != 0.0f ? FOVEA_I8 : FOVEA_F32; }
};

struct LayerProblem {
  uint32_t batch = 2, q_tokens = 5, kv_tokens = 7;
  uint32_t q_heads = 4, kv_heads = 2, head_dim = 6, value_dim = 6;
  uint32_t d_model = 24, key_model = 24, value_model = 24;
  fovea_dtype dtype = FOVEA_F32;  // of weights
  float weight_size = 0x1p-8f;    // codes of weights are multiplied by it, by its half or by its quarter
  bool bias = true, int_bias = false, packed = false;  // int_bias: of layers whose input is int8
  Source keys = kSelf;
  bool no_q = false, no_k = false, no_v = false, no_out = false;  // layers that are left out, where widths allow it
  Scaled x, q, k, v, o, y;
  fovea_compute compute = FOVEA_COMPUTE_F32, linear_compute = FOVEA_COMPUTE_F32;
  Layout order = Layout::kHeadsFirst;
  fovea_causal causal = FOVEA_CAUSAL_NONE;
  LayerMask mask = kNoMask;
  Padding padding = kNoPadding;
  bool scores = true, portable_bits = false;
  uint64_t seed = 1;

  uint32_t keys_of_call() const { return keys == kSelf ? q_tokens : kv_tokens; }
  uint32_t q_width() const { return q_heads * head_dim; }
  uint32_t k_width() const { return kv_heads * head_dim; }
  uint32_t v_width() const { return kv_heads * value_dim; }
};
std::string name(const LayerProblem& p, fovea_target target);

// [batch][tokens][width]: entries are what heads are to other arrays.
struct TokenArray : Array {
  TokenArray() = default;
  TokenArray(const LayerProblem& p, const Scaled& tensor, uint32_t tokens, uint32_t width);
  void draw(uint64_t seed) const;  // between -2 and 2
  float* at(uint32_t b, uint32_t t) const { return row<float>(0, b, t); }
  std::vector<double> reals(uint32_t b, uint32_t t) const;  // the numbers that codes stand for
  fovea_in in(ptrdiff_t head_stride = 0) const { return {row(0, 0, 0), strides.head, head_stride, strides.token}; }
  fovea_out out(ptrdiff_t head_stride = 0) const { return {row(0, 0, 0), strides.head, head_stride, strides.token}; }

  Scaled tensor;
};

// Weights [out][in] as they are stored, and as numbers. No weights stand for a layer that is left out.
struct LayerWeights {
  // Of some layers one after the other, each with a number of outputs. Biases are drawn from number first_bias on.
  using Parts = std::initializer_list<std::pair<Draw, uint32_t>>;
  LayerWeights() = default;
  LayerWeights(const LayerProblem& p, const Scaled& x, uint32_t in, Parts parts, Draw bias_draw, uint32_t first_bias);
  std::vector<double> apply(const std::vector<double>& x) const;

  Guarded data, scales, bias;
  std::vector<double> numbers, biases;
  fovea_linear_weights view{};
};

struct LayerAnswer {
  std::vector<double> y;        // [batch][q_tokens][d_model]
  std::vector<double> weights;  // [batch][heads][q_tokens][kv_tokens], or their mean over the heads, or empty
};

// A cache for a layer, with pages in an order of their own.
struct LayerCache : OwnedCache {
  LayerCache(const LayerProblem& p, fovea_kv_kind of_kind, fovea_dtype dtype, uint32_t tokens);
};

class LayerCase {
 public:
  explicit LayerCase(const LayerProblem& problem);

  // Makes a plan, and its workspace.
  fovea_status make_plan(fovea_target target);
  // The same for a cache, to which calls append up to `new_tokens`.
  void plan_for(const Cache& cache, uint32_t new_tokens, fovea_target target);
  fovea_status call();
  fovea_status append(Cache& cache);
  // From now on keys and values are those of a cache.
  void attend_to(const Cache& cache) { args.keys = args.values = {}, args.cache = cache; }
  fovea_status run(fovea_target target);
  // As a decoder does it, step(first) tokens at a time and at most `most`, with those before in a cache.
  void decode(fovea_target target, Cache& cache, uint32_t most, uint32_t (*step)(uint32_t first));

  // y as [batch][tokens][d_model]; of int8, codes.
  std::vector<float> answer() const { return y.numbers(); }
  // The same of fovea_linear and fovea_attention.
  std::vector<float> by_steps() const;
  // Nothing between x and y is rounded.
  LayerAnswer expected() const;
  // "" if y, to this part of its largest number, and the weights of the first `columns` keys are these.
  std::string compare(const LayerAnswer& want, double tolerance, uint32_t columns) const;
  std::string compare(double tolerance = 2e-6) const { return compare(expected(), tolerance, p.keys_of_call()); }

  LayerProblem p;
  fovea_multihead_desc desc{};
  fovea_multihead_plan plan{};
  fovea_multihead_args args{};
  fovea_rope_args rope{};  // not yet of the call
  TokenArray y, x, keys, values;
  LayerWeights wq, wk, wv, wo, qkv;  // the first three are those of packed calls too
  std::vector<uint32_t> lengths;
  Guarded mask;
  fovea_mask mask_of_scores{};
  Array scores;
  Guarded workspace;

 private:
  void describe();
  void make_mask();
  TokenArray layer(const TokenArray& from, const LayerWeights& w, const Scaled& to, uint32_t width) const;
  double masked(uint32_t b, uint32_t h, uint32_t i, uint32_t j) const;
  const TokenArray& key_source() const { return p.keys == kSelf ? x : keys; }
  const TokenArray& value_source() const { return p.keys == kKeysAndValues ? values : key_source(); }
};

}  // namespace fovea_test
