// SPDX-License-Identifier: Apache-2.0
//
// One call's keys, divided among threads. Each part of the keys has its own state; then states are merged in pairs, and
// pairs of pairs, until one has seen all keys. Cores and boards can do the same; mpi.cc does it with processes. (With
// only threads, desc.key_split_tokens and an executor do all this within one call.)
// Exit code: 0, or 1 when a result is wrong or a call fails.
#include <cstdio>
#include <initializer_list>

#include "examples/split_keys/problem.h"
#include "platform/platform.h"

namespace split_keys {
namespace {

constexpr uint32_t kMostParts = 16;

State states[kMostParts];
Workspace workspaces[kMostParts];

struct Parts {
  const fovea::AttentionPlan& plan;
  uint32_t count;
  fovea::Stream streams[kMostParts];
  fovea::Status statuses[kMostParts];
};

void attend(void* arg, size_t index, uint32_t) {
  Parts& parts = *static_cast<Parts*>(arg);
  const uint32_t i = static_cast<uint32_t>(index);
  parts.statuses[i] = attend_to_part(parts.plan, part_begin(i, parts.count), part_begin(i + 1, parts.count), &states[i],
                                     &workspaces[i], &parts.streams[i]);
}

// Runs all parts in parallel, then the tree of merges into the first.
bool split(const fovea::AttentionPlan& plan, const fovea_executor& threads, uint32_t count) {
  Parts parts = {plan, count, {}, {}};
  if (threads.run(threads.self, count, attend, &parts) != 0) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (!works(parts.statuses[i])) return false;
  }
  for (uint32_t step = 1; step < count; step *= 2) {
    for (uint32_t i = 0; i + step < count; i += 2 * step) {
      if (!works(parts.streams[i].merge(parts.streams[i + step]))) return false;
    }
  }
  char what[32];
  std::snprintf(what, sizeof what, "%2u parts", count);
  return compare_with_whole_call(plan, parts.streams[0], what);
}

}  // namespace
}  // namespace split_keys

int main() {
  using namespace split_keys;
  fovea::AttentionPlan plan;
  if (!works(make_problem(&plan))) return 1;
  const fovea::platform::ThreadPool threads(fovea::platform::processor_threads());
  std::printf("%u keys, %u queries of %u heads over %u, on %u threads\n", kKeys, kQueries, kHeads, kKeyHeads,
              threads.executor().workers);
  bool right = true;
  for (const uint32_t parts : {1u, 2u, 3u, 7u, 16u}) right = split(plan, threads.executor(), parts) && right;
  return right ? 0 : 1;
}
