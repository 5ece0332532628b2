# SPDX-License-Identifier: Apache-2.0
#
# Included by ../riscv*-bare-*.cmake, which set FOVEA_EXPECT_TARGET, FOVEA_CPU_FLAGS and FOVEA_BOARD: RISC-V without an operating
# system, GCC with picolibc. The libstdc++ headers are arm-none-eabi's, which do not depend on the processor.
set(CMAKE_SYSTEM_PROCESSOR riscv)
set(FOVEA_TRIPLE riscv64-unknown-elf)
separate_arguments(fovea_flags UNIX_COMMAND "${FOVEA_CPU_FLAGS}")
execute_process(COMMAND ${FOVEA_TRIPLE}-gcc ${fovea_flags} -print-multi-directory OUTPUT_VARIABLE fovea_multilib
  OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${FOVEA_TRIPLE}-gcc -dumpversion OUTPUT_VARIABLE fovea_gcc OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX MATCH "^[0-9]+" fovea_gcc "${fovea_gcc}")
file(GLOB fovea_cxx /usr/include/newlib/c++/${fovea_gcc}*)
set(fovea_picolibc /usr/lib/picolibc/${FOVEA_TRIPLE})
string(APPEND FOVEA_CPU_FLAGS " -ftls-model=local-exec")
set(FOVEA_C_FLAGS "-isystem ${fovea_picolibc}/include")
set(FOVEA_CXX_FLAGS "-fno-exceptions -fno-rtti -isystem ${fovea_cxx} -isystem ${fovea_cxx}/arm-none-eabi ${FOVEA_C_FLAGS}")
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -L${fovea_picolibc}/lib/${fovea_multilib}")
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-Wl,--start-group -lc -lm -lgcc -Wl,--end-group")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "${CMAKE_C_STANDARD_LIBRARIES_INIT}")
