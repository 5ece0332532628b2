// SPDX-License-Identifier: Apache-2.0
//
// Numbers at the ends of their ranges in places where kernels might take them for something else: scores of -inf that
// are not hidden, hidden keys in rows of NaN, counts and constants next to an overflow.
#include "platform/platform.h"
#include "support/test.h"

using namespace fovea_test;

namespace {

void attend(const fovea_attention_desc& desc, const fovea_attention_args& args) {
  REQUIRE(call_of(plan_of(desc), args) == FOVEA_OK);
}

// One head with head_dim and value_dim 1, so that a score is a product of two numbers.
struct OneHead {
  std::vector<float> q, keys, values, out, weights;
  fovea_attention_desc desc{};
  fovea_attention_args args{};

  OneHead(size_t queries, size_t kv, fovea_target target)
      : q(queries, 1.0f), keys(kv, 0.0f), values(kv, 1.0f), out(queries), weights(queries * kv) {
    desc.struct_bytes = sizeof desc, desc.q_heads = desc.kv_heads = desc.head_dim = desc.value_dim = 1;
    desc.max_batch = 1;
    desc.max_q_tokens = uint32_t(queries);
    desc.max_kv_tokens = uint32_t(kv);
    desc.scale = 1.0f, desc.target = target;
    args.struct_bytes = sizeof args, args.batch = 1, args.q_tokens = desc.max_q_tokens;
    args.kv_tokens = desc.max_kv_tokens;
  }
  void run() {
    args.q = {q.data(), 0, 0, 1};
    args.kv.keys = {keys.data(), 0, 0, 1};
    args.kv.values = {values.data(), 0, 0, 1};
    args.out = {out.data(), 0, 0, 1};
    if (args.scores_stage != FOVEA_SCORES_NONE) args.scores = {weights.data(), 0, 0, ptrdiff_t(keys.size())};
    attend(desc, args);
  }
};

// One query or 50 of 33 elements against 70 keys of a format: the two counts take both kernels, and rows do not
// fill vectors. The scale of key 3, or of value 3, is this.
void check_scale(fovea_dtype dtype, fovea_compute compute, bool of_keys, float scale, fovea_target target,
                 uint32_t queries) {
  constexpr uint32_t kDim = 33, kTokens = 70, kGroups = 2;
  std::vector<float> q(size_t{queries} * kDim, 1.0f), out(q.size());
  std::vector<uint8_t> rows(size_t{kTokens} * kDim);                  // of either format
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = uint8_t(i % 7);  // of key 3 some are 0, all of a sign
  std::vector<float> scales(kTokens, 0.01f), bad_scales = scales;
  std::vector<uint16_t> halves(kTokens * kGroups, 0x2000), bad_halves = halves;
  bad_scales[3] = scale;
  bad_halves[3 * kGroups + 1] = std::isnan(scale) ? 0x7e00 : scale < 0 ? 0xfc00 : 0x7c00;
  const bool i8 = dtype == FOVEA_I8;
  auto desc = sized<fovea_attention_desc>();
  desc.q_heads = desc.kv_heads = desc.max_batch = 1, desc.head_dim = desc.value_dim = kDim;
  desc.max_q_tokens = queries, desc.max_kv_tokens = kTokens, desc.key_dtype = desc.value_dtype = dtype;
  desc.compute = compute;
  desc.processor_features = fovea::platform::processor_features();
  desc.causal = FOVEA_CAUSAL_POSITIONS, desc.target = target;
  auto args = sized<fovea_attention_args>();
  args.batch = 1, args.q_tokens = queries, args.kv_tokens = kTokens;
  const ptrdiff_t stride = i8 ? kDim : kGroups * 16, scale_stride = i8 ? 1 : kGroups;
  args.q = {q.data(), 0, 0, kDim};
  args.out = {out.data(), 0, 0, kDim};
  args.kv.keys = args.kv.values = {rows.data(), 0, 0, stride};
  const void* const good = i8 ? static_cast<void*>(scales.data()) : halves.data();
  const void* const bad = i8 ? static_cast<void*>(bad_scales.data()) : bad_halves.data();
  args.kv.key_scales = {of_keys ? bad : good, 0, 0, scale_stride};
  args.kv.value_scales = {of_keys ? good : bad, 0, 0, scale_stride};
  for (const int64_t position : {int64_t{2}, int64_t{60}}) {  // key 3 is hidden from the first query, or seen by all
    args.first_positions = &position;
    attend(desc, args);
    INFO(fovea_target_name(target) << ", dtype " << dtype << ", compute " << compute << ", " << queries
                                   << " queries, scale " << scale << (of_keys ? " of a key" : " of a value")
                                   << ", position " << position);
    for (const auto& [i, d] : indices(queries, kDim)) {
      const bool sees = position + i >= 3;
      if (i8 || compute == FOVEA_COMPUTE_I8 || (of_keys && !(scale > 0))) {
        CHECK(std::isnan(out[i * kDim + d]) == sees);
      } else if (of_keys) {  // a score of -inf: no weight
        CHECK(std::isfinite(out[i * kDim + d]));
      } else if (!sees || d < 32) {
        CHECK(std::isfinite(out[i * kDim + d]));
      } else {
        CHECK(!std::isfinite(out[i * kDim + d]));
      }
    }
  }
}

TEST_CASE("extremes: a seen key of score -inf has no weight, but its NaN counts, beside hidden keys too", "[short]") {
  for (const auto& [target, portable, queries, causal] : every(
           targets(), {0u, 1u}, {size_t{1}, size_t{2}, size_t{4}, size_t{7}, size_t{16}, size_t{50}}, {false, true})) {
    OneHead call(queries, 80, target);
    call.desc.portable_bits = portable;
    const std::vector<int64_t> positions = {57};
    if (causal) {
      call.desc.causal = FOVEA_CAUSAL_POSITIONS;
      call.args.first_positions = positions.data();
    }
    call.keys[0] = -kInfinity, call.values[0] = kNaN;
    INFO(fovea_target_name(target) << ", " << queries << " queries, causal " << causal);
    call.run();
    for (const float x : call.out) CHECK(std::isnan(x));
    call.values[0] = 5.0f;  // a number is weighted with 0
    call.run();
    for (const float x : call.out) CHECK(std::fabs(x - 1.0f) < 1e-6f);
  }
}

TEST_CASE("extremes: visible scores that are all -inf answer zeros, beside hidden keys too", "[short]") {
  for (const auto& [target, causal] : every(targets(), {false, true})) {
    OneHead call(20, 30, target);
    if (causal) call.desc.causal = FOVEA_CAUSAL_TOP_LEFT;
    call.keys.assign(30, -kInfinity);
    call.args.scores_stage = FOVEA_SCORES_MASKED;
    call.run();
    INFO(fovea_target_name(target) << ", causal " << causal);
    for (const float x : call.out) CHECK(x == 0.0f);
    for (const float x : call.weights) CHECK(x == -kInfinity);
  }
}

TEST_CASE("extremes: in a row of NaN weights of hidden keys are 0, of visible ones NaN, with any budget", "[short]") {
  for (const auto& [target, budget] : every(targets(), {size_t{0}, size_t{20000}})) {
    OneHead call(70, 90, target);
    call.desc.causal = FOVEA_CAUSAL_TOP_LEFT, call.desc.workspace_budget_bytes = budget;
    call.q[0] = call.q[33] = kNaN, call.args.scores_stage = FOVEA_SCORES_SOFTMAX;
    call.run();
    for (const auto& [second, j] : indices<size_t>(2, 90)) {
      const size_t row = 33 * second;
      INFO(fovea_target_name(target) << ", row " << row << ", key " << j);
      const float weight = call.weights[row * 90 + j];
      CHECK((j <= row ? std::isnan(weight) : weight == 0.0f));
    }
  }
}

TEST_CASE(
    "extremes: an infinite scale of an int8 row counts as NaN, one of int4 makes u - 8 as large, or with "
    "integer products the row NaN",
    "[short]") {
  for (const fovea_compute compute : {FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8}) {
    for (const auto& [target, queries, of_keys, scale] :
         every(targets_and_those_that_extend_them(), {1u, 2u, 50u}, {true, false}, {kInfinity, -kInfinity, kNaN})) {
      check_scale(FOVEA_I8, compute, of_keys, scale, target, queries);
      check_scale(FOVEA_I4, compute, of_keys, scale, target, queries);
    }
  }
}

TEST_CASE("extremes: sums over many keys are as exact as sums of sums of 64 terms", "[short]") {
  constexpr size_t kKeys = 20000;
  for (const auto& [target, queries] : every(targets(), {size_t{1}, size_t{5}})) {
    OneHead call(queries, kKeys, target);
    call.q.assign(queries, 0.0f);  // all weights are 1
    double sum = 0;
    for (size_t j = 0; j < kKeys; ++j) {
      call.values[j] = 1.0f + 0.25f * random_normal(7, j);
      sum += double(call.values[j]);
    }
    const double mean = sum / double(kKeys);
    call.run();
    INFO(fovea_target_name(target) << ", " << queries << " queries");
    // One chain over all keys is off by 2e-6 to 6e-6.
    for (const float x : call.out) CHECK(std::fabs(double(x) - mean) < 6e-7);
    call.desc.score = FOVEA_SCORE_ADDITIVE;  // tanh(0 + 0) is 0 as well
    const float factor = 1.0f;
    call.args.score_vector = &factor;
    call.run();
    for (const float x : call.out) CHECK(std::fabs(double(x) - mean) < 6e-7);
  }
}

TEST_CASE("extremes: scores of a wide head, by either kernel, are as exact as sums of sums of 64 terms", "[short]") {
  // With the terms c, 1, 1, ... one chain of f32 loses each 1 that is below half a unit of c's last place; sums of 64
  // terms lose those of the first block alone.
  constexpr uint32_t kDim = 1024;
  constexpr float kLarge = 33554432.0f;  // 2^25: 1 is a quarter of its unit
  for (const auto& [target, queries] : every(targets(), {1u, 5u})) {
    std::vector<float> q(size_t{queries} * kDim, 1.0f), key(kDim, 1.0f), out(size_t{queries}), scores(queries);
    key[0] = kLarge;
    const float value = 1.0f;
    auto desc = sized<fovea_attention_desc>();
    desc.q_heads = desc.kv_heads = desc.max_batch = desc.value_dim = desc.max_kv_tokens = 1;
    desc.head_dim = kDim, desc.max_q_tokens = queries;
    desc.scale = 0.69314718f;  // the factor of base 2 becomes 1
    desc.target = target;
    auto args = sized<fovea_attention_args>();
    args.batch = 1, args.q_tokens = queries, args.kv_tokens = 1;
    args.q = {q.data(), 0, 0, kDim};
    args.kv.keys = {key.data(), 0, 0, kDim};
    args.kv.values = {&value, 0, 0, 1};
    args.out = {out.data(), 0, 0, 1};
    args.scores = {scores.data(), 0, 0, 1};
    args.scores_stage = FOVEA_SCORES_SCALED;
    const double exact = (double(kLarge) + kDim - 1) * 0.69314718;
    for (desc.portable_bits = 0; desc.portable_bits < 2; ++desc.portable_bits) {
      attend(desc, args);
      INFO(fovea_target_name(target) << ", " << queries << " queries, portable bits " << desc.portable_bits);
      for (const float score : scores) CHECK(std::fabs(double(score) - exact) < 0.25 * kDim);
    }
  }
}

TEST_CASE("extremes: a plan can be made from the description that stands in it", "[short]") {
  OneHead call(3, 3, FOVEA_TARGET_BEST);
  const fovea_attention_plan plan = plan_of(call.desc);
  fovea_attention_plan again = plan;
  REQUIRE(fovea_attention_plan_init(&again, &made(again).desc) == FOVEA_OK);
  CHECK(made(again).desc.scale == made(plan).desc.scale);
  CHECK(made(again).desc.target == made(plan).desc.target);
  CHECK(made(again).desc.max_kv_tokens == made(plan).desc.max_kv_tokens);
  CHECK(made(again).workspace_bytes == made(plan).workspace_bytes);
}

// Where one of these counts is 0 and the others are `most`. All pointers are null.
template <class Args, class Count>
void check_no_rows(fovea_status (*call)(const Args*), Args args, std::initializer_list<Count Args::*> counts,
                   std::common_type_t<Count> most) {
  for (uint32_t zeros = 1; zeros < 1u << counts.size(); ++zeros) {
    uint32_t i = 0;
    for (Count Args::* const count : counts) args.*count = (zeros >> i++ & 1) != 0 ? 0 : most;
    CHECK(call(&args) == FOVEA_OK);
  }
}
template <class Args>
void check_no_rows(fovea_status (*call)(const Args*), Args args = sized<Args>()) {
  args.dim = 8;
  CHECK(call(&args) == FOVEA_ERR_DIM);  // heads that are 0 were forgotten
  args.heads = UINT32_MAX;
  check_no_rows(call, args, {&Args::batch, &Args::tokens}, UINT32_MAX);
}

}  // namespace

TEST_CASE("extremes: a call without rows takes no time and writes nothing, however large other counts are", "[short]") {
  check_no_rows(fovea_add);
  check_no_rows(fovea_multiply);
  check_no_rows(fovea_hadamard);
  check_no_rows(fovea_norm);
  check_no_rows(fovea_activation);
  auto rope = sized<fovea_rope_args>();
  rope.layout = FOVEA_ROPE_INTERLEAVED;
  check_no_rows(fovea_rope, rope);
  using S = fovea_softmax_args;
  auto softmax = sized<S>();
  softmax.inner = 3;
  for (const auto call : {fovea_softmax, fovea_log_softmax}) check_no_rows(call, softmax, {&S::outer, &S::axis}, 3);
  using C = fovea_conv1d_args;
  auto conv1d = sized<C>();
  conv1d.channels = 5, conv1d.kernel_size = 4, conv1d.x_token_stride = conv1d.y_token_stride = 5;
  conv1d.x_channel_stride = conv1d.y_channel_stride = 1;
  check_no_rows(fovea_conv1d, conv1d, {&C::batch, &C::tokens}, UINT32_MAX);
}
