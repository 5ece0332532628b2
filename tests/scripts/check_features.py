#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the switches of fovea_config.h: check_features.py --build <folder> [--cmake=<argument>...] [--without] [feature...]

Builds the library without each of the features, with only each one (but for --without), and with none (by default of all), and runs
tests/features with it: a call that needs a feature that is left out must be refused and write nothing; every other call must give the
bits of the whole library. Some call there must need each feature. The whole library without checks must give these bits, too.
"""
import argparse
import pathlib
import subprocess
import sys

from library import CONFIGS, ROOT, Library, features, left_out_by, run

LEFT_OUT = "-30"
NOTHING = "0" * 16


class Program:
    def __init__(self, library):
        self.library = library
        self.object = library.folder / "features.o"
        run(library.compiler, "-std=c++17", "-Wall", "-Wextra", f"-I{ROOT}/lib/include", "-c",
            ROOT / "tests/features/features.cc", "-o", self.object)

    def lines(self, left_out=frozenset(), checks=True):
        """Title -> needed features, status, hash."""
        image = self.library.folder / "features"
        run(self.library.compiler, self.object, *(item.path for item in self.library.objects(left_out, checks=checks)), "-o", image)
        lines = (line.split("|") for line in run(image, timeout=60).splitlines())
        return {title: (set(filter(None, needs.split(","))), status, digest) for title, needs, status, digest in lines}


def complaints(lines, whole, left_out):
    if lines.keys() != whole.keys():
        yield "other lines than those of the whole library"
        return
    for title, (needs, status, digest) in lines.items():
        if not needs & left_out:
            expected = whole[title][1:]
        elif needs == {"FEW_ROWS"}:  # not refused: the other kernel does the call
            expected = lines[f"{title}, portable bits"][1:]
        else:
            expected = LEFT_OUT, NOTHING
        if (status, digest) != expected:
            yield f"{title}: status {status}, output {digest}; expected {expected[0]}, {expected[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder to build in")
    parser.add_argument("--cmake", action="append", default=[], help="for the configuration, as -DFOVEA_SIMD=xsimd")
    parser.add_argument("--without", action="store_true", help="leave out builds with one feature alone")
    parser.add_argument("features", nargs="*")
    arguments = parser.parse_args()
    every = set(features())
    program = Program(Library(arguments.build, "-DCMAKE_BUILD_TYPE=MinSizeRel", *arguments.cmake))
    whole = program.lines()

    failures = [f"whole: {title}: status {status}, output {digest}"
                for title, (_, status, digest) in whole.items() if status != "0" or digest == NOTHING]
    needed = set().union(*(needs for needs, _, _ in whole.values()))
    failures += [f"no call needs {name}" for name in sorted(every - needed)]
    failures += [f"fovea_config.h has no {name}" for name in sorted(needed - every)]
    failures += [f"minimal.h does not leave out {name}" for name in sorted(every - left_out_by("minimal.h"))]
    failures += [f"minimal.h leaves out {name}, which fovea_config.h has not" for name in sorted(left_out_by("minimal.h") - every)]
    variants = {header.name: left_out_by(header.name) for header in sorted(CONFIGS.glob("*.h"))}
    for name in arguments.features or sorted(every):
        variants |= {f"without {name}": {name}, **({} if arguments.without else {f"{name} alone": every - {name}})}
    for title, left_out in variants.items():
        try:
            failures += [f"{title}: {line}" for line in complaints(program.lines(frozenset(left_out)), whole, left_out)]
        except subprocess.CalledProcessError as error:
            failures.append(f"{title}: {error}")
    failures += [f"without checks: {line}" for line in complaints(program.lines(checks=False), whole, set())]
    print("\n".join(failures))
    print(f"{len(every)} features, {len(whole)} calls, {len(variants) + 1} builds, {len(failures)} complaints")
    return 1 if failures else 0


sys.exit(main())
