// SPDX-License-Identifier: Apache-2.0
//
// Takes weights.bin into the program as it is: the compiler would take seconds to read 350,000 numbers. The file is little-endian,
// as are all processors of fovea.
#include "weights.h"

#if defined(__APPLE__)
#define FIRMWARE_TEXT_CONSTANTS ".const_data"
#elif defined(_WIN32)
#define FIRMWARE_TEXT_CONSTANTS ".section .rdata,\"dr\""
#elif defined(__wasm__)
#define FIRMWARE_TEXT_CONSTANTS ".section .rodata.firmware_text_weights,\"\",@"
#else
#define FIRMWARE_TEXT_CONSTANTS ".section .rodata.firmware_text_weights,\"a\""
#endif
#if defined(__wasm__)
#define FIRMWARE_TEXT_SIZE ".type firmware_text_weights,@object\n.size firmware_text_weights, 365320\n"
#else
#define FIRMWARE_TEXT_SIZE ""
#endif

__asm__(FIRMWARE_TEXT_CONSTANTS "\n"
        ".balign 64\n"
        ".globl firmware_text_weights\n" FIRMWARE_TEXT_SIZE
        "firmware_text_weights:\n"
        ".incbin \"" FIRMWARE_TEXT_WEIGHTS "\"\n"
        ".text\n");

static_assert(sizeof(firmware_text::Weights) == 365320, "run train.py anew: weights.bin has another size");
