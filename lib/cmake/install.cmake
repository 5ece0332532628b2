# SPDX-License-Identifier: Apache-2.0
#
# Installation: find_package(fovea) and pkg-config fovea.
if(FOVEA_INSTALL)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
  install(TARGETS fovea EXPORT fovea LIBRARY COMPONENT library NAMELINK_COMPONENT Unspecified)
  install(DIRECTORY include/fovea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/fovea)
  install(EXPORT fovea NAMESPACE fovea:: FILE foveaTargets.cmake DESTINATION ${package_dir})
  configure_package_config_file(cmake/foveaConfig.cmake.in foveaConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(foveaConfigVersion.cmake COMPATIBILITY SameMajorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/foveaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/foveaConfigVersion.cmake
    DESTINATION ${package_dir})

  # Paths from the folder of fovea.pc, so that an installed tree can be moved.
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" up ${up})
    set(pc_prefix "\${pcfiledir}/${up}")
  endif()
  foreach(dir IN ITEMS LIBDIR INCLUDEDIR)
    cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_${dir} BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pc_${dir})
  endforeach()
  list(JOIN compiled_operators " " pc_OPERATORS)
  configure_file(cmake/fovea.pc.in fovea.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fovea.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
