// SPDX-License-Identifier: Apache-2.0
//
// The tutorial on the parts of a Transformer (Vaswani et al., arXiv 1706.03762): attention(query, key, value, mask,
// dropout), then MultiHeadedAttention(h = 8, d_model = 512), so heads of 64, in its three uses: an encoder attends to
// itself, a decoder to the encoder, and the decoder to its tokens so far, here a token at a time; then once more with
// all options of its class: a mask, dropout, the weights kept as self.attn. Its layers are nn.Linear, with biases.
// Weights are random; every result is compared with plain loops in double. Exit code: 0, or 1 when a number is wrong.
#include <algorithm>
#include <vector>

#include "tutorial.h"

using tutorial::Matrix;
using tutorial::rows;
using tutorial::transposed;

namespace {

tutorial::Verdict verdict;
tutorial::Random numbers;

constexpr size_t kHeads = 8, kModel = 512, kDim = kModel / kHeads, kSource = 9, kTarget = 6;
constexpr float kDropout = 0.1f;

// 0 hides a key, as masked_fill(mask == 0, -1e9) does. The output of a query that sees no key is zeros here; with
// scores of -1e9 it is the mean of the values.
uint8_t mask[kTarget][kTarget];

// Dropout: a weight becomes 0, or larger, so that the mean stays the same. The seed decides which.
struct Dropout {
  size_t dropped = 0, kept = 0;  // counts of weights that are not hidden

  // Applies the dropout of `given`, the library's weights, to plain weights.
  Matrix operator()(Matrix weights, const float (*given)[kTarget]) {
    for (size_t i = 0; i < kTarget; ++i) {
      for (size_t j = 0; j < kTarget; ++j) {
        if (weights(i, j) == 0) continue;
        const bool drops = given[i][j] == 0;
        ++(drops ? dropped : kept);
        weights(i, j) *= drops ? 0 : 1 / (1 - double{kDropout});
      }
    }
    return weights;
  }
  bool some_of_both() const { return dropped > 0 && kept > dropped; }
};

// One head, with a mask and with dropout.
void attend() {
  float q[kTarget][kDim], k[kTarget][kDim], v[kTarget][kDim], p_attn[kTarget][kTarget], out[kTarget][kDim];
  numbers.fill(q, -2, 2), numbers.fill(k, -2, 2), numbers.fill(v, -1, 1);
  tutorial::OneHead head(out, q, k, v);
  head.weights(p_attn);
  head.args.mask = {FOVEA_MASK_BYTE, kTarget, mask, 0, 0, kTarget, 0, nullptr, 0, nullptr};
  verdict.status(head.run());

  Matrix want = softmax_of_rows(not_ahead(1 / std::sqrt(kDim) * (Matrix(q) * transposed(k))));
  tutorial::print("p_attn, masked", p_attn, " %.4f");
  verdict.check("p_attn against plain loops in double", p_attn, want, 1e-6);
  verdict.check("the output against plain loops in double", out, want * Matrix(v), 1e-6);

  head.desc.dropout = kDropout;
  head.args.dropout_seed = 3;
  verdict.status(head.run());
  Dropout dropout;
  want = dropout(want, p_attn);
  tutorial::print("\np_attn, masked, after dropout of 0.1", p_attn, " %.4f");
  verdict.require(dropout.some_of_both(), "some weights are dropped, most are kept");
  verdict.check("p_attn against plain loops in double", p_attn, want, 1e-6);
  verdict.check("the output against plain loops in double", out, want * Matrix(v), 1e-6);
}

// The projections of a block. (The paper has them without biases, PyTorch's nn.Linear with.)
float w_q[kModel][kModel], w_k[kModel][kModel], w_v[kModel][kModel], w_o[kModel][kModel];
float b_q[1][kModel], b_k[1][kModel], b_v[1][kModel], b_o[1][kModel];

fovea::Memory<FOVEA_MULTIHEAD_WORKSPACE_BYTES(kModel, kHeads, kHeads, kDim, kSource, kSource, FOVEA_F32)> workspace;
fovea::Memory<FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, kHeads, kTarget, kDim, kDim)> cache_memory;

// The call for `count` tokens x, to y.
fovea::MultiheadArgs arguments(float* y, const float* x, uint32_t count) {
  fovea::MultiheadArgs args;
  args.batch = 1, args.q_tokens = count;
  args.y = {y, 0, 0, kModel};
  args.x = {x, 0, 0, kModel};
  args.weights.q = fovea::linear_weights(w_q[0], kModel, b_q[0]);
  args.weights.k = fovea::linear_weights(w_k[0], kModel, b_k[0]);
  args.weights.v = fovea::linear_weights(w_v[0], kModel, b_v[0]);
  args.weights.out = fovea::linear_weights(w_o[0], kModel, b_o[0]);
  return args;
}

// The same by plain loops. x W^T + b of a head:
Matrix projected(const Matrix& x, const Matrix& w, const Matrix& b, size_t head) {
  Matrix y = x * transposed(rows(w, head * kDim, kDim));
  for (size_t t = 0; t < y.rows; ++t) {
    for (size_t d = 0; d < kDim; ++d) y(t, d) += b(0, head * kDim + d);
  }
  return y;
}

Matrix weights_of(const Matrix& x, const Matrix& memory, bool masked, size_t head) {
  const Matrix q = projected(x, w_q, b_q, head), k = projected(memory, w_k, b_k, head);
  const Matrix scores = 1 / std::sqrt(kDim) * (q * transposed(k));
  return softmax_of_rows(masked ? not_ahead(scores) : scores);
}

// Concat(head_1, ..., head_h) W^O is the sum of all head_i W_i^O.
Matrix joined(const std::vector<Matrix>& weights, const Matrix& memory) {
  Matrix sum(weights[0].rows, kModel);
  for (size_t t = 0; t < sum.rows; ++t) {
    for (size_t d = 0; d < kModel; ++d) sum(t, d) = double{b_o[0][d]};
  }
  const Matrix w_o_columns = transposed(w_o);
  for (size_t h = 0; h < kHeads; ++h) {
    sum = sum + weights[h] * projected(memory, w_v, b_v, h) * rows(w_o_columns, h * kDim, kDim);
  }
  return sum;
}

Matrix multi_head(const Matrix& x, const Matrix& memory, bool masked) {
  std::vector<Matrix> weights;
  for (size_t h = 0; h < kHeads; ++h) weights.push_back(weights_of(x, memory, masked, h));
  return joined(weights, memory);
}

void attend_in_eight_heads() {
  static float encoder[kSource][kModel], memory[kSource][kModel], decoder[kTarget][kModel], y[kTarget][kModel];
  numbers.fill(encoder, -2, 2), numbers.fill(decoder, -2, 2);
  numbers.fill(w_q, -0.1f, 0.1f), numbers.fill(w_k, -0.1f, 0.1f), numbers.fill(w_v, -0.1f, 0.1f);
  numbers.fill(w_o, -0.1f, 0.1f);
  numbers.fill(b_q, -1, 1), numbers.fill(b_k, -1, 1), numbers.fill(b_v, -1, 1), numbers.fill(b_o, -1, 1);

  fovea::MultiheadDesc desc;
  desc.attention.q_heads = desc.attention.kv_heads = kHeads;
  desc.attention.head_dim = desc.attention.value_dim = kDim;
  desc.attention.max_batch = 1, desc.attention.max_q_tokens = desc.attention.max_kv_tokens = kSource;
  fovea::Multihead layer;
  verdict.status(layer.init(desc));
  std::printf("\n%zu heads of %zu, d_model %zu\n", kHeads, kDim, kModel);

  // The encoder: all tokens attend to all.
  verdict.status(layer.run(arguments(memory[0], encoder[0], kSource), workspace));
  verdict.check("encoder self-attention, against plain loops in double", memory, multi_head(encoder, encoder, false),
                5e-5);

  // The decoder's queries attend to the encoder's output.
  fovea::MultiheadArgs cross = arguments(y[0], decoder[0], kTarget);
  cross.keys = {memory, 0, 0, kModel};
  cross.kv_tokens = kSource;
  verdict.status(layer.run(cross, workspace));
  verdict.check("encoder-decoder attention, against plain loops in double", y, multi_head(decoder, memory, false),
                5e-5);

  // The decoder attends to itself. If tokens are generated one by one, each one's key and value are appended to a
  // cache, and its query sees the cache.
  fovea::KvCacheDesc cache_desc;
  cache_desc.batch = 1, cache_desc.kv_heads = kHeads, cache_desc.max_tokens = kTarget;
  cache_desc.head_dim = cache_desc.value_dim = kDim;
  fovea::KvCache cache;
  verdict.status(cache.init(cache_desc, cache_memory));
  for (size_t t = 0; t < kTarget; ++t) {
    fovea::MultiheadArgs next = arguments(y[t], decoder[t], 1);
    verdict.status(layer.append(cache, next, workspace));
    next.cache = &cache.get();
    verdict.status(layer.run(next, workspace));
  }
  verdict.check("masked decoder self-attention, a token at a time, against plain loops in double", y,
                multi_head(decoder, decoder, true), 5e-5);

  // All tokens of the decoder in one call, with all options of the class: a mask, the same for all heads, and dropout;
  // the weights are kept.
  static float attn[kHeads * kTarget][kTarget];
  desc.attention.dropout = kDropout;
  verdict.status(layer.init(desc));
  fovea::MultiheadArgs all = arguments(y[0], decoder[0], kTarget);
  all.attention.mask = {FOVEA_MASK_BYTE, kTarget, mask, 0, 0, kTarget, 0, nullptr, 0, nullptr};
  all.attention.dropout_seed = 4;
  all.attention.scores = fovea::heads_first(attn[0], kHeads, kTarget, kTarget);
  all.attention.scores_stage = FOVEA_SCORES_SOFTMAX;
  verdict.status(layer.run(all, workspace));
  Dropout dropout;
  std::vector<Matrix> weights;
  Matrix all_weights(kHeads * kTarget, kTarget);
  for (size_t h = 0; h < kHeads; ++h) {
    weights.push_back(dropout(weights_of(decoder, decoder, true, h), &attn[h * kTarget]));
    std::copy_n(&weights[h](0, 0), kTarget * kTarget, &all_weights(h * kTarget, 0));
  }
  verdict.check("weights of all heads, masked, after dropout, against plain loops in double", attn, all_weights, 1e-5);
  verdict.require(dropout.some_of_both(), "some weights are dropped, most are kept");
  verdict.check("and y, against plain loops in double", y, joined(weights, decoder), 5e-5);
}

}  // namespace

int main() {
  for (size_t i = 0; i < kTarget; ++i) {
    for (size_t j = 0; j < kTarget; ++j) mask[i][j] = j <= i;
  }
  attend();
  attend_in_eight_heads();
  return verdict.exit_code();
}
