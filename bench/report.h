// SPDX-License-Identifier: Apache-2.0
//
// Writes results as a table of text, as JSON and as CSV.
#ifndef FOVEA_BENCH_REPORT_H_
#define FOVEA_BENCH_REPORT_H_

#include <cstdio>

#include "bench/runner.h"

namespace fovea::bench {

struct Host {
  const char* processor;
  const char* clock;  // the clock that was read
  const char* unit;   // of times: "ns", or the clock's own
  bool cold;
};

void print_probes(std::FILE* file, const Host& host, const Probes& probes);
void print_header(std::FILE* file);
void print_result(std::FILE* file, const Result& result, const Result* reference);

// reference_of[i] belongs to results[i]; null if there is none.
void write_json(std::FILE* file, const Host& host, const Probes& probes, const Result* results,
                const Result* const* reference_of, size_t count);
void write_csv(std::FILE* file, const Result* results, const Result* const* reference_of, size_t count);

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_REPORT_H_
