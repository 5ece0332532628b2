# SPDX-License-Identifier: Apache-2.0
#
# Highway, xsimd and Catch2 are used as headers only. fovea_find_headers looks for them on the system, takes a pinned
# release where there are none (or too old ones), and links their folder into deps/include of the build tree. That
# folder alone goes to the compiler, so a cross compiler never gets a folder of the host's other headers.
include(FetchContent)

set(FOVEA_DEPS_INCLUDE ${PROJECT_BINARY_DIR}/deps/include)

# fovea_find_headers(<folder>          the folder of headers that is wanted, as in #include <folder/...>
#   PACKAGE <name>                     its CMake package
#   MACROS <prefix>                    <prefix>_MAJOR, _MINOR and _PATCH are its version ...
#   VERSION_FILES <file>...            ... in one of these
#   MINIMUM <version>                  the oldest that serves
#   URL <url> SHA256 <hash>            the release to fetch
#   FETCHED <path>)                    where in the release <folder> is
# Sets FOVEA_<folder>_VERSION in the caller. FOVEA_<folder>_INCLUDE_DIR in the cache is the folder that holds <folder>.
function(fovea_find_headers folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;MACROS;MINIMUM;URL;SHA256;FETCHED" "VERSION_FILES")
  set(found "")
  if(NOT FOVEA_FETCH)
    if(NOT CMAKE_CROSSCOMPILING AND NOT FOVEA_${folder}_INCLUDE_DIR)
      # Only the package's include folder: its target would link what this project does not need.
      find_package(${arg_PACKAGE} CONFIG QUIET)
      foreach(target IN ITEMS ${arg_PACKAGE}::${arg_PACKAGE} ${arg_PACKAGE})
        if(TARGET ${target})
          get_target_property(package_dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
          find_path(FOVEA_${folder}_INCLUDE_DIR ${folder} PATHS ${package_dirs} NO_DEFAULT_PATH)
        endif()
      endforeach()
    endif()
    # Headers have no architecture, so the host's serve a cross compiler as well.
    find_path(FOVEA_${folder}_INCLUDE_DIR ${folder} PATHS /usr/local/include /usr/include NO_CMAKE_FIND_ROOT_PATH
      DOC "Folder that holds ${folder}/")
    mark_as_advanced(FOVEA_${folder}_INCLUDE_DIR ${arg_PACKAGE}_DIR)
    if(FOVEA_${folder}_INCLUDE_DIR)
      fovea_read_version(version ${FOVEA_${folder}_INCLUDE_DIR} ${arg_MACROS} ${arg_VERSION_FILES})
      if(version VERSION_GREATER_EQUAL arg_MINIMUM)
        set(found ${FOVEA_${folder}_INCLUDE_DIR})
      else()
        message(STATUS "${FOVEA_${folder}_INCLUDE_DIR}/${folder} is version ${version}, older than ${arg_MINIMUM}")
      endif()
    endif()
  endif()
  if(NOT found)
    # A SOURCE_SUBDIR that does not exist: the release is unpacked and none of its own CMake files is run.
    FetchContent_Declare(${folder} URL ${arg_URL} URL_HASH SHA256=${arg_SHA256} SOURCE_SUBDIR not-built)
    FetchContent_MakeAvailable(${folder})
    cmake_path(SET found NORMALIZE ${${folder}_SOURCE_DIR}/${arg_FETCHED})
    fovea_read_version(version ${found} ${arg_MACROS} ${arg_VERSION_FILES})
  endif()
  if(NOT IS_DIRECTORY ${found}/${folder})
    message(FATAL_ERROR "${found} holds no folder ${folder}")
  endif()
  message(STATUS "fovea: ${folder} ${version} in ${found}")
  file(MAKE_DIRECTORY ${FOVEA_DEPS_INCLUDE})
  if(NOT IS_SYMLINK ${FOVEA_DEPS_INCLUDE}/${folder})
    file(REMOVE_RECURSE ${FOVEA_DEPS_INCLUDE}/${folder})  # a copy, made where links cannot be
  endif()
  file(CREATE_LINK ${found}/${folder} ${FOVEA_DEPS_INCLUDE}/${folder} SYMBOLIC RESULT linked)
  if(linked)
    file(COPY ${found}/${folder} DESTINATION ${FOVEA_DEPS_INCLUDE})
  endif()
  set(FOVEA_${folder}_VERSION ${version} PARENT_SCOPE)
endfunction()

# <version> = MAJOR.MINOR.PATCH from the #defines <macros>_MAJOR and so on of the files under dir; 0 where there are
# none.
function(fovea_read_version result dir macros)
  set(version 0)
  foreach(file IN LISTS ARGN)
    if(EXISTS ${dir}/${file})
      file(STRINGS ${dir}/${file} lines REGEX "^ *# *define +${macros}_(MAJOR|MINOR|PATCH) +[0-9]+")
      if(lines)
        string(REGEX REPLACE "[^;]*[^;0-9]([0-9]+)[^;0-9]*" "\\1" numbers "${lines}")
        string(REPLACE ";" "." version "${numbers}")
      endif()
    endif()
  endforeach()
  set(${result} ${version} PARENT_SCOPE)
endfunction()

# The releases fetched are those that the continuous integration tests as Debian's packages.
macro(fovea_find_highway)
  fovea_find_headers(hwy
    PACKAGE hwy MACROS HWY VERSION_FILES hwy/highway.h hwy/base.h MINIMUM 1.0.3
    URL https://github.com/google/highway/archive/refs/tags/1.0.3.tar.gz
    SHA256 566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e FETCHED .)
endmacro()

macro(fovea_find_xsimd)
  fovea_find_headers(xsimd
    PACKAGE xsimd MACROS XSIMD_VERSION VERSION_FILES xsimd/config/xsimd_config.hpp MINIMUM 8.1
    URL https://github.com/xtensor-stack/xsimd/archive/refs/tags/8.1.0.tar.gz
    SHA256 d52551360d37709675237d2a0418e28f70995b5b7cdad7c674626bcfbbf48328 FETCHED include)
endmacro()

# Catch2 2 is headers; 3 is a library, which is used where the system has it for the processor that is being compiled
# for. Defines the target fovea_catch: headers, and a main() compiled once.
macro(fovea_find_catch)
  if(NOT FOVEA_FETCH AND NOT CMAKE_CROSSCOMPILING)
    find_package(Catch2 3 CONFIG QUIET)
    mark_as_advanced(Catch2_DIR)
  endif()
  if(TARGET Catch2::Catch2WithMain)
    message(STATUS "fovea: catch2 ${Catch2_VERSION} in ${Catch2_DIR}")
    add_library(fovea_catch INTERFACE)
    target_link_libraries(fovea_catch INTERFACE Catch2::Catch2WithMain)
  else()
    fovea_find_headers(catch2
      PACKAGE Catch2 MACROS CATCH_VERSION VERSION_FILES catch2/catch.hpp MINIMUM 2.13
      URL https://github.com/catchorg/Catch2/archive/refs/tags/v2.13.10.tar.gz
      SHA256 d54a712b7b1d7708bc7a819a8e6e47b2fde9536f487b89ccbca295072a7d9943 FETCHED single_include)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/deps/catch_main.cc CONTENT "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n")
    add_library(fovea_catch STATIC ${PROJECT_BINARY_DIR}/deps/catch_main.cc)
    target_compile_features(fovea_catch PUBLIC cxx_std_17)
    target_compile_options(fovea_catch PRIVATE -O0 -g0)  # 13000 lines: three times as fast to compile
    target_include_directories(fovea_catch SYSTEM PUBLIC ${FOVEA_DEPS_INCLUDE})
    if(CMAKE_SYSTEM_NAME STREQUAL Generic)
      target_compile_definitions(fovea_catch PUBLIC CATCH_CONFIG_COLOUR_NONE CATCH_CONFIG_NO_POSIX_SIGNALS)
    endif()
  endif()
endmacro()
