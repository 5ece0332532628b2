// SPDX-License-Identifier: Apache-2.0
//
// The encoder of all-MiniLM-L6-v2: a BERT of six layers (Devlin et al., arXiv 1810.04805), whose output is averaged
// over the tokens (Reimers and Gurevych, Sentence-BERT, arXiv 1908.10084). Linear layers and attention are the
// library's.
#ifndef FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ENCODER_H_
#define FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ENCODER_H_

#include <cstddef>
#include <cstdint>

#include "examples/sentence_similarity/model_file.h"

namespace sentence_similarity {

class Encoder {
 public:
  // The model must stay where it is.
  fovea_status init(const Model& model, fovea_target target);

  // The sentence's embedding, a vector of length 1. 1 to kTokens tokens, each below kPieces. All activations lie in one
  // static arena: one call at a time.
  fovea_status encode(float (&embedding)[kWidth], const uint32_t* tokens, uint32_t count) const;

  static size_t arena_bytes();
  fovea_target target() const { return plan_.attention.desc.target; }

 private:
  const Model* model_ = nullptr;
  fovea_multihead_plan plan_ = {};
};

}  // namespace sentence_similarity

#endif  // FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ENCODER_H_
