// SPDX-License-Identifier: Apache-2.0
//
// Plans: what they resolve, how much memory they ask for, and what they say.
#include "fovea/fovea.hpp"
#include "ground/targets/compiled.h"
#include "platform/platform.h"
#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {
namespace {

fovea_attention_desc description(uint32_t head_dim, uint32_t value_dim, uint32_t q_tokens, uint32_t q_heads,
                                 uint32_t kv_heads) {
  auto d = sized<fovea_attention_desc>();
  d.q_heads = q_heads, d.kv_heads = kv_heads, d.head_dim = head_dim, d.value_dim = value_dim;
  d.max_batch = 2, d.max_q_tokens = q_tokens, d.max_kv_tokens = 1000;
  return d;
}

TEST_CASE("plan: target, scale and diagonal are resolved, all else is the description", "[short]") {
  fovea_attention_desc d = description(64, 48, 100, 4, 2);
  d.softcap = 3.0f, d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, d.window_left = 77, d.portable_bits = 1;
  fovea_attention_plan plan = plan_of(d);
  CHECK(made(plan).desc.target == fovea_target_at(0));
  CHECK(made(plan).desc.scale == 0.125f);
  fovea_attention_desc resolved = d;
  resolved.target = made(plan).desc.target, resolved.scale = made(plan).desc.scale;
  resolved.diagonal = FOVEA_DIAGONAL_BOTTOM_RIGHT;
  CHECK(std::memcmp(&resolved, &made(plan).desc, sizeof resolved) == 0);
  CHECK(made(plan).kernels[0].most_rows == 0);  // portable bits
  CHECK(made(plan).kernels[1].most_rows == UINT32_MAX);
  CHECK(made(plan).kernels[1].tile_rows >= made(plan).lanes);
  for (uint32_t dim = 1; dim <= 4096; dim = dim * 3 / 2 + 1) {
    d = description(dim, 1, 1, 1, 1);
    plan = plan_of(d);
    CHECK(std::fabs(made(plan).desc.scale * std::sqrt(double(dim)) - 1.0) < 1.2e-7);
  }
}

TEST_CASE("plan: what it says of itself is what calls do", "[short]") {
  fovea_attention_desc d = description(64, 48, 100, 4, 2);
  fovea_attention_kernel kernel;
  for (const fovea_target target : targets()) {
    d.target = target;
    const fovea_attention_plan plan = plan_of(d);
    REQUIRE(fovea_attention_plan_desc(&plan) == &made(plan).desc);
    const uint32_t few = made(plan).kernels[0].most_rows;
    for (const uint32_t rows : {uint32_t{0}, uint32_t{1}, few, few + 1, uint32_t{200}}) {
      REQUIRE(fovea_attention_plan_kernel(&plan, rows, &kernel) == FOVEA_OK);
      const fovea::PlannedKernel& planned = made(plan).kernels[rows > few || few == 0];
      CHECK(kernel.lanes == made(plan).lanes);
      CHECK(kernel.most_rows == planned.most_rows);
      CHECK(kernel.tile_rows == planned.tile_rows);
      CHECK(kernel.tiles == planned.tiles);
    }
  }
  fovea_attention_plan plan = plan_of(d);
  CHECK(fovea_attention_plan_kernel(&plan, 1, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_attention_plan_kernel(nullptr, 1, &kernel) == FOVEA_ERR_NULL);
  CHECK(fovea_attention_plan_desc(nullptr) == nullptr);
  made(plan).magic ^= 1;
  CHECK(fovea_attention_plan_kernel(&plan, 1, &kernel) == FOVEA_ERR_PLAN);
  CHECK(fovea_attention_plan_desc(&plan) == nullptr);
}

TEST_CASE("plan: the workspace of each target is what another machine would answer for it", "[short]") {
  for (const uint32_t q_tokens : {0u, 1u, 5u, 130u}) {
    fovea_attention_desc d = description(50, 33, q_tokens, 6, 2);
    size_t most = 0;
    for (const fovea_target target : targets()) {
      d.target = target;
      const fovea_attention_plan plan = plan_of(d);
      const size_t bytes = bytes_of(fovea_attention_workspace_bytes, &plan);
      CHECK(bytes > 0);
      CHECK(bytes == made(plan).workspace_bytes);
      d.target = FOVEA_TARGET_BEST;
      CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, target) == bytes);
      most = std::max(most, bytes);
    }
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_BEST) >= most);
    // Of boards too, whose targets no host runs.
    for (const fovea_target target :
         {FOVEA_TARGET_SCALAR, FOVEA_TARGET_SSE4, FOVEA_TARGET_AVX2, FOVEA_TARGET_AVX512, FOVEA_TARGET_NEON,
          FOVEA_TARGET_HELIUM, FOVEA_TARGET_WASM, FOVEA_TARGET_RVV128, FOVEA_TARGET_RVV256}) {
      const size_t bytes = bytes_of(fovea_attention_workspace_bytes_for, &d, target);
      CHECK(bytes > 0);
      CHECK(bytes <= bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_BEST));
      // The description's own target does not matter.
      fovea_attention_desc other = d;
      other.target = FOVEA_TARGET_SCALAR;
      CHECK(bytes_of(fovea_attention_workspace_bytes_for, &other, target) == bytes);
    }
  }
}

TEST_CASE("plan: codes of long values that memory cannot hold are refused", "[short]") {
  // Targets with vectors bring a whole tile of them.
  for (const uint32_t value_dim : {1u << 20, 1u << 24, 1u << 26, 1u << 28, 1u << 31}) {
    fovea_attention_desc d = description(8, value_dim, 1, 1, 1);
    d.key_dtype = d.value_dtype = FOVEA_I8, d.compute = FOVEA_COMPUTE_I8;
    for (const fovea_target target :
         {FOVEA_TARGET_SSE4, FOVEA_TARGET_AVX2, FOVEA_TARGET_AVX512, FOVEA_TARGET_NEON, FOVEA_TARGET_WASM}) {
      INFO(value_dim << " " << fovea_target_name(target));
      const size_t bytes = bytes_of(fovea_attention_workspace_bytes_for, &d, target);
      CHECK((bytes == 0 || bytes / FOVEA_KEY_TILE >= value_dim));
    }
  }
}

TEST_CASE("plan: the macro is an upper bound for every count of tokens and heads", "[short]") {
  for (const auto& [head_dim, value_dim, q_tokens, group] :
       every({1u, 2u, 17u, 64u, 127u, 128u, 256u, 1000u}, {1u, 3u, 16u, 65u, 128u, 513u},
             {0u, 1u, 2u, 4u, 7u, 15u, 16u, 17u, 48u, 49u, 64u, 100000u}, {1u, 3u, 8u})) {
    fovea_attention_desc d = description(head_dim, value_dim, q_tokens, group * 2, 2);
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      const size_t bytes = bytes_of(fovea_attention_workspace_bytes_for, &d, target);
      REQUIRE(bytes > 0);
      REQUIRE(bytes <= FOVEA_ATTENTION_WORKSPACE_BYTES(head_dim, value_dim));
      const uint32_t rows = std::max<uint32_t>(q_tokens * group, 1);
      REQUIRE(bytes <= FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows));
      d.key_dtype = FOVEA_I8, d.kv_kind = FOVEA_KV_PAGED, d.page_tokens = 3;
      const size_t kv_bytes = bytes_of(fovea_attention_workspace_bytes_for, &d, target);
      REQUIRE(kv_bytes <= FOVEA_ATTENTION_KV_WORKSPACE_BYTES(head_dim, value_dim));
      REQUIRE(kv_bytes <= FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows));
      d.value_dtype = FOVEA_I4, d.compute = FOVEA_COMPUTE_I8;
      d.processor_features = fovea::platform::processor_features();
      const size_t i8_bytes = bytes_of(fovea_attention_workspace_bytes_for, &d, target);
      REQUIRE(i8_bytes > 0);
      d.key_dtype = d.value_dtype = FOVEA_F16, d.compute = FOVEA_COMPUTE_F16;
      const size_t f16_bytes = bytes_of(fovea_attention_workspace_bytes_for, &d, target);
      REQUIRE(f16_bytes > 0);
      REQUIRE(f16_bytes <= FOVEA_ATTENTION_KV_WORKSPACE_BYTES(head_dim, value_dim));
      REQUIRE(f16_bytes <= FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows));
      REQUIRE(i8_bytes <= FOVEA_ATTENTION_I8_WORKSPACE_BYTES(head_dim, value_dim));
      REQUIRE(i8_bytes <= FOVEA_ATTENTION_I8_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows));
      d = description(head_dim, value_dim, q_tokens, group * 2, 2);
    }
  }
}

TEST_CASE("plan: the macro for n rows is at most that for any, and for decode on one lane what it takes", "[short]") {
  for (const uint32_t rows : {1u, 2u, 3u, 4u, 8u, 12u, 13u, 48u, 1000u}) {
    CHECK(FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(64, 48, rows) <= FOVEA_ATTENTION_WORKSPACE_BYTES(64, 48));
    CHECK(FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(64, 48, rows) <= FOVEA_ATTENTION_KV_WORKSPACE_BYTES(64, 48));
  }
#if FOVEA_TILE_ROWS_MAX == 4
  static_assert(FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(32, 32, 1) == 1088,
                "a query, its output, 64 scores, 9 numbers of it");
  const fovea_attention_desc d = description(32, 32, 1, 4, 4);
  CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_SCALAR) == 1088);
#endif
}

TEST_CASE("plan: workspaces are as large as bench/README.md says", "[short]") {
  struct Row {
    uint32_t q_heads, kv_heads, dim, q_tokens;
    fovea_dtype dtype;
    size_t scalar, four_lanes, avx2;
  };
  for (const Row& row : {
           Row{4, 4, 32, 1, FOVEA_F32, 1088, 2624, 4672},
           Row{4, 4, 64, 1, FOVEA_F32, 1344, 3648, 6720},
           Row{8, 2, 64, 1, FOVEA_F32, 3648, 3648, 6720},
           Row{8, 2, 64, 1, FOVEA_I8, 7744, 36416, 39488},
           Row{4, 4, 32, 64, FOVEA_F32, 2624, 6720, 13440},
           Row{4, 4, 64, 64, FOVEA_F32, 3648, 9792, 19584},
           Row{4, 4, 128, 64, FOVEA_F32, 5696, 15936, 31872},
           Row{4, 4, 64, 64, FOVEA_I8, 18688, 71936, 71936},
       }) {
    fovea_attention_desc d = description(row.dim, row.dim, row.q_tokens, row.q_heads, row.kv_heads);
    d.key_dtype = d.value_dtype = row.dtype;
    if (FOVEA_SIMD_LANES == 1) CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_SCALAR) == row.scalar);
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_HELIUM) == row.four_lanes);
#if defined(__aarch64__)
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_NEON) == row.four_lanes);
#else  // on 32-bit Arm tiles have as many rows as on AVX2
    const bool tiles = row.q_tokens > 1;
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_NEON) == (tiles ? row.avx2 : row.four_lanes));
#endif
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_AVX2) == row.avx2);
  }
}

TEST_CASE("plan: no workspace is named for what is no plan and for a description that is not valid", "[short]") {
  fovea_attention_plan plan{};
  CHECK(refusal_of(fovea_attention_workspace_bytes, &plan) == FOVEA_ERR_PLAN);
  CHECK(refusal_of(fovea_attention_workspace_bytes, nullptr) == FOVEA_ERR_NULL);
  std::memset(&plan, 0x5a, sizeof plan);
  CHECK(refusal_of(fovea_attention_workspace_bytes, &plan) == FOVEA_ERR_PLAN);
  fovea_attention_desc d = description(8, 8, 8, 2, 1);
  REQUIRE(fovea_attention_plan_init(&plan, &d) == FOVEA_OK);
  CHECK(bytes_of(fovea_attention_workspace_bytes, &plan) == made(plan).workspace_bytes);
  made(plan).magic ^= 1;
  CHECK(refusal_of(fovea_attention_workspace_bytes, &plan) == FOVEA_ERR_PLAN);
  CHECK(refusal_of(fovea_attention_workspace_bytes_for, nullptr, FOVEA_TARGET_SCALAR) == FOVEA_ERR_NULL);
  for (const uint32_t unknown : kUnknownTargets) {
    CHECK(refusal_of(fovea_attention_workspace_bytes_for, &d, enum_of<fovea_target>(unknown)) == FOVEA_ERR_ENUM);
  }
  d.head_dim = 0;
  CHECK(refusal_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_SCALAR) == FOVEA_ERR_DIM);
  CHECK(refusal_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_BEST) == FOVEA_ERR_DIM);
  d = description(8, 8, 8, 2, 1);
  d.struct_bytes = 0;
  CHECK(refusal_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_BEST) == FOVEA_ERR_STRUCT);
}

TEST_CASE(
    "plan: a budget takes rows off the tile, down to one vector, and is never exceeded, by all workers and split "
    "keys together",
    "[short]") {
  for (const auto& [target, workers] : every(targets(), {1u, 5u})) {
    fovea_attention_desc d = workers == 1 ? description(64, 64, 200, 4, 1) : description(24, 40, 20, 4, 1);
    d.target = target, d.max_workers = workers, d.key_split_tokens = workers == 1 ? 0 : 64;
    const fovea_attention_plan full = plan_of(d);
    const size_t least = budget_bytes(d, Budget::kLeast);
    CHECK(least <= made(full).workspace_bytes);
    CHECK(least > made(full).split_bytes);
    CHECK((made(full).split_bytes > 0) == (workers > 1));
    uint32_t tile_rows = made(full).kernels[1].tile_rows;
    for (size_t budget = made(full).workspace_bytes + 64; budget >= least; budget -= 64) {
      d.workspace_budget_bytes = budget;
      const fovea_attention_plan plan = plan_of(d);
      REQUIRE(made(plan).workspace_bytes <= budget);
      REQUIRE(made(plan).split_bytes == made(full).split_bytes);
      REQUIRE(made(plan).kernels[1].tile_rows <= tile_rows);
      REQUIRE(bytes_of(fovea_attention_workspace_bytes_for, &d, target) == made(plan).workspace_bytes);
      tile_rows = made(plan).kernels[1].tile_rows;
    }
    d.workspace_budget_bytes = least;
    fovea_attention_plan plan = plan_of(d);
    CHECK(made(plan).kernels[1].tile_rows == made(plan).lanes);
    if (made(full).kernels[1].tile_rows > made(plan).lanes) CHECK(least < made(full).workspace_bytes);
    for (const size_t budget : {least - 1, made(full).split_bytes, made(full).split_bytes - 1, size_t{1}}) {
      d.workspace_budget_bytes = budget;
      if (workers == 1 && budget + 1 <= 1) continue;  // no budget, or more than any
      CHECK(fovea_attention_plan_init(&plan, &d) == FOVEA_ERR_BUDGET);
      CHECK(refusal_of(fovea_attention_workspace_bytes_for, &d, target) == FOVEA_ERR_BUDGET);
    }
  }
}

TEST_CASE("plan: which rows take the few-rows kernel is decided by shape, not memory, workers or source", "[short]") {
  for (const auto& [target, q_tokens, dim] : every(targets(), {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}, {1u, 5u, 64u})) {
    fovea_attention_desc d = description(dim, dim, q_tokens, 1, 1);
    d.target = target;
    const fovea_attention_plan full = plan_of(d);
    for (const auto& [workers, page_tokens] : every({1u, 3u}, {0u, 16u})) {
      d.max_workers = workers;
      d.kv_kind = page_tokens ? FOVEA_KV_PAGED : FOVEA_KV_STRIDED;
      d.page_tokens = page_tokens;
      for (const Budget budget : {Budget::kNone, Budget::kHalf, Budget::kLeast}) {
        d.workspace_budget_bytes = budget_bytes(d, budget);
        const fovea_attention_plan plan = plan_of(d);
        INFO(fovea_target_name(target) << ", " << q_tokens << " rows of " << dim);
        const fovea::PlannedKernel &few = made(plan).kernels[0], &most = made(full).kernels[0];
        CHECK(few.index == most.index);
        CHECK(few.most_rows == most.most_rows);
        CHECK(few.tile_rows == most.tile_rows);
        CHECK(few.tiles <= most.tiles);
        CHECK((few.most_rows == 0) == (few.tiles == 0));
      }
    }
  }
}

TEST_CASE("plan: it may be copied, and needs neither the description nor the first copy", "[short]") {
  Problem p;
  p.q_tokens = 40, p.kv_tokens = 70;
  for (const fovea_target target : targets()) {
    AttentionCase test(p);
    const Attention& want = test.expected();
    Guarded moved(sizeof(fovea_attention_plan), alignof(fovea_attention_plan), Placement::kEnd);
    size_t bytes = 0;
    {
      fovea_attention_desc d = test.desc;
      d.target = target;
      fovea_attention_plan plan = plan_of(d);
      bytes = made(plan).workspace_bytes;
      std::memcpy(moved.as<void>(), &plan, sizeof plan);
      std::memset(&plan, 0xee, sizeof plan);
      std::memset(&d, 0xee, sizeof d);
    }
    moved.read_only(true);  // and it is only read
    const Guarded workspace(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
    set_current_case("a plan that was copied");
    REQUIRE(fovea_attention(moved.as<fovea_attention_plan>(), &test.args, workspace.as<void>(), bytes) == FOVEA_OK);
    const std::vector<float> out = test.out();
    for (size_t i = 0; i < out.size(); ++i) REQUIRE(close(out[i], want.out[i], want.out_tolerance[i / p.value_dim]));
  }
}

TEST_CASE("plan: exactly the bytes it names are enough", "[short]") {
  for (const auto& [target, dim, budget] :
       every(targets(), {1u, 7u, 64u, 130u}, {Budget::kNone, Budget::kHalf, Budget::kLeast})) {
    Problem p;
    p.q_tokens = 70, p.kv_tokens = 130, p.head_dim = dim, p.value_dim = 131 - dim;
    p.causal = FOVEA_CAUSAL_TOP_LEFT, p.alibi = p.sinks = true, p.stage = FOVEA_SCORES_SOFTMAX;
    AttentionCase test(p);
    CHECK(test.run({target, budget}) == "");
    CHECK(made(test.plan).workspace_bytes % FOVEA_WORKSPACE_ALIGNMENT == 0);  // or the guard page is not next to it
  }
}

TEST_CASE("plan: its text is written as snprintf writes", "[short]") {
  for (const fovea_target target : targets()) {
    fovea_attention_desc d = description(64, 48, 100, 4, 2);
    d.target = target;
    const fovea_attention_plan plan = plan_of(d);
    const size_t needs = fovea_attention_plan_describe(&plan, 33, 1000, nullptr, 0);
    REQUIRE(needs > 0);
    std::string whole(needs + 1, '#');
    CHECK(fovea_attention_plan_describe(&plan, 33, 1000, &whole[0], whole.size()) == needs);
    CHECK(whole[needs] == '\0');
    whole.pop_back();
    INFO(whole);
    CHECK(whole.find('\0') == std::string::npos);
    CHECK(whole.find('\n') == std::string::npos);
    CHECK(whole.find(fovea_target_name(target)) != std::string::npos);
    CHECK(whole.find(fovea_target_backend(target)) != std::string::npos);
    CHECK(whole.find(std::to_string(made(plan).workspace_bytes)) != std::string::npos);
    // So is the arithmetic.
    d.key_dtype = d.value_dtype = FOVEA_I8, d.compute = FOVEA_COMPUTE_I8;
    const fovea_attention_plan integers = plan_of(d);
    std::string described(200, '#');
    fovea_attention_plan_describe(&integers, 33, 1000, &described[0], described.size());
    CHECK(described.find("i8") != std::string::npos);
    CHECK(whole.find("i8") == std::string::npos);
    // The counts are in it.
    std::string other(needs + 100, '#');
    fovea_attention_plan_describe(&plan, 34, 1000, &other[0], other.size());
    CHECK(other.compare(0, needs, whole) != 0);
    fovea_attention_plan_describe(&plan, 33, 2000, &other[0], other.size());
    CHECK(other.compare(0, needs, whole) != 0);
    for (const size_t bytes : {size_t{1}, size_t{2}, needs / 2, needs, needs + 1, needs + 20}) {
      const Guarded text(bytes, 1, Placement::kEnd);
      CHECK(fovea_attention_plan_describe(&plan, 33, 1000, text.as<char>(), bytes) == needs);
      const size_t written = std::min(bytes - 1, needs);
      CHECK(std::memcmp(text.as<char>(), whole.data(), written) == 0);
      CHECK(text.as<char>()[written] == '\0');
      CHECK(text.margin_intact());
    }
  }
}

// Rows for several tiles, or with few tokens for the few-rows kernel, with every option.
Problem problem(uint32_t q_tokens) {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 70;
  p.head_dim = 5, p.value_dim = 7, p.causal = FOVEA_CAUSAL_POSITIONS;
  p.positions = {40, 60};
  p.mask = FOVEA_MASK_BYTE, p.alibi = p.sinks = true, p.stage = FOVEA_SCORES_SOFTMAX;
  return p;
}

constexpr size_t kGrain = FOVEA_WORKSPACE_ALIGNMENT;

}  // namespace

TEST_CASE("workspace: cut in two at any place, the bits are the same, with workers and split keys too",
          "[short][executor]") {
  // With workers, at every fifth place.
  const auto check = [](fovea_target target, const Problem& p, uint32_t workers, uint32_t split) {
    AttentionCase test(p);
    Shuffler shuffler(workers);
    test.desc.target = target, test.desc.max_workers = workers, test.desc.key_split_tokens = split;
    if (workers > 1) test.args.executor = shuffler.executor();
    test.plan = plan_of(test.desc);
    const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan), step = kGrain * (workers > 1 ? 5 : 1);
    Guarded one(whole, kGrain, Placement::kEnd);
    REQUIRE(fovea_attention(&test.plan, &test.args, one.as<void>(), whole) == FOVEA_OK);
    const Outputs want = test.outputs();
    test.expected();
    REQUIRE(test.compare() == "");

    size_t cuts = 0, mixed = 0;
    for (size_t fast_bytes = 0; fast_bytes <= whole; fast_bytes += step, ++cuts) {
      const size_t slow_bytes = bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, fast_bytes);
      // What the fast part takes, the slow one need not; a call takes one kernel's arrays, the sizes are for either.
      REQUIRE(slow_bytes <= whole);
      REQUIRE(fast_bytes + slow_bytes >= (made(test.plan).kernels[0].most_rows == 0 ? whole : 0));
      mixed += fast_bytes > 0 && slow_bytes > 0;
      Guarded fast(fast_bytes, kGrain, Placement::kEnd), slow(slow_bytes, kGrain, Placement::kEnd);
      test.args.slow_workspace = slow.as<void>();
      test.args.slow_workspace_bytes = slow_bytes;
      test.fill_outputs();
      set_current_case("a fast part of " + std::to_string(fast_bytes) + " bytes");
      REQUIRE(fovea_attention(&test.plan, &test.args, fast.as<void>(), fast_bytes) == FOVEA_OK);
      REQUIRE(fast.margin_intact());
      REQUIRE(slow.margin_intact());
      REQUIRE(same_bits(test.outputs(), want));
      if (slow_bytes == 0) continue;
      // One byte less is refused, and nothing is written.
      test.args.slow_workspace_bytes = slow_bytes - 1;
      test.fill_outputs();
      fast.fill(), slow.fill();
      REQUIRE(fovea_attention(&test.plan, &test.args, fast.as<void>(), fast_bytes) == FOVEA_ERR_WORKSPACE);
      REQUIRE(test.outputs_untouched());
      REQUIRE(fast.untouched());
      REQUIRE(slow.untouched());
    }
    CHECK(cuts == whole / step + 1);
    CHECK(mixed > 5);
  };
  for (const uint32_t q_tokens : {1u, 9u}) {
    for (const Problem& p : {problem(q_tokens), problem(q_tokens).with_integers(FOVEA_I4, FOVEA_I8)}) {
      for (const fovea_target target : p.targets()) check(target, p, 1, 0);
    }
    Problem longer = problem(q_tokens);
    longer.kv_tokens = 130, longer.positions = {100, 120};
    for (const auto& [target, split] : every(targets(), {0u, 64u})) check(target, longer, 3, split);
  }
}

TEST_CASE("workspace: the slow part is as much as the whole beside nothing, and nothing beside the whole", "[short]") {
  AttentionCase test(problem(9));
  for (const fovea_target target : targets()) {
    test.desc.target = target;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, 0) == whole);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, kGrain - 1) == whole);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, whole - 1) > 0);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, whole) == 0);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, SIZE_MAX) == 0);
  }
  const fovea_attention_plan none{};
  CHECK(refusal_of(fovea_attention_slow_workspace_bytes, &none, 0) == FOVEA_ERR_PLAN);
  CHECK(refusal_of(fovea_attention_slow_workspace_bytes, nullptr, 0) == FOVEA_ERR_NULL);
}

TEST_CASE("workspace: the fast part holds what is touched most", "[short]") {
  // Scores come first: with room for them alone, all else is in the slow part. The tokens fill a tile on any target.
  AttentionCase test(problem(96));
  for (const fovea_target target : targets()) {
    test.desc.target = target;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    const size_t scores_bytes = size_t{FOVEA_KEY_TILE} * made(test.plan).kernels[1].tile_rows * sizeof(float);
    const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, scores_bytes) == whole - scores_bytes);
    Guarded fast(scores_bytes, kGrain, Placement::kEnd), slow(whole - scores_bytes, kGrain, Placement::kEnd);
    test.args.slow_workspace = slow.as<void>();
    test.args.slow_workspace_bytes = slow.bytes();
    REQUIRE(fovea_attention(&test.plan, &test.args, fast.as<void>(), scores_bytes) == FOVEA_OK);
    // Of every score the first byte or another: a weight may have a byte of the pattern, but not all four.
    for (size_t i = 0; i < scores_bytes; i += sizeof(float)) {
      INFO("byte " << i << " of " << scores_bytes << " on " << fovea_target_name(target));
      REQUIRE(!(fast.untouched(i) && fast.untouched(i + 1) && fast.untouched(i + 2) && fast.untouched(i + 3)));
    }
  }
}

TEST_CASE("workspace: a slow part that is null, misaligned or overlaps is refused", "[short]") {
  AttentionCase test(problem(9));
  REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
  const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan);
  Guarded fast(whole, kGrain, Placement::kStart), slow(whole + kGrain, kGrain, Placement::kStart);
  const auto attend = [&](void* slow_part, size_t slow_bytes, size_t fast_bytes) {
    test.args.slow_workspace = slow_part, test.args.slow_workspace_bytes = slow_bytes;
    test.fill_outputs();
    const fovea_status status = fovea_attention(&test.plan, &test.args, fast.as<void>(), fast_bytes);
    CHECK((status == FOVEA_OK || test.outputs_untouched()));
    return status;
  };
  // Even where the fast part alone is enough.
  for (const size_t fast_bytes : {whole, whole - 1, kGrain}) {
    INFO(fast_bytes);
    CHECK(attend(slow.as<void>(), whole, fast_bytes) == FOVEA_OK);
    CHECK(attend(slow.as<char>() + kGrain, whole, fast_bytes) == FOVEA_OK);
    CHECK(attend(nullptr, whole, fast_bytes) == FOVEA_ERR_NULL);
    for (const size_t off : {1u, 4u, 32u, 63u}) {
      CHECK(attend(slow.as<char>() + off, whole, fast_bytes) == FOVEA_ERR_ALIGNMENT);
    }
    CHECK(attend(fast.as<void>(), whole, fast_bytes) == FOVEA_ERR_OVERLAP);
    CHECK(attend(slow.as<void>(), SIZE_MAX, fast_bytes) == FOVEA_ERR_SIZE);
  }
  CHECK(attend(nullptr, 0, whole) == FOVEA_OK);
  CHECK(attend(nullptr, 0, whole - 1) == FOVEA_ERR_WORKSPACE);
  CHECK(attend(slow.as<void>(), 0, whole - 1) == FOVEA_ERR_WORKSPACE);

  // Over an input, and over an output: laid so that they share the first bytes.
  Guarded& shared = slow;
  const void* const q = test.args.q.data;
  test.args.q.data = shared.as<void>();
  CHECK(attend(shared.as<void>(), whole, kGrain) == FOVEA_ERR_OVERLAP);
  test.args.q.data = q;
  test.args.out.data = shared.as<void>();
  test.args.slow_workspace = shared.as<void>();
  test.args.slow_workspace_bytes = whole;
  CHECK(fovea_attention(&test.plan, &test.args, fast.as<void>(), kGrain) == FOVEA_ERR_OVERLAP);
}

TEST_CASE("workspace: the veneer takes two parts", "[short]") {
  AttentionCase test(problem(9));
  fovea::AttentionPlan plan;
  REQUIRE(plan.init(test.desc) == FOVEA_OK);
  const size_t whole = plan.workspace_bytes();
  Guarded fast(whole / 2 / kGrain * kGrain, kGrain, Placement::kEnd);
  Guarded slow(plan.slow_workspace_bytes(fast.bytes()), kGrain, Placement::kEnd);
  CHECK(slow.bytes() < whole);
  const auto span = [](const Guarded& memory) {
    return fovea::Span<std::byte>(memory.as<std::byte>(), memory.bytes());
  };
  CHECK(plan.run(test.args, span(fast)) == FOVEA_ERR_WORKSPACE);
  REQUIRE(plan.run(test.args, span(fast), span(slow)) == FOVEA_OK);
  test.expected();
  CHECK(test.compare() == "");
  CHECK(test.args.slow_workspace == nullptr);
}

}  // namespace fovea_test
