#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the library without CMake, as a list of files and as one file: check_plain.py [processor...]

Each file of lib/src is compiled with the flags of platform/packages/README.md and no define, and the compiler's macros must choose the
backend. For boards the objects are linked with examples/firmware, whose linker script and start-up do not support exceptions, and
the image runs in the emulator, if there is one. Files with floating point are compiled again with the options that decide bits: the
code must be the same, since the sources contain these options. The file that platform/packages/amalgamate.py writes must compile by
one command; on this machine it must pass the [short] test cases: --tests names the build folder of a scalar library with the small
test driver. Processors without a compiler are skipped.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "plain"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
DECIDING = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
WITH_FLOATS = ["lib/src/core/attention/kernels.cc", "lib/src/core/attention/plan.cc", "lib/src/layers/quantize/call.cc"]

PLAIN = "platform/packages/README.md"
# The commands of each page.
PAGES = {
    PLAIN: r"all `\.cc` files below `lib/src`, with `([^`]*)`",
    "platform/packages/amalgamation/README.md": r"`g\+\+ ([^`]*) -O2 -c fovea\.cc`",
}
# Name: board of examples/firmware with such a processor, or with one that runs its code.
BOARDS = {"cortex-m0plus": "mps2-an385", "cortex-m4f": "mps2-an386", "cortex-m55": "mps3-an547"}

# Name: compiler and processor, backend. Only the compiler's own headers: neither Highway nor a C library.
BARE = "-ffreestanding -nostdinc -isystem {include}"
PROCESSORS = {
    "cortex-m0plus": ("arm-none-eabi-g++ -mcpu=cortex-m0plus -mthumb", "scalar"),
    "cortex-m4": ("arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb", "scalar"),  # without floating point
    "cortex-m4f": ("arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", "scalar"),
    "cortex-m55": ("arm-none-eabi-g++ -mcpu=cortex-m55 -mthumb -mfloat-abi=hard", "helium"),
    "cortex-a53": ("aarch64-linux-gnu-g++ -mcpu=cortex-a53", "neon"),
    "cortex-a7": ("arm-linux-gnueabihf-g++ -mcpu=cortex-a7 -mfpu=neon-vfpv4", "neon"),
    "riscv32": (f"riscv64-unknown-elf-g++ -march=rv32imc -mabi=ilp32 {BARE}", "scalar"),
    "xtensa": (f"xtensa-lx106-elf-g++ {BARE}", "scalar"),
    "x86": ("g++", "highway"),
    "x86-without-highway": (f"g++ {BARE}", "scalar"),
}


def run(command, **options):
    result = subprocess.run(list(map(str, command)), cwd=options.pop("cwd", ROOT), capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{(result.stdout + result.stderr)[-3000:]}")
    return result.stdout


def flags_of(page):
    found = re.search(PAGES[page], (ROOT / page).read_text())
    if not found:
        raise RuntimeError(f"{page} does not say how to compile without CMake, where this is looked for: {PAGES[page]}")
    return found[1].split()


def compiler_of(text):
    words = text.split()
    include = run([words[0], "-print-file-name=include"]).strip() if shutil.which(words[0]) else ""
    return [word.format(include=include) for word in words]


def code_of(compiler, source, output, *options):
    """The machine code of a file, as text."""
    run([*compiler, *flags_of(PLAIN), *options, "-O2", "-c", source, "-o", output])
    objdump = re.sub(r"g\+\+$", "objdump", compiler[0])
    return run([objdump, "-dr", output]).split("\n", 3)[3]


def run_firmware(name, compiler, objects, folder):
    """Links examples/firmware with the objects of the library for the processor's board, and runs it there."""
    board, firmware, data = BOARDS[name], ROOT / "examples" / "firmware", ROOT / "examples" / "attend_sentence"
    sources = [firmware / "main.cc", data / "data.cc",
               *(firmware / "board" / f"{source}.cc" for source in ("console", "cortex_m", "start"))]
    image = folder / "firmware.elf"
    run([*compiler, *flags_of(PLAIN), f'-DFIRMWARE_BOARD="{board}"', "-Os", "-fno-tree-loop-distribute-patterns", *sources, f"-I{data}",
         *objects, "-nostartfiles", "-static", "-Wl,--gc-sections", f"-L{firmware / 'board'}", f"-T{board}.ld", "-o", image])
    if not shutil.which("qemu-system-arm"):
        return "firmware linked"
    run([ROOT / "toolchains" / "common" / "qemu-system.sh", "qemu-system-arm", "-M", board, "--", image])
    return "firmware linked and run"


def check(name, pool):
    text, backend = PROCESSORS[name]
    compiler, folder = compiler_of(text), WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    chosen = f'#include "ground/targets/compiled.h"\nstatic_assert(FOVEA_WITH_{backend.upper()} == 1, "another backend is chosen");\n'
    plain = [*compiler, *flags_of(PLAIN), *WARNINGS]
    # With -O1 g++ 12 converts integers under a condition, which GNU as 2.40 refuses for Helium.
    level = "-Os" if backend == "helium" else "-O1"
    run([*plain, "-fsyntax-only", "-x", "c++", "-"], input=chosen)
    files = sorted(path.relative_to(ROOT) for path in (ROOT / "lib" / "src").rglob("*.cc"))
    objects = [folder / f"{'_'.join(file.with_suffix('').parts[-3:])}.o" for file in files]
    jobs = [pool.submit(run, [*plain, level, "-c", file, "-o", to]) for file, to in zip(files, objects)]
    flags = flags_of("platform/packages/amalgamation/README.md")
    one_file = folder / "amalgamation.o"
    what = [level, "-c", "-o", one_file] if name in BOARDS else ["-fsyntax-only"]  # nothing is linked with the others
    jobs.append(pool.submit(run, [*compiler, *flags, *WARNINGS, *what, "fovea.cc"], cwd=WORK / "one"))
    for job in jobs:
        job.result()
    firmware = ""
    if name in BOARDS:
        firmware = f"; {run_firmware(name, compiler, objects, folder)}, as a list of files and as one"
        run_firmware(name, compiler, [one_file], folder)
    if "nostdinc" not in text and backend != "highway":
        # On NEON g++ 12 inlines kernels otherwise where options come from the command line; scalar and Helium show the same text.
        for file in WITH_FLOATS[backend == "neon":]:
            if code_of(compiler, file, folder / "a.o") != code_of(compiler, file, folder / "b.o", *DECIDING):
                raise RuntimeError(f"{file}: {' '.join(DECIDING)} change the code: the source must say them")
    print(f"{name}: {len(files)} files, and one of all: {backend}{firmware}")


def check_syntax(compiler):
    """Whether all files can be one, where names of two files may not be the same."""
    with tempfile.TemporaryDirectory() as folder:
        run([sys.executable, "platform/packages/amalgamate.py", folder])
        run([compiler, *flags_of("platform/packages/amalgamation/README.md"), "-fsyntax-only", "fovea.cc"], cwd=folder)


def check_tests(build):
    """Runs the short cases with the one file instead of the library."""
    build = build.resolve()
    run(["g++", *flags_of("platform/packages/amalgamation/README.md"), *WARNINGS, "-O2", "-c", "fovea.cc", "-o",
         WORK / "fovea.o"], cwd=WORK / "one")
    link = run(["ninja", "-C", build, "-t", "commands", "tests/fovea_tests"]).splitlines()[-1]
    first, *others = link.split(" lib/libfovea.a")  # an archive may be named several times, an object once
    link = f"{first} {WORK / 'fovea.o'}{''.join(others)}".replace("-o tests/fovea_tests", f"-o {WORK / 'tests'}")
    run(["sh", "-c", link], cwd=build)
    print("tests with the one file:", run([WORK / "tests", "[short]"]).splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("processor", nargs="*", metavar="processor", help=f"of {', '.join(PROCESSORS)}; without it: all")
    parser.add_argument("--tests", type=pathlib.Path, help="build folder whose tests are linked with the one file")
    parser.add_argument("--syntax", metavar="compiler", help="looks only at the one file, with this compiler for this machine")
    arguments = parser.parse_args()
    if arguments.syntax:
        check_syntax(arguments.syntax)
        return
    shutil.rmtree(WORK, ignore_errors=True)
    run([sys.executable, "platform/packages/amalgamate.py", WORK / "one"])
    old = subprocess.run(["g++", *flags_of(PLAIN), "-std=gnu++14", "-fsyntax-only", "lib/src/ground/base/info.cc"], cwd=ROOT,
                         capture_output=True, text=True)
    if old.returncode == 0 or "fovea is written in C++17" not in old.stderr:
        sys.exit("an older standard than C++17 is not refused clearly")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name in arguments.processor or PROCESSORS:
            if shutil.which(PROCESSORS[name][0].split()[0]):
                check(name, pool)
            else:
                print(f"skipped: {name}: there is no {PROCESSORS[name][0].split()[0]}")
    if arguments.tests:
        check_tests(arguments.tests)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
