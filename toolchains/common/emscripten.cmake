# SPDX-License-Identifier: Apache-2.0
#
# Included by ../wasm32-emscripten.cmake, which sets FOVEA_EXPECT_TARGET and FOVEA_CPU_FLAGS. Emscripten's own toolchain file does
# the work. The additions let test programs throw exceptions, enlarge their memory and read the files of this machine.
set(ENV{NODE_PATH} $ENV{NODE_PATH}:/usr/share/nodejs)  # where Debian has the acorn that emcc needs, if node is not Debian's own
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE fovea_emscripten OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT fovea_emscripten)
  message(FATAL_ERROR "There is no Emscripten here: em-config does not run")
endif()
include(${fovea_emscripten}/cmake/Modules/Platform/Emscripten.cmake)
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_FLAGS_INIT "${FOVEA_CPU_FLAGS} -fexceptions")
  set(CMAKE_${language}_LINKER_LAUNCHER env NODE_PATH=$ENV{NODE_PATH})
endforeach()
set(CMAKE_EXE_LINKER_FLAGS_INIT "-sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1 -sNODERAWFS=1")
# Node 18 and later have their own fetch, which Emscripten 3.1.6 mistakes for a browser's.
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-experimental-fetch)
