# SPDX-License-Identifier: Apache-2.0
#
# cmake -DEXPECTED=file "-DCOMMAND=program;argument;..." -P run_example.cmake
# Runs the command: it must succeed and print what the file holds. (CMake takes options such as an emulator's -L for its own,
# even behind --.)
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE result OUTPUT_VARIABLE got)
file(READ "${EXPECTED}" want)
string(REPLACE "\r" "" got "${got}")
message("${got}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the example ended with ${result}")
endif()
if(NOT got STREQUAL want)
  message(FATAL_ERROR "the README says that it prints\n${want}")
endif()
