# SPDX-License-Identifier: Apache-2.0
#
# What the stubs of SDKs in this folder share. A project of platform/boards is compiled for QEMU's board with a Cortex-M4F, with an
# installed fovea, and started by platform/bare: so the program runs, though nothing of the SDK does.
get_filename_component(STUB_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(CMAKE_TOOLCHAIN_FILE ${STUB_ROOT}/toolchains/arm-none-eabi-cortex-m4f.cmake)

# stub_start(<target>): start-up code and the linker script of the emulator's board.
function(stub_start target)
  set(bare ${STUB_ROOT}/platform/bare)
  set(cortex_m ${STUB_ROOT}/platform/cortex_m)
  target_sources(${target} PRIVATE ${bare}/atomics.cc ${bare}/start.cc ${bare}/system_calls.cc ${cortex_m}/caches.cc
    ${cortex_m}/protection.cc ${cortex_m}/vectors.cc)
  # The project has functions of these names, which it uses where it has an SDK.
  set_source_files_properties(${bare}/start.cc TARGET_DIRECTORY ${target} PROPERTIES COMPILE_DEFINITIONS
    "stack_paint=stub_stack_paint;stack_used_bytes=stub_stack_used_bytes;stack_in_use_bytes=stub_stack_in_use_bytes")
  target_link_options(${target} PRIVATE -nostartfiles -static -Wl,--gc-sections -L${bare} -L${cortex_m} -Tmps2-an386.ld)
endfunction()
