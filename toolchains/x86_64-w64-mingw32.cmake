# SPDX-License-Identifier: Apache-2.0
#
# 64-bit Windows by MinGW's g++ (Debian's package g++-mingw-w64-x86-64-posix); Wine (wine64) runs the tests:
#   cmake --preset x86_64-w64-mingw32 && cmake --build build/x86_64-w64-mingw32 && ctest --test-dir build/x86_64-w64-mingw32 -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/x86_64-w64-mingw32.cmake. The program chooses the
# target at run time, as on Linux.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)  # programs need no DLL of the compiler
if(NOT CMAKE_HOST_WIN32)
  find_program(FOVEA_WINE NAMES wine wine64 wine64-stable PATHS /usr/lib/wine)
  if(FOVEA_WINE)
    set(CMAKE_CROSSCOMPILING_EMULATOR env WINEDEBUG=-all ${FOVEA_WINE})
  endif()
endif()
