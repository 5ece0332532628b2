# SPDX-License-Identifier: Apache-2.0
#
# cmake -DESP_PLATFORM=1 -DCOMPONENT_DIR=<the component> -P requirements.cmake: as ESP-IDF's first pass over components.
macro(idf_component_register)
  set(registered TRUE)
  return()
endmacro()
include(${COMPONENT_DIR}/CMakeLists.txt)
if(NOT registered)
  message(FATAL_ERROR "the component is not registered")
endif()
