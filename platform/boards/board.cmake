# SPDX-License-Identifier: Apache-2.0
#
# Included by the projects of this folder: the program that each of them builds, and the library. The program is fovea's self-test
# and then the cases of fovea_bench for boards; main.cc calls both.
get_filename_component(FOVEA_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(FOVEA_BOARD_INCLUDES ${FOVEA_ROOT} ${FOVEA_ROOT}/lib/include)
set(FOVEA_BOARD_SOURCES platform/boards/main.cc examples/selftest/main.c bench/bare/machine.cc bench/bare/main.cc bench/cases.cc
  bench/measure.cc bench/subjects.cc bench/work.cc)
# An SDK has a stack, whose depth is measured in this way.
set(FOVEA_BOARD_SDK_SOURCES platform/boards/stack.cc)
# The cycle counter of a Cortex-M3 and later, and the processor's name by its number.
set(FOVEA_BOARD_CORTEX_M_SOURCES platform/bare/clock.cc platform/bare/environment.cc platform/cortex_m/clock.cc)
# A Cortex-M without an SDK.
set(FOVEA_BOARD_BARE_SOURCES ${FOVEA_BOARD_CORTEX_M_SOURCES} platform/bare/atomics.cc platform/bare/start.cc
  platform/bare/system_calls.cc platform/boards/begin.cc platform/cortex_m/caches.cc platform/cortex_m/protection.cc
  platform/cortex_m/vectors.cc)
foreach(list IN ITEMS FOVEA_BOARD_SOURCES FOVEA_BOARD_SDK_SOURCES FOVEA_BOARD_CORTEX_M_SOURCES FOVEA_BOARD_BARE_SOURCES)
  list(TRANSFORM ${list} PREPEND ${FOVEA_ROOT}/)
endforeach()

# Options of a target that has these sources. Both programs have a main, which main.cc calls by another name. Call it in the folder
# of the target.
function(fovea_board_options target)
  set_source_files_properties(${FOVEA_ROOT}/examples/selftest/main.c PROPERTIES COMPILE_DEFINITIONS main=fovea_selftest_main)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}" flags)
  set_source_files_properties(${FOVEA_ROOT}/bench/bare/main.cc PROPERTIES
    COMPILE_DEFINITIONS "main=fovea_bench_main;FOVEA_BENCH_FLAGS=\"${flags}\"")
  set(CASES "$ENV{FOVEA_BOARD_CASES}" CACHE STRING "Only cases of the benchmark whose name has this text in it")
  if(CASES)
    target_compile_definitions(${target} PRIVATE FOVEA_BOARD_CASES="${CASES}")
  endif()
  target_include_directories(${target} PRIVATE ${FOVEA_BOARD_INCLUDES})
  target_compile_features(${target} PRIVATE c_std_11 cxx_std_17)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>
    -ffunction-sections -fdata-sections)
endfunction()

# fovea::fovea: an installed one (-DCMAKE_PREFIX_PATH=..., as one of a release), else this tree's.
macro(fovea_board_library)
  if(CMAKE_PREFIX_PATH OR DEFINED ENV{CMAKE_PREFIX_PATH})
    find_package(fovea QUIET)
  endif()
  if(NOT fovea_FOUND)
    set(FOVEA_LEAN "" CACHE STRING "No lean configurations: this program needs all")
    add_subdirectory(${FOVEA_ROOT} fovea)
  endif()
endmacro()

# A program without an SDK: fovea_bare_board(<target> <linker script> <sources of the board>...)
function(fovea_bare_board target script)
  add_executable(${target} ${FOVEA_BOARD_SOURCES} ${FOVEA_BOARD_BARE_SOURCES} ${ARGN})
  fovea_board_options(${target})
  target_link_libraries(${target} PRIVATE fovea::fovea)
  target_link_options(${target} PRIVATE -nostartfiles -static -Wl,--gc-sections,-Map=${target}.map -L${FOVEA_ROOT}/platform/bare
    -T${script})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${script};${FOVEA_ROOT}/platform/bare/sections.ld")
  set(CONSOLE uart CACHE STRING "Where the program prints: uart, or semihosting, which a debug probe must answer")
  if(CONSOLE STREQUAL uart)
    target_compile_definitions(${target} PRIVATE FOVEA_BOARD_CONSOLE=1)
  endif()
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_OBJCOPY} -O binary $<TARGET_FILE:${target}> ${target}.bin
    VERBATIM)
endfunction()
