// SPDX-License-Identifier: Apache-2.0
#include "examples/split_keys/problem.h"

#include <cmath>
#include <cstdio>

#include "platform/platform.h"

namespace split_keys {
namespace {

float queries[kQueries][kHeads][kDim], keys[kKeys][kKeyHeads][kDim], values[kKeys][kKeyHeads][kDim];
float whole[kQueries][kHeads][kDim], merged[kQueries][kHeads][kDim];
Workspace workspace;

// Random numbers between -half_width and half_width.
void fill(float* data, size_t count, float half_width, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f) * half_width;
  }
}

// The arguments for `count` keys and values from `first` on.
fovea::AttentionArgs args_of(float* out, uint32_t first, uint32_t count) {
  fovea::AttentionArgs args;
  args.batch = 1;
  args.q_tokens = kQueries;
  args.kv_tokens = count;
  args.q = fovea::tokens_first(&queries[0][0][0], kQueries, kHeads, kDim);
  args.out = fovea::tokens_first(out, kQueries, kHeads, kDim);
  args.kv.keys = fovea::tokens_first(&keys[first][0][0], kKeys, kKeyHeads, kDim);
  args.kv.values = fovea::tokens_first(&values[first][0][0], kKeys, kKeyHeads, kDim);
  return args;
}

}  // namespace

bool works(fovea::Status status) {
  if (status != FOVEA_OK) std::fprintf(stderr, "split_keys: %s\n", fovea::to_string(status));
  return status == FOVEA_OK;
}

fovea::Status make_problem(fovea::AttentionPlan* plan) {
  fill(&queries[0][0][0], sizeof queries / sizeof(float), 2.0f, 1);
  fill(&keys[0][0][0], sizeof keys / sizeof(float), 2.0f, 2);
  fill(&values[0][0][0], sizeof values / sizeof(float), 1.0f, 3);
  fovea::AttentionDesc desc;
  desc.q_heads = kHeads, desc.kv_heads = kKeyHeads;
  desc.head_dim = desc.value_dim = kDim;
  desc.max_batch = 1, desc.max_q_tokens = kQueries, desc.max_kv_tokens = kKeys;
  desc.processor_features = fovea::platform::processor_features();
  return plan->init(desc);
}

uint32_t part_begin(uint32_t index, uint32_t count) { return static_cast<uint32_t>(uint64_t{kKeys} * index / count); }

fovea::Status attend_to_part(const fovea::AttentionPlan& plan, uint32_t first, uint32_t end, State* state,
                             Workspace* scratch, fovea::Stream* stream) {
  const fovea::Status status = stream->begin(plan, *state, 1, kQueries, first);
  return status == FOVEA_OK ? stream->push(args_of(nullptr, first, end - first), *scratch) : status;
}

bool compare_with_whole_call(const fovea::AttentionPlan& plan, const fovea::Stream& stream, const char* what) {
  if (!works(plan.run(args_of(&whole[0][0][0], 0, kKeys), workspace))) return false;
  if (!works(stream.end(args_of(&merged[0][0][0], 0, 0), workspace))) return false;
  double largest = 0;
  for (size_t i = 0; i < sizeof whole / sizeof(float); ++i) {
    const double difference =
        std::fabs(static_cast<double>((&whole[0][0][0])[i]) - static_cast<double>((&merged[0][0][0])[i]));
    if (!(difference <= largest)) largest = difference;  // a NaN too
  }
  const bool right = largest <= kTolerance;
  std::printf("%s: largest difference from one whole call %.1e (%s %.0e)\n", what, largest,
              right ? "allowed:" : "TOO MUCH, allowed:", kTolerance);
  return right;
}

}  // namespace split_keys
