// SPDX-License-Identifier: Apache-2.0
//
// Functions that the four programs share: one head and a linear layer on plain arrays, random inputs, printing and
// checking.
#ifndef FOVEA_EXAMPLES_TUTORIALS_TUTORIAL_H_
#define FOVEA_EXAMPLES_TUTORIALS_TUTORIAL_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "fovea/fovea.hpp"
#include "plain.h"

namespace tutorial {

// Attention of one head, with the counts of the arrays. Options may be set before run().
template <size_t kQueries, size_t kKeys, size_t kDim, size_t kValueDim>
struct OneHead {
  OneHead(float (&out)[kQueries][kValueDim], const float (&q)[kQueries][kDim], const float (&keys)[kKeys][kDim],
          const float (&values)[kKeys][kValueDim]) {
    desc.q_heads = desc.kv_heads = desc.max_batch = args.batch = 1;
    desc.head_dim = kDim, desc.value_dim = kValueDim;
    desc.max_q_tokens = args.q_tokens = kQueries;
    desc.max_kv_tokens = args.kv_tokens = kKeys;
    args.q = fovea::heads_first(q[0], 1, kQueries, kDim);
    args.kv.keys = fovea::heads_first(keys[0], 1, kKeys, kDim);
    args.kv.values = fovea::heads_first(values[0], 1, kKeys, kValueDim);
    args.out = fovea::heads_first(out[0], 1, kQueries, kValueDim);
  }

  // Makes the weights an output, too.
  void weights(float (&to)[kQueries][kKeys]) {
    args.scores = fovea::heads_first(to[0], 1, kQueries, kKeys);
    args.scores_stage = FOVEA_SCORES_SOFTMAX;
  }

  fovea::Status run() {
    fovea::AttentionPlan plan;
    const fovea::Status status = plan.init(desc);
    return status == FOVEA_OK ? plan.run(args, workspace) : status;
  }

  fovea::AttentionDesc desc;
  fovea::AttentionArgs args;
  fovea::AttentionWorkspace<kDim, kValueDim> workspace;
};

// y = x W^T: a row of W for each output. W may be some columns of a wider matrix.
template <size_t kTokens, size_t kIn, size_t kOut>
fovea::Status linear(float (&y)[kTokens][kOut], const float (&x)[kTokens][kIn], const float* w,
                     size_t row_stride = kIn) {
  fovea::LinearArgs args;
  args.tokens = kTokens, args.in_dim = kIn, args.out_dim = kOut;
  args.y = y[0], args.y_stride = kOut;
  args.x = x[0], args.x_stride = kIn;
  args.weights = fovea::linear_weights(w, row_stride);
  fovea::Memory<FOVEA_LINEAR_WORKSPACE_BYTES(kIn, FOVEA_F32)> workspace;
  return fovea::linear(args, workspace);
}

// Random numbers, uniform from low to high, the same on every machine.
class Random {
 public:
  template <size_t kRows, size_t kColumns>
  void fill(float (&numbers)[kRows][kColumns], float low, float high) {
    for (float(&row)[kColumns] : numbers) {
      for (float& number : row) {
        state_ = state_ * 1664525u + 1013904223u;
        number = low + (high - low) * static_cast<float>(state_ >> 8) / 16777216.0f;
      }
    }
  }

 private:
  uint32_t state_ = 1;
};

template <size_t kRows, size_t kColumns>
void print(const char* name, const float (&numbers)[kRows][kColumns], const char* format) {
  std::printf("%s:\n", name);
  for (const float(&row)[kColumns] : numbers) {
    for (const float number : row) std::printf(format, static_cast<double>(number));
    std::printf("\n");
  }
}

class Verdict {
 public:
  void status(fovea::Status status) {
    if (status != FOVEA_OK) std::printf("%s\n", fovea::to_string(status)), wrong_ = true;
  }

  // Prints the largest difference from the correct numbers.
  template <size_t kRows, size_t kColumns>
  void check(const char* name, const float (&numbers)[kRows][kColumns], const Matrix& want, double allowed) {
    double difference = want.rows == kRows && want.columns == kColumns ? 0 : INFINITY;
    for (size_t i = 0; i < kRows && difference != INFINITY; ++i) {
      for (size_t j = 0; j < kColumns; ++j) {
        const double off = std::fabs(static_cast<double>(numbers[i][j]) - want(i, j));
        if (!(off <= difference)) difference = off;  // a NaN too
      }
    }
    const bool right = difference <= allowed;
    std::printf("  (%s: largest difference %.1e, %s %.0e)\n", name, difference, right ? "allowed" : "TOO MUCH, allowed",
                allowed);
    if (!right) wrong_ = true;
  }

  // Prints a condition and whether it is true.
  void require(bool right, const char* what) {
    std::printf("  (%s%s)\n", right ? "" : "NOT SO: ", what);
    if (!right) wrong_ = true;
  }

  int exit_code() const { return wrong_ ? 1 : 0; }

 private:
  bool wrong_ = false;
};

}  // namespace tutorial

#endif  // FOVEA_EXAMPLES_TUTORIALS_TUTORIAL_H_
