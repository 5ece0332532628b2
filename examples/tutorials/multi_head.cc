// SPDX-License-Identifier: Apache-2.0
//
// The tutorial that gathers what a Transformer is made of (Vaswani et al., arXiv 1706.03762): attention(query, key,
// value, mask, dropout), then MultiHeadedAttention(h = 8, d_model = 512), so heads of 64, in its three uses: an encoder
// attends to itself, a decoder to the encoder, and the decoder to itself without looking ahead, here a token at a time.
// Weights are those of no training; everything is held against plain loops in double. Exit code: 0, or 1 when a number
// is wrong.
#include "tutorial.h"

using tutorial::Matrix;
using tutorial::rows;
using tutorial::transposed;

namespace {

tutorial::Verdict verdict;
tutorial::Random numbers;

constexpr size_t kHeads = 8, kModel = 512, kDim = kModel / kHeads, kSource = 9, kTarget = 6;

// One head, with a mask and with dropout.
void attend() {
  float q[kTarget][kDim], k[kTarget][kDim], v[kTarget][kDim], p_attn[kTarget][kTarget], out[kTarget][kDim];
  numbers.fill(q, -2, 2), numbers.fill(k, -2, 2), numbers.fill(v, -1, 1);
  // 0 hides a key, as masked_fill(mask == 0, -1e9) does. A query that may see no key gets zeros here; where all scores
  // are -1e9 it gets the mean of the values.
  uint8_t mask[kTarget][kTarget];
  for (size_t i = 0; i < kTarget; ++i) {
    for (size_t j = 0; j < kTarget; ++j) mask[i][j] = j <= i;
  }
  tutorial::OneHead head(out, q, k, v);
  head.weights(p_attn);
  head.args.mask = {FOVEA_MASK_BYTE, kTarget, mask, 0, 0, kTarget};
  verdict.status(head.run());

  Matrix want = softmax_of_rows(not_ahead(1 / std::sqrt(kDim) * (Matrix(q) * transposed(k))));
  tutorial::print("p_attn, masked", p_attn, " %.4f");
  verdict.check("plain loops'", p_attn, want, 1e-6);
  verdict.check("and the output", out, want * Matrix(v), 1e-6);

  // Dropout: a weight becomes 0, or larger by what is lost on average. The seed decides which.
  head.desc.dropout = 0.1f;
  head.args.dropout_seed = 3;
  verdict.status(head.run());
  for (size_t i = 0; i < kTarget; ++i) {
    for (size_t j = 0; j < kTarget; ++j) want(i, j) *= p_attn[i][j] == 0 ? 0 : 1 / 0.9;
  }
  tutorial::print("\np_attn, masked, after dropout of 0.1", p_attn, " %.4f");
  verdict.check("plain loops' / 0.9, or 0", p_attn, want, 1e-6);
  verdict.check("and the output", out, want * Matrix(v), 1e-6);
}

// The projections of a block; the paper has them without a bias.
float w_q[kModel][kModel], w_k[kModel][kModel], w_v[kModel][kModel], w_o[kModel][kModel];

alignas(FOVEA_WORKSPACE_ALIGNMENT)
    std::byte workspace[FOVEA_MULTIHEAD_WORKSPACE_BYTES(kModel, kHeads, kHeads, kDim, kSource, kSource, FOVEA_F32)];
alignas(FOVEA_WORKSPACE_ALIGNMENT) std::byte
    cache_memory[FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, kHeads, kTarget, kDim, kDim)];

// The call for `count` tokens x, to y.
fovea::MultiheadArgs arguments(float* y, const float* x, uint32_t count) {
  fovea::MultiheadArgs args;
  args.batch = 1, args.q_tokens = count;
  args.y = {y, 0, 0, kModel};
  args.x = {x, 0, 0, kModel};
  args.weights.q = fovea::linear_weights(w_q[0], kModel);
  args.weights.k = fovea::linear_weights(w_k[0], kModel);
  args.weights.v = fovea::linear_weights(w_v[0], kModel);
  args.weights.out = fovea::linear_weights(w_o[0], kModel);
  return args;
}

// The same by plain loops: Concat(head_1, ..., head_h) W^O is the sum of all head_i W_i^O.
Matrix multi_head(const Matrix& x, const Matrix& memory, bool masked) {
  Matrix sum(x.rows, kModel);
  for (size_t h = 0; h < kModel; h += kDim) {
    const Matrix q = x * transposed(rows(w_q, h, kDim)), k = memory * transposed(rows(w_k, h, kDim));
    const Matrix v = memory * transposed(rows(w_v, h, kDim)), scores = 1 / std::sqrt(kDim) * (q * transposed(k));
    sum = sum + softmax_of_rows(masked ? not_ahead(scores) : scores) * v * rows(transposed(w_o), h, kDim);
  }
  return sum;
}

void attend_in_eight_heads() {
  static float encoder[kSource][kModel], memory[kSource][kModel], decoder[kTarget][kModel], y[kTarget][kModel];
  numbers.fill(encoder, -2, 2), numbers.fill(decoder, -2, 2);
  numbers.fill(w_q, -0.1f, 0.1f), numbers.fill(w_k, -0.1f, 0.1f), numbers.fill(w_v, -0.1f, 0.1f);
  numbers.fill(w_o, -0.1f, 0.1f);

  fovea::MultiheadDesc desc;
  desc.attention.q_heads = desc.attention.kv_heads = kHeads;
  desc.attention.head_dim = desc.attention.value_dim = kDim;
  desc.attention.max_batch = 1, desc.attention.max_q_tokens = desc.attention.max_kv_tokens = kSource;
  fovea::Multihead layer;
  verdict.status(layer.init(desc));
  std::printf("\n%zu heads of %zu, d_model %zu\n", kHeads, kDim, kModel);

  // The encoder: all tokens attend to all.
  verdict.status(layer.run(arguments(memory[0], encoder[0], kSource), workspace));
  verdict.check("encoder self-attention", memory, multi_head(encoder, encoder, false), 2e-5);

  // The decoder's queries attend to the encoder's output.
  fovea::MultiheadArgs cross = arguments(y[0], decoder[0], kTarget);
  cross.keys = {memory, 0, 0, kModel};
  cross.kv_tokens = kSource;
  verdict.status(layer.run(cross, workspace));
  verdict.check("encoder-decoder attention", y, multi_head(decoder, memory, false), 2e-5);

  // The decoder attends to itself. Where each token is made from those before, its key and value go into a cache, and
  // its query sees what is there.
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
  verdict.check("masked decoder self-attention, a token at a time", y, multi_head(decoder, decoder, true), 2e-5);
}

}  // namespace

int main() {
  attend();
  attend_in_eight_heads();
  return verdict.exit_code();
}
