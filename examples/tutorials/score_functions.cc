// SPDX-License-Identifier: Apache-2.0
//
// The tutorial that defines attention without saying how scores are made: given q_i = Q x_i, k_i = K x_i, v_i = V x_i,
// scores are s = g(k_i, q) by any g, weights are softmax(s), and the answer is the sum of the values by their weights.
// (The tutorial's last formula leaves the weights out, its text does not.) Here the words of its sentence attend to one
// another by each g that the library knows; all but dot need linear layers before, which are made once for all words.
// Exit code: 0, or 1 when a number is wrong.
#include "tutorial.h"

using tutorial::Matrix;
using tutorial::transposed;

namespace {

tutorial::Verdict verdict;

constexpr size_t kWords = 10, kIn = 12, kDim = 8, kHidden = 6, kValue = 4;
const char* const words[kWords] = {"Jane",   "is",      "hungry", "and",  "she's",
                                   "really", "craving", "pasta",  "from", "Italy"};

float x[kWords][kIn], to_q[kDim][kIn], to_k[kDim][kIn], to_v[kValue][kIn];  // Q, K and V of the tutorial
float q[kWords][kDim], k[kWords][kDim], v[kWords][kValue];
float general[kDim][kDim], both[kHidden][2 * kDim], score_vector[1][kHidden];  // what the score functions learn

// Attends by queries and keys that are ready for a score, and holds it against scores in double.
template <size_t kSize>
void attend(const char* name, fovea_score score, const float (&queries)[kWords][kSize],
            const float (&keys)[kWords][kSize], const Matrix& scores) {
  float weights[kWords][kWords], answers[kWords][kValue];
  tutorial::OneHead head(answers, queries, keys, v);
  head.desc.score = score;
  if (score == FOVEA_SCORE_ADDITIVE) head.args.score_vector = score_vector[0];
  head.weights(weights);
  verdict.status(head.run());

  std::printf("\n%s: Jane looks at\n", name);
  for (size_t w = 0; w < kWords; ++w) std::printf(" %s %.3f", words[w], static_cast<double>(weights[0][w]));
  std::printf("\n");
  verdict.check("weights of all words", weights, softmax_of_rows(scores), 1e-6);
  verdict.check("and their answers", answers, softmax_of_rows(scores) * Matrix(x) * transposed(to_v), 1e-5);
}

// v^T tanh(W [q; k]) of all pairs, as it stands there.
Matrix concat_scores(const Matrix& all_q, const Matrix& all_k) {
  Matrix scores(kWords, kWords);
  for (size_t i = 0; i < kWords; ++i) {
    for (size_t j = 0; j < kWords; ++j) {
      for (size_t h = 0; h < kHidden; ++h) {
        double sum = 0;
        for (size_t d = 0; d < kDim; ++d)
          sum += double{both[h][d]} * all_q(i, d) + double{both[h][kDim + d]} * all_k(j, d);
        scores(i, j) += double{score_vector[0][h]} * std::tanh(sum);
      }
    }
  }
  return scores;
}

void fill() {
  tutorial::Random numbers;
  numbers.fill(x, -1, 1);
  numbers.fill(to_q, -0.7f, 0.7f), numbers.fill(to_k, -0.7f, 0.7f), numbers.fill(to_v, -0.7f, 0.7f);
  numbers.fill(general, -0.7f, 0.7f), numbers.fill(both, -0.7f, 0.7f), numbers.fill(score_vector, -2, 2);
}

}  // namespace

int main() {
  fill();
  verdict.status(tutorial::linear(q, x, to_q[0]));
  verdict.status(tutorial::linear(k, x, to_k[0]));
  verdict.status(tutorial::linear(v, x, to_v[0]));
  const Matrix all_q = Matrix(x) * transposed(to_q), all_k = Matrix(x) * transposed(to_k);

  const Matrix dots = all_q * transposed(all_k);
  attend("q . k / sqrt(d), scaled dot", FOVEA_SCORE_SCALED_DOT, q, k, 1 / std::sqrt(kDim) * dots);
  attend("q . k, dot", FOVEA_SCORE_DOT, q, k, dots);

  // Luong et al., arXiv 1508.04025: the keys are W k.
  float general_k[kWords][kDim];
  verdict.status(tutorial::linear(general_k, k, general[0]));
  attend("q^T W k, general", FOVEA_SCORE_GENERAL, q, general_k, all_q * general * transposed(all_k));

  // Luong et al., and Bahdanau et al., arXiv 1409.0473, with W_1 and W_2 for the two halves of W.
  float hidden_q[kWords][kHidden], hidden_k[kWords][kHidden];
  verdict.status(tutorial::linear(hidden_q, q, &both[0][0], 2 * kDim));
  verdict.status(tutorial::linear(hidden_k, k, &both[0][kDim], 2 * kDim));
  attend("v^T tanh(W [q; k]), concat", FOVEA_SCORE_CONCAT, hidden_q, hidden_k, concat_scores(all_q, all_k));
  attend("v^T tanh(W_1 q + W_2 k), additive", FOVEA_SCORE_ADDITIVE, hidden_q, hidden_k, concat_scores(all_q, all_k));
  return verdict.exit_code();
}
