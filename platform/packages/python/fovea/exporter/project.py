# SPDX-License-Identifier: Apache-2.0
"""Writes the folder: the code, the constants, the test with its numbers, CMakeLists.txt."""
import pathlib

import numpy as np

from .emit_c import LICENSE, Code, ctype, shape_text
from .report import readme


def write(exported, report, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    code, name = Code(exported), exported.graph.name
    constants = constants_of(code.calls)
    vectors = [(f"given_{one.name}", one, value) for one, value in zip(exported.graph.inputs, exported.inputs)]
    vectors += [(f"wanted_{one.name}", one, value) for one, value in zip(exported.graph.outputs, exported.outputs)]
    vectors.sort(key=lambda one: -one[1].buffer.dtype.itemsize)
    files = {
        f"{name}.h": code.header(),
        f"{name}.c": code.source(),
        f"{name}_weights.h": structure(name, "weights", [(one.name, one, shape) for one, shape in constants.items()]),
        f"{name}_weights.c": binary(name, "weights"),
        f"{name}_weights.bin": joined(one.data for one in constants),
        f"{name}_test_data.h": structure(name, "test_data", [(key, one.buffer, one.shape) for key, one, _ in vectors]),
        f"{name}_test_data.c": binary(name, "test_data"),
        f"{name}_test_data.bin": joined(np.asarray(value).astype(one.buffer.dtype) for _, one, value in vectors),
        f"{name}_binary.h": BINARY,
        f"{name}_test.c": test(exported),
        "README.md": readme(exported, report),
        "CMakeLists.txt": CMAKE.replace("@NAME@", name),
    }
    for file, text in files.items():
        if isinstance(text, bytes):
            (folder / file).write_bytes(text)
        else:
            (folder / file).write_text(text, encoding="utf-8")


def constants_of(calls):
    """buffer -> shape, of the constants that calls read: the largest elements first, so that none needs padding."""
    found = {}
    for call in calls:
        for tensor in call.reads:
            if tensor.buffer.kind == "constant":
                found.setdefault(tensor.buffer, tensor.buffer.data.shape)
    return dict(sorted(found.items(), key=lambda one: -one[0].dtype.itemsize))


def weight_bytes(calls):
    return len(joined(one.data for one in constants_of(calls)))


def joined(arrays):
    """The bytes of a structure, which is as large as a multiple of 8."""
    data = b"".join(np.ascontiguousarray(one).astype(np.asarray(one).dtype.newbyteorder("<")).tobytes() for one in arrays)
    return data + bytes(-len(data) % 8) or bytes(8)


def structure(name, what, fields):
    used = sum(one.bytes for _, one, _ in fields)
    rows = "".join(f"  {ctype(one)} {key}[{one.count}]; /* {shape_text(shape)} */\n" for key, one, shape in fields)
    padding = -used % 8 or (0 if used else 8)
    rows += f"  uint8_t padding[{padding}];\n" if padding else ""
    guard = f"{name.upper()}_{what.upper()}_H_"
    return f"""{LICENSE}#ifndef {guard}
#define {guard}

#include <stdint.h>

#define {name.upper()}_{what.upper()}_BYTES {used + padding}

/* {name}_{what}.bin, in the order of its bytes. */
struct {name}_{what} {{
{rows}}};

extern const struct {name}_{what} {name}_{what};

#endif
"""


def binary(name, what):
    size = f"{name.upper()}_{what.upper()}_BYTES"
    return f"""{LICENSE}#include "{name}_{what}.h"

#include "{name}_binary.h"

BINARY_FILE({name}_{what}, struct {name}_{what}, {size}, "{name}_{what}.bin");
"""


BINARY = LICENSE + """/* Takes a file into the program as constants, by the assembler: it must have as many bytes as
 * the type. CMake names the folder of the file in BINARY_FILE_FOLDER. */
#ifndef BINARY_FILE_FOLDER
#define BINARY_FILE_FOLDER "" /* with a slash at its end */
#endif

#if defined(__APPLE__)
#define BINARY_FILE_NAME(symbol) "_" #symbol
#define BINARY_FILE_SECTION(symbol) ".const_data\\n"
#elif defined(_WIN32)
#define BINARY_FILE_NAME(symbol) #symbol
#define BINARY_FILE_SECTION(symbol) ".section .rdata,\\"dr\\"\\n"
#else
#define BINARY_FILE_NAME(symbol) #symbol
#define BINARY_FILE_SECTION(symbol) ".section .rodata." #symbol ",\\"a\\"\\n"
#endif

#define BINARY_FILE_TEXT(number) #number
#define BINARY_FILE_NUMBER(number) BINARY_FILE_TEXT(number)

/* An .org that would go back is an error: the file is then smaller or larger than the type. */
#define BINARY_FILE(symbol, type, bytes, file)                                                      \\
  __asm__(BINARY_FILE_SECTION(symbol) ".balign 16\\n"                                                \\
          ".globl " BINARY_FILE_NAME(symbol) "\\n" BINARY_FILE_NAME(symbol) ":\\n"                    \\
          ".incbin \\"" BINARY_FILE_FOLDER file "\\"\\n"                                               \\
          "1:\\n"                                                                                    \\
          ".org " BINARY_FILE_NAME(symbol) " + " BINARY_FILE_NUMBER(bytes) "\\n"                     \\
          ".org 1b + (1b - " BINARY_FILE_NAME(symbol) ") - " BINARY_FILE_NUMBER(bytes) "\\n"         \\
          ".text\\n");                                                                               \\
  typedef char symbol##_has_the_size_of_its_file[sizeof(type) == bytes ? 1 : -1]
"""


def test(exported):
    name, upper, graph = exported.graph.name, exported.graph.name.upper(), exported.graph
    outputs = "".join(f"static {ctype(one.buffer)} {one.name}[{one.count}];\n" for one in graph.outputs)
    arguments = ", ".join([*(f"{name}_test_data.given_{one.name}" for one in graph.inputs), *(one.name for one in graph.outputs), "arena"])
    checks = "".join(
        f"""  if (worse("{one.name}", {one.name}, {name}_test_data.wanted_{one.name}, {one.count})) return 1;
""" for one in graph.outputs)
    step = step_test(exported) if exported.step else ""
    memory = f"""ALIGNED static unsigned char caches[{upper}_CACHES_BYTES];
""" if step else ""
    return f"""{LICENSE}/* Computes the stored inputs, and compares the answers with {exported.wanted}. */
#include <math.h>
#include <stdio.h>

#include "{name}.h"
#include "{name}_test_data.h"

#if defined(__GNUC__)
#define ALIGNED __attribute__((aligned(FOVEA_WORKSPACE_ALIGNMENT)))
#else
#define ALIGNED
#endif
ALIGNED static unsigned char arena[{upper}_ARENA_BYTES];
{memory}{outputs}
/* Prints the largest difference, as a part of the largest number that is wanted, and says whether it is too large. */
static int worse(const char* array, const float* got, const float* wanted, size_t count) {{
  const float allowed = {exported.allowed:.2e}f;
  float difference = 0, largest = 0;
  for (size_t i = 0; i < count; ++i) {{
    difference = fmaxf(difference, got[i] == got[i] ? fabsf(got[i] - wanted[i]) : HUGE_VALF);
    largest = fmaxf(largest, fabsf(wanted[i]));
  }}
  const float error = difference / (largest > 0 ? largest : 1);
  printf("{name}: %s differs by %.2e of its largest number: %.2e is allowed\\n", array, (double)error, (double)allowed);
  return !(error <= allowed);
}}

int main(void) {{
  fovea_status status = {name}_init();
  if (status == FOVEA_OK) {{
    status = {name}_run({arguments});
  }}
  if (status != FOVEA_OK) {{
    printf("{name}: %s\\n", fovea_status_string(status));
    return 1;
  }}
{checks}{step}  return 0;
}}
"""


def step_test(exported):
    """The same answers a token at a time."""
    name, upper, given = exported.graph.name, exported.graph.name.upper(), exported.graph.inputs[0].name
    rows = ", ".join(f"{one.name} + token * {one.count // exported.graph.inputs[0].count}" for one in exported.graph.outputs)
    data = f"{name}_test_data"
    checks = "".join(
        f"""  if (worse("{one.name}, a token at a time,", {one.name}, {data}.wanted_{one.name}, {one.count})) return 1;
""" for one in exported.graph.outputs)
    return f"""
  status = {name}_step_init(caches);
  for (size_t token = 0; status == FOVEA_OK && token < {upper}_STEP_TOKENS; ++token) {{
    status = {name}_step({name}_test_data.given_{given} + token, {rows}, arena);
  }}
  if (status != FOVEA_OK) {{
    printf("{name}: %s\\n", fovea_status_string(status));
    return 1;
  }}
{checks}"""


CMAKE = """# Written by `python -m fovea.export`.
#
# The library @NAME@ and its test. fovea is that of a project that includes this folder, or the tree that
# -DFOVEA_SOURCE=<folder> names, or one that is installed. The tree is compiled with the features and operators that
# @NAME@.c needs, and no other; for a program that needs more, name them by FOVEA_FEATURES or FOVEA_CONFIG_HEADER, and FOVEA_OPERATORS.
cmake_minimum_required(VERSION 3.22...3.30)
project(@NAME@ LANGUAGES C CXX)
if(TARGET fovea::fovea)
  # there already
elseif(FOVEA_SOURCE)
  set(FOVEA_BUILD_PLATFORM ON)  # start-up code, where there is no operating system
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  if(NOT FOVEA_OPERATORS)
    execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE FOVEA_OPERATORS OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND ${Python3_EXECUTABLE} ${FOVEA_SOURCE}/platform/config.py --operators ${CMAKE_CURRENT_SOURCE_DIR}/@NAME@.c)
  endif()
  if(NOT FOVEA_FEATURES AND NOT FOVEA_CONFIG_HEADER)
    set(FOVEA_CONFIG_HEADER ${CMAKE_CURRENT_BINARY_DIR}/@NAME@_config.h)
    execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${Python3_EXECUTABLE} ${FOVEA_SOURCE}/platform/config.py
      ${CMAKE_CURRENT_SOURCE_DIR}/@NAME@.c --out ${FOVEA_CONFIG_HEADER})
  endif()
  add_subdirectory(${FOVEA_SOURCE} fovea EXCLUDE_FROM_ALL)
else()
  find_package(fovea REQUIRED)
endif()

add_library(@NAME@ STATIC @NAME@.c @NAME@_weights.c)
target_include_directories(@NAME@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(@NAME@ PUBLIC fovea::fovea)

add_executable(@NAME@_test @NAME@_test.c @NAME@_test_data.c)
target_link_libraries(@NAME@_test PRIVATE @NAME@ $<TARGET_NAME_IF_EXISTS:fovea_start>)
if(UNIX)
  target_link_libraries(@NAME@_test PRIVATE m)
endif()

set_target_properties(@NAME@ @NAME@_test PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
foreach(what weights test_data)
  set_property(SOURCE @NAME@_${what}.c APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/@NAME@_${what}.bin)
  set_property(SOURCE @NAME@_${what}.c APPEND PROPERTY
    COMPILE_DEFINITIONS BINARY_FILE_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/")
endforeach()
enable_testing()
add_test(NAME @NAME@_test COMMAND @NAME@_test)
"""
