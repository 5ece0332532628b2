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
  // Keeps a pointer to the model. compute is the arithmetic of attention and of all linear layers; products of integers
  // require int8 weights, those of halves f16 weights (FOVEA_ERR_UNSUPPORTED).
  fovea_status init(const Model& model, fovea_target target, fovea_compute compute);

  // Computes the sentence's embedding, a vector of length 1. 1 to kTokens tokens, each below kPieces. All activations
  // are in one static arena, which all encoders share: one call at a time.
  fovea_status encode(float (&embedding)[kWidth], const uint32_t* tokens, uint32_t count);

  static size_t arena_bytes();
  fovea_target target() const { return fovea_multihead_plan_desc(&plan_)->attention.target; }

 private:
  fovea_status init_cache(fovea_dtype dtype);
  fovea_status self_attention(const Layer& layer, uint32_t tokens);

  const Model* model_ = nullptr;
  fovea_multihead_plan plan_ = {};
  // With integer products: a layer's keys and values, which are projected into it, as int8.
  fovea_kv_cache cache_ = {};
};

}  // namespace sentence_similarity

#endif  // FOVEA_EXAMPLES_SENTENCE_SIMILARITY_ENCODER_H_
