# SPDX-License-Identifier: Apache-2.0
#
# fovea_offered_target(<target> <x86_32>): sets the first to the best target that the compiler's flags offer, as the
# compiler's own macros say: avx512, avx2, sse4, x86 (below SSE4.2), neon, helium, wasm or scalar; the second to ON for
# 32-bit x86. Nothing is linked: the compiler's error is the answer, asked anew each time, for flags may have changed.
function(fovea_offered_target target x86_32)
  get_directory_property(options COMPILE_OPTIONS)
  list(FILTER options EXCLUDE REGEX "\\$<")
  list(TRANSFORM options REPLACE "^SHELL:" "")
  set(source ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/offered_target.cc)
  try_compile(compiles ${CMAKE_CURRENT_BINARY_DIR}/offered_target ${source} COMPILE_DEFINITIONS ${options} OUTPUT_VARIABLE text)
  if(NOT text MATCHES "fovea_offers_([a-z0-9]+)")
    message(FATAL_ERROR "The compiler does not say what its flags offer:\n${text}")
  endif()
  set(${target} ${CMAKE_MATCH_1} PARENT_SCOPE)
  set(${x86_32} OFF PARENT_SCOPE)
  if(text MATCHES "fovea_32_bit_x86")
    set(${x86_32} ON PARENT_SCOPE)
  endif()
endfunction()

# fovea_keep_toolchain_flags(): refuses flags of the user's that replace the toolchain file's. CMAKE_<LANG>_FLAGS of the
# command line takes the place of CMAKE_<LANG>_FLAGS_INIT, and the compiler's default processor that of the one meant.
function(fovea_keep_toolchain_flags)
  get_directory_property(options COMPILE_OPTIONS)
  set(variable_of_C CFLAGS)
  set(variable_of_CXX CXXFLAGS)
  foreach(language IN ITEMS C CXX)
    set(flags CMAKE_${language}_FLAGS)
    separate_arguments(lost UNIX_COMMAND "${${flags}_INIT}")
    separate_arguments(kept UNIX_COMMAND "${${flags}}")
    separate_arguments(environment UNIX_COMMAND "$ENV{${variable_of_${language}}}")  # CMake takes it the first time alone
    list(FILTER lost INCLUDE REGEX "^-m")
    list(REMOVE_ITEM lost "" ${kept} ${options} ${environment})
    if(CMAKE_TOOLCHAIN_FILE AND lost)
      list(JOIN lost " " lost)
      message(FATAL_ERROR "${flags} is \"${${flags}}\": ${lost} of ${CMAKE_TOOLCHAIN_FILE} is lost, since -D${flags} replaces "
        "what a toolchain file sets. Name these flags there too, or, for macros of fovea_config.h, write "
        "-DFOVEA_DEFINES=NAME=VALUE instead")
    endif()
  endforeach()
endfunction()
