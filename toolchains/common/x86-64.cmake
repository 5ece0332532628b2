# SPDX-License-Identifier: Apache-2.0
#
# Included by ../x86-64-*.cmake, which set FOVEA_EXPECT_TARGET and FOVEA_CPU_FLAGS. The compiler is the host's; CMAKE_SYSTEM_NAME
# stays unset, so for CMake this is no cross build. With -DFOVEA_QEMU_CPU=<model> the tests run on that emulated model; without it on
# this machine if it has the instructions, else on the oldest model that has them.
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_FLAGS_INIT "${FOVEA_CPU_FLAGS}")
endforeach()

set(fovea_oldest_sse4 Nehalem)
set(fovea_oldest_avx2 Haswell)
set(fovea_feature_sse4 sse4_2)
set(fovea_feature_avx2 avx2)
set(fovea_qemu_cpu ${FOVEA_QEMU_CPU})
if(NOT fovea_qemu_cpu AND DEFINED fovea_oldest_${FOVEA_EXPECT_TARGET} AND EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo fovea_cpu_flags LIMIT_COUNT 1 REGEX "^flags.* ${fovea_feature_${FOVEA_EXPECT_TARGET}}( |$)")
  if(NOT fovea_cpu_flags)
    set(fovea_qemu_cpu ${fovea_oldest_${FOVEA_EXPECT_TARGET}})
  endif()
endif()
if(fovea_qemu_cpu)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64 -cpu ${fovea_qemu_cpu})
endif()
