// SPDX-License-Identifier: Apache-2.0
//
// The operators that fovea answers for: each function computes a case on one target and compares what it got with what
// the case wants.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "case.h"
#include "fovea/fovea.h"
#include "tensor.h"

namespace fovea_onnx {

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Gathers the comparisons of a case.
class Verdict {
 public:
  explicit Verdict(const Case& test) : rtol_(test.rtol), atol_(test.atol) {}

  // Holds `got` against an output of the case as the ONNX suite does: within atol + rtol * |want|, which are the
  // case's, and for bfloat16 an rtol of at least two units in the last place of 1. NaN wants NaN, an infinity wants the
  // same infinity. `where` tells the runs of a case apart.
  void compare(const std::vector<float>& got, const Tensor& want, const std::string& output, const std::string& where);
  // The same, but to the bit.
  void compare_exactly(const std::vector<float>& got, const Tensor& want, const std::string& output,
                       const std::string& where);
  // Integers are held to be the same.
  void compare(const std::vector<int64_t>& got, const Tensor& want, const std::string& output,
               const std::string& where);
  // A call that answered a status other than FOVEA_OK ends the case: throws Refused.
  void accept(fovea_status status, const std::string& call, const std::string& where) const;

  const std::string& failure() const { return failure_; }  // the first one
  double largest_error() const { return largest_error_; }  // absolute, over all finite elements compared

 private:
  void fail(const std::string& reason);

  double rtol_, atol_;
  std::string failure_;
  double largest_error_ = 0;
};

// What outputs hold before a call, so that an element that is never written cannot pass.
inline constexpr float kUnwritten = 3e33f;
inline constexpr uint8_t kUnwrittenByte = 0x7b;  // 61280 as float16, 1.3e36 as bfloat16 and float

// Of which memory for the library is made.
struct alignas(FOVEA_WORKSPACE_ALIGNMENT) Line {
  unsigned char bytes[FOVEA_WORKSPACE_ALIGNMENT];
};

// Each throws Error for a case that it cannot express.
// Gelu, HardSwish, Relu, Sigmoid, Swish, Tanh
void run_activation(const Case& test, fovea_target target, Verdict* verdict);
void run_argmax(const Case& test, fovea_target target, Verdict* verdict);
void run_attention(const Case& test, fovea_target target, Verdict* verdict);
void run_causal_conv(const Case& test, fovea_target target, Verdict* verdict);
void run_dequantize(const Case& test, fovea_target target, Verdict* verdict);
void run_dynamic_quantize(const Case& test, fovea_target target, Verdict* verdict);
void run_flex_attention(const Case& test, fovea_target target, Verdict* verdict);
void run_gather(const Case& test, fovea_target target, Verdict* verdict);
void run_layer_normalization(const Case& test, fovea_target target, Verdict* verdict);
void run_linear_attention(const Case& test, fovea_target target, Verdict* verdict);
void run_mean(const Case& test, fovea_target target, Verdict* verdict);  // GlobalAveragePool, ReduceMean
void run_pair(const Case& test, fovea_target target, Verdict* verdict);  // Add, Mul
void run_quantize(const Case& test, fovea_target target, Verdict* verdict);
void run_rms_normalization(const Case& test, fovea_target target, Verdict* verdict);
void run_rotary_embedding(const Case& test, fovea_target target, Verdict* verdict);
void run_softmax(const Case& test, fovea_target target, Verdict* verdict);  // LogSoftmax too
void run_tensor_scatter(const Case& test, fovea_target target, Verdict* verdict);
void run_top_k(const Case& test, fovea_target target, Verdict* verdict);

}  // namespace fovea_onnx
