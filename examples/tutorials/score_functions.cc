// SPDX-License-Identifier: Apache-2.0
//
// The tutorial that defines attention for any score function: given q_i = Q x_i, k_i = K x_i, v_i = V x_i, scores are
// s = g(k_i, q) with any g, weights are softmax(s), and the output is the weighted sum of the values.
// (The tutorial's last formula leaves the weights out, its text does not.) Here the words of its sentence attend to one
// another by each g that the library has; all except dot need linear layers first, which are computed once for all
// words. Then the last step of the decoder of Luong et al.
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
// The weights of the score functions and of Luong's decoder.
float general[kDim][kDim], concat[kHidden][2 * kDim], w_1[kHidden][kDim], w_2[kHidden][kDim], score_vector[1][kHidden];
float w_c[kDim][kValue + kDim];

float answers[kWords][kValue];  // of the last call

// Attends with queries and keys that are ready for a score, and compares the result with scores in double.
template <size_t kSize>
void attend(const char* name, fovea_score score, const float (&queries)[kWords][kSize],
            const float (&keys)[kWords][kSize], const Matrix& scores) {
  float weights[kWords][kWords];
  tutorial::OneHead head(answers, queries, keys, v);
  head.desc.score = score;
  if (score == FOVEA_SCORE_ADDITIVE) head.args.score_vector = score_vector[0];
  head.weights(weights);
  verdict.status(head.run());

  std::printf("\n%s: Jane looks at\n", name);
  for (size_t w = 0; w < kWords; ++w) std::printf(" %s %.3f", words[w], static_cast<double>(weights[0][w]));
  std::printf("\n");
  verdict.check("weights of all words, against plain loops in double", weights, softmax_of_rows(scores), 1e-6);
  verdict.check("their answers, against plain loops in double", answers,
                softmax_of_rows(scores) * Matrix(x) * transposed(to_v), 1e-5);
}

// v^T tanh(a + b) of all pairs.
Matrix tanh_scores(const Matrix& all_a, const Matrix& all_b) {
  Matrix scores(kWords, kWords);
  for (size_t i = 0; i < kWords; ++i) {
    for (size_t j = 0; j < kWords; ++j) {
      for (size_t h = 0; h < kHidden; ++h) {
        scores(i, j) += double{score_vector[0][h]} * std::tanh(all_a(i, h) + all_b(j, h));
      }
    }
  }
  return scores;
}

// The output of Luong's decoder for attention's output c and its own state h, here the word's query: tanh(W_c [c; h]).
// That is a linear layer; the program computes its tanh.
void go_on(const Matrix& all_c, const Matrix& all_q) {
  float joined[kWords][kValue + kDim], next[kWords][kDim];
  Matrix all_joined(kWords, kValue + kDim);
  for (size_t w = 0; w < kWords; ++w) {
    for (size_t d = 0; d < kValue; ++d) joined[w][d] = answers[w][d], all_joined(w, d) = all_c(w, d);
    for (size_t d = 0; d < kDim; ++d) joined[w][kValue + d] = q[w][d], all_joined(w, kValue + d) = all_q(w, d);
  }
  verdict.status(tutorial::linear(next, joined, w_c[0]));
  for (float(&row)[kDim] : next) {
    for (float& number : row) number = std::tanh(number);
  }
  Matrix want = all_joined * transposed(w_c);
  for (double& number : want.numbers) number = std::tanh(number);
  verdict.check("tanh(W_c [c; h]), against plain loops in double", next, want, 1e-5);
}

void fill() {
  tutorial::Random numbers;
  numbers.fill(x, -1, 1);
  numbers.fill(to_q, -0.7f, 0.7f), numbers.fill(to_k, -0.7f, 0.7f), numbers.fill(to_v, -0.7f, 0.7f);
  numbers.fill(general, -0.7f, 0.7f), numbers.fill(concat, -0.7f, 0.7f), numbers.fill(score_vector, -2, 2);
  numbers.fill(w_1, -0.7f, 0.7f), numbers.fill(w_2, -0.7f, 0.7f), numbers.fill(w_c, -0.7f, 0.7f);
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
  const Matrix scores = all_q * general * transposed(all_k);
  attend("q^T W k, general", FOVEA_SCORE_GENERAL, q, general_k, scores);
  go_on(softmax_of_rows(scores) * Matrix(x) * transposed(to_v), all_q);

  // Luong et al. W [q; k] is W_q q + W_k k, with the two halves of W's columns.
  float hidden_q[kWords][kHidden], hidden_k[kWords][kHidden];
  verdict.status(tutorial::linear(hidden_q, q, &concat[0][0], 2 * kDim));
  verdict.status(tutorial::linear(hidden_k, k, &concat[0][kDim], 2 * kDim));
  const Matrix columns = transposed(concat);
  attend("v^T tanh(W [q; k]), concat", FOVEA_SCORE_CONCAT, hidden_q, hidden_k,
         tanh_scores(all_q * rows(columns, 0, kDim), all_k * rows(columns, kDim, kDim)));

  // Bahdanau et al., arXiv 1409.0473.
  verdict.status(tutorial::linear(hidden_q, q, w_1[0]));
  verdict.status(tutorial::linear(hidden_k, k, w_2[0]));
  attend("v^T tanh(W_1 q + W_2 k), additive", FOVEA_SCORE_ADDITIVE, hidden_q, hidden_k,
         tanh_scores(all_q * transposed(w_1), all_k * transposed(w_2)));
  return verdict.exit_code();
}
