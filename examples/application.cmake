# SPDX-License-Identifier: Apache-2.0
#
# What an application, as examples/chat, includes first. In the tree's build all is there. As a project of its own,
# cmake -S examples/chat -B build/chat, it takes a fovea that is installed, where find_package finds one, or compiles the tree's.
include(${CMAKE_CURRENT_LIST_DIR}/binary_file.cmake)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH fovea_tree)
if(TARGET fovea_platform)
  return()
endif()
enable_testing()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo, Debug or MinSizeRel" FORCE)
endif()
find_package(fovea QUIET)
if(fovea_FOUND)
  message(STATUS "the installed fovea of ${fovea_DIR}")
  add_library(fovea_warnings INTERFACE)
  target_compile_options(fovea_warnings INTERFACE -Wall -Wextra)
  add_subdirectory(${fovea_tree}/platform platform)
else()
  set(FOVEA_BUILD_PLATFORM ON)
  add_subdirectory(${fovea_tree} fovea)
endif()
