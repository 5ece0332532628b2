// SPDX-License-Identifier: Apache-2.0
//
// What an encoder does with each token alone, except linear layers. Plain loops that the compiler vectorises.
#ifndef FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ROWS_H_
#define FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "examples/sentence_similarity/model_file.h"

namespace sentence_similarity {

// The mean over x's rows [rows][kWidth], scaled to length 1.
void pool(float* pooled, const float* x, uint32_t rows);

// Reads a row of the word embeddings.
void take_row(float* x, const fovea_linear_weights& matrix, uint32_t row);

}  // namespace sentence_similarity

#endif  // FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ROWS_H_
