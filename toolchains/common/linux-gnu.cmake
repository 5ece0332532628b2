# SPDX-License-Identifier: Apache-2.0
#
# Included by ../*-linux-gnu*.cmake, which set FOVEA_EXPECT_TARGET, FOVEA_CPU_FLAGS, FOVEA_TRIPLE and FOVEA_QEMU_CPU, and
# FOVEA_CLANG where g++ does not compile for the processor: Linux with glibc, Debian's cross compilers, QEMU's emulation of a process. -DFOVEA_QEMU_CPU=... emulates another model of processor.
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${FOVEA_TRIPLE})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${FOVEA_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${FOVEA_TRIPLE}-g++)
if(FOVEA_CLANG)  # with the C and C++ libraries of Debian's cross compiler
  find_program(FOVEA_CLANGXX NAMES clang++-19 clang++-20 clang++-18 clang++-17 clang++-16 clang++ REQUIRED
    DOC "clang 16 or later")
  string(REPLACE "clang++" "clang" clang ${FOVEA_CLANGXX})
  set(CMAKE_C_COMPILER ${clang})
  set(CMAKE_CXX_COMPILER ${FOVEA_CLANGXX})
  set(CMAKE_C_COMPILER_TARGET ${FOVEA_TRIPLE})
  set(CMAKE_CXX_COMPILER_TARGET ${FOVEA_TRIPLE})
endif()
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_FLAGS_INIT "${FOVEA_CPU_FLAGS}")
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# On a machine with this processor and system, the tests run without an emulator.
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "^${CMAKE_SYSTEM_PROCESSOR}")
  set(CMAKE_FIND_ROOT_PATH /usr/${FOVEA_TRIPLE})
  # QEMU has no names for RISC-V processors with vectors.
  string(REGEX REPLACE "^rvv([0-9]+)" "rv64,v=true,vlen=\\1,vext_spec=v1.0" cpu ${FOVEA_QEMU_CPU})
  set(newer "")
  if(cpu MATCHES "_zvfh")
    string(REPLACE "_zvfh" ",zvfh=true" cpu ${cpu})
    set(newer ${CMAKE_CURRENT_LIST_DIR}/../../build/qemu-new/files/usr/bin/)
  endif()
  set(CMAKE_CROSSCOMPILING_EMULATOR ${newer}qemu-${CMAKE_SYSTEM_PROCESSOR} -L /usr/${FOVEA_TRIPLE} -cpu ${cpu})
endif()
