# SPDX-License-Identifier: Apache-2.0
#
# cmake -DEXPECTED=file -P run_example.cmake -- command...
# Runs the command: it must succeed and print what the file holds.
cmake_minimum_required(VERSION 3.22)
set(command "")
set(behind_dashes OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(behind_dashes)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(behind_dashes ON)
  endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE got)
file(READ "${EXPECTED}" want)
string(REPLACE "\r" "" got "${got}")
message("${got}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the example ended with ${result}")
endif()
if(NOT got STREQUAL want)
  message(FATAL_ERROR "the README says that it prints\n${want}")
endif()
