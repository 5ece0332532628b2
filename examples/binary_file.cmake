# SPDX-License-Identifier: Apache-2.0
#
# fovea_binary_file(<path>/<name>.bin): <path>/<name>.cc of this folder's targets takes this file in, by binary_file.h.
function(fovea_binary_file file)
  cmake_path(ABSOLUTE_PATH file NORMALIZE)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(REPLACE_EXTENSION file LAST_ONLY cc OUTPUT_VARIABLE source)
  set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${file})
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS "BINARY_FILE_FOLDER=\"${folder}/\"")
endfunction()
