// SPDX-License-Identifier: Apache-2.0
//
// The model file that convert.py writes, which is mapped into memory and used in place.
#ifndef FOVEA_EXAMPLES_SENTENCE_SIMILARITY_MODEL_FILE_H_
#define FOVEA_EXAMPLES_SENTENCE_SIMILARITY_MODEL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "fovea/fovea.h"

namespace sentence_similarity {

// The shape of all-MiniLM-L6-v2. A file of another shape is refused.
constexpr uint32_t kPieces = 30522;  // of the vocabulary
constexpr uint32_t kTokens = 256;    // longest sentence, with the two tokens that begin and end it
constexpr uint32_t kWidth = 384, kHeads = 12, kHeadDim = kWidth / kHeads;
constexpr uint32_t kHidden = 1536, kLayers = 6;

// The replacement of a character before words are looked up: see Tokenizer. An entry has the new character, XORed with
// the old one, and these bits.
constexpr uint32_t kCharacterBits = 0x1fffff;
constexpr uint32_t kIsolated = 1u << 21;  // the character is a word
constexpr uint32_t kSpace = 1u << 22;
constexpr uint32_t kDropped = 1u << 23;
constexpr uint32_t kSequence = 1u << 24;  // several characters: the index of a sequence, which begins with its count

struct Characters {
  static constexpr uint32_t kBlock = 256, kBlocks = 0x110000 / kBlock;
  const uint16_t* block_of;  // [kBlocks]
  const uint32_t (*blocks)[kBlock];
  const uint32_t* sequences;
};

struct Vocabulary {
  const uint32_t* begins;   // [kPieces + 1], in the order of the pieces' bytes
  const uint32_t* numbers;  // [kPieces]
  const char* text;
};

struct Norm {
  const float *weight, *bias;  // [kWidth]
};

struct Layer {
  fovea_linear_weights qkv;        // [3 * kWidth][kWidth]
  fovea_linear_weights attention;  // [kWidth][kWidth]
  Norm attention_norm;
  fovea_linear_weights hidden;  // [kHidden][kWidth]
  fovea_linear_weights out;     // [kWidth][kHidden]
  Norm out_norm;
};

struct Model {
  fovea_dtype dtype;  // of weights and word embeddings: F32, F16 or I8
  Characters characters;
  Vocabulary vocabulary;
  fovea_linear_weights words;  // [kPieces][kWidth]; without a bias
  const float* positions;      // [kTokens][kWidth], with the embedding of the token's type
  Norm embedding_norm;
  Layer layers[kLayers];
};

// Checks of a file's bytes, at least the 64 of a header. Both return what is wrong, or an empty text.
// First check: the bytes are a complete and undamaged file of convert.py, by header, size and checksum.
std::string check_bytes(const unsigned char* data, size_t bytes);
// Second check, for any bytes at a multiple of 64: they have a model of this shape, and each index in them is in range.
// All pointers of the model point into the bytes.
std::string read_model(const unsigned char* data, size_t bytes, Model* model);

// A mapped file. All pointers of the model point into it.
class ModelFile {
 public:
  ModelFile() = default;
  ~ModelFile();
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  // Maps the file and checks all of it. Returns what is wrong, or an empty text.
  std::string open(const char* path);

  const Model& model() const { return model_; }
  size_t bytes() const { return bytes_; }

 private:
  const unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
  Model model_ = {};
};

}  // namespace sentence_similarity

#endif  // FOVEA_EXAMPLES_SENTENCE_SIMILARITY_MODEL_FILE_H_
