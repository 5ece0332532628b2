# SPDX-License-Identifier: Apache-2.0
#
# cpack -G DEB in the build folder writes the package libfovea-dev, and of a shared library libfovea1: see platform/packages/deb.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libfovea-dev)
set(CPACK_PACKAGE_CONTACT "The maintainers of fovea <maintainers@fovea.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
string(REPLACE - ~ CPACK_DEBIAN_PACKAGE_VERSION ${FOVEA_VERSION_TEXT})  # 1.0.0~rc.1 is before 1.0.0
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "attention on small machines
 Softmax, scaled dot-product attention, caches, streams and the layers around
 them, without a heap: headers and library.")
if(BUILD_SHARED_LIBS)  # the library alone, and what programs are compiled with
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL library Unspecified)
  set(runtime libfovea${PROJECT_VERSION_MAJOR})
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${runtime})
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME ${CPACK_PACKAGE_NAME})
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_DEPENDS "${runtime} (= ${CPACK_DEBIAN_PACKAGE_VERSION})")
endif()
if(CMAKE_CROSSCOMPILING)  # else dpkg names the machine's
  set(deb_of_x86_64 amd64)
  set(deb_of_aarch64 arm64)
  set(deb_of_arm armhf)
  set(deb_of_armv7l armhf)
  set(deb_of_riscv64 riscv64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${deb_of_${CMAKE_SYSTEM_PROCESSOR}})
endif()
include(CPack)
