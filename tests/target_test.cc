// SPDX-License-Identifier: Apache-2.0
//
// What the library says of itself: version, statuses, targets.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "core/attention/kernels.h"
#include "ground/base/features.h"
#include "ground/targets/registry.h"
#include "platform/platform.h"
#include "support/linear_case.h"

namespace fovea_test {

namespace platform = fovea::platform;

// clang-format off
constexpr fovea_target kNamedTargets[] = {
    FOVEA_TARGET_SCALAR, FOVEA_TARGET_SSE4, FOVEA_TARGET_AVX2, FOVEA_TARGET_AVX512, FOVEA_TARGET_NEON,
    FOVEA_TARGET_HELIUM, FOVEA_TARGET_WASM, FOVEA_TARGET_AVX512_VNNI, FOVEA_TARGET_AVX2_VNNI, FOVEA_TARGET_NEON_DOTPROD,
    FOVEA_TARGET_NEON_I8MM, FOVEA_TARGET_NEON_IN_ORDER, FOVEA_TARGET_NEON_IN_ORDER_DOTPROD,
    FOVEA_TARGET_NEON_IN_ORDER_I8MM, FOVEA_TARGET_RVV128, FOVEA_TARGET_RVV256, FOVEA_TARGET_XSIMD};
// clang-format on

TEST_CASE("version: the library is that of the header", "[short]") { CHECK(fovea_version() == FOVEA_VERSION); }

TEST_CASE("status: every status has a sentence of its own, and other numbers are unknown", "[short]") {
  std::vector<std::string> seen;
  for (int status = FOVEA_OK; status >= FOVEA_ERR_LEFT_OUT; --status) {
    const char* text = fovea_status_string(fovea_status(status));
    REQUIRE(text != nullptr);
    CHECK(std::strlen(text) > 0);
    CHECK(text[std::strlen(text) - 1] != '.');
    CHECK(std::string(text) != "unknown status");
    CHECK(std::find(seen.begin(), seen.end(), text) == seen.end());
    seen.push_back(text);
  }
  for (const uint32_t other : {1u, 0u - 31u, 1000u, 0u - 1000000u, 0x7fffffffu}) {
    CHECK(std::string(fovea_status_string(enum_of<fovea_status>(other))) == "unknown status");
  }
}

TEST_CASE("features: the library says which it has", "[short]") {
  for (const fovea::Feature& one : fovea::kFeatures) CHECK(fovea_has(one.name) == uint32_t{one.has});
  CHECK(fovea_has("I8") == uint32_t{fovea::config::kI8});
  for (const char* unknown : {"", "i8", "I8_", static_cast<const char*>(nullptr)}) CHECK(fovea_has(unknown) == 0);
  auto desc = sized<fovea_attention_desc>();
  desc.q_heads = desc.kv_heads = desc.head_dim = desc.value_dim = desc.max_batch = desc.key_mass_queries = 1;
  fovea_attention_plan plan;
  CHECK(fovea_attention_plan_init(&plan, &desc) == (fovea_has("KEY_MASS") ? FOVEA_OK : FOVEA_ERR_LEFT_OUT));
}

TEST_CASE("target: there is at least one, each named once, best first", "[short]") {
  const uint32_t count = fovea_target_count();
  REQUIRE(count >= 1);
  std::vector<fovea_target> seen;
  for (uint32_t i = 0; i < count; ++i) {
    const fovea_target target = fovea_target_at(i);
    CHECK(target != FOVEA_TARGET_BEST);
    CHECK(std::find(seen.begin(), seen.end(), target) == seen.end());
    seen.push_back(target);
    REQUIRE(fovea_target_name(target) != nullptr);
    CHECK(fovea_target_from_name(fovea_target_name(target)) == target);
    const char* backend = fovea_target_backend(target);
    REQUIRE(backend != nullptr);
    const std::string known = backend;
    CHECK((known == "helium" || known == "highway" || known == "neon" || known == "rvv" || known == "xsimd" ||
           known == "scalar"));
    CHECK(lanes(target) >= 1);
    // Of one backend, a better target has at least as many lanes.
    if (i > 0 && known == fovea_target_backend(fovea_target_at(i - 1))) {
      CHECK(lanes(target) <= lanes(fovea_target_at(i - 1)));
    }
  }
  for (const uint32_t beyond : {count, count + 1, uint32_t{1000}, uint32_t{0xffffffff}}) {
    CHECK(fovea_target_at(beyond) == FOVEA_TARGET_BEST);
  }
}

TEST_CASE("target: names go back and forth", "[short]") {
  for (const fovea_target target : kNamedTargets) {
    const char* text = fovea_target_name(target);
    REQUIRE(text != nullptr);
    CHECK(fovea_target_from_name(text) == target);
  }
  CHECK(fovea_target_from_name("") == FOVEA_TARGET_BEST);
  CHECK(fovea_target_from_name(fovea_target_name(FOVEA_TARGET_BEST)) == FOVEA_TARGET_BEST);
  CHECK(fovea_target_from_name("best") == FOVEA_TARGET_BEST);
  CHECK(fovea_target_from_name("avx2") == FOVEA_TARGET_AVX2);
  CHECK(fovea_target_from_name("scalar") == FOVEA_TARGET_SCALAR);
  for (const char* unknown : {"avx", "avx22", "AVX2", "avx512_", "avx2-vnni", "neon_", "xsim", "be", " "}) {
    CHECK(fovea_target_from_name(unknown) == FOVEA_NO_TARGET);
  }
  for (const uint32_t unknown : kUnknownTargets) {
    CHECK(fovea_target_name(enum_of<fovea_target>(unknown)) == nullptr);
    CHECK(fovea_target_backend(enum_of<fovea_target>(unknown)) == nullptr);
  }
}

INSIDE_CASE("target: what the plan knows of a target is what its kernels are", "[short]") {
  for (const fovea_target target : targets()) {
    const fovea::TargetTraits* traits = fovea::target_traits(target);
    REQUIRE(traits != nullptr);
    const fovea::AttentionKernels& kernels = fovea::attention_kernels(target);
    INFO(fovea_target_name(target));
    CHECK(traits->lanes == kernels.lanes);
    CHECK(lanes(target) == kernels.lanes);  // by a plan
    CHECK(traits->tile_vectors == kernels.tile_vectors);
    CHECK(kernels.list[fovea::kFewRowsServed ? uint32_t(fovea::kTileKernel) : 0].attend != nullptr);
    if (fovea::kFewRowsServed)
      CHECK((traits->few_rows() > 0) == (kernels.list[fovea::kFewRowsKernel].attend != nullptr));
  }
}

TEST_CASE("target: BEST is the first, and the plan says which", "[short]") {
  AttentionCase test{Problem()};
  REQUIRE(test.run({FOVEA_TARGET_BEST}) == "");
  CHECK(made(test.plan).desc.target == fovea_target_at(0));
}

TEST_CASE("target: a number that is no target, or one that is not here, is refused by its status", "[short]") {
  AttentionCase test{Problem()};
  for (const uint32_t unknown : kUnknownTargets) {
    test.desc.target = enum_of<fovea_target>(unknown);
    CHECK(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_ERR_ENUM);
  }
  std::vector<fovea_target> here;
  for (uint32_t i = 0; i < fovea_target_count(); ++i) here.push_back(fovea_target_at(i));
  for (const fovea_target target : kNamedTargets) {
    // Where xsimd is the only backend, its number is another name of the one target.
    const bool alone = target == FOVEA_TARGET_XSIMD && std::string(fovea_target_backend(here[0])) == "xsimd";
    const bool is_here = alone || std::count(here.begin(), here.end(), target) != 0;
    test.desc.target = target;
    CHECK(fovea_attention_plan_init(&test.plan, &test.desc) == (is_here ? FOVEA_OK : FOVEA_ERR_TARGET));
  }
}

namespace {

// What the processor has, without the library's word.
bool has_avx512_vnni() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}
bool has_avx_vnni() {
  unsigned a = 0;
#if defined(__clang__) && __clang_major__ < 19 && \
    !defined(__AVXVNNI__)  // do not know the name, see ground/targets/registry.cc
  return false;
#elif defined(__x86_64__) || defined(__i386__)
  unsigned b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) a = 0;
#if defined(FOVEA_WITHOUT_AVX_VNNI)
  a = 0;
#endif
#endif
  return (a >> 4 & 1) != 0;
}
// The features for which this build has kernels.
constexpr uint64_t kServedFeatures = (FOVEA_WITH_NEON_DOTPROD ? FOVEA_FEATURE_NEON_DOTPROD : 0u) |
                                     (FOVEA_WITH_NEON_I8MM ? FOVEA_FEATURE_NEON_I8MM : 0u) |
                                     (FOVEA_WITH_IN_ORDER ? FOVEA_FEATURE_NEON_IN_ORDER : 0u) |
                                     (FOVEA_WITH_NEON_FP16 ? FOVEA_FEATURE_NEON_FP16 : 0u);

// What the compiler was told, and the system says if it is asked.
uint64_t neon_features(bool ask) {
  uint64_t features = ask ? platform::processor_features() & kServedFeatures : 0;
#if defined(__ARM_FEATURE_DOTPROD)
  features |= FOVEA_FEATURE_NEON_DOTPROD;
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
  features |= FOVEA_FEATURE_NEON_I8MM;
#endif
  return features;
}
bool is_here(fovea_target target) {
  const std::vector<fovea_target> all = targets();
  return std::count(all.begin(), all.end(), target) != 0;
}

struct Extension {
  fovea_target target, extended;
  bool (*has)();
};
constexpr Extension kExtensions[] = {
    {FOVEA_TARGET_AVX512_VNNI, FOVEA_TARGET_AVX512, has_avx512_vnni},
    {FOVEA_TARGET_AVX2_VNNI, FOVEA_TARGET_AVX2, has_avx_vnni},
    {FOVEA_TARGET_NEON_DOTPROD, FOVEA_TARGET_NEON, [] { return (neon_features(true) & 1) != 0; }},
    {FOVEA_TARGET_NEON_I8MM, FOVEA_TARGET_NEON, [] { return (neon_features(true) & 3) == 3; }},
    {FOVEA_TARGET_NEON_IN_ORDER, FOVEA_TARGET_NEON, [] { return (neon_features(true) & 4) != 0; }},
    {FOVEA_TARGET_NEON_IN_ORDER_DOTPROD, FOVEA_TARGET_NEON, [] { return (neon_features(true) & 5) == 5; }},
    {FOVEA_TARGET_NEON_IN_ORDER_I8MM, FOVEA_TARGET_NEON, [] { return (neon_features(true) & 7) == 7; }},
};

}  // namespace

TEST_CASE("target: one that extends another is there if the processor has what it adds, with its bits", "[short]") {
  Problem problem;
  problem.q_tokens = 7, problem.kv_tokens = 70, problem.head_dim = 13;
  problem.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  for (const Extension& row : kExtensions) {
    INFO(fovea_target_name(row.target));
    AttentionCase test(problem);
    test.desc.processor_features = platform::processor_features();
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &test.desc, row.target) ==
          bytes_of(fovea_attention_workspace_bytes_for, &test.desc, row.extended));
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &test.desc, row.target) > 0);
    const char* backend = fovea_target_backend(row.target);
    REQUIRE((backend != nullptr) == (fovea_target_backend(row.extended) != nullptr));
    if (backend) CHECK(std::string(backend) == fovea_target_backend(row.extended));

    test.desc.target = row.target;
    const bool available = is_here(row.extended) && row.has();
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == (available ? FOVEA_OK : FOVEA_ERR_TARGET));
    if (!available) continue;
    REQUIRE(test.run({row.extended}) == "");
    const Outputs wanted = test.outputs();
    REQUIRE(test.run({row.target}) == "");
    CHECK(made(test.plan).desc.target == row.target);
    CHECK(same_bits(test.outputs(), wanted));
  }
}

TEST_CASE("target: features for which the build has no kernels change nothing", "[short]") {
  Problem problem;
  problem.q_tokens = 9, problem.kv_tokens = 50, problem.head_dim = 24;
  problem.key_dtype = problem.value_dtype = FOVEA_I8, problem.compute = FOVEA_COMPUTE_I8;
  AttentionCase plain(problem);
  REQUIRE(plain.run({FOVEA_TARGET_BEST}) == "");
  for (const uint64_t feature : {FOVEA_FEATURE_NEON_DOTPROD, FOVEA_FEATURE_NEON_I8MM | FOVEA_FEATURE_NEON_DOTPROD,
                                 FOVEA_FEATURE_NEON_IN_ORDER, FOVEA_FEATURE_NEON_FP16}) {
    INFO(feature);
    if (feature & kServedFeatures) continue;
    AttentionCase named(problem);
    named.desc.processor_features = feature;
    REQUIRE(named.run({FOVEA_TARGET_BEST}) == "");
    CHECK(made(named.plan).desc.target == made(plain.plan).desc.target);
    CHECK(same_bits(named.outputs(), plain.outputs()));
  }
}

// Whether this build has kernels for processors in order beside the others; elsewhere their targets are refused.
#if defined(FOVEA_WITH_IN_ORDER)
constexpr bool kInOrderBeside = FOVEA_WITH_IN_ORDER != 0;
#else
constexpr bool kInOrderBeside = false;
#endif

TEST_CASE("target: kernels for processors that run instructions in order have the bits of the others", "[short]") {
  for (const auto& [q_tokens, dim, causal] : every({1u, 3u, 8u, 12u, 29u, 64u}, {1u, 8u, 13u, 40u, 64u, 67u},
                                                   {FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_BOTTOM_RIGHT})) {
    Problem problem;
    problem.q_tokens = q_tokens, problem.kv_tokens = 131 - dim, problem.causal = causal;
    problem.head_dim = dim, problem.value_dim = 68 - dim;
    if (dim == 40) problem.key_dtype = problem.value_dtype = FOVEA_I8;
    AttentionCase test(problem);
    test.desc.processor_features = FOVEA_FEATURE_NEON_IN_ORDER;  // any AArch64 processor runs them
    if (!kInOrderBeside) {
      test.desc.target = FOVEA_TARGET_NEON_IN_ORDER;
      CHECK(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_ERR_TARGET);
      continue;
    }
    REQUIRE(test.run({FOVEA_TARGET_NEON}) == "");
    const Outputs wanted = test.outputs();
    REQUIRE(test.run({FOVEA_TARGET_NEON_IN_ORDER}) == "");
    CHECK(made(test.plan).desc.target == FOVEA_TARGET_NEON_IN_ORDER);
    CHECK(same_bits(test.outputs(), wanted));
  }
}

TEST_CASE("linear: kernels for processors that run instructions in order have the bits of the others", "[short]") {
  for (const auto& [tokens, in_dim] : every({3u, 8u, 12u, 29u}, {1u, 2u, 31u, 33u, 64u, 97u})) {
    LinearProblem problem;
    problem.tokens = tokens, problem.in_dim = in_dim, problem.out_dim = 75 - tokens;
    LinearCase test(problem);
    test.args.processor_features = FOVEA_FEATURE_NEON_IN_ORDER;
    const fovea_status served = kInOrderBeside ? FOVEA_OK : FOVEA_ERR_TARGET;
    if (kInOrderBeside) REQUIRE(test.run(FOVEA_TARGET_NEON) == FOVEA_OK);
    const std::vector<float> wanted = kInOrderBeside ? test.outputs() : std::vector<float>();
    REQUIRE(test.run(FOVEA_TARGET_NEON_IN_ORDER) == served);
    if (kInOrderBeside) CHECK(same_bits(test.outputs(), wanted));
  }
}

TEST_CASE("target: with the processor's features the kernels of their own come first", "[short]") {
  const bool both = kInOrderBeside && is_here(FOVEA_TARGET_NEON);
  const fovea_target first = platform::target_with_kernels(0, FOVEA_FEATURE_NEON_IN_ORDER);
  CHECK(first == (both ? FOVEA_TARGET_NEON_IN_ORDER : platform::target_with_kernels(0)));
  const std::vector<fovea_target> all = targets();
  for (uint32_t i = 0; i <= all.size(); ++i) {
    CHECK(platform::target_with_kernels(i + both, FOVEA_FEATURE_NEON_IN_ORDER) == platform::target_with_kernels(i));
  }
}

TEST_CASE("target: processor_features make targets available on AArch64, and are ignored elsewhere", "[short]") {
  AttentionCase test{Problem()};
  for (uint64_t features = 0; features < 8; ++features) {
    INFO("features " << features);
    test.desc.processor_features = features, test.desc.target = FOVEA_TARGET_BEST;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    fovea_target best = fovea_target_at(0);
    uint64_t has = 0;
    if (is_here(FOVEA_TARGET_NEON)) {
      has = neon_features(false);
#if defined(__aarch64__)
      has |= features & kServedFeatures;
#endif
      constexpr fovea_target kBest[2][3] = {
          {FOVEA_TARGET_NEON, FOVEA_TARGET_NEON_DOTPROD, FOVEA_TARGET_NEON_I8MM},
          {FOVEA_TARGET_NEON_IN_ORDER, FOVEA_TARGET_NEON_IN_ORDER_DOTPROD, FOVEA_TARGET_NEON_IN_ORDER_I8MM}};
      best = kBest[has >> 2][(has & 3) == 3 ? 2 : has & 1];
    }
    CHECK(made(test.plan).desc.target == best);
    CHECK(made(test.plan).desc.processor_features == features);
    const auto status_of = [&](fovea_target target) {
      test.desc.target = target;
      return fovea_attention_plan_init(&test.plan, &test.desc);
    };
    const auto if_has = [&](uint64_t needed) { return (has & needed) == needed ? FOVEA_OK : FOVEA_ERR_TARGET; };
    CHECK(status_of(FOVEA_TARGET_NEON_DOTPROD) == if_has(1));
    CHECK(status_of(FOVEA_TARGET_NEON_I8MM) == if_has(3));
    CHECK(status_of(FOVEA_TARGET_NEON_IN_ORDER) == if_has(4));
    CHECK(status_of(FOVEA_TARGET_NEON_IN_ORDER_DOTPROD) == if_has(5));
    CHECK(status_of(FOVEA_TARGET_NEON_IN_ORDER_I8MM) == if_has(7));
  }
}

TEST_CASE("target: what the system says of the processor is what the emulated model has", "[short]") {
  std::string name;
#if defined(__linux__)
  if (const char* model = std::getenv("FOVEA_QEMU_CPU")) name = model;
#endif
  const uint64_t features = platform::processor_features();
  if (name == "cortex-a53") CHECK(features == FOVEA_FEATURE_NEON_IN_ORDER);
  if (name == "cortex-a76") CHECK(features == (FOVEA_FEATURE_NEON_DOTPROD | FOVEA_FEATURE_NEON_FP16));
#if defined(__aarch64__)
  if (name == "max") {
    CHECK(features == (FOVEA_FEATURE_NEON_DOTPROD | FOVEA_FEATURE_NEON_I8MM | FOVEA_FEATURE_NEON_FP16));
  }
#else
  CHECK(features == 0);
#endif
  CHECK(features <= 15);
}

}  // namespace fovea_test
