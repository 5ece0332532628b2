# SPDX-License-Identifier: Apache-2.0
#
# Included by ../x86-64-*.cmake, which set FOVEA_EXPECT_TARGET and FOVEA_CPU_FLAGS. The compiler is the host's; CMAKE_SYSTEM_NAME
# stays unset, since to CMake this is no cross build.
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_FLAGS_INIT "${FOVEA_CPU_FLAGS}")
endforeach()

set(fovea_qemu_cpu_sse4 Nehalem)
set(fovea_qemu_cpu_avx2 Haswell)
set(fovea_feature_sse4 sse4_2)
set(fovea_feature_avx2 avx2)
if(DEFINED fovea_qemu_cpu_${FOVEA_EXPECT_TARGET})
  set(fovea_emulate ${FOVEA_EMULATE})
  if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo fovea_cpu_flags LIMIT_COUNT 1 REGEX "^flags.* ${fovea_feature_${FOVEA_EXPECT_TARGET}}( |$)")
    if(NOT fovea_cpu_flags)
      set(fovea_emulate ON)
    endif()
  endif()
  if(fovea_emulate)
    set(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64 -cpu ${fovea_qemu_cpu_${FOVEA_EXPECT_TARGET}})
    # QEMU 7.2 reads the whole vector of a masked load (vmaskmovps), which a processor does not: the tests must let it.
    set(FOVEA_TEST_ENVIRONMENT FOVEA_READABLE_GUARDS=1)
  endif()
endif()
