# SPDX-License-Identifier: Apache-2.0
#
# Included by ../*-linux-gnu*.cmake, which set FOVEA_EXPECT_TARGET, FOVEA_CPU_FLAGS, FOVEA_TRIPLE and FOVEA_QEMU_CPU: Linux with
# glibc, Debian's cross compilers, QEMU's emulation of a process. -DFOVEA_QEMU_CPU=... emulates another model of processor.
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${FOVEA_TRIPLE})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${FOVEA_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${FOVEA_TRIPLE}-g++)
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
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L /usr/${FOVEA_TRIPLE} -cpu ${FOVEA_QEMU_CPU})
endif()
