#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what sends every call of a function of fovea.h through fovea_test::call (see tests/support/heap_trap.h):
wrap_calls.py fovea.h wrappers.cc wrappers.options

The first file that it writes defines __wrap_<function> for each, the second has the linker's options that turn calls of
<function> to it, and __real_<function> to the library's.
"""
import re
import sys

PROTOTYPE = re.compile(r"^([a-z][\w \*]*?)\b(fovea_\w+)\(([^()]*)\);", flags=re.M)


def main():
    header, wrappers, options = sys.argv[1:]
    text = re.sub(r"/\*.*?\*/|^#.*?[^\\]$", " ", open(header).read(), flags=re.S | re.M)
    code = ["// Made by tests/scripts/wrap_calls.py.", '#include "support/heap_trap.h"', "", 'extern "C" {']
    names = []
    for result, name, parameters in PROTOTYPE.findall(text):
        result, parameters = result.strip(), " ".join(parameters.split())
        arguments = [] if parameters == "void" else [re.search(r"(\w+)$", one).group(1) for one in parameters.split(",")]
        passed = ", ".join([f'"{name}"', f"__real_{name}"] + arguments)
        code += [f"{result} __real_{name}({parameters});",
                 f"{result} __wrap_{name}({parameters});",
                 f"{result} __wrap_{name}({parameters}) {{ return fovea_test::call({passed}); }}"]
        names.append(name)
    if not names:
        sys.exit(f"{header} declares no function that this script understands")
    with open(wrappers, "w") as file:
        file.write("\n".join(code + ["}", ""]))
    with open(options, "w") as file:
        file.writelines(f"-Wl,--wrap={name}\n" for name in names)


main()
