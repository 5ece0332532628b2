# SPDX-License-Identifier: Apache-2.0
#
# The functions of ESP-IDF that platform/boards/esp-idf calls. The component fovea is the installed library; how ESP-IDF builds it,
# tests/packages/esp-idf imitates.
include(${CMAKE_CURRENT_LIST_DIR}/../../../stub.cmake)
set(STUB_IDF ${CMAKE_CURRENT_LIST_DIR}/../..)

function(idf_component_register)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SRCS;INCLUDE_DIRS;PRIV_REQUIRES")
  add_library(__idf_main OBJECT ${arg_SRCS})
  target_include_directories(__idf_main PRIVATE ${arg_INCLUDE_DIRS} ${STUB_IDF}/include ${STUB_IDF}/..)
  foreach(folder IN LISTS EXTRA_COMPONENT_DIRS)  # a component has its folder's name
    get_filename_component(name ${folder} NAME)
    file(STRINGS ${folder}/CMakeLists.txt register REGEX idf_component_register)
    if(name STREQUAL arg_PRIV_REQUIRES AND register)
      target_link_libraries(__idf_main PRIVATE fovea::fovea)
    endif()
  endforeach()
  set(COMPONENT_LIB __idf_main PARENT_SCOPE)
endfunction()

macro(project name)
  _project(${name} LANGUAGES C CXX)
  find_package(fovea REQUIRED)
  add_subdirectory(main)
  file(WRITE ${CMAKE_BINARY_DIR}/start.cc "extern \"C\" void app_main();\nint main() { app_main(); }\n")
  add_executable(${name} ${CMAKE_BINARY_DIR}/start.cc)
  target_include_directories(${name} PRIVATE ${STUB_ROOT} ${STUB_ROOT}/lib/include)
  target_link_libraries(${name} PRIVATE __idf_main fovea::fovea)
  stub_start(${name})
endmacro()
