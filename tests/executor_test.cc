// SPDX-License-Identifier: Apache-2.0
//
// Executors and split keys: tasks run anywhere and in any order give the bits of one thread; keys in parts give the
// answer of whole ones; each worker keeps to its own workspace; and memory is asked for where it is used.
#include <atomic>
#include <ctime>
#include <memory>

#include "platform/platform.h"
#include "simd_tests.h"
#include "support/shuffler.h"
#include "support/test.h"
#include "support/test_stream.h"
#if FOVEA_TESTS_HAVE_THREADS
#include <chrono>
#include <thread>
#endif

namespace fovea_test {
namespace {

constexpr size_t kAlignment = FOVEA_WORKSPACE_ALIGNMENT;
constexpr uint32_t kWorkers[] = {1, 2, 3, 5, 8, 64};

// More rows than a tile, few of them, and one to four parts of 64 keys. With every option workers meet in
// attention_pairs_test.cc.
std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (uint32_t i = 0; i < 12; ++i) all.push_back(mixed_problem(i));
  for (const size_t i : {1u, 4u, 6u, 7u, 10u})
    all.push_back(all[i].with_integers(i == 7 ? FOVEA_I4 : FOVEA_I8, FOVEA_I8));
  Problem none;  // no keys
  none.q_heads = 2, none.q_tokens = 3, none.kv_tokens = 0, none.sinks = true;
  all.push_back(none);
  return all;
}

fovea_attention_desc description(uint32_t q_heads, uint32_t kv_heads, uint32_t q_tokens, uint32_t kv_tokens) {
  auto d = sized<fovea_attention_desc>();
  d.q_heads = q_heads, d.kv_heads = kv_heads, d.head_dim = 24, d.value_dim = 40;
  d.max_batch = 2, d.max_q_tokens = q_tokens, d.max_kv_tokens = kv_tokens;
  return d;
}

size_t split_bytes(const fovea_attention_desc& d) {
  const size_t parts = (size_t{d.max_kv_tokens} + d.key_split_tokens - 1) / d.key_split_tokens;
  const size_t rows = size_t{d.max_batch} * d.q_heads * d.max_q_tokens;
  return (parts * rows * (d.value_dim + size_t{2}) * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

TEST_CASE("executor: the bits are those of one thread, for any workers and order, with keys split or not",
          "[short][executor]") {
  for (const Problem& problem : problems()) {
    AttentionCase test(problem);
    test.expected();
    for (const auto& [target, portable, split] : every(problem.targets(), {false, true}, {0u, 64u, 128u, 4096u})) {
      const Run alone = {target, Budget::kNone, portable, split, nullptr};
      INFO(name(problem) << " | " << name(alone));
      const Outputs want = run(test, alone);
      CHECK(test.compare() == "");
      for (const uint32_t workers : kWorkers) {
        Shuffler shuffler(workers);
        const Budget budget = workers == 64 ? Budget::kLeast : Budget::kNone;
        INFO(workers << " workers");
        const Outputs got = run(test, {target, budget, portable, split, shuffler.executor()});
        CHECK(same_bits(got, want));
        CHECK(test.compare() == "");
        const bool several = problem.batch * problem.kv_heads > 1 || (split == 64 && problem.kv_tokens > 64);
        if (several) CHECK(shuffler.most_tasks > 1);
        if (several && workers == 2) CHECK(shuffler.most_worker == 1);
      }
    }
  }
}

TEST_CASE("key splits: parts as long as all keys give the bits of unsplit ones, shorter ones other bits",
          "[short][executor]") {
  Problem p;
  p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 3, p.kv_tokens = 128, p.head_dim = 16, p.value_dim = 24;
  AttentionCase test(p);
  test.expected();
  for (const auto& [target, portable] : every(targets(), {false, true})) {
    const Outputs whole = run(test, {target, Budget::kNone, portable});
    CHECK(same_bits(run(test, {target, Budget::kNone, portable, 128}), whole));
    CHECK(same_bits(run(test, {target, Budget::kNone, portable, 0xffffffc0u}), whole));
    CHECK(!same_bits(run(test, {target, Budget::kNone, portable, 64}), whole));  // the field is not ignored
    CHECK(test.compare() == "");
  }
}

TEST_CASE("executor: a worker writes its own part of the workspace and no other", "[short][executor]") {
  constexpr uint32_t kCount = 3;
  for (const auto& [q_tokens, split] : every({1u, 30u}, {0u, 64u})) {
    Problem p;
    p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 150;
    p.causal = FOVEA_CAUSAL_TOP_LEFT, p.alibi = p.sinks = true;
    AttentionCase test(p);
    for (const fovea_target target : targets()) {
      test.desc.target = target, test.desc.max_workers = kCount, test.desc.key_split_tokens = split;
      const fovea_attention_plan plan = plan_of(test.desc);
      Guarded workspace(made(plan).workspace_bytes, kAlignment, Placement::kEnd);
      for (uint32_t worker = 0; worker < kCount; ++worker) {
        INFO(fovea_target_name(target) << ", " << name(p) << ", split " << split << ", worker " << worker);
        Shuffler shuffler(kCount);
        shuffler.one_worker = true, shuffler.added = worker;
        test.args.executor = shuffler.executor();
        workspace.fill();
        REQUIRE(fovea_attention(&plan, &test.args, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
        const size_t begin = made(plan).split_bytes + worker * made(plan).worker_bytes,
                     end = begin + made(plan).worker_bytes;
        bool own = false, others = false;
        for (size_t i = made(plan).split_bytes; i < workspace.bytes(); ++i) {
          const bool touched = !workspace.untouched(i);
          (i >= begin && i < end ? own : others) |= touched;
        }
        CHECK(own);
        CHECK(!others);
      }
    }
  }
}

TEST_CASE("executor: a plan asks for a workspace a worker and for states of split keys, and else nothing",
          "[short][executor]") {
  for (const auto& [target, q_tokens] : every(targets(), {0u, 1u, 33u})) {
    fovea_attention_desc d = description(6, 2, q_tokens, 1000);
    d.target = target;
    const fovea_attention_plan plain = plan_of(d);
    CHECK(made(plain).worker_bytes == made(plain).workspace_bytes);
    CHECK(made(plain).split_bytes == 0);
    for (const auto& [workers, split] : every({0u, 1u, 2u, 7u, 4096u}, {0u, 64u, 192u, 960u, 1024u, 0xffffffc0u})) {
      d.max_workers = workers, d.key_split_tokens = split;
      const fovea_attention_plan plan = plan_of(d);
      INFO(fovea_target_name(target) << ", workers " << workers << ", split " << split);
      CHECK(made(plan).worker_bytes == made(plain).worker_bytes);
      CHECK(made(plan).split_bytes == (split == 0 || split >= 1000 ? 0 : split_bytes(d)));
      CHECK(made(plan).workspace_bytes ==
            made(plan).split_bytes + made(plan).worker_bytes * std::max<uint32_t>(workers, uint32_t{1}));
      CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, target) == made(plan).workspace_bytes);
      CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_BEST) >= made(plan).workspace_bytes);
    }
  }
}

TEST_CASE("executor: sizes that overflow are refused", "[short][executor]") {
  fovea_attention_plan plan{};
  const auto status = [&](const fovea_attention_desc& d) { return fovea_attention_plan_init(&plan, &d); };
  fovea_attention_desc d = description(1u << 10, 1u << 10, 1u << 20, 1u << 30);
  d.max_batch = 1u << 31;
  CHECK(status(d) == FOVEA_OK);
  d.key_split_tokens = 64;
  CHECK(status(d) == FOVEA_ERR_SIZE);
  CHECK(refusal_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_SCALAR) == FOVEA_ERR_SIZE);
  d = description(1, 1, 1, 1u << 30);
  d.max_batch = 0xffffffffu, d.value_dim = 0xfffffff0u, d.key_split_tokens = 64;
  CHECK(status(d) == FOVEA_ERR_SIZE);
  // Bytes that overflow by the last product alone, by the rounding up, and by the workers.
  d = description(1, 1, 1, 128);
  d.max_batch = 0xffffffffu, d.value_dim = 0xffffffffu - 2, d.key_split_tokens = 64;
  CHECK(status(d) == FOVEA_ERR_SIZE);
#if UINTPTR_MAX <= 0xffffffffu
  d = description(1, 1, 1, 1);
  d.head_dim = 1u << 20;
  CHECK(status(d) == FOVEA_OK);
  d.max_workers = 4096;
  CHECK(status(d) == FOVEA_ERR_SIZE);
#endif
}

TEST_CASE("executor: one that is wrong has its status, and nothing is written", "[short][executor]") {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 3, p.kv_tokens = 70;
  AttentionCase test(p);
  Shuffler shuffler(2);
  const fovea_executor good = *shuffler.executor();
  for (const uint32_t max_workers : {0u, 1u, 2u, 3u}) {
    test.desc.max_workers = max_workers;
    const fovea_attention_plan plan = plan_of(test.desc);
    const uint32_t most = std::max(max_workers, uint32_t{1});
    Guarded workspace(made(plan).workspace_bytes, kAlignment, Placement::kEnd);
    fovea_executor executor = good;
    test.args.executor = &executor;
    const auto refused = [&](fovea_status want) {
      test.fill_outputs();
      workspace.fill();
      CHECK(fovea_attention(&plan, &test.args, workspace.as<void>(), workspace.bytes()) == want);
      CHECK(test.outputs_untouched());
      CHECK(workspace.untouched());
    };
    for (const uint32_t workers : {uint32_t{0}, most + 1, most + 2, uint32_t{4097}, uint32_t{0xffffffff}}) {
      executor.workers = workers;
      refused(FOVEA_ERR_CAPACITY);
    }
    executor.workers = most, executor.run = nullptr;
    refused(FOVEA_ERR_NULL);
  }
  CHECK(shuffler.runs == 0);
}

TEST_CASE("executor: one that fails, leaves out tasks or misnumbers them has its status, and writes nothing outside",
          "[short][executor]") {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 3, p.kv_tokens = 150;
  AttentionCase test(p);
  test.expected();
  for (const fovea_target target : targets()) {
    for (const uint32_t split : {0u, 64u}) {
      const auto answer = [&](int of_run, uint32_t added, size_t beyond = 0, size_t left_out = 0) {
        Shuffler shuffler(2);
        shuffler.left_out = left_out, shuffler.answer = of_run, shuffler.added = added;
        shuffler.beyond = beyond;
        const std::string failed =
            test.run_unchecked({target, Budget::kNone, false, split, shuffler.executor()});  // looks at guards as well
        CHECK(shuffler.runs > 0);
        const std::string status = fovea_status_string(FOVEA_ERR_EXECUTOR);
        return failed.size() >= status.size() && failed.substr(failed.size() - status.size()) == status;
      };
      CHECK(answer(1, 0));
      CHECK(answer(-1, 0));
      CHECK(answer(0, 1));  // workers 1 and 2 of 2
      CHECK(answer(0, 2));
      CHECK(answer(0, 4096));
      CHECK(answer(0, 0x7fffffff));
      for (const size_t beyond : {size_t{1}, size_t{2}, size_t{1} << 20, size_t{SIZE_MAX} / 2}) {
        CHECK(answer(0, 0, beyond));
      }
      for (const size_t left_out : {size_t{1}, size_t{3}, size_t{SIZE_MAX}}) {
        if (kCountsTasks) CHECK(answer(0, 0, 0, left_out));
      }
      CHECK(!answer(0, 0));
      CHECK(test.compare() == "");
    }
    // A stream does not move on.
    Shuffler shuffler(2);
    test.desc.max_workers = 2;
    const TestStream stream(test.desc, target);
    stream.begin(7);
    test.args.executor = shuffler.executor(), shuffler.answer = 1;
    CHECK(stream.push(test.args) == FOVEA_ERR_EXECUTOR);
    CHECK(stream.state()->next_key == 7);
    // Begun again, it is as good as new.
    stream.begin();
    shuffler.answer = 0;
    CHECK(stream.push(test.args) == FOVEA_OK);
    const std::vector<uint8_t> before = stream.content();
    shuffler.answer = 1;
    CHECK(stream.end(test.args) == FOVEA_ERR_EXECUTOR);
    CHECK(stream.content() == before);
    test.args.executor = nullptr;
    CHECK(stream.end(test.args) == FOVEA_OK);
    CHECK(test.compare() == "");
    CHECK(stream.memory.margin_intact());
    CHECK(stream.workspace.margin_intact());
  }
}

TEST_CASE("executor: the plan's text names parts and workers", "[short][executor]") {
  fovea_attention_desc d = description(4, 2, 1, 1000);
  const auto text = [&] {
    const fovea_attention_plan plan = plan_of(d);
    char line[512];
    REQUIRE(fovea_attention_plan_describe(&plan, 1, 1000, line, sizeof line) < sizeof line);
    return std::string(line);
  };
  CHECK(text().find("parts") == std::string::npos);
  CHECK(text().find("workers") == std::string::npos);
  d.max_workers = 7, d.key_split_tokens = 192;
  CHECK(text().find(" in 6 parts of 192") != std::string::npos);
  CHECK(text().find(" for 7 workers") != std::string::npos);
}

TEST_CASE("threads: a pool runs each task once, and no two at once with the same worker", "[short][executor]") {
  struct Job {
    std::unique_ptr<std::atomic<int>[]> done, at_work;
    std::atomic<int> wrong{0};
    uint32_t workers;
  };
  for (const uint32_t threads : {1u, 2u, 5u}) {
    const fovea::platform::ThreadPool pool(threads);
    const fovea_executor& executor = pool.executor();
    REQUIRE(executor.workers >= 1);
    REQUIRE(executor.workers <= threads);
    Job job;
    job.workers = executor.workers;
    job.at_work = std::make_unique<std::atomic<int>[]>(threads);
    for (size_t tasks = 0; tasks < 200; ++tasks) {
      job.done = std::make_unique<std::atomic<int>[]>(tasks);
      const auto task = [](void* arg, size_t index, uint32_t worker) {
        Job& j = *static_cast<Job*>(arg);
        if (worker >= j.workers || j.at_work[worker].exchange(1) != 0) ++j.wrong;
        ++j.done[index];
        j.at_work[worker] = 0;
      };
      REQUIRE(executor.run(executor.self, tasks, task, &job) == 0);
      for (size_t i = 0; i < tasks; ++i) {
        if (job.done[i] != 1) ++job.wrong;
      }
    }
    CHECK(job.wrong == 0);
  }
}

TEST_CASE("threads: a pool of any size gives the bits of one thread, call after call", "[short][executor]") {
  for (const uint32_t q_tokens : {1u, 35u}) {
    Problem p;
    p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 200;
    p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.stage = FOVEA_SCORES_SOFTMAX;
    AttentionCase test(p);
    test.expected();
    for (const uint32_t split : {0u, 64u}) {
      const Outputs want = run(test, {FOVEA_TARGET_BEST, Budget::kNone, false, split});
      for (const uint32_t threads : {1u, 2u, 3u, 5u, 8u}) {
        const fovea::platform::ThreadPool pool(threads);
        for (int i = 0; i < (pool.executor().workers > 1 ? 8 : 1); ++i) {
          REQUIRE(same_bits(run(test, {FOVEA_TARGET_BEST, Budget::kNone, false, split, &pool.executor()}), want));
        }
        CHECK(test.compare() == "");
      }
    }
  }
}

TEST_CASE("threads: a pool without tasks sleeps", "[short][executor]") {
  const fovea::platform::ThreadPool pool(4);
  const auto nothing = [](void*, size_t, uint32_t) {};
  REQUIRE(pool.executor().run(pool.executor().self, 100, nothing, nullptr) == 0);
#if FOVEA_TESTS_HAVE_THREADS && !defined(_WIN32)  // whose std::clock counts time that passes
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();  // processor time of all threads of the program
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(double(std::clock() - before) / CLOCKS_PER_SEC < 0.05);
#else
  skip("no threads here, or a clock that counts time which passes");
#endif
}

}  // namespace fovea_test
