# SPDX-License-Identifier: Apache-2.0
#
# Settings for all processors without an operating system. Programs need start-up code and a linker script: those of this tree have
# them in platform/<processor>/, another project has its own. FOVEA_BOARD is QEMU's name of the board that the program is linked
# for.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # CMake's checks have no start-up code to link
set(CMAKE_C_COMPILER ${FOVEA_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${FOVEA_TRIPLE}-g++)
set(CMAKE_ASM_COMPILER ${FOVEA_TRIPLE}-gcc)
foreach(language IN ITEMS C CXX ASM)
  set(CMAKE_${language}_FLAGS_INIT "${FOVEA_CPU_FLAGS} ${FOVEA_${language}_FLAGS}")
  set(CMAKE_EXECUTABLE_SUFFIX_${language} .elf)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# The script passes a program's arguments on through semihosting. The environment variable FOVEA_QEMU_ARGS holds more arguments for
# QEMU, such as "-icount shift=0", with which time counts instructions.
set(fovea_qemu_mps2-an385 qemu-system-arm -M mps2-an385)
set(fovea_qemu_mps2-an386 qemu-system-arm -M mps2-an386)
set(fovea_qemu_mps2-an500 qemu-system-arm -M mps2-an500)
set(fovea_qemu_mps2-an505 qemu-system-arm -M mps2-an505)
set(fovea_qemu_mps3-an536 ${CMAKE_CURRENT_LIST_DIR}/qemu-new.sh qemu-system-arm -M mps3-an536)
set(fovea_qemu_mps3-an547 qemu-system-arm -M mps3-an547)
set(fovea_qemu_versatilepb-cortex-r5f qemu-system-arm -M versatilepb -cpu cortex-r5f -m 64 -audiodev none,id=none)
set(fovea_qemu_virt-cortex-a15 qemu-system-arm -M virt -cpu cortex-a15 -m 64)
set(fovea_qemu_virt-cortex-a53 qemu-system-aarch64 -M virt -cpu cortex-a53 -m 64)
set(fovea_qemu_virt-riscv32 qemu-system-riscv32 -M virt -bios none -m 64)
if(DEFINED fovea_qemu_${FOVEA_BOARD})
  set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/qemu-system.sh ${fovea_qemu_${FOVEA_BOARD}} --)
endif()
