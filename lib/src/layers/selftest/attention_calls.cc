// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Options of attention, on keys and values of f32.
AttentionTrial plain_attention(Trial& trial) { return AttentionTrial(trial, FOVEA_F32, FOVEA_F32); }

void ask_for_lse(AttentionTrial* a) { a->args.lse = {a->lse, 0, kTrialQueries, 1}; }

fovea_status attention_plain(Trial& trial) { return plain_attention(trial).run(); }

fovea_status attention_lse(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  ask_for_lse(&a);
  a.desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, a.desc.window_left = 33, a.desc.pinned_tokens = 2;
  return a.run();
}

fovea_status attention_softcap(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  a.desc.softcap = 3.0f, a.desc.scale = -0.4f;
  a.args.sinks = trial.numbers(kTrialHeads);
  return a.run();
}

fovea_status attention_alibi(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  a.desc.diagonal = FOVEA_DIAGONAL_TOP_LEFT;
  a.args.alibi_slopes = trial.positive(kTrialHeads);
  return a.run();
}

fovea_status attention_mask(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  a.args.mask.kind = FOVEA_MASK_F32, a.args.mask.data = trial.numbers(kTrialQueries * kTrialKeys);
  a.args.mask.q_stride = kTrialKeys;
  return a.run();
}

fovea_status attention_mask_byte(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  int8_t* const shown = trial.codes(kTrialQueries * kTrialKeys);
  for (size_t i = 0; shown && i < kTrialQueries * kTrialKeys; ++i) shown[i] = shown[i] > 0;
  a.args.mask.kind = FOVEA_MASK_BYTE, a.args.mask.data = shown, a.args.mask.q_stride = kTrialKeys;
  return a.run();
}

fovea_status attention_scores(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  constexpr size_t kScores = kTrialHeads * kTrialQueries * kTrialKeys;
  float* const scores = trial.zeros<float>(kScores);
  a.args.scores_stage = FOVEA_SCORES_SOFTMAX;
  a.args.scores = {scores, 0, kTrialQueries * kTrialKeys, kTrialKeys};
  return trial.digest_after(a.run(), scores, kScores);
}

fovea_status attention_additive(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  a.desc.score = FOVEA_SCORE_ADDITIVE;
  a.args.score_vector = trial.numbers(kTrialHeadDim);
  return a.run();
}

fovea_status attention_dropout(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  a.desc.dropout = 0.3f, a.args.dropout_seed = 0x123456789abcdefu;
  return a.run();
}

void halve_scores(void*, const fovea_score_block* block) {
  for (uint32_t r = 0; r < block->rows; ++r) {
    for (uint32_t k = 0; k < block->keys; ++k) {
      block->data[static_cast<ptrdiff_t>(r) * block->row_stride + static_cast<ptrdiff_t>(k) * block->key_stride] *=
          0.5f;
    }
  }
}

fovea_status attention_modifier(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  fovea_modifier halve = {};
  halve.score_mod = halve_scores;
  a.args.modifier = &halve;
  return a.run();
}

// The first two queries see the first block of keys, the third one both.
fovea_status attention_block_map(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  static constexpr uint32_t kOffsets[] = {0, 1, 3}, kBlocks[] = {0, 0, 1};
  fovea_block_map map = {};  // a constant with addresses would be data that can be written, in code at any address
  map.q_block = 2, map.kv_block = 64, map.offsets = kOffsets, map.blocks = kBlocks, map.block_count = 3;
  a.args.block_map = &map;
  return a.run();
}

fovea_status attention_key_splits(Trial& trial) {
  AttentionTrial a = plain_attention(trial);
  a.desc.key_split_tokens = 64;
  return a.run();
}

// Integer products of rows of I8, and of tensors of I8 from the queries to the outputs.
fovea_status attention_i8(Trial& trial) {
  AttentionTrial a(trial, FOVEA_I8, FOVEA_I8);
  ask_for_lse(&a);
  a.desc.compute = FOVEA_COMPUTE_I8;
  return a.run();
}

fovea_status attention_i8_tensors(Trial& trial) {
  AttentionTrial a(trial, FOVEA_I8, FOVEA_I8);
  a.desc.compute = FOVEA_COMPUTE_I8, a.desc.q_dtype = a.desc.out_dtype = FOVEA_I8;
  a.desc.q_scale = 0.02f, a.desc.key_scale = 0.03f, a.desc.value_scale = 0.01f, a.desc.out_scale = 0.011f;
  a.desc.q_zero_point = 3, a.desc.key_zero_point = -4, a.desc.value_zero_point = 5, a.desc.out_zero_point = -6;
  a.args.kv.key_scales = a.args.kv.value_scales = {};
  constexpr size_t kOutputs = kTrialHeads * kTrialQueries * kTrialValueDim;
  int8_t* const codes = trial.zeros<int8_t>(kOutputs);
  a.args.q.data = trial.codes(kTrialHeads * kTrialQueries * kTrialHeadDim), a.args.out.data = codes;
  return trial.digest_after(a.run(), codes, kOutputs);
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(attention, ATTENTION)
