// SPDX-License-Identifier: Apache-2.0
//
// A call of attention that the self-test makes: few tokens, more keys than a key tile has, two heads that share a key head.
#ifndef FOVEA_SRC_SELFTEST_ATTENTION_TRIAL_H_
#define FOVEA_SRC_SELFTEST_ATTENTION_TRIAL_H_

#include "layers/selftest/trial.h"

namespace fovea {

constexpr uint32_t kTrialHeads = 2, kTrialQueries = 3, kTrialKeys = 70, kTrialHeadDim = 36, kTrialValueDim = 20;

struct AttentionTrial {
  // Queries, keys, values and outputs, in their formats; options are left to the caller.
  AttentionTrial(Trial& trial, fovea_dtype keys, fovea_dtype values);
  fovea_status run();  // plans, runs, and adds the outputs to the digest
  void digest_outputs();

  Trial& trial;
  fovea_attention_desc desc = {};
  fovea_attention_args args = {};
  fovea_plan plan = {};
  float *out, *lse;
};

}  // namespace fovea

#endif  // FOVEA_SRC_SELFTEST_ATTENTION_TRIAL_H_
