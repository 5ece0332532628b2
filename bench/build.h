// SPDX-License-Identifier: Apache-2.0
//
// Compiler and flags of the benchmark and the library, for results.
#ifndef FOVEA_BENCH_BUILD_H_
#define FOVEA_BENCH_BUILD_H_

namespace fovea::bench {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "g++ " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

#if defined(FOVEA_BENCH_FLAGS)
constexpr const char* kFlags = FOVEA_BENCH_FLAGS;
#else
constexpr const char* kFlags = "";
#endif

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_BUILD_H_
