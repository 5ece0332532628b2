// SPDX-License-Identifier: Apache-2.0
//
// A language model of the llama architecture (Touvron et al., arXiv 2302.13971) in a GGUF file. Its weights stay in the
// file, in the file's formats.
#ifndef FOVEA_EXAMPLES_CHAT_MODEL_H_
#define FOVEA_EXAMPLES_CHAT_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "examples/chat/gguf.h"
#include "examples/chat/strings.h"
#include "examples/chat/tokenizer.h"
#include "fovea/fovea.h"

namespace chat {

constexpr uint32_t kMostLayers = 96;

struct Layer {
  const float* attention_norm;        // [width]
  fovea_linear_weights q, k, v, out;  // of attention, each in a format of its own
  const float* hidden_norm;           // [width]
  fovea_linear_weights gate, up;      // [hidden][width]
  fovea_linear_weights down;          // [width][hidden]
};

struct Model {
  uint32_t layers, width, hidden, q_heads, kv_heads, head_dim, rotary_dim;
  uint32_t context;     // tokens of context that it was trained for
  uint32_t vocabulary;  // number of tokens
  float rope_base, epsilon;
  fovea_rope_layout rope_layout;

  fovea_linear_weights embeddings;  // [vocabulary][width]
  Layer layer[kMostLayers];
  const float* rope_factors;    // [rotary_dim / 2]: turns are divided by them (Llama 3.1); null if the file has none
  const float* output_norm;     // [width]
  fovea_linear_weights output;  // [vocabulary][width]; in many models the embeddings

  Vocabulary words;
  uint32_t begin_token;  // begins a text; kNoToken if texts begin without one
  uint32_t end_token;    // ends a turn
};

// Finds a model in a file. Returns what the file lacks or what this program does not support, or an empty text.
std::string read_model(const Gguf& file, Model* model);

// Widens `count` rows of a matrix, one after the other. FOVEA_ERR_LENGTH if it has no such row.
fovea_status take_rows(float* out, const fovea_linear_weights& matrix, uint32_t columns, uint32_t rows,
                       const uint32_t* indices, uint32_t count);

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_MODEL_H_
