# SPDX-License-Identifier: Apache-2.0
#
# Included by ../arm-none-eabi-*.cmake, which set FOVEA_EXPECT_TARGET, FOVEA_CPU_FLAGS and FOVEA_BOARD: 32-bit Arm without an
# operating system, GCC with newlib. FOVEA_CPU_ELSE: flags for a compiler that does not know the processor.
set(CMAKE_SYSTEM_PROCESSOR arm)
set(FOVEA_TRIPLE arm-none-eabi)
if(FOVEA_CPU_ELSE)
  separate_arguments(fovea_flags UNIX_COMMAND "${FOVEA_CPU_FLAGS}")
  execute_process(COMMAND ${FOVEA_TRIPLE}-gcc ${fovea_flags} -E -x c /dev/null RESULT_VARIABLE fovea_unknown OUTPUT_QUIET ERROR_QUIET)
  if(fovea_unknown)
    set(FOVEA_CPU_FLAGS "${FOVEA_CPU_ELSE}")
  endif()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
