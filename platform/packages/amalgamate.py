#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the library as one source file and its headers: amalgamate.py <folder> [--source fovea.cc]

    fovea.h     the C interface, its headers one after the other
    fovea.hpp   the C++ interface, likewise
    fovea.cc    the library: g++ -std=gnu++17 -O2 -c fovea.cc, or clang++, with flags for the processor

The compiler's macros choose the backend, as they do for a plain list of the library's files: Helium, NEON, RVV or scalar. Highway and
xsimd are only in builds by CMake; on x86 the backend is scalar.

In fovea.cc each file of the library is a section. Where a file is included, fovea.cc includes itself with FOVEA_SECTION set to
the section's number: so fovea.cc has each text once, even if many kernels include it.
"""
import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "lib" / "src"
HEADERS = ROOT / "lib" / "include" / "fovea"
CONFIG = "fovea/fovea_config.h"
LICENSE_LINE = "// SPDX-License-Identifier: Apache-2.0\n"

# Backends that need another library, and files that only they use.
LEFT_OUT = re.compile(r"^(ground/simd/(highway|xsimd|x86|wasm|dot_x86\w*)\.inl|ground/simd/highway_targets\.h|.*(vnni|pmaddwd|maddubs).*)$")
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\n", re.M)
INCLUDE = re.compile(r'^(\s*#\s*include\s+)(?:"([^"]+)"|(FOVEA_(?!(?:CONFIG|DOT|SIMD)_HEADER)\w+)).*$', re.M)
NAMED = re.compile(r'^(\s*#\s*define\s+\w+\s+)"([\w/]+\.(?:inl|cc|h))"\s*$', re.M)  # a macro whose value is the name of a file to include


def section_of(path):
    return CONFIG if path.name == "fovea_config.h" else path.relative_to(SOURCES).as_posix()


def is_part(path):
    return path.suffix in {".h", ".inl", ".cc"} and not LEFT_OUT.match(section_of(path))


def is_kernels(path):
    """A file that its own targets include again."""
    return path.stem.endswith("kernels") and path.suffix == ".cc"


def include_section(number, source, guard=None):
    """What includes a section; unless its guard is defined, since the compiler reads the whole file for each include."""
    text = f"#undef FOVEA_SECTION\n#define FOVEA_SECTION {number}\n#include \"{source}\""
    return f"#if !defined({guard})\n{text}\n#endif" if guard else text


def section(path, numbers, guards, source):
    """The text of a file, with its includes of other files replaced."""

    def included(match):
        name = match.group(2)
        if not name:
            return include_section(match.group(3), source)
        if name not in numbers and name.startswith("fovea/"):
            return match.group(1) + f'"{name[len("fovea/"):]}"'
        if name not in numbers:  # of a backend that is left out: inside an #if that is false
            return f'#error "{name} is not part of this file"'
        return include_section(numbers[name], source, guards.get(name))

    text = path.read_text().removeprefix(LICENSE_LINE).removeprefix("//\n")
    text = NAMED.sub(lambda m: f"{m.group(1)}{numbers.get(m.group(2), 0)}  // {m.group(2)}", text)
    text = INCLUDE.sub(included, text)
    return re.sub(r"__has_include\(<hwy/highway\.h>\)", "0", text)


def kernels_apart(text):
    """A file of kernels, followed by lines that end the effect of its compiler options and macros."""
    names = sorted(set(re.findall(r"^#define (FOVEA_(?:FILLS_REGISTERS|KERNELS_\w+))", text, flags=re.M)))
    return (f"#if !defined(__clang__)\n#pragma GCC push_options\n#endif\n%s\n"
            "#if !defined(__clang__)\n#pragma GCC pop_options\n#endif\n" + "".join(f"#undef {name}\n" for name in names))


def source_file(name):
    files = [HEADERS / "fovea_config.h"] + sorted(path for path in SOURCES.rglob("*") if is_part(path))
    numbers = {section_of(path): number for number, path in enumerate(files, 1)}
    guards = {section_of(path): guard[1] for path in files if (guard := GUARD.search(path.read_text()))}
    out = [LICENSE_LINE, "//\n// fovea as one file, written by amalgamate.py from the library's sources. Sections are its files, each of which includes\n"
           f"// others as sections of this file. It must keep its name, {name}, and be in the folder of fovea.h.\n",
           "#if !defined(FOVEA_SECTION)\n"]
    sections = {path: section(path, numbers, guards, name) for path in files}
    for path in (path for path in files if path.suffix == ".cc"):
        include = include_section(numbers[section_of(path)], name)
        out.append(kernels_apart(path.read_text()) % include if is_kernels(path) else f"\n// ---- {section_of(path)}\n{sections[path]}")
    for path in (path for path in files if path.suffix != ".cc" or is_kernels(path)):
        out.append(f"\n#elif FOVEA_SECTION == {numbers[section_of(path)]}  // ---- {section_of(path)}\n")
        out.append(sections[path])
    out.append("\n#endif\n")
    return "".join(out)


def header(name, seen):
    """A header in which each header of its language replaces its first #include."""

    def included(match):
        if match[1] in seen:
            return ""
        seen.add(match[1])
        return header(match[1], seen)

    suffix = re.escape(pathlib.PurePath(name).suffix)
    return re.sub(rf'^#include "fovea/([\w/]+{suffix})".*\n', included, (HEADERS / name).read_text(), flags=re.M)


def cpp_header():
    text = header("fovea.hpp", set())
    text = re.sub(r'^#include "fovea/.*\n', '#include "fovea.h"\n', text, count=1, flags=re.M)
    return re.sub(r'^#include "fovea/.*\n', "", text, flags=re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--source", default="fovea.cc", help="what fovea.cc is to be called: fovea.cpp, for example")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    texts = {arguments.source: source_file(arguments.source), "fovea.h": header("fovea.h", set()), "fovea.hpp": cpp_header()}
    for name, text in texts.items():
        (arguments.folder / name).write_text(text)


if __name__ == "__main__":
    main()
