#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each text of a kernel, a lib/src/**/*.inl, can be read alone: check_alone.py [--write] [--guards] [names]

It has a guard, which ground/targets/next_target.h undefines, since it is compiled once for each target; --write writes that file. It includes
what it uses: after tests/kernels/any_target.h, it alone compiles for two processors, or for the one that its name says. Without a compiler
for a processor its texts are left out, and said to be. --guards checks nothing else.
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
SOURCES = ROOT / "lib" / "src"
HEADER = "kernels/any_target.h"
NEXT = SOURCES / "ground" / "targets" / "next_target.h"
ARM = ["-mthumb", "-mfloat-abi=hard"]
X86 = ["g++", "-maes", "-mbmi", "-mbmi2", "-mpclmul", "-mf16c", "-mfma"]
COMPILERS = {
    "avx2": [*X86, "-mavx2"],
    "avx512": [*X86, "-march=skylake-avx512"],
    "aarch64": ["aarch64-linux-gnu-g++", "-mcpu=cortex-a53"],
    "armv7": ["arm-linux-gnueabihf-g++", "-march=armv7-a+neon-vfpv4", *ARM],
    "helium": ["arm-none-eabi-g++", "-mcpu=cortex-m55", *ARM],
    "smlad": ["arm-none-eabi-g++", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", *ARM],
    "rvv": ["clang++-19", "--target=riscv64-linux-gnu", "-march=rv64gcv_zvl256b", "-mrvv-vector-bits=zvl"],
}
# A processor's own texts, by a part of their names; the first that fits. All others are for two processors.
OWN = {"avx512": "avx512", "vnni": "avx2", "pmaddwd": "avx2", "maddubs": "avx2", "x86": "avx2", "helium": "helium", "smlad": "smlad", "vfp": "smlad",
       "neon32": "armv7", "neon": "aarch64", "sdot": "aarch64", "smmla": "aarch64", "rvv": "rvv", "vwmacc": "rvv"}
# Parts of the backend headers, which any_target.h includes, the choice of a backend, and what needs a header of the user's.
PARTS = {f"ground/simd/{name}.inl" for name in (
    "apart common derived dot_own f16 helium highway narrow neon own rvv rvv_group rvv_words scalar wasm x86 xsimd").split()}
PARTS |= {f"ground/targets/{name}.inl" for name in ("backend", "each_target", "one_target", "options")}


def guard_of(name):
    return "FOVEA_SRC_" + re.sub(r"\W", "_", name.split("/", 1)[1]).upper() + "_"


def texts():
    return sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.inl"))


def guarded():
    return [name for name in texts() if f"\n#define {guard_of(name)}\n" in (SOURCES / name).read_text()]


def next_target():
    return ("// SPDX-License-Identifier: Apache-2.0\n//\n"
            "// Undefines the guards of the texts of kernels: the next target includes them again.\n// Written by tests/scripts/check_alone.py --write.\n" + "".join(f"#undef {guard_of(name)}\n" for name in guarded()))


def processors_of(name):
    for part, processor in OWN.items():
        if part in pathlib.PurePath(name).name:
            return [processor]
    return ["avx2", "aarch64"]


def flags(processor):
    return [*COMPILERS[processor], "-std=gnu++17", "-O2", "-w", f"-I{SOURCES}", f"-I{SOURCES.parent / 'include'}", f"-I{ROOT / 'tests'}"]


def compiles(name, processor, folder):
    compiler, *options = flags(processor)
    run = subprocess.run([compiler, f"-I{folder}/{processor}", *options, "-fsyntax-only", "-include", HEADER, "-x", "c++", name],
                         cwd=SOURCES, capture_output=True, text=True)
    return "" if run.returncode == 0 else f"{name} for {processor}:\n" + "\n".join(run.stderr.splitlines()[:6])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write ground/targets/next_target.h")
    parser.add_argument("--guards", action="store_true", help="check guards alone")
    parser.add_argument("names", nargs="*", help="texts, as in core/attention/tile.inl; default: all")
    arguments = parser.parse_args()
    if arguments.write:
        NEXT.write_text(next_target())
    failures = [] if NEXT.read_text() == next_target() else ["ground/targets/next_target.h is old: check_alone.py --write"]
    names = arguments.names or [name for name in texts() if name not in PARTS]
    failures += [f"{name} has no guard {guard_of(name)}" for name in names if name not in guarded()]
    pairs = [] if arguments.guards else [(name, processor) for name in names for processor in processors_of(name)]
    left_out = sorted({processor for _, processor in pairs if not shutil.which(COMPILERS[processor][0])})
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for processor in sorted({processor for _, processor in pairs} - set(left_out)):
            header = pathlib.Path(folder, processor, f"{HEADER}.gch")
            header.parent.mkdir(parents=True)
            subprocess.run([*flags(processor), "-x", "c++-header", ROOT / "tests" / HEADER, "-o", header], cwd=SOURCES, check=True)
        failures += filter(None, pool.map(lambda pair: compiles(*pair, folder), [pair for pair in pairs if pair[1] not in left_out]))
    print("\n".join(failures) if failures else f"{len(names)} texts can be read alone")
    if left_out:
        print("left out, since there is no compiler: texts for", ", ".join(left_out))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
