// SPDX-License-Identifier: Apache-2.0
//
// Attention over an endless series of samples, in constant memory. A thermometer writes a sample every quarter of an
// hour into a ring; from time to time the program pushes new samples into a stream, and the ring may overwrite them.
// Three questions are answered over all samples, by the stream, and over the last two days, which the ring still has.
//
// A sample's key is its time of day, as a point on a circle; its value the temperature and the day. A question is such
// a point, too, times a factor kNarrow: the weight of a sample is exp(kNarrow * cos(difference of the times)). So each
// answer is an average that can be checked: the temperature rises by 0.02 degrees a day, and varies by 5 in both
// directions, warmest at 15:00. Exit code: 0, or 1 when an answer is wrong or a call fails.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "fovea/fovea.hpp"
#include "platform/platform.h"

namespace {

constexpr uint32_t kDaySamples = 96, kRing = 2 * kDaySamples, kDays = 365;
constexpr uint32_t kQuestions = 3, kKeyDim = 2, kValueDim = 2;
constexpr double kTurn = 6.283185307179586, kNarrow = 8.0, kWarmest = 15.0 / 24.0;
// In degrees and in days: 1e-5 of the last day's number, for sums over 35040 samples in single precision.
constexpr double kTolerance = 4e-3;

const char* const kAsked[kQuestions] = {"at any time", "about 15:00", "about 3:00"};

// All memory of the program: nothing is allocated.
float ring_keys[kRing][kKeyDim], ring_values[kRing][kValueDim];
float questions[kQuestions][kKeyDim], answers[kQuestions][kValueDim];
fovea::StreamState<kQuestions, kValueDim> state;
fovea::AttentionWorkspace<kKeyDim, kValueDim> workspace;

double time_of_day(uint64_t sample) { return static_cast<double>(sample % kDaySamples) / kDaySamples; }

double temperature(uint64_t sample) {
  return 10.0 + 0.02 * static_cast<double>(sample / kDaySamples) +
         5.0 * std::cos(kTurn * (time_of_day(sample) - kWarmest));
}

// Writes a sample, as the sensor would.
void write_sample(uint64_t sample) {
  const size_t slot = sample % kRing;
  ring_keys[slot][0] = static_cast<float>(std::cos(kTurn * time_of_day(sample)));
  ring_keys[slot][1] = static_cast<float>(std::sin(kTurn * time_of_day(sample)));
  ring_values[slot][0] = static_cast<float>(temperature(sample));
  ring_values[slot][1] = static_cast<float>(sample / kDaySamples);
}

void write_questions() {
  const double times[kQuestions] = {0.0, 15.0 / 24.0, 3.0 / 24.0};
  for (uint32_t i = 1; i < kQuestions; ++i) {  // the first stays 0: all weights are equal
    questions[i][0] = static_cast<float>(kNarrow * std::cos(kTurn * times[i]));
    questions[i][1] = static_cast<float>(kNarrow * std::sin(kTurn * times[i]));
  }
}

// The correct answer over samples [first, end), by plain loops in double.
void average(uint32_t question, uint64_t first, uint64_t end, double (&answer)[kValueDim]) {
  double sum = 0, sums[kValueDim] = {};
  for (uint64_t sample = first; sample < end; ++sample) {
    const double turn = kTurn * time_of_day(sample);
    const double score = static_cast<double>(questions[question][0]) * std::cos(turn) +
                         static_cast<double>(questions[question][1]) * std::sin(turn);
    const double weight = std::exp(score - kNarrow);
    sum += weight;
    sums[0] += weight * temperature(sample);
    sums[1] += weight * static_cast<double>(sample / kDaySamples);
  }
  for (uint32_t e = 0; e < kValueDim; ++e) answer[e] = sums[e] / sum;
}

// Prints the answers over samples [first, end) and the correct ones. Returns the largest difference.
double show(const char* over, uint64_t first, uint64_t end) {
  double worst = 0;
  for (uint32_t i = 0; i < kQuestions; ++i) {
    double want[kValueDim];
    average(i, first, end, want);
    std::printf("  %-14s %-12s %8.3f degrees, of day %7.3f    should be %8.3f, %7.3f\n", over, kAsked[i],
                static_cast<double>(answers[i][0]), static_cast<double>(answers[i][1]), want[0], want[1]);
    for (uint32_t e = 0; e < kValueDim; ++e) {
      const double difference = std::fabs(static_cast<double>(answers[i][e]) - want[e]);
      if (!(difference <= worst)) worst = difference;  // a NaN too
    }
  }
  return worst;
}

bool works(fovea::Status status) {
  if (status != FOVEA_OK) std::fprintf(stderr, "stream_sensor: %s\n", fovea::to_string(status));
  return status == FOVEA_OK;
}

// The arguments for `count` samples in the ring from a slot on.
fovea::AttentionArgs samples(size_t slot, uint32_t count) {
  fovea::AttentionArgs args;
  args.batch = 1;
  args.q_tokens = kQuestions;
  args.kv_tokens = count;
  args.q = fovea::tokens_first(questions[0], kQuestions, 1, kKeyDim);
  args.kv.keys = fovea::tokens_first(ring_keys[slot], kRing, 1, kKeyDim);
  args.kv.values = fovea::tokens_first(ring_values[slot], kRing, 1, kValueDim);
  args.out = fovea::tokens_first(answers[0], kQuestions, 1, kValueDim);
  return args;
}

int run() {
  fovea::AttentionDesc desc;
  desc.q_heads = desc.kv_heads = 1;
  desc.head_dim = kKeyDim, desc.value_dim = kValueDim;
  desc.max_batch = 1, desc.max_q_tokens = kQuestions, desc.max_kv_tokens = kRing;
  desc.processor_features = fovea::platform::processor_features();
  desc.scale = 1.0f;  // the questions include their factor
  fovea::AttentionPlan plan;
  fovea::Stream stream;
  if (!works(plan.init(desc)) || !works(stream.begin(plan, state, 1, kQuestions))) return 1;

  double worst = 0;
  uint64_t written = 0, taken = 0;  // samples, since the beginning
  for (uint32_t day = 1; day <= kDays; ++day) {
    while (written < uint64_t{day} * kDaySamples) {
      // The sensor writes a few samples, up to the end of the day; then they are pushed, in two pieces if they cross
      // the end of the ring.
      const uint64_t until = std::min(written + 1 + written * 7 % 61, uint64_t{day} * kDaySamples);
      while (written < until) write_sample(written++);
      while (taken < written) {
        const size_t slot = taken % kRing;
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(written - taken, kRing - slot));
        if (!works(stream.push(samples(slot, count), workspace))) return 1;
        taken += count;
      }
    }
    if (day != 1 && day != 10 && day != 100 && day != kDays) continue;
    // The output so far; the stream continues after it.
    std::printf("after %u days, %llu samples:\n", day, static_cast<unsigned long long>(stream.next_key()));
    if (!works(stream.end(samples(0, 0), workspace))) return 1;
    worst = std::max(worst, show("all days", 0, written));
    // Without positions the order of keys does not matter: the ring in its order is the last two days.
    const uint32_t held = static_cast<uint32_t>(std::min<uint64_t>(written, kRing));
    if (!works(plan.run(samples(0, held), workspace))) return 1;
    worst = std::max(worst, show("last two days", written - held, written));
  }
  std::printf("memory: ring %zu bytes, state %zu, workspace %zu, whatever the number of days\n",
              sizeof ring_keys + sizeof ring_values, sizeof state, sizeof workspace);
  const bool right = worst <= kTolerance;
  std::printf("largest difference: %.1e (%s %.0e)\n", worst, right ? "allowed:" : "TOO MUCH, allowed:", kTolerance);
  return right ? 0 : 1;
}

}  // namespace

int main() {
  write_questions();
  return run();
}
