// SPDX-License-Identifier: Apache-2.0
//
// Takes a file of numbers into the program as constants, by the assembler: a compiler needs seconds to read them as text. The
// files are little-endian, as are all processors of fovea.
//
//   extern const Weights kWeights __asm__("weights");   // in a header: the name as the assembler writes it, without a prefix
//   BINARY_FILE(weights, Weights, 4096, "weights.bin")  // in weights.cc: the file must have as many bytes as the type
//
// CMake finds the file by fovea_binary_file of binary_file.cmake. Without CMake the compiler needs -I with the file's folder. With
// -flto that is not enough: define BINARY_FILE_FOLDER.
#ifndef FOVEA_EXAMPLES_BINARY_FILE_H_
#define FOVEA_EXAMPLES_BINARY_FILE_H_

#ifndef BINARY_FILE_FOLDER
#define BINARY_FILE_FOLDER ""  // the folder's path, with a slash at its end
#endif

#if defined(__APPLE__)
#define BINARY_FILE_CONSTANTS(symbol) ".const_data\n"
#define BINARY_FILE_TYPE(symbol, bytes) ""
#elif defined(_WIN32)
#define BINARY_FILE_CONSTANTS(symbol) ".section .rdata,\"dr\"\n"
#define BINARY_FILE_TYPE(symbol, bytes) ""
#elif defined(__wasm__)
#define BINARY_FILE_CONSTANTS(symbol) ".section .rodata." #symbol ",\"\",@\n"
#define BINARY_FILE_TYPE(symbol, bytes) ".type " #symbol ",@object\n.size " #symbol ", " #bytes "\n"
#else
#define BINARY_FILE_CONSTANTS(symbol) ".section .rodata." #symbol ",\"a\"\n"
#define BINARY_FILE_TYPE(symbol, bytes) ".type " #symbol ",%object\n.size " #symbol ", " #bytes "\n"
#endif

// An .org that would go back is an error: the first fails if the file is larger than the type, the second if it is smaller.
// clang-format off
#define BINARY_FILE(symbol, type, bytes, file)            \
  __asm__(BINARY_FILE_CONSTANTS(symbol)                   \
          ".balign 16\n"                                  \
          ".globl " #symbol "\n"                          \
          BINARY_FILE_TYPE(symbol, bytes)                 \
          #symbol ":\n"                                   \
          ".incbin \"" BINARY_FILE_FOLDER file "\"\n"     \
          "1:\n"                                          \
          ".org " #symbol " + " #bytes "\n"               \
          ".org 1b + (1b - " #symbol ") - " #bytes "\n"   \
          ".text\n");                                     \
  static_assert(sizeof(type) == bytes, file " has another size than " #type)
// clang-format on

#endif  // FOVEA_EXAMPLES_BINARY_FILE_H_
