// SPDX-License-Identifier: Apache-2.0
//
// What tests, benchmarks and examples ask of the machine they run on. The library itself asks nothing and never
// includes this. Each kind of machine has a folder with the same file names that implements it; CMake's FOVEA_PLATFORM
// names the folder.
#ifndef FOVEA_PLATFORM_PLATFORM_H_
#define FOVEA_PLATFORM_PLATFORM_H_

#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::platform {

// ------------------------------------------------------------------------------------------------ clock

// Nanoseconds since some moment before the program began; never runs backwards. Where a machine has no clock that tells
// time (an emulator), it counts something else and clock_unit says what.
uint64_t clock_ns();
const char* clock_unit();    // what a tick of clock_ns stands for: "ns" on real machines
const char* clock_source();  // where it comes from: "std::chrono::steady_clock", ...

// ---------------------------------------------------------------------------------------------- console

struct Console {
  bool terminal;     // stdout is a terminal, not a file or a pipe
  bool colours;      // it shows the 256-colour escapes, and the user did not refuse (NO_COLOR, see no-color.org)
  bool unicode;      // UTF-8 may be printed: the locale does not name another encoding
  unsigned columns;  // width of the terminal; 80 where it is not known
};

Console console();

// ------------------------------------------------------------------------------------------ environment

// The target that the user wants, from the environment variable FOVEA_TARGET ("avx2", "scalar", ...). Unset or empty:
// FOVEA_TARGET_BEST. Where it names no target, or one that this build or processor does not have, says so on stderr
// with the names that would do, and returns kNoTarget; the program should then end with kExitUsage.
fovea_target target_from_environment();
constexpr fovea_target kNoTarget = FOVEA_TARGET_IS_32_BITS;
constexpr int kExitUsage = 2;

// The processor as its maker or system names it; "unknown processor" where that is not told. Never null.
const char* processor_name();

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_PLATFORM_H_
