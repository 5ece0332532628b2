// SPDX-License-Identifier: Apache-2.0
//
// The tutorial that begins with a sentence: words become numbers and get weights, and their weighted sum is processed.
// Then a softmax; then three matrices make queries, keys and values of ten elements, which attend to one another by
// scaled dot products (Vaswani et al., arXiv 1706.03762). Each step is a call of the library, compared with the
// tutorial's own numbers or, for random input, with plain loops in double. Exit code: 0, or 1 when a number is wrong.
#include <cctype>
#include <cstring>

#include "tutorial.h"

using tutorial::Matrix;
using tutorial::transposed;

namespace {

tutorial::Verdict verdict;

constexpr size_t kWords = 7, kShortest = 2;
const char* const words[kWords] = {"The", "weather", "is", "beautiful", "today", "in", "Melbourne"};

// The weight of a word is its share of the letters, length / sum of lengths, which is the softmax of log(length). So
// this is attention by a query of zeros, with log(length) as its mask. The tutorial adds by zip, which ends with the
// shortest word: only the first two letters of each word count.
void attend_to_words() {
  float letters[kWords][kShortest], log_length[kWords];
  std::printf("Word embeddings:\n");
  for (size_t w = 0; w < kWords; ++w) {
    const size_t length = std::strlen(words[w]);
    std::printf("%s:", words[w]);
    for (size_t i = 0; i < length; ++i) {
      const int letter = std::tolower(words[w][i]) - 'a' + 1;
      std::printf("%s%d", i == 0 ? "[" : ", ", letter);
      if (i < kShortest) letters[w][i] = static_cast<float>(letter);
    }
    std::printf("]\n");
    log_length[w] = std::log(static_cast<float>(length));
  }

  const float query[1][1] = {{0}}, keys[kWords][1] = {};
  float weights[1][kWords], sum[1][kShortest];
  tutorial::OneHead head(sum, query, keys, letters);
  head.args.mask = {FOVEA_MASK_F32, kWords, log_length, 0, 0, 0, 0, nullptr, 0, nullptr};
  head.weights(weights);
  verdict.status(head.run());
  const float processed[1][1] = {{sum[0][0] + sum[0][1]}};

  std::printf("\nAttention Weights\n");
  for (size_t w = 0; w < kWords; ++w) std::printf("%s:%.3f\n", words[w], static_cast<double>(weights[0][w]));
  verdict.check("against the tutorial's numbers, of three digits", weights,
                {{{0.081f, 0.189f, 0.054f, 0.243f, 0.135f, 0.054f, 0.243f}}}, 5e-4);
  tutorial::print("\nFinal Vector Before Transformation", sum, " %.3f");
  verdict.check("against the tutorial's numbers", sum, {{{13.297297297297298f, 7.837837837837839f}}}, 1e-5);
  tutorial::print("\nProcessed Output", processed, " %.3f");
  verdict.check("against the tutorial's numbers", processed, {{{21.135135135135137f}}}, 1e-5);
}

void test_softmax() {
  const float vector[3] = {2.0f, 1.0f, 0.1f};
  float weights[1][3];
  verdict.status(fovea::softmax(weights[0], vector));
  tutorial::print("\nTest softmax", weights, " %.6f");
  verdict.check("against the tutorial's numbers", weights, {{{0.65900114f, 0.24243297f, 0.09856589f}}}, 1e-7);
}

constexpr size_t kTokens = 10, kDim = 16;

void attend() {
  float x[kTokens][kDim], w_q[kDim][kDim], w_k[kDim][kDim], w_v[kDim][kDim];
  tutorial::Random random;
  random.fill(x, 0, 1);
  random.fill(w_q, 0, 1);  // the library's layout: a row for each output; np.dot(X, W_Q) has a column for each
  random.fill(w_k, 0, 1);
  random.fill(w_v, 0, 1);

  float q[kTokens][kDim], k[kTokens][kDim], v[kTokens][kDim];
  verdict.status(tutorial::linear(q, x, w_q[0]));
  verdict.status(tutorial::linear(k, x, w_k[0]));
  verdict.status(tutorial::linear(v, x, w_v[0]));

  float weights[kTokens][kTokens], output[kTokens][kDim], lse[1][kTokens];
  tutorial::OneHead head(output, q, k, v);  // a scale of 0 is 1 / sqrt(d_k)
  head.weights(weights);
  head.args.lse = fovea::heads_first(lse[0], 1, kTokens, 1);
  verdict.status(head.run());

  const Matrix all_q = Matrix(x) * transposed(w_q), all_k = Matrix(x) * transposed(w_k),
               all_v = Matrix(x) * transposed(w_v);
  const Matrix scores = 1 / std::sqrt(kDim) * (all_q * transposed(all_k));
  // Scores are up to 70, where single precision has an error of about 4e-6.
  tutorial::print("\nSoftmax probabilities of each row", weights, " %.2e");
  verdict.check("against plain loops in double", weights, softmax_of_rows(scores), 2e-5);
  tutorial::print("\nOutput", output, " %.4f");
  verdict.check("against plain loops in double", output, softmax_of_rows(scores) * all_v, 2e-5);

  // The tutorial's softmax is over the whole matrix: all rows together sum to 1. The share of a row is its sum of
  // exponentials divided by the sums of all rows. Attention has returned the logarithms of these sums.
  float share[1][kTokens];
  verdict.status(fovea::softmax(share[0], lse[0]));
  for (size_t i = 0; i < kTokens; ++i) {
    for (float& weight : weights[i]) weight *= share[0][i];
    for (float& number : output[i]) number *= share[0][i];
  }
  tutorial::print("\nSoftmax probabilities of the whole matrix, as the tutorial has them", weights, " %.2e");
  verdict.check("against plain loops in double", weights, softmax_of_all(scores), 2e-5);
  tutorial::print("\nOutput", output, " %.4f");
  verdict.check("against plain loops in double", output, softmax_of_all(scores) * all_v, 2e-5);
}

}  // namespace

int main() {
  attend_to_words();
  test_softmax();
  attend();
  return verdict.exit_code();
}
