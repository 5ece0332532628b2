#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the static library needs no run time and keeps no state:
check_symbols.py --nm nm --readelf readelf --header fovea.h [--cxx g++ --only function [--most-code bytes] [--no-floats]] libfovea.a

- Every function that fovea.h declares is defined.
- Every undefined symbol is defined by another file of the library, or is on the list below.
- No code runs before main, and no data is writable: there is no section for either.

With --only the same for the files that a program links which calls only this function. Each file must be linked for a symbol of the
function's operator, or of ground/targets/registry.cc or base/, and the code must have at most --most-code bytes, if that is given.
With --no-floats it needs none of the compiler's functions for floats.

With --exports a shared library exports the header's functions and those of the lean configurations, which follow, and no others; with
--map each has the version of that linker script.
"""
import argparse
import re
import shlex
import subprocess
import sys

from interface import Interface

# Functions that compilers call if there is no FPU.
FLOATS = re.compile(r"__(aeabi_[cfd]|aeabi_u?[il]2[fd])\w*|__\w+[sd]f[23]?|__fix\w+|__float\w+")
ALLOWED = re.compile(
    r"mem(cpy|move|set)"
    r"|__cpu_(model|features2|indicator_init)"  # the compiler's test of what an x86 processor has
    r"|__aeabi_(u?idiv(mod)?|u?ldivmod|l(lsl|lsr|asr|mul|cmp|div0)|idiv0|ulcmp|mem(cpy|move|set|clr)[48]?)"  # integers on Arm
    r"|__u?divdi3"  # integers on other processors of 32 bits
    r"|__(add|sub|mul|div)sf3|__(eq|ne|lt|le|gt|ge|unord)sf2|__float(un)?sisf|__fix(uns)?sfsi"  # floats without an FPU; no doubles
    r"|__aeabi_(f(add|sub|rsub|mul|div|cmp(eq|lt|le|gt|ge|un))|u?i2f|f2u?iz)"  # the same on Arm
    r"|getauxval"  # whether a RISC-V processor with Linux has vectors
    r"|_GLOBAL_OFFSET_TABLE_"
    # Inserted by compilers that are configured for hardening, as Ubuntu's:
    r"|__stack_chk_(fail|guard)|__mem(cpy|move|set)_chk"
)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def check_exports(arguments, functions):
    wanted = functions | {name.replace("fovea_", f"fovea_{lean}_", 1) for lean in arguments.exports for name in functions}
    version = re.search(r"^(\w+) \{$", open(arguments.map).read(), flags=re.M)[1] if arguments.map else ""
    wanted = {f"{name}@@{version}" for name in wanted} if version else wanted
    # Lines of number, value, size, type, binding, visibility, section and name. Some linkers add the ends of sections.
    lines = run(arguments.readelf, "--dyn-syms", "--wide", arguments.archive)
    found = set(re.findall(r"^ *\d+: \w+ +\w+ \w+ +(?:GLOBAL|WEAK) +\w+ +(?!UND)\w+ (\S+)$", lines, flags=re.M))
    found -= {version, "__bss_start", "_edata", "_end", "_init", "_fini"}
    print("\n".join([f"{name} is exported" for name in sorted(found - wanted)] + [f"{name} is not exported" for name in sorted(wanted - found)]))
    print(f"{len(found)} symbols are exported, as the header declares {len(functions)} functions")
    return 1 if found != wanted else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("--header", required=True)
    parser.add_argument("--cxx", help="with --only: the command that links, with the processor's flags")
    parser.add_argument("--only", metavar="function")
    parser.add_argument("--most-code", type=int, metavar="bytes")
    parser.add_argument("--no-floats", action="store_true")
    parser.add_argument("--exports", nargs="*", metavar="lean configuration")
    parser.add_argument("--map", metavar="linker script")
    parser.add_argument("archive")
    arguments = parser.parse_args()
    complaints = []
    functions = {function.name for function in Interface(arguments.header).functions}
    if arguments.exports is not None:
        return check_exports(arguments, functions)

    image = arguments.archive
    if arguments.only:
        image = f"{arguments.archive}.{arguments.only}.o"
        operator = arguments.only.split("_")[1]
        link_map = run(*shlex.split(arguments.cxx), "-r", "-nostdlib", "-Wl,--gc-sections", f"-Wl,-u,{arguments.only}",
                       "-Wl,--print-map", arguments.archive, "-o", image)
        # Files of operators have the same names, so a file is identified by the symbol that it was linked for.
        linked = re.findall(r"\((\S+\.o(?:bj)?)\)\s+(?:\S+\s+)?\((.+)\)$", link_map.split("\nMemory Configuration")[0], flags=re.M)
        for file, symbol in linked:
            if operator not in symbol.lower() and not re.search(r"\b(find_target|resolve_target|target_\w+|check_struct)|Buffers|Carver", symbol):
                complaints.append(f"{file} is linked for {symbol}")
        if not linked:
            complaints.append("the linker's map says nothing of what is linked")

    defined, undefined = set(), {}
    member = ""
    for line in run(arguments.nm, "--format=posix", image).splitlines():
        if line.endswith(":"):
            member = line[:-1]
            continue
        fields = line.split()
        if len(fields) < 2:
            continue
        name, kind = fields[:2]
        if kind in "Uwv":
            undefined.setdefault(name, member)
        elif kind.isupper() or kind == "u":
            defined.add(name)
    for name in sorted(set(undefined) - defined):
        if not ALLOWED.fullmatch(name):
            complaints.append(f"undefined symbol {name}, needed by {undefined[name]}")
        if arguments.no_floats and FLOATS.fullmatch(name):
            complaints.append(f"{name} is called, for floats")

    wanted = {arguments.only} if arguments.only else functions
    for name in sorted(wanted - defined):
        complaints.append(f"fovea.h declares {name}, which the library lacks")
    for name in sorted(functions & defined - wanted):
        complaints.append(f"{name} is linked")

    sections = code_bytes = 0
    for line in run(arguments.readelf, "--sections", "--wide", image).splitlines():
        if line.startswith("File: "):
            member = line[6:]
        # [Nr] name type address offset size entry-size flags ...
        match = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+[A-Z_0-9]+\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([A-Za-z]+)\s", line)
        if not match:
            continue
        name, size_bytes, flags = match.group(1), int(match.group(2), 16), match.group(3)
        sections += 1
        code_bytes += size_bytes if "X" in flags else 0
        if re.match(r"\.(preinit_array|init_array|fini_array|ctors|dtors|init|fini)\b", name):
            complaints.append(f"section {name} in {member}: code that runs by itself")
        if "W" in flags and "A" in flags and size_bytes != 0 and not name.startswith(".data.rel.ro"):
            complaints.append(f"section {name} in {member}: {size_bytes} bytes that can be written")

    if arguments.most_code and code_bytes > arguments.most_code:
        complaints.append(f"{code_bytes} bytes of code, at most {arguments.most_code} wanted")
    print("\n".join(complaints))
    print(f"{len(wanted)} functions, {len(defined)} symbols, {sections} sections, {code_bytes} bytes of code, "
          f"{len(complaints)} complaints")
    return 1 if complaints or not functions or not code_bytes else 0


sys.exit(main())
