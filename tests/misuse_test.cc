// SPDX-License-Identifier: Apache-2.0
//
// Every mistake has its status, and nothing is written.
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr ptrdiff_t kMost = PTRDIFF_MAX;

Problem everything() {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 5, p.kv_tokens = 9, p.head_dim = 6, p.value_dim = 7;
  p.causal = FOVEA_CAUSAL_POSITIONS;
  p.positions = {2, 3};
  p.kv_lengths = {9, 5};
  p.mask = FOVEA_MASK_F32, p.alibi = p.sinks = p.lse = true, p.stage = FOVEA_SCORES_SOFTMAX;
  p.placement = Placement::kStart;
  return p;
}

// A valid call with every option, of which a test spoils one thing.
struct Call {
  Call() : test(everything()), a(test.args) {
    REQUIRE(fovea_attention_plan_init(&plan, &test.desc) == FOVEA_OK);
    workspace = Guarded(made(plan).workspace_bytes + 64, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
    memory = workspace.as<char>();
    bytes = made(plan).workspace_bytes;
  }
  // The plan of a changed description.
  void plan_again(const std::function<void(fovea_attention_desc&)>& change) {
    change(test.desc);
    REQUIRE(fovea_attention_plan_init(&plan, &test.desc) == FOVEA_OK);
  }

  AttentionCase test;
  fovea_attention_args& a;
  fovea_attention_plan plan{};
  Guarded workspace;
  char* memory;
  size_t bytes;
};

// An array of a call of everything(): its pointer and its strides, and the bytes that it covers.
struct ArrayOfCall {
  const char* what;
  void* pointer;  // where it stands
  std::vector<ptrdiff_t*> strides;
  size_t bytes, alignment = 4;

  char* get() const {
    char* data;
    std::memcpy(&data, pointer, sizeof data);
    return data;
  }
  void set(char* data) const { std::memcpy(pointer, &data, sizeof data); }
};
std::vector<ArrayOfCall> outputs_of(Call& c) {
  const auto array = [](const char* what, fovea_out* a, size_t dim) {
    return ArrayOfCall{what, &a->data, {&a->batch_stride, &a->head_stride, &a->token_stride}, 2 * 4 * 5 * dim * 4};
  };
  return {array("out", &c.a.out, 7), array("lse", &c.a.lse, 1), array("scores", &c.a.scores, 9)};
}
std::vector<ArrayOfCall> inputs_of(Call& c) {
  const auto array = [](const char* what, fovea_in* a, size_t rows, size_t dim) {
    return ArrayOfCall{what, &a->data, {&a->batch_stride, &a->head_stride, &a->token_stride}, 2 * rows * dim * 4};
  };
  fovea_mask& m = c.a.mask;
  return {array("q", &c.a.q, 4 * 5, 6),
          array("keys", &c.a.kv.keys, 2 * 9, 6),
          array("values", &c.a.kv.values, 2 * 9, 7),
          {"mask", &m.data, {&m.batch_stride, &m.head_stride, &m.q_stride}, size_t{2 * 4 * 5 * 9 * 4}},
          {"kv_lengths", &c.a.kv_lengths, {}, 8},
          {"positions", &c.a.first_positions, {}, 16, 8},
          {"alibi_slopes", &c.a.alibi_slopes, {}, 16},
          {"sinks", &c.a.sinks, {}, 16}};
}
std::vector<ArrayOfCall> arrays_of(Call& c) {
  std::vector<ArrayOfCall> all = outputs_of(c);
  for (ArrayOfCall& input : inputs_of(c)) all.push_back(std::move(input));
  return all;
}

void check_calls(const std::vector<Misuse<Call>>& table) {
  for (const auto& misuse : table) {
    Call call;
    misuse.change(call);
    call.test.fill_outputs();
    call.workspace.fill();
    const fovea_attention_plan before = call.plan;
    INFO(misuse.what);
    set_current_case(misuse.what);
    const fovea_status status = fovea_attention(&call.plan, &call.a, call.memory, call.bytes);
    CHECK(std::string(fovea_status_string(status)) == fovea_status_string(misuse.want));
    if (misuse.want == FOVEA_OK) continue;
    CHECK(call.test.outputs_untouched());
    CHECK(call.workspace.untouched());
    CHECK(std::memcmp(&before, &call.plan, sizeof before) == 0);
  }
}

void ring(fovea_attention_desc& d, uint32_t slots, uint32_t pinned, uint32_t window) {
  d.kv_kind = FOVEA_KV_RING, d.max_kv_tokens = 300, d.ring_tokens = slots, d.pinned_tokens = pinned;
  d.window_left = window;
}

void integer_products(fovea_attention_desc& d, fovea_dtype keys, fovea_dtype values) {
  d.compute = FOVEA_COMPUTE_I8, d.key_dtype = keys, d.value_dtype = values;
}

void halves(fovea_attention_desc& d) { d.compute = FOVEA_COMPUTE_F16, d.key_dtype = d.value_dtype = FOVEA_F16; }

// All of int8, with zero points.
void tensors(fovea_attention_desc& d) {
  integer_products(d, FOVEA_I8, FOVEA_I8);
  d.q_dtype = d.out_dtype = FOVEA_I8, d.q_scale = d.key_scale = d.value_scale = d.out_scale = 0.5f;
  d.q_zero_point = d.key_zero_point = d.value_zero_point = d.out_zero_point = 3;
}

}  // namespace

TEST_CASE("misuse: what is reserved is 0", "[short]") {
  check_calls({{"args", FOVEA_ERR_STRUCT, [](Call& c) { set_reserved(c.a); }},
               {"mask", FOVEA_ERR_STRUCT, [](Call& c) { set_reserved(c.a.mask); }}});
}

TEST_CASE("misuse: a description that is wrong has its status, and the plan is not written", "[short]") {
  using D = fovea_attention_desc;
  std::vector<Misuse<D>> table = {
      {"all heads 0", FOVEA_ERR_DIM, [](auto& d) { d.q_heads = d.kv_heads = 0; }},
      {"rows overflow", FOVEA_ERR_SIZE,
       [](auto& d) { d.q_heads = 1u << 31, d.kv_heads = 1, d.max_q_tokens = 1u << 30; }},
      {"2^32 - 1 rows of a key head", FOVEA_ERR_SIZE,
       [](auto& d) { d.q_heads = 5, d.kv_heads = 1, d.max_q_tokens = 858993459; }},
      {"2^31 rows of a key head", FOVEA_ERR_SIZE,
       [](auto& d) { d.q_heads = 2, d.kv_heads = 1, d.max_q_tokens = 1u << 30; }},
      {"integer products of an additive score", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { integer_products(d, FOVEA_I8, FOVEA_I8), d.score = FOVEA_SCORE_ADDITIVE; }},
      {"integer products over a head_dim of 1025", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { integer_products(d, FOVEA_I8, FOVEA_I8), d.head_dim = 1025; }},
      {"out of int8", FOVEA_ERR_UNSUPPORTED, [](auto& d) { d.out_dtype = FOVEA_I8, d.out_scale = 1; }},
      {"out of int8 without a scale", FOVEA_ERR_NUMBER,
       [](auto& d) { tensors(d), d.out_scale = 0, d.out_zero_point = 0; }},
      {"a negative scale of queries", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.q_scale = -1; }},
      {"products of halves of int8 queries", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { halves(d), d.q_dtype = FOVEA_I8, d.q_scale = 1; }},
      {"additive scores of halves", FOVEA_ERR_UNSUPPORTED, [](auto& d) { halves(d), d.score = FOVEA_SCORE_ADDITIVE; }},
      {"a subnormal scale of keys", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.key_scale = 1e-39f; }},
      {"an infinite scale of values", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.value_scale = kInfinity; }},
      {"a scale of outputs that is NaN", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.out_scale = kNaN; }},
      {"a scale of outputs above 2^126", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.out_scale = 0x1.8p126f; }},
      {"scales whose product is infinite without a scale", FOVEA_ERR_NUMBER,
       [](auto& d) { tensors(d), d.q_scale = 3e38f; }},
      {"scales whose product is infinite", FOVEA_ERR_NUMBER,
       [](auto& d) { tensors(d), d.scale = 1e20f, d.q_scale = 1e20f; }},
      {"a zero point of queries below the codes", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.q_zero_point = -129; }},
      {"a zero point of keys above the codes", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.key_zero_point = 128; }},
      {"a zero point of values of 2^31 - 1", FOVEA_ERR_NUMBER,
       [](auto& d) { tensors(d), d.value_zero_point = INT32_MAX; }},
      {"a zero point of outputs of -2^31", FOVEA_ERR_NUMBER, [](auto& d) { tensors(d), d.out_zero_point = INT32_MIN; }},
      {"a zero point of keys of scales a row", FOVEA_ERR_UNSUPPORTED, [](auto& d) { tensors(d), d.key_scale = 0; }},
      {"a scale of int4", FOVEA_ERR_UNSUPPORTED, [](auto& d) { tensors(d), d.key_dtype = FOVEA_I4; }},
      {"zero points without integer products", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) {
         tensors(d), d.q_dtype = d.out_dtype = FOVEA_F32, d.q_scale = d.out_scale = 0,
                     d.q_zero_point = d.out_zero_point = 0, d.compute = FOVEA_COMPUTE_F32;
       }},
      {"a zero point of queries beside int4", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { tensors(d), d.key_dtype = FOVEA_I4, d.key_scale = 0, d.key_zero_point = 0; }},
      {"a zero point of keys beside f32", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { tensors(d), d.q_dtype = FOVEA_F32, d.q_scale = 0, d.q_zero_point = 0; }},
      {"a zero point of values with dropout", FOVEA_ERR_UNSUPPORTED, [](auto& d) { tensors(d), d.dropout = 0.5f; }},
      {"a ring all pinned", FOVEA_ERR_SIZE,
       [](auto& d) { d.kv_kind = FOVEA_KV_RING, d.ring_tokens = d.pinned_tokens = 4; }},
      {"a ring of too many slots", FOVEA_ERR_SIZE,
       [](auto& d) { d.kv_kind = FOVEA_KV_RING, d.ring_tokens = (1u << 30) + 1; }},
      {"a ring without a window", FOVEA_ERR_RING, [](auto& d) { ring(d, 299, 0, 0); }},
      {"a ring as large as its window", FOVEA_ERR_RING, [](auto& d) { ring(d, 20, 0, 20); }},
      {"a ring one slot short", FOVEA_ERR_RING, [](auto& d) { ring(d, 20 + d.max_q_tokens - 2, 0, 20); }},
      {"a ring as many slots short as are pinned", FOVEA_ERR_RING,
       [](auto& d) { ring(d, 20 + d.max_q_tokens - 1, 3, 20); }},
      {"a ring with the widest window", FOVEA_ERR_RING, [](auto& d) { ring(d, 20, 0, 0xffffffffu); }},
      {"more tokens with a prefix than an entry may have", FOVEA_ERR_SIZE,
       [](auto& d) { d.max_prefix_tokens = (1u << 30) - d.max_kv_tokens + 1; }},
      {"the longest prefix", FOVEA_ERR_SIZE, [](auto& d) { d.max_prefix_tokens = SIZE_MAX; }},
      {"a prefix of a loader", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { d.kv_kind = FOVEA_KV_LOAD, d.max_prefix_tokens = 1; }},
      {"a prefix of a ring that has pinned tokens", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { ring(d, 300, 3, 0), d.max_prefix_tokens = 1; }},
      {"key_mass_queries with split keys", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { d.key_mass_queries = 1, d.key_split_tokens = 64; }},
  };
  add_misuses(table);
  add_misuses(table, FOVEA_ERR_DIM, {&D::q_heads, &D::kv_heads, &D::head_dim, &D::value_dim}, {0});
  add_misuses(table, FOVEA_ERR_HEADS, {&D::q_heads}, {5});
  add_misuses(table, FOVEA_ERR_HEADS, {&D::kv_heads}, {8});
  add_misuses(table, FOVEA_ERR_SIZE, {&D::max_kv_tokens}, {(1u << 30) + 1, 0xffffffffu});
  add_misuses(table, FOVEA_ERR_SIZE, {&D::max_batch}, {0});
  add_misuses(table, FOVEA_ERR_SIZE, {&D::ring_tokens}, {64});
  add_misuses(table, FOVEA_ERR_SIZE, {&D::page_tokens}, {16});
  add_misuses(table, FOVEA_ERR_SIZE, {&D::kv_kind}, {FOVEA_KV_RING, FOVEA_KV_PAGED});
  add_misuses(table, FOVEA_ERR_SIZE, {&D::max_workers}, {4097, 0xffffffffu});
  add_misuses(table, FOVEA_ERR_SIZE, {&D::key_split_tokens}, {1, 63, 96, 0xffffffffu});
  add_misuses(table, FOVEA_ERR_NUMBER, {&D::scale, &D::softcap}, {kNaN, kInfinity, -kInfinity});
  // Those that base 2 cannot hold, or the inverse of which is subnormal.
  add_misuses(table, FOVEA_ERR_NUMBER, {&D::scale}, {2.4e38f, -2.4e38f, 3.4e38f});
  add_misuses(table, FOVEA_ERR_NUMBER, {&D::softcap}, {-1.0f, -1e-45f, 1e-45f, 1e-39f, 5.9e37f, 3.4e38f});
  add_misuses(table, FOVEA_ERR_NUMBER, {&D::dropout}, {-0.1f, -1e-30f, 1.0f, 2.0f, kInfinity, kNaN});
  add_misuses(table, FOVEA_ERR_ENUM, {&D::processor_features}, {uint64_t{1} << 63});
  add_misuses(table, FOVEA_ERR_BUDGET, {&D::workspace_budget_bytes}, {1, 63});
  add_misuses(table, FOVEA_ERR_POSITIONS_TWICE, {&D::diagonal}, {FOVEA_DIAGONAL_BOTTOM_RIGHT});
  add_misuses(table, FOVEA_ERR_UNSUPPORTED, {&D::q_scale, &D::key_scale, &D::value_scale, &D::out_scale}, {1});
#if UINTPTR_MAX <= 0xffffffffu
  add_misuses(table, FOVEA_ERR_SIZE, {&D::head_dim, &D::value_dim}, {0xffffffffu});
#endif
  for (const auto& wrong : table) {
    AttentionCase test(everything());
    const Guarded plan(sizeof(fovea_attention_plan), alignof(fovea_attention_plan), Placement::kEnd);
    wrong.change(test.desc);
    INFO(wrong.what);
    set_current_case(wrong.what);
    const fovea_status status = fovea_attention_plan_init(plan.as<fovea_attention_plan>(), &test.desc);
    CHECK(std::string(fovea_status_string(status)) == fovea_status_string(wrong.want));
    CHECK(plan.untouched());
    CHECK(plan.margin_intact());
    // Nor does any target have a workspace for it.
    if (wrong.want != FOVEA_ERR_TARGET && wrong.want != FOVEA_ERR_ENUM) {
      CHECK(refusal_of(fovea_attention_workspace_bytes_for, &test.desc, fovea_target_at(0)) == wrong.want);
    }
  }
  fovea_attention_plan plan{};
  AttentionCase test(everything());
  CHECK(fovea_attention_plan_init(nullptr, &test.desc) == FOVEA_ERR_NULL);
  CHECK(fovea_attention_plan_init(&plan, nullptr) == FOVEA_ERR_NULL);
}

TEST_CASE("misuse: a description takes the formats that its products can read and no others", "[short]") {
  using Desc = fovea_attention_desc;
  const auto serves = [](fovea_compute compute, bool is_key, fovea_dtype type) {
    const bool floats = type <= FOVEA_BF16;
    if (!is_key) return floats || (compute == FOVEA_COMPUTE_I8 && type == FOVEA_I8);
    if (compute == FOVEA_COMPUTE_F16) return type == FOVEA_F16;
    return fovea_test::is_key(type) && (compute == FOVEA_COMPUTE_F32 || !floats);
  };
  fovea_attention_plan plan;
  for (const auto& [compute, type, field] :
       every({FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8, FOVEA_COMPUTE_F16}, kTypes,
             {&Desc::q_dtype, &Desc::key_dtype, &Desc::value_dtype, &Desc::out_dtype})) {
    Desc d = AttentionCase(everything()).desc;
    d.compute = compute;
    if (compute == FOVEA_COMPUTE_I8) integer_products(d, FOVEA_I8, FOVEA_I8);
    if (compute == FOVEA_COMPUTE_F16) halves(d);
    d.*field = type;
    if (type == FOVEA_I8 && field == &Desc::out_dtype) d.out_scale = 1;
    const bool served = serves(compute, field == &Desc::key_dtype || field == &Desc::value_dtype, type);
    INFO("compute " << compute << ", " << type_name(type));
    CHECK(fovea_attention_plan_init(&plan, &d) == (served ? FOVEA_OK : FOVEA_ERR_UNSUPPORTED));
  }
}

TEST_CASE("misuse: numbers at the edge of their range are no mistake", "[short]") {
  using Desc = fovea_attention_desc;
  const std::function<void(Desc&)> table[] = {
      [](auto& d) { d.max_kv_tokens = 1u << 30; },
      [](auto& d) { d.scale = -1e-40f; },
      [](auto& d) { d.scale = 2.3e38f; },
      [](auto& d) { d.softcap = 1.2e-38f; },
      [](auto& d) { d.softcap = 5.8e37f; },
      [](auto& d) { d.dropout = 0x1.fffffep-1f; },  // nearly nothing is left, and that is large
      [](auto& d) { d.q_heads = d.kv_heads = 1, d.max_q_tokens = 1u << 30; },
      [](auto& d) { d.window_left = d.window_right = 0xffffffffu; },
      [](auto& d) { d.diagonal = FOVEA_DIAGONAL_POSITIONS; },
      [](auto& d) { d.max_batch = 0xffffffffu; },
      [](auto& d) { d.max_q_tokens = d.max_kv_tokens = 0; },
      [](auto& d) { d.portable_bits = 0xffffffffu; },
      [](auto& d) { d.workspace_budget_bytes = SIZE_MAX; },
      [](auto& d) { d.max_workers = 4096; },
      [](auto& d) { ring(d, 300, 3, 0); },
      [](auto& d) { ring(d, 20 + d.max_q_tokens - 1, 0, 20); },
      [](auto& d) { ring(d, 20 + d.max_q_tokens + 2, 3, 20); },
      [](auto& d) { ring(d, 4, 3, 0), d.allow_evicted = 1; },
      [](auto& d) { d.allow_evicted = 0xffffffffu; },
      [](auto& d) { d.pinned_tokens = 0xffffffffu; },
      [](auto& d) { d.key_split_tokens = 64; },
      [](auto& d) { d.key_mass_queries = 0xffffffffu; },
      [](auto& d) { d.max_prefix_tokens = (1u << 30) - d.max_kv_tokens; },
      [](auto& d) { ring(d, 300, 0, 0), d.max_prefix_tokens = 1; },
      [](auto& d) { d.key_split_tokens = 0xffffffc0u; },
      [](auto& d) { integer_products(d, FOVEA_I8, FOVEA_I4), d.head_dim = 1024; },
      [](auto& d) { integer_products(d, FOVEA_Q8_0, FOVEA_Q4_0), d.head_dim = 1024; },
      [](auto& d) { integer_products(d, FOVEA_I4, FOVEA_I8), d.value_dim = 5000, d.score = FOVEA_SCORE_DOT; },
  };
  for (const auto& change : table) {
    AttentionCase test(everything());
    change(test.desc);
    fovea_attention_plan plan{};
    CHECK(fovea_attention_plan_init(&plan, &test.desc) == FOVEA_OK);
  }
}

TEST_CASE("misuse: the arguments of a call that are wrong have their status, and nothing is written", "[short]") {
  check_calls({
      {"nothing wrong", FOVEA_OK, [](Call&) {}},
      // Pointers.
      {"no workspace", FOVEA_ERR_NULL, [](auto& c) { c.memory = nullptr; }},
      {"no out", FOVEA_ERR_NULL, [](auto& c) { c.a.out.data = nullptr; }},
      {"no q", FOVEA_ERR_NULL, [](auto& c) { c.a.q.data = nullptr; }},
      {"no keys", FOVEA_ERR_NULL, [](auto& c) { c.a.kv.keys.data = nullptr; }},
      {"no values", FOVEA_ERR_NULL, [](auto& c) { c.a.kv.values.data = nullptr; }},
      {"no scores", FOVEA_ERR_NULL, [](auto& c) { c.a.scores.data = nullptr; }},
      // Structures.
      {"struct_bytes 0", FOVEA_ERR_STRUCT, [](auto& c) { c.a.struct_bytes = 0; }},
      {"struct_bytes too small", FOVEA_ERR_STRUCT, [](auto& c) { c.a.struct_bytes -= 12; }},
      {"struct_bytes too large", FOVEA_ERR_STRUCT, [](auto& c) { c.a.struct_bytes = 65536; }},
      {"a plan of zeros", FOVEA_ERR_PLAN, [](auto& c) { std::memset(&c.plan, 0, sizeof c.plan); }},
      {"a plan of other bytes", FOVEA_ERR_PLAN, [](auto& c) { std::memset(&c.plan, 0xa5, sizeof c.plan); }},
      {"a plan of another version", FOVEA_ERR_PLAN, [](auto& c) { made(c.plan).magic += 1; }},
      // Counts.
      {"batch", FOVEA_ERR_CAPACITY, [](auto& c) { c.a.batch += 1; }},
      {"q_tokens", FOVEA_ERR_CAPACITY, [](auto& c) { c.a.q_tokens += 1; }},
      {"kv_tokens", FOVEA_ERR_CAPACITY, [](auto& c) { c.a.kv_tokens += 1; }},
      {"kv_tokens, most of all", FOVEA_ERR_CAPACITY, [](auto& c) { c.a.kv_tokens = 0xffffffffu; }},
      {"a length too long", FOVEA_ERR_LENGTH, [](auto& c) { const_cast<uint32_t*>(c.a.kv_lengths)[1] = 10; }},
      {"the longest length", FOVEA_ERR_LENGTH, [](auto& c) { const_cast<uint32_t*>(c.a.kv_lengths)[0] = 0xffffffffu; }},
      // Positions.
      {"a position too far", FOVEA_ERR_SIZE,
       [](auto& c) { const_cast<int64_t*>(c.a.first_positions)[1] = (int64_t{1} << 62) + 1; }},
      {"a position too far back", FOVEA_ERR_SIZE,
       [](auto& c) { const_cast<int64_t*>(c.a.first_positions)[0] = -(int64_t{1} << 62) - 1; }},
      {"the last position", FOVEA_ERR_SIZE, [](auto& c) { const_cast<int64_t*>(c.a.first_positions)[0] = INT64_MAX; }},
      {"the first position", FOVEA_ERR_SIZE, [](auto& c) { const_cast<int64_t*>(c.a.first_positions)[0] = INT64_MIN; }},
      // The mask.
      {"a mask without a kind", FOVEA_ERR_MASK, [](auto& c) { c.a.mask.kind = FOVEA_MASK_NONE; }},
      {"a float mask without data", FOVEA_ERR_MASK, [](auto& c) { c.a.mask.data = nullptr; }},
      {"a byte mask without data", FOVEA_ERR_MASK,
       [](auto& c) { c.a.mask.kind = FOVEA_MASK_BYTE, c.a.mask.data = nullptr; }},
      {"a mask longer than the keys", FOVEA_ERR_MASK, [](auto& c) { c.a.mask.kv_tokens = c.a.kv_tokens + 1; }},
      {"the longest mask", FOVEA_ERR_MASK, [](auto& c) { c.a.mask.kv_tokens = 0xfffffffeu; }},
      {"keys that no mask covers", FOVEA_ERR_MASK, [](auto& c) { c.a.mask = {}, c.a.mask.kv_tokens = 1; }},
      {"no mask, broadcast", FOVEA_ERR_MASK, [](auto& c) { c.a.mask = {}, c.a.mask.broadcast_keys = 1; }},
      {"no mask, with factors", FOVEA_ERR_MASK,
       [](auto& c) { c.a.mask = {}, c.a.mask.head_factors = c.a.alibi_slopes; }},
      {"no mask, at the end", FOVEA_ERR_MASK, [](auto& c) { c.a.mask = {}, c.a.mask.at_end = 1; }},
      {"a mask at the end of no length", FOVEA_ERR_MASK, [](auto& c) { c.a.mask.at_end = 1, c.a.mask.kv_tokens = 0; }},
      {"a mask at the end that covers none", FOVEA_ERR_MASK,
       [](auto& c) { c.a.mask.at_end = 1, c.a.mask.kv_tokens = FOVEA_MASK_NO_KEYS; }},
      {"a mask at the end of more keys than an entry has", FOVEA_ERR_MASK,
       [](auto& c) { c.a.mask.at_end = 1, c.a.mask.kv_tokens = 6; }},
      {"a byte mask with factors", FOVEA_ERR_MASK,
       [](auto& c) { c.a.mask.kind = FOVEA_MASK_BYTE, c.a.mask.head_factors = c.a.alibi_slopes; }},
      {"factors in the workspace", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.a.mask.head_factors = reinterpret_cast<float*>(c.memory); }},
      {"factors off their alignment", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.a.mask.head_factors = shifted<float>(c.a.alibi_slopes, 2); }},
      {"a half mask off its alignment", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.a.mask.kind = FOVEA_MASK_BF16, c.a.mask.data = shifted<char>(c.a.mask.data, 1); }},
      // The workspace.
      {"a byte too few", FOVEA_ERR_WORKSPACE, [](auto& c) { c.bytes -= 1; }},
      {"no bytes", FOVEA_ERR_WORKSPACE, [](auto& c) { c.bytes = 0; }},
      {"a byte more", FOVEA_OK, [](auto& c) { c.bytes += 1; }},
  });
  struct Placed {
    const char* what;
    fovea_status want;
    bool positions, slopes;
    void (*change)(fovea_attention_desc&);  // of a description without a causal limit
  };
  std::vector<Misuse<Call>> placed;
  for (const auto& [what, want, positions, slopes, change] : {
           Placed{"causal positions without them", FOVEA_ERR_POSITIONS_MISSING, false, true,
                  [](auto& d) { d.causal = FOVEA_CAUSAL_POSITIONS; }},
           Placed{"window_left without positions", FOVEA_ERR_POSITIONS_MISSING, false, false,
                  [](auto& d) { d.window_left = 3; }},
           Placed{"window_right without positions", FOVEA_ERR_POSITIONS_MISSING, false, false,
                  [](auto& d) { d.window_right = 3; }},
           Placed{"ALiBi without positions", FOVEA_ERR_POSITIONS_MISSING, false, true, [](auto&) {}},
           Placed{"no positions where none are needed", FOVEA_OK, false, false, [](auto&) {}},
           Placed{"positions with top-left", FOVEA_ERR_POSITIONS_TWICE, true, true,
                  [](auto& d) { d.causal = FOVEA_CAUSAL_TOP_LEFT; }},
           Placed{"positions with bottom-right", FOVEA_ERR_POSITIONS_TWICE, true, true,
                  [](auto& d) { d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT; }},
           Placed{"positions where a diagonal says them", FOVEA_ERR_POSITIONS_TWICE, true, true,
                  [](auto& d) { d.diagonal = FOVEA_DIAGONAL_BOTTOM_RIGHT; }},
           Placed{"a diagonal of positions without them", FOVEA_ERR_POSITIONS_MISSING, false, false,
                  [](auto& d) { d.diagonal = FOVEA_DIAGONAL_POSITIONS; }},
           Placed{"no positions where a diagonal says them", FOVEA_OK, false, true,
                  [](auto& d) { d.diagonal = FOVEA_DIAGONAL_TOP_LEFT, d.window_left = 3; }},
       }) {
    placed.push_back({what, want, [=, set = change, given = positions, has_slopes = slopes](Call& c) {
                        c.test.desc.causal = FOVEA_CAUSAL_NONE;
                        c.plan_again(set);
                        if (!given) c.a.first_positions = nullptr;
                        if (!has_slopes) c.a.alibi_slopes = nullptr;
                      }});
  }
  check_calls(placed);
  Call call;
  CHECK(fovea_attention(nullptr, &call.a, call.memory, call.bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_attention(&call.plan, nullptr, call.memory, call.bytes) == FOVEA_ERR_NULL);
}

TEST_CASE("misuse: every enum refuses any 32 bits that it has no name for, negative ones too", "[short]") {
  using Desc = fovea_attention_desc;
  using Args = fovea_attention_args;
  struct Enum {
    size_t at;
    uint32_t first;  // number that is none
  };
  const auto each = [](std::initializer_list<Enum> all, const auto& check) {
    for (const Enum& one : all) {
      for (const uint32_t bits :
           std::initializer_list<uint32_t>{one.first, 0x7fffffff, 0x80000000, 0x80000001, kNegative}) {
        INFO("at " << one.at << ": " << bits);
        CHECK(check(one.at, &bits) == FOVEA_ERR_ENUM);
      }
    }
  };
  each({{offsetof(Desc, score), 3},
        {offsetof(Desc, causal), 4},
        {offsetof(Desc, diagonal), 4},
        {offsetof(Desc, q_dtype), kNoType},
        {offsetof(Desc, key_dtype), kNoType},
        {offsetof(Desc, value_dtype), kNoType},
        {offsetof(Desc, out_dtype), kNoType},
        {offsetof(Desc, compute), 3},
        {offsetof(Desc, kv_kind), 4},
        {offsetof(Desc, hadamard), 4},
        {offsetof(Desc, target), kUnknownTargets[0]}},
       [](size_t at, const uint32_t* bits) {
         AttentionCase test(everything());
         std::memcpy(reinterpret_cast<char*>(&test.desc) + at, bits, sizeof *bits);
         return fovea_attention_plan_init(&test.plan, &test.desc);
       });
  each({{offsetof(Args, scores_stage), 5}, {offsetof(Args, mask) + offsetof(fovea_mask, kind), 5}},
       [](size_t at, const uint32_t* bits) {
         Call call;
         std::memcpy(reinterpret_cast<char*>(&call.a) + at, bits, sizeof *bits);
         call.test.fill_outputs();
         const fovea_status status = fovea_attention(&call.plan, &call.a, call.memory, call.bytes);
         CHECK(call.test.outputs_untouched());
         return status;
       });
}

TEST_CASE("misuse: a pointer that is not aligned to its element is refused, whichever it is", "[short]") {
  Call call;
  const std::vector<ArrayOfCall> arrays = arrays_of(call);
  std::vector<Misuse<Call>> table;
  for (size_t i = 0; i < arrays.size(); ++i) {
    for (const int off : {1, 2, 3}) {
      table.push_back({arrays[i].what, FOVEA_ERR_ALIGNMENT, [=](Call& c) {
                         const ArrayOfCall array = arrays_of(c)[i];
                         array.set(array.get() + off);
                       }});
    }
  }
  for (const size_t off : {1u, 4u, 16u, 32u, 63u}) {
    table.push_back({"workspace", FOVEA_ERR_ALIGNMENT, [=](Call& c) { c.memory += off; }});
  }
  table.push_back({"a workspace 64 bytes on", FOVEA_OK, [](auto& c) { c.memory += 64; }});
  check_calls(table);

  Problem p = everything();
  p.mask = FOVEA_MASK_BYTE, p.placement = Placement::kOffset;
  CHECK(run_on_all_targets(p) == "");  // bytes may lie anywhere
}

TEST_CASE("misuse: arrays of 64 bits may lie wherever structures have them on the processor", "[short]") {
  struct Positions {
    int32_t before;
    int64_t first[2];
  } positions = {0, {2, 3}};
  struct Turns {
    int32_t before;
    uint64_t turns[3];
  } turns = {};
  alignas(8) unsigned char memory[64];
  unsigned char* const at = memory + offsetof(Positions, first);  // an odd multiple of what is asked for
  std::memcpy(at, positions.first, sizeof positions.first);
  Call call;
  call.a.first_positions = reinterpret_cast<const int64_t*>(at);
  CHECK(fovea_attention(&call.plan, &call.a, call.memory, call.bytes) == FOVEA_OK);
  unsigned char* const turns_at = memory + offsetof(Turns, turns);
  CHECK(fovea_rope_frequencies(reinterpret_cast<uint64_t*>(turns_at), 0, 0, 6) == FOVEA_OK);
  CHECK(fovea_rope_frequencies(turns.turns, 0, 0, 6) == FOVEA_OK);
  CHECK(std::memcmp(turns_at, turns.turns, sizeof turns.turns) == 0);
}

TEST_CASE("misuse: an output whose strides let two elements share a place is refused", "[short]") {
  check_calls({
      {"out tokens overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.token_stride = 6; }},
      {"out tokens are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.token_stride = 0; }},
      {"out tokens overlap backwards", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.token_stride = -1; }},
      {"out heads overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.head_stride -= 1; }},
      {"out heads are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.head_stride = 0; }},
      {"out heads are tokens", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.head_stride = c.a.out.token_stride; }},
      {"out entries overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.batch_stride -= 1; }},
      {"out entries are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.out.batch_stride = 0; }},
      {"lse tokens are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.lse.token_stride = 0; }},
      {"lse heads overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.a.lse.head_stride = 4; }},
      {"lse entries are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.lse.batch_stride = 0; }},
      {"scores tokens overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.a.scores.token_stride = 8; }},
      {"scores heads are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.scores.head_stride = 0; }},
      {"scores entries overlap", FOVEA_ERR_STRIDE,
       [](auto& c) { c.a.scores.batch_stride = c.a.scores.head_stride * 3; }},
  });
}

TEST_CASE("misuse: one query, key or value in the place of several is refused", "[short]") {
  check_calls({
      {"q tokens are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.q.token_stride = 0; }},
      {"keys are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.kv.keys.token_stride = 0; }},
      {"values are one", FOVEA_ERR_STRIDE, [](auto& c) { c.a.kv.values.token_stride = 0; }},
      {"heads and entries may be one", FOVEA_OK, [](auto& c) { c.a.q.head_stride = c.a.kv.keys.batch_stride = 0; }},
  });
}

TEST_CASE("misuse: strides whose products overflow are refused", "[short]") {
  std::vector<Misuse<Call>> table;
  // The largest strides; the smallest whose bytes overflow; and one that would wrap around the address space.
  Call call;
  const std::vector<ArrayOfCall> arrays = arrays_of(call);
  for (const ptrdiff_t stride : {kMost, -kMost, -kMost - 1, kMost / 2, kMost / 4 + 1, -(kMost / 4) - 2}) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      for (size_t s = 0; s < arrays[i].strides.size(); ++s) {
        table.push_back({arrays[i].what, FOVEA_ERR_SIZE, [=](Call& c) { *arrays_of(c)[i].strides[s] = stride; }});
      }
    }
  }
  check_calls(table);
}

TEST_CASE("misuse: an output that overlaps another buffer by one element is refused, whichever they are", "[short]") {
  // An array is laid before an output, or behind it, with one element in common. Nothing reads what is refused; so the
  // memory behind the pointers need not be there.
  const auto check = [](size_t o, bool of_inputs, size_t other, bool behind) {
    Call c;
    const auto outputs = [&] {
      std::vector<ArrayOfCall> all = outputs_of(c);
      all.push_back({"workspace", &c.memory, {}, c.bytes});
      return all;
    }();
    const ArrayOfCall output = outputs[o], array = of_inputs ? inputs_of(c)[other] : outputs[other];
    const size_t step = array.alignment, bytes = (output.bytes + step - 1) / step * step;
    const Guarded arena(1 << 17, 64, Placement::kStart);
    char* const middle = arena.as<char>() + (1 << 16);
    output.set(middle);
    array.set(behind ? middle + bytes - step : middle - array.bytes + step);
    if (of_inputs) c.test.fill_outputs();
    INFO(output.what << " and " << array.what << (behind ? " behind" : " before"));
    set_current_case(std::string(output.what) + " overlaps");
    CHECK(fovea_attention(&c.plan, &c.a, c.memory, c.bytes) == FOVEA_ERR_OVERLAP);
    if (of_inputs) CHECK(c.test.outputs_untouched());
    CHECK(arena.untouched());
  };
  for (size_t o = 0; o < 4; ++o) {
    for (const bool behind : {false, true}) {
      for (size_t input = 0; input < 8; ++input) check(o, true, input, behind);
      for (size_t other = 0; other < o; ++other) check(o, false, other, behind);
    }
  }
}

TEST_CASE("misuse: buffers that only touch one another do not overlap", "[short]") {
  for (const fovea_target target : targets()) {
    Call c;
    const Attention& want = c.test.expected();
    c.plan_again([=](auto& d) { d.target = target; });
    std::vector<ArrayOfCall> arrays = arrays_of(c);
    size_t bytes = made(c.plan).workspace_bytes;
    for (const ArrayOfCall& array : arrays) bytes += array.bytes;
    const Guarded arena(bytes, 64, Placement::kStart);
    char* at = arena.as<char>() + made(c.plan).workspace_bytes;
    for (const ArrayOfCall& array : arrays) {
      std::memcpy(at, array.get(), array.bytes);
      array.set(at);
      at += array.bytes;
    }
    set_current_case("buffers that touch");
    REQUIRE(fovea_attention(&c.plan, &c.a, arena.as<void>(), made(c.plan).workspace_bytes) == FOVEA_OK);
    const float* out = static_cast<const float*>(c.a.out.data);
    for (size_t i = 0; i < want.out.size(); ++i) {
      REQUIRE(close(out[i], want.out[i], want.out_tolerance[i / c.test.problem.value_dim]));
    }
  }
}

TEST_CASE("misuse: inputs may overlap one another", "[short]") {
  Problem p = everything();
  p.head_dim = p.value_dim = 6, p.kv_heads = 4, p.q_tokens = p.kv_tokens = 9;
  AttentionCase test(p);
  // Keys are values are queries. NaN hides where no query may look, so the queries' numbers go everywhere.
  test.args.kv.keys = test.args.q, test.args.kv.values = test.args.q;
  CHECK(run_on_all_targets(test) == "");
}

}  // namespace fovea_test
