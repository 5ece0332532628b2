# SPDX-License-Identifier: Apache-2.0
#
# An overlay port builds the source tree around it. In the registry vcpkg_from_github sets SOURCE_PATH instead.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

set(backend -DFOVEA_SIMD=auto)
if(VCPKG_TARGET_ARCHITECTURE MATCHES "^arm64")
  set(backend -DFOVEA_SIMD=neon)  # needs no other package
elseif(VCPKG_TARGET_ARCHITECTURE MATCHES "^(x86|x64|wasm32)$")
  list(APPEND backend "-DFOVEA_hwy_INCLUDE_DIR=${CURRENT_INSTALLED_DIR}/include")  # of the port highway
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DFETCHCONTENT_FULLY_DISCONNECTED=ON
    -DFOVEA_BUILD_BENCH=OFF
    -DFOVEA_BUILD_EXAMPLES=OFF
    -DFOVEA_BUILD_TESTS=OFF
    -DFOVEA_INSTALL=ON
    "-DFOVEA_OPERATORS=${FOVEA_OPERATORS}"  # a triplet may set it
    ${backend}
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/fovea)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
