#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
#
# Builds every fuzzer of tests/fuzz for OSS-Fuzz, into $OUT, each with its first inputs and options. OSS-Fuzz sets the variables
# and runs this in the image of Dockerfile; tests/scripts/check_oss_fuzz.sh sets them, too, and runs it here.
source=${FOVEA_SOURCE:-$SRC/fovea}

# Sanitizers and the engine are in the flags. Processors of the farm differ, so the fuzzers take the scalar kernels: what they seek
# is in the checks of arguments and in the loops around kernels.
cmake -S "$source" -B "$WORK/fovea" -G Ninja -DCMAKE_BUILD_TYPE=None -DFOVEA_SIMD=scalar -DFOVEA_BUILD_FUZZERS=ON \
  -DFOVEA_BUILD_BENCH=OFF -DFOVEA_BUILD_EXAMPLES=OFF -DFOVEA_BUILD_TESTS=OFF "-DFOVEA_FUZZ_ENGINE=$LIB_FUZZING_ENGINE"
# shellcheck disable=SC2086  # names, one word each
cmake --build "$WORK/fovea" ${FOVEA_FUZZERS:+--target $FOVEA_FUZZERS}

mkdir -p "$OUT"
for fuzzer in "$WORK"/fovea/tests/fuzz/*_fuzz; do
  name=$(basename "$fuzzer")
  cp "$fuzzer" "$OUT/"
  cp "$source/tests/fuzz/corpus/${name%_fuzz}.zip" "$OUT/${name}_seed_corpus.zip"
  printf '[libfuzzer]\nmax_len = 512\ntimeout = 20\nrss_limit_mb = 1024\n' >"$OUT/$name.options"
done
