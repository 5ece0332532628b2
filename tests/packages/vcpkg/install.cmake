# SPDX-License-Identifier: Apache-2.0
#
# cmake -DPORT_DIR=<port> -DWORK=<folder> -P install.cmake
# Runs a port's portfile.cmake as vcpkg does, with those of vcpkg's functions that it calls, one configuration each.
cmake_minimum_required(VERSION 3.22)
set(PORT fovea)
set(VCPKG_TARGET_ARCHITECTURE stub)
set(CURRENT_PORT_DIR ${PORT_DIR})
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
set(CURRENT_INSTALLED_DIR ${WORK}/installed)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  # The port's choice of a backend, but for the one that compiles fastest.
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/build -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}
    -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS} -DFOVEA_SIMD=scalar)
endfunction()
function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
  # The folder is now two levels below the prefix instead of three.
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n"
      "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n" text "${text}")
    string(REPLACE "/../../../" "/../../" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()
function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/fovea.pc)
    message(FATAL_ERROR "there is no fovea.pc")
  endif()
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright)
endfunction()
include(${PORT_DIR}/portfile.cmake)
