# SPDX-License-Identifier: Apache-2.0
#
# WebAssembly with 128-bit SIMD, by Emscripten. With Debian's package emscripten, which brings node to run the tests, or with
# another Emscripten whose commands are found:
#   cmake --preset wasm32-emscripten && cmake --build build/wasm32-emscripten && ctest --test-dir build/wasm32-emscripten -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/wasm32-emscripten.cmake.
set(FOVEA_EXPECT_TARGET wasm)
set(FOVEA_CPU_FLAGS "-msimd128")
include(${CMAKE_CURRENT_LIST_DIR}/common/emscripten.cmake)
