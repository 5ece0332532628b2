# SPDX-License-Identifier: Apache-2.0
#
# The kernels of NEON are those for processors that run instructions in the order of the text where flags name such a processor.
# Where flags name none, and the system can tell a program which it is, there are both. The former are then compiled as if for
# another backend.
if(NOT FOVEA_IN_ORDER MATCHES "^(auto|on|beside|off)$")
  message(FATAL_ERROR "FOVEA_IN_ORDER is ${FOVEA_IN_ORDER}: it must be auto, on, beside or off")
endif()
set(in_order ${FOVEA_IN_ORDER})
set(has_both OFF)  # whether this build can have both
if(backends STREQUAL neon AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(has_both ON)
endif()
if(in_order STREQUAL auto)
  set(in_order off)
  get_directory_property(options COMPILE_OPTIONS)
  string(REGEX MATCHALL "-m(cpu|tune)=[^ ;]+" processors "${CMAKE_CXX_FLAGS} ${options}")
  list(FILTER processors EXCLUDE REGEX "=(generic|native)$")
  if(processors MATCHES "=cortex-a(34|35|53|55)($|[^0-9])")
    set(in_order on)
  elseif(NOT processors AND has_both AND CMAKE_SYSTEM_NAME STREQUAL Linux)
    set(in_order beside)
  endif()
endif()
if(in_order STREQUAL beside)
  if(NOT has_both)
    message(FATAL_ERROR "FOVEA_IN_ORDER is beside, which is for AArch64 with the backend neon")
  endif()
  target_compile_definitions(fovea_internal INTERFACE FOVEA_WITH_IN_ORDER=1)
elseif(in_order STREQUAL on AND offered STREQUAL neon)
  target_compile_definitions(fovea_internal INTERFACE FOVEA_IN_ORDER=1)
endif()
