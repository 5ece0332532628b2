// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers whose tensors are int8, from x to y: code for code what fovea_linear and fovea_attention make of
// the same steps, and near plain loops in double.
#include "support/multihead.h"
#include "support/test.h"

namespace fovea_test {
namespace {

LayerProblem bytes_problem() {
  LayerProblem p;
  p.q_tokens = 19, p.kv_tokens = 30, p.head_dim = p.value_dim = 12, p.d_model = p.key_model = p.value_model = 40;
  p.dtype = FOVEA_I8, p.weight_size = 0x1p-9f, p.compute = p.linear_compute = FOVEA_COMPUTE_I8, p.scores = false;
  p.x = {0.03f, 5}, p.q = {0.04f, 3}, p.k = {0.05f, -7}, p.v = {0.04f, 9}, p.o = {0.03f, -4}, p.y = {0.025f, 11};
  return p;
}

struct Change {
  const char* what;
  void (*make)(LayerProblem& p);
};
constexpr Change kChanges[] = {
    {"bytes from end to end", [](auto&) {}},
    {"integer biases", [](auto& p) { p.int_bias = true; }},
    {"packed weights, three scales", [](auto& p) { p.packed = true; }},
    {"packed weights, one scale", [](auto& p) { p.packed = p.int_bias = true, p.k = p.v = p.q; }},
    {"packed weights, two zero points", [](auto& p) { p.packed = true, p.k = p.v = p.q, p.v.zero = 4; }},
    {"keys of another sequence", [](auto& p) { p.keys = kKeys, p.packed = true; }},
    {"tokens first", [](auto& p) { p.order = Layout::kTokensFirst, p.packed = true; }},
    {"rows apart", [](auto& p) { p.order = Layout::kPadded, p.int_bias = true; }},
    {"few tokens", [](auto& p) { p.batch = 1, p.q_tokens = 2; }},
    {"x f32", [](auto& p) { p.x = {}; }},
    {"y f32", [](auto& p) { p.y = {}; }},
    {"queries f32", [](auto& p) { p.q = {}, p.k.zero = 0; }},
    {"outputs of heads f32", [](auto& p) { p.o = {}, p.int_bias = true; }},
    {"x and y f32", [](auto& p) { p.x = p.y = {}, p.order = Layout::kPadded; }},
    {"attention f32", [](auto& p) { p.q = p.k = p.v = p.o = {}, p.packed = true, p.compute = FOVEA_COMPUTE_F32; }},
};

}  // namespace

TEST_CASE("multihead tensors: a layer of bytes is its steps, code for code, and near loops in double", "[short]") {
  for (const Change& change : kChanges) {
    LayerProblem p = bytes_problem();
    change.make(p);
    LayerCase test(p);
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      INFO(change.what << " | " << fovea_target_name(target));
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.workspace.margin_intact());
      CHECK(test.answer() == test.by_steps());
      CHECK(test.compare(0.05) == "");
    }
  }
}

TEST_CASE("multihead tensors: layers that are left out pass codes through", "[short]") {
  LayerProblem p = bytes_problem();
  p.kv_heads = p.q_heads, p.d_model = p.key_model = p.value_model = p.q_width(), p.q = p.k = p.v = p.x, p.y = p.o;
  p.no_q = p.no_k = p.no_v = p.no_out = true;
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    LayerCase test(p);
    INFO(fovea_target_name(target));
    REQUIRE(test.run(target) == FOVEA_OK);
    CHECK(test.answer() == test.by_steps());

    // Codes of one tensor are not those of another.
    for (float fovea_multihead_desc::* scale : {&fovea_multihead_desc::x_scale, &fovea_multihead_desc::y_scale}) {
      LayerCase other(p);
      other.desc.*scale *= 2.0f;
      CHECK(other.run(target) == FOVEA_ERR_UNSUPPORTED);
    }
  }
}

TEST_CASE("multihead tensors: projections of bytes take a byte an element of the workspace", "[short]") {
  const LayerProblem p = bytes_problem();
  LayerCase test(p);
  const size_t rows = size_t{p.batch} * p.q_tokens, elements = rows * 2 * (p.q_heads + p.kv_heads) * p.head_dim;
  for (const fovea_target target : targets()) {
    INFO(fovea_target_name(target));
    REQUIRE(test.run(target) == FOVEA_OK);
    const size_t projections = made(test.plan).workspace_bytes - made(test.plan).shared_bytes;
    CHECK(projections >= elements);
    CHECK(projections < elements + 4 * FOVEA_WORKSPACE_ALIGNMENT);
    CHECK(made(test.plan).workspace_bytes <=
          FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(p.d_model, p.q_heads, p.kv_heads, p.head_dim, rows, rows) +
              FOVEA_ATTENTION_I8_WORKSPACE_BYTES(p.head_dim, p.head_dim));
  }
}

TEST_CASE("multihead tensors: every misuse has its status, and nothing is written", "[short]") {
  const fovea_status kUnsupported = FOVEA_ERR_UNSUPPORTED, kNumber = FOVEA_ERR_NUMBER;
  const std::vector<Misuse<LayerCase>> misuses = {
      {"x_dtype", FOVEA_ERR_ENUM, [](auto& c) { c.desc.x_dtype = kNoType; }},
      {"y_dtype", FOVEA_ERR_ENUM, [](auto& c) { c.desc.y_dtype = kNoType; }},
      {"x of f16", kUnsupported,
       [](auto& c) { c.desc.x_dtype = FOVEA_F16, c.desc.x_scale = 0, c.desc.x_zero_point = 0; }},
      {"y of I4", kUnsupported, [](auto& c) { c.desc.y_dtype = FOVEA_I4; }},
      {"no x_scale", kUnsupported, [](auto& c) { c.desc.x_scale = 0; }},  // beside a zero point
      {"no x_scale, no x_zero_point", kNumber, [](auto& c) { c.desc.x_scale = 0, c.desc.x_zero_point = 0; }},
      {"no y_scale, no y_zero_point", kNumber, [](auto& c) { c.desc.y_scale = 0, c.desc.y_zero_point = 0; }},
      {"x_scale below 0", kNumber, [](auto& c) { c.desc.x_scale = -1; }},
      {"x_scale NaN", kNumber, [](auto& c) { c.desc.x_scale = kNaN; }},
      {"y_scale infinite", kNumber, [](auto& c) { c.desc.y_scale = INFINITY; }},
      {"y_scale subnormal", kNumber, [](auto& c) { c.desc.y_scale = 1e-40f; }},
      {"x_zero_point", kNumber, [](auto& c) { c.desc.x_zero_point = 128; }},
      {"y_zero_point", kNumber, [](auto& c) { c.desc.y_zero_point = -129; }},
      {"a scale of f32 x", kUnsupported, [](auto& c) { c.desc.x_dtype = FOVEA_F32; }},
      {"a zero point of f32 y", kUnsupported, [](auto& c) { c.desc.y_dtype = FOVEA_F32, c.desc.y_scale = 0; }},
      {"f32 linear layers", kUnsupported, [](auto& c) { c.desc.linear_compute = FOVEA_COMPUTE_F32; }},
      {"f32 linear layers beside keys of one scale", kUnsupported,
       [](auto& c) {
         c.desc.linear_compute = FOVEA_COMPUTE_F32;
         c.desc.x_dtype = c.desc.y_dtype = c.desc.attention.q_dtype = c.desc.attention.out_dtype = FOVEA_F32;
         c.desc.x_scale = c.desc.y_scale = c.desc.attention.q_scale = c.desc.attention.out_scale = 0;
         c.desc.x_zero_point = c.desc.y_zero_point = c.desc.attention.q_zero_point = c.desc.attention.out_zero_point =
             0;
         c.desc.attention.key_zero_point = 0;
       }},
      {"queries with a scale a row", kUnsupported,
       [](auto& c) { c.desc.attention.q_scale = 0, c.desc.attention.q_zero_point = 0; }},
      {"keys with a scale a row", kUnsupported,
       [](auto& c) { c.desc.attention.key_scale = 0, c.desc.attention.key_zero_point = 0; }},
      {"values with a scale a row", kUnsupported,
       [](auto& c) { c.desc.attention.value_scale = 0, c.desc.attention.value_zero_point = 0; }},
      {"out_scale", kNumber, [](auto& c) { c.desc.attention.out_scale = 0, c.desc.attention.out_zero_point = 0; }},
      {"rope", kUnsupported, [](auto& c) { c.args.rope = &c.rope; }},
      {"bias_i32 of f32 x", kUnsupported,
       [](auto& c) {
         static const int32_t biases[200] = {};
         static const float x[2 * 19 * 40] = {};
         c.desc.x_dtype = FOVEA_F32, c.desc.x_scale = 0, c.desc.x_zero_point = 0, c.args.x.data = x;
         c.args.weights.q.bias = nullptr, c.args.weights.q.bias_i32 = biases;
       }},
      {"y over x", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.y.data = const_cast<void*>(c.args.x.data); }},
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y.token_stride = 1; }},
  };
  check_refused(
      misuses, [] { return LayerCase(bytes_problem()); }, [](LayerCase& c) { return c.run(FOVEA_TARGET_BEST); },
      [](const LayerCase& c) { return c.y.memory.untouched(); });
}

TEST_CASE("multihead tensors: x of bytes is projected into a cache, which has scales of its own", "[short]") {
  LayerProblem p = bytes_problem();
  p.q = p.k = p.v = p.o = {}, p.compute = FOVEA_COMPUTE_F32;
  for (const fovea_target target : targets()) {
    INFO(fovea_target_name(target));
    LayerCase whole(p), kept(p);
    REQUIRE(whole.run(target) == FOVEA_OK);
    LayerCache cache(p, FOVEA_KV_STRIDED, FOVEA_F32, p.q_tokens);
    REQUIRE(kept.make_plan(target) == FOVEA_OK);
    REQUIRE(kept.append(cache) == FOVEA_OK);
    kept.attend_to(cache);
    REQUIRE(kept.call() == FOVEA_OK);
    CHECK(kept.answer() == whole.answer());

    LayerProblem scaled = p;
    scaled.k = {0.05f, 0};
    LayerCase refused(scaled);
    cache.key_dtype = FOVEA_I8;
    REQUIRE(refused.make_plan(target) == FOVEA_OK);
    CHECK(refused.append(cache) == FOVEA_ERR_UNSUPPORTED);
  }
}

}  // namespace fovea_test
