// SPDX-License-Identifier: Apache-2.0
//
// What the projects of this folder run once the board is ready: the self-test, and then the benchmark's cases for boards. Both print
// to the standard output, which bench/board.py reads.
#include "platform/boards/board.h"

#include <cstdio>

extern "C" int fovea_selftest_main(void);     // examples/selftest/main.c
int fovea_bench_main(int argc, char** argv);  // bench/bare/main.cc

int fovea_board_main(const char* board) {
  std::printf("{\"board\": \"%s\"}\n", board);
  const int differs = fovea_selftest_main();
#if defined(FOVEA_BOARD_CASES)
  char name[] = "fovea_bench", option[] = "--filter", cases[] = FOVEA_BOARD_CASES;
  char* arguments[] = {name, option, cases, nullptr};
  const int failed = fovea_bench_main(3, arguments);
#else
  const int failed = fovea_bench_main(0, nullptr);
#endif
  std::printf("{\"selftest\": \"%s\", \"bench\": \"%s\"}\n", differs ? "differs" : "same bits",
              failed ? "failed" : "done");
  std::fflush(stdout);
  return differs || failed;
}
