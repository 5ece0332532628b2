#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels to look at in Compiler Explorer (godbolt.org): explore.py FOLDER [--check] [--links]

For each row of EXAMPLES writes FOLDER/<name>.cc, one file of kernels with all that it includes, as the preprocessor of clang 19
leaves it, and FOLDER/<name>.json, the state of a page that shows it with its compiler and flags. The page's interface takes that:
curl -H "Content-Type: application/json" -d @<name>.json https://godbolt.org/api/shortener. --links does so and writes
FOLDER/links.md. --check compiles each file alone, and compares the instructions with those of the library's own file.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

LIB = pathlib.Path(__file__).resolve().parents[3] / "lib"
COMPILER = "clang1910"  # Compiler Explorer's name of clang 19, which serves all processors by --target
HERE = "clang++-19"
SYSTEM = ("arm_mve.h", "arm_neon.h", "riscv_vector.h", "stddef.h", "stdint.h", "float.h", "limits.h", "initializer_list")  # stay includes
COMMON = "-std=gnu++17 -O2 -ffreestanding -fno-exceptions -fno-rtti"
M4F, M55 = "--target=arm-none-eabi -mcpu=cortex-m4 -mfloat-abi=hard", "--target=arm-none-eabi -mcpu=cortex-m55 -mfloat-abi=hard"
A55 = "--target=aarch64-none-elf -mcpu=cortex-a55"
# Name: the file of kernels, what is to be seen, flags of the processor.
EXAMPLES = {
    "softmax_m4f": ("core/softmax/kernels.cc", "softmax on a Cortex-M4F: one lane", M4F),
    "softmax_m55": ("core/softmax/kernels.cc", "softmax on a Cortex-M55: vectors of four", M55),
    "norm_a55": ("layers/norm/kernels.cc", "normalisation on a Cortex-A55: NEON", A55),
    "attention_m55": ("core/attention/kernels.cc", "attention on a Cortex-M55: the register blocks", M55),
    "attention_a55": ("core/attention/kernels.cc", "attention on a Cortex-A55: the register blocks", A55),
    "integer_m55": ("layers/integer/kernels.cc", "attention on int8 tensors on a Cortex-M55", M55),
}


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done.stdout


def source_of(file, title, flags):
    """The file with all includes but those of the system, which become pragmas while the preprocessor runs."""
    with tempfile.TemporaryDirectory() as stubs:
        for name in SYSTEM:
            (pathlib.Path(stubs) / name).write_text(f"#pragma once\n#pragma fovea_include {name}\n")
        text = run(HERE, *COMMON.split(), *flags.split(), "-nostdinc", "-isystem", stubs, f"-I{LIB}/src", f"-I{LIB}/include", "-E", "-P",
                   LIB / "src" / file)
    text = re.sub(r"^#pragma fovea_include (\S+)$", r"#include <\1>", text, flags=re.M)
    return f"// {title}: lib/src/{file} of fovea, Apache-2.0, made by explore.py.\n// {COMPILER} {COMMON} {flags}\n{text}"


def instructions(source, flags):
    """The assembly without names of files and debug lines."""
    text = run(HERE, *COMMON.split(), *flags.split(), f"-I{LIB}/src", f"-I{LIB}/include", "-S", "-o", "-", source)
    return [line for line in text.splitlines() if not re.match(r"\s*(\.file|\.ident|\.addrsig|@|//)", line)]


def shorten(state):
    request = urllib.request.Request("https://godbolt.org/api/shortener", json.dumps(state).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["url"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--links", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    links = []
    for name, (file, title, flags) in EXAMPLES.items():
        source = source_of(file, title, flags)
        path = options.folder / f"{name}.cc"
        path.write_text(source)
        state = {"sessions": [{"id": 1, "language": "c++", "source": source,
                               "compilers": [{"id": COMPILER, "options": f"{COMMON} {flags}"}]}]}
        (options.folder / f"{name}.json").write_text(json.dumps(state) + "\n")
        print(f"{name}: {len(source)} bytes", flush=True)
        if options.check and instructions(path, flags) != instructions(LIB / "src" / file, flags):
            sys.exit(f"{path}: other instructions than those of {file}")
        if options.links:
            links.append(f"- [{title}]({shorten(state)})\n")
    if options.links:
        (options.folder / "links.md").write_text("".join(links))


if __name__ == "__main__":
    main()
