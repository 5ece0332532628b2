# SPDX-License-Identifier: Apache-2.0
#
# What find_package(Zephyr) gives to platform/boards/zephyr. The module fovea is the installed library; how Zephyr builds it,
# tests/packages/zephyr imitates.
include(${CMAKE_CURRENT_LIST_DIR}/../stub.cmake)
project(Zephyr-Kernel LANGUAGES C CXX)
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/prj.conf lines REGEX "^CONFIG_")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^(CONFIG_[A-Z0-9_]+)=(.+)$" line "${line}")
  set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
find_package(fovea REQUIRED)
add_executable(app)
foreach(module IN LISTS ZEPHYR_EXTRA_MODULES)
  if(EXISTS ${module}/zephyr/module.yml AND CONFIG_FOVEA AND CONFIG_CPP)
    target_link_libraries(app PRIVATE fovea::fovea)
  endif()
endforeach()
stub_start(app)
