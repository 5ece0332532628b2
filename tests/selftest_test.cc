// SPDX-License-Identifier: Apache-2.0
//
// The self-test of fovea/selftest.h: its calls run on every target, in the memory that its macro names, and have the digests
// of lib/src/layers/selftest/table.h.
#include "fovea/fovea.hpp"
#include "simd_tests.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr fovea_selftest_part kParts[] = {FOVEA_SELFTEST_PARTS};
constexpr uint32_t kMostCalls = 100;  // more than any part has

fovea_selftest_args arguments(const Guarded& memory) {
  auto args = sized<fovea_selftest_args>();
  args.memory = memory.as<void>(), args.memory_bytes = memory.bytes();
  return args;
}

// What a target needs that the compiler does not know: all that this processor has.
uint64_t features_for(fovea_target target) {
  auto desc = sized<fovea_attention_desc>();
  desc.q_heads = desc.kv_heads = desc.head_dim = desc.value_dim = 1, desc.target = target;
  fovea_attention_plan plan;
  for (uint64_t features = 0; features < 8; ++features) {
    desc.processor_features = features;
    if (fovea_attention_plan_init(&plan, &desc) == FOVEA_OK) return features;
  }
  return 0;
}

}  // namespace

TEST_CASE("selftest: each call has its digest on every target, in as much memory as the macro names", "[short]") {
  const Guarded memory(FOVEA_SELFTEST_BYTES, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    std::vector<const char*> names;
    for (const fovea_selftest_part part : kParts) {
      fovea_selftest_args args = arguments(memory);
      args.target = target, args.processor_features = features_for(target);
      for (; args.call < kMostCalls; ++args.call) {
        fovea_selftest_result result = {};
        const fovea_status status = part(&args, &result);
        if (status == FOVEA_ERR_CAPACITY) break;
        INFO(fovea_target_name(target) << ", call " << args.call
                                       << " of the part after: " << (names.empty() ? "none" : names.back()));
        REQUIRE(status == FOVEA_OK);
        REQUIRE(result.name != nullptr);
        REQUIRE(result.shared_by != nullptr);
        INFO(result.name << ", " << result.shared_by);
        CHECK(result.digest != 0);
        CHECK(result.digest == result.published);
        const auto is_it = [&](const char* name) { return std::strcmp(name, result.name) == 0; };
        CHECK(std::none_of(names.begin(), names.end(), is_it));  // no name twice: `call` counts
        names.push_back(result.name);
      }
      CHECK(args.call > 0);
      CHECK(args.call < kMostCalls);
    }
    CHECK(names.size() > 40);
    CHECK(memory.margin_intact());
  }
}

TEST_CASE("selftest: the target that is named runs", "[short]") {
  const Guarded memory(FOVEA_SELFTEST_BYTES, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  fovea_selftest_args args = arguments(memory);
  for (const fovea_target target : targets()) {
    args.target = target, args.processor_features = features_for(target);
    fovea_selftest_result result = {};
    REQUIRE(fovea_selftest_attention(&args, &result) == FOVEA_OK);
    CHECK(std::strcmp(result.shared_by, fuses(target) ? "fused" : "not fused") == 0);
  }
}

TEST_CASE("selftest: every misuse has its status, and nothing is written", "[short]") {
  Guarded memory(FOVEA_SELFTEST_BYTES, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  fovea_selftest_result result = {};
  const auto status = [&](const fovea_selftest_args& args) {
    memory.fill();
    const fovea_status refused = fovea_selftest_softmax(&args, &result);
    if (refused == FOVEA_ERR_WORKSPACE) return refused;
    CHECK(result.name == nullptr);
    CHECK(memory.untouched());
    return refused;
  };
  const fovea_selftest_args good = arguments(memory);
  CHECK(fovea_selftest_softmax(nullptr, &result) == FOVEA_ERR_NULL);
  CHECK(fovea_selftest_softmax(&good, nullptr) == FOVEA_ERR_NULL);
  fovea_selftest_args args = good;
  args.struct_bytes = sizeof args - 12;
  CHECK(status(args) == FOVEA_ERR_STRUCT);
  args = good, args.reserved = 1;
  CHECK(status(args) == FOVEA_ERR_STRUCT);
  args = good, args.call = kMostCalls;
  CHECK(status(args) == FOVEA_ERR_CAPACITY);
  args = good, args.processor_features = uint64_t{1} << 63;
  CHECK(status(args) == FOVEA_ERR_ENUM);
  args = good, args.target = fovea_target(99);
  CHECK(status(args) == FOVEA_ERR_ENUM);
#if defined(__x86_64__) || defined(__i386__)
  args = good, args.target = FOVEA_TARGET_NEON;
#else
  args = good, args.target = FOVEA_TARGET_AVX2;
#endif
  CHECK(status(args) == FOVEA_ERR_TARGET);
  args = good, args.memory = nullptr;
  CHECK(status(args) == FOVEA_ERR_NULL);
  args = good, args.memory = memory.as<char>() + 4;
  CHECK(status(args) == FOVEA_ERR_ALIGNMENT);
  for (const size_t bytes : {size_t{0}, size_t{64}, size_t{1000}, size_t{3000}}) {  // no inputs, or no outputs
    args = good, args.memory_bytes = bytes;
    CHECK(status(args) == FOVEA_ERR_WORKSPACE);
  }
}

// Whatever the memory, a part says that it is too small, and writes no byte past it.
TEST_CASE("selftest: too little memory is refused by every call", "[short]") {
  for (const size_t bytes : {size_t{0}, size_t{192}, size_t{2048}}) {
    const Guarded memory(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    for (const fovea_selftest_part part : kParts) {
      fovea_selftest_args args = arguments(memory);
      for (; args.call < kMostCalls; ++args.call) {
        fovea::SelftestResult result;
        const fovea_status status = fovea::selftest(part, args, &result);
        if (status == FOVEA_ERR_CAPACITY) break;
        INFO("call " << args.call << ", " << bytes << " bytes");
        CHECK((status == FOVEA_ERR_WORKSPACE || (bytes > 192 && status == FOVEA_OK && result.is_published())));
      }
    }
  }
}

}  // namespace fovea_test
