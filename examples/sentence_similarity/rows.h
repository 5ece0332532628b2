// SPDX-License-Identifier: Apache-2.0
//
// What an encoder does with each token alone, except linear layers. Plain loops that the compiler vectorises.
#ifndef FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ROWS_H_
#define FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "examples/sentence_similarity/model_file.h"

namespace sentence_similarity {

// x = norm(x + added): each row is scaled to mean 0 and variance 1; then each element is multiplied by a weight and
// added to a bias (Ba et al., arXiv 1607.06450). x and added are [rows][kWidth].
void add_norm(float* x, const float* added, const Norm& norm, uint32_t rows);

// x * Phi(x), with the normal distribution's Phi: the exact form of GELU (Hendrycks and Gimpel, arXiv 1606.08415). The
// error is at most kGeluError * max(1, |x|).
void gelu(float* x, size_t count);
constexpr double kGeluError = 3e-7;

// The mean over x's rows [rows][kWidth], scaled to length 1.
void pool(float* pooled, const float* x, uint32_t rows);

// Reads a row of the word embeddings.
void take_row(float* x, const fovea_linear_weights& matrix, uint32_t row);

}  // namespace sentence_similarity

#endif  // FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ROWS_H_
