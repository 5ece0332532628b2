# SPDX-License-Identifier: Apache-2.0
#
# x86-64 with SSE4.2 (Intel Nehalem, 2008, and later). On an x86-64 machine:
#   cmake --preset x86-64-sse4 && cmake --build build/x86-64-sse4 && ctest --test-dir build/x86-64-sse4 -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/x86-64-sse4.cmake. With
# -DFOVEA_QEMU_CPU=Nehalem the tests run under qemu-x86_64 (Debian's package qemu-user) as on the oldest processor with SSE4.2,
# to show that no newer instruction is used.
set(FOVEA_EXPECT_TARGET sse4)
set(FOVEA_CPU_FLAGS "-march=nehalem -DHWY_DISABLE_PCLMUL_AES")  # Highway's SSE4 requires AES, which Nehalem lacks
include(${CMAKE_CURRENT_LIST_DIR}/common/x86-64.cmake)
