# SPDX-License-Identifier: Apache-2.0
#
# Included by ../aarch64-bare-*.cmake, which set FOVEA_EXPECT_TARGET, FOVEA_CPU_FLAGS and FOVEA_BOARD: 64-bit Arm without an
# operating system. Debian has no such compiler. This uses the one for Linux with its Linux macros undefined, and picolibc as the C
# library. The libstdc++ headers are arm-none-eabi's, which are made for such a C library and do not depend on the processor.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(FOVEA_TRIPLE aarch64-linux-gnu)
execute_process(COMMAND ${FOVEA_TRIPLE}-gcc -dumpversion OUTPUT_VARIABLE fovea_gcc OUTPUT_STRIP_TRAILING_WHITESPACE)
set(fovea_gcc_include /usr/lib/gcc-cross/${FOVEA_TRIPLE}/${fovea_gcc}/include)
file(GLOB fovea_cxx /usr/include/newlib/c++/${fovea_gcc}*)
set(fovea_picolibc /usr/lib/picolibc/${FOVEA_TRIPLE})
set(fovea_c_headers "-isystem ${fovea_gcc_include} -isystem ${fovea_picolibc}/include")
string(APPEND FOVEA_CPU_FLAGS " -nostdinc -ftls-model=local-exec -fno-pic -fno-stack-protector"
  " -U__linux__ -U__linux -Ulinux -U__gnu_linux__ -U__unix__ -U__unix -Uunix")
set(FOVEA_C_FLAGS "${fovea_c_headers}")
set(FOVEA_CXX_FLAGS "-isystem ${fovea_cxx} -isystem ${fovea_cxx}/arm-none-eabi ${fovea_c_headers}")
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -static -no-pie -L${fovea_picolibc}/lib -Wl,--build-id=none,--no-warn-rwx-segments")
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-Wl,--start-group -lc -lm -lgcc -Wl,--end-group")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-Wl,--start-group -lstdc++ -lc -lm -lgcc -Wl,--end-group")
