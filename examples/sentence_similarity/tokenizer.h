// SPDX-License-Identifier: Apache-2.0
//
// BERT's tokenizer for text in lower case (Devlin et al., arXiv 1810.04805): characters are cleaned, lose accents and
// case, and form words; a word is split into the longest pieces of the vocabulary (WordPiece, arXiv 1609.08144).
#ifndef FOVEA_EXAMPLES_SENTENCE_SIMILARITY_TOKENIZER_H_
#define FOVEA_EXAMPLES_SENTENCE_SIMILARITY_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "examples/sentence_similarity/model_file.h"

namespace sentence_similarity {

class Tokenizer {
 public:
  explicit Tokenizer(const Model& model);

  // False if the vocabulary lacks a piece that BERT's models have: [CLS], [SEP], ...
  bool complete() const { return complete_; }

  // Writes the first kTokens tokens of a text in UTF-8, from [CLS] to [SEP], and returns the number of all. Bytes that
  // are not UTF-8 are dropped.
  size_t tokenize(std::string_view text, uint32_t (&tokens)[kTokens]) const;

 private:
  class Words;

  // The number of a piece; kPieces if the vocabulary does not have it.
  uint32_t find(std::string_view piece) const;
  uint32_t entry(uint32_t character) const;

  static constexpr int kSpecials = 5;
  Characters characters_;
  Vocabulary vocabulary_;
  uint32_t special_[kSpecials];
  size_t longest_ = 0;  // bytes of the longest piece
  bool complete_ = true;
};

}  // namespace sentence_similarity

#endif  // FOVEA_EXAMPLES_SENTENCE_SIMILARITY_TOKENIZER_H_
