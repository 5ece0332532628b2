// SPDX-License-Identifier: Apache-2.0
//
// The tutorial on self-attention: the words of a bag are points of the unit circle, and the query PERRO attends to
// PERRO, TIENE and PELO, whose values are DOG, HAS, HAIR. The tutorial divides scores by the number of keys, its
// formula by sqrt(d_k); here are both. Then what it describes in words: a sentence whose words all attend to one
// another, and a mask that hides later words. Exit code: 0, or 1 when a number is wrong.
#include "tutorial.h"

using tutorial::Matrix;
using tutorial::transposed;

namespace {

tutorial::Verdict verdict;

constexpr size_t kBag = 11, kDim = 2;
const char* const wordbag[kBag] = {"EL",  "PERRO", "TIENE", "EL",    "PELO", "SUELTO",
                                   "THE", "DOG",   "HAS",   "LOOSE", "HAIR"};
enum Word { PERRO = 1, TIENE = 2, EL = 3, PELO = 4, SUELTO = 5, DOG = 7, HAS = 8, HAIR = 10 };

// The points of the words, at equal angles around the circle.
template <size_t kWords>
void embed(float (&points)[kWords][kDim], const Word (&words)[kWords]) {
  for (size_t w = 0; w < kWords; ++w) {
    const double place = words[w], angle = 2 * 3.14159265358979324 * place / kBag;
    points[w][0] = static_cast<float>(std::cos(angle));
    points[w][1] = static_cast<float>(std::sin(angle));
  }
}

void translate() {
  float q[1][kDim], k[3][kDim], v[3][kDim];
  embed(q, {PERRO});
  embed(k, {PERRO, TIENE, PELO});
  embed(v, {DOG, HAS, HAIR});

  float weights[1][3], out[1][kDim];
  tutorial::OneHead head(out, q, k, v);
  head.weights(weights);
  head.desc.scale = 1.0f / 3;  // the tutorial's d_k is len(K)
  verdict.status(head.run());
  tutorial::print("PERRO looks at PERRO, TIENE, PELO", weights, " %.7f");
  verdict.check("against the tutorial's numbers", weights,
                {{{0.37996893436819246f, 0.3603853979421595f, 0.2596456676896481f}}}, 1e-7);
  tutorial::print("and so at this point, among DOG, HAS, HAIR", out, " %9.6f");
  verdict.check("against plain loops in double", out,
                softmax_of_rows(1.0 / 3 * (Matrix(q) * transposed(k))) * Matrix(v), 1e-6);

  head.desc.scale = 0;  // the formula's: 1 / sqrt(d_k), of the two numbers of a point
  verdict.status(head.run());
  tutorial::print("\nThe same with the scores divided by sqrt(2)", weights, " %.7f");
  verdict.check("against plain loops in double", weights,
                softmax_of_rows(1 / std::sqrt(2) * (Matrix(q) * transposed(k))), 1e-6);
}

void attend_to_itself() {
  constexpr size_t kWords = 6;
  constexpr Word kSentence[kWords] = {EL, PERRO, TIENE, EL, PELO, SUELTO};
  float x[kWords][kDim], weights[kWords][kWords], out[kWords][kDim];
  embed(x, kSentence);

  // Queries, keys and values are the words themselves.
  tutorial::OneHead head(out, x, x, x);
  head.weights(weights);
  verdict.status(head.run());
  const Matrix scores = 1 / std::sqrt(kDim) * (Matrix(x) * transposed(x));
  tutorial::print("\nSelf-attention of \"El perro tiene el pelo suelto\"", weights, " %.4f");
  verdict.check("against plain loops in double", weights, softmax_of_rows(scores), 1e-6);

  head.desc.causal = FOVEA_CAUSAL_TOP_LEFT;
  verdict.status(head.run());
  tutorial::print("\nMasked: no word sees those after it", weights, " %.4f");
  verdict.check("against plain loops in double", weights, softmax_of_rows(not_ahead(scores)), 1e-6);
  tutorial::print("\nOutput", out, " %9.6f");
  verdict.check("against plain loops in double", out, softmax_of_rows(not_ahead(scores)) * Matrix(x), 1e-6);
}

}  // namespace

int main() {
  std::printf("The bag, around the circle:");
  for (const char* word : wordbag) std::printf(" %s", word);
  std::printf("\n");
  translate();
  attend_to_itself();
  return verdict.exit_code();
}
