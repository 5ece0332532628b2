#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that time depends only on shapes: calls of one shape run the same number of instructions for any inputs.

    tests/scripts/check_timing.py                          # counts on all targets below
    tests/scripts/check_timing.py --targets x86-64-avx2    # on some
    tests/scripts/check_timing.py --time BUILD             # the time of calls with different inputs, on this machine

tests/timing/timing.c runs all kinds of calls with inputs that are random, constant, zero, huge, subnormal, infinite, NaN, and all
of these at once. Its instructions are counted by QEMU with the plugin of bench/counts, or by valgrind if the program runs on
this machine. One number that differs is an error: somewhere a branch, skip or early exit depends on values.
"""
import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KINDS = ["random", "constant", "zero", "huge", "subnormal", "infinite", "-infinite", "NaN", "all kinds"]
TARGETS = ["x86-64-avx2", "aarch64-linux-gnu", "armv7-linux-gnueabihf-neon", "arm-none-eabi-cortex-m55", "arm-none-eabi-cortex-m4f"]

spec = importlib.util.spec_from_file_location("counts", os.path.join(ROOT, "bench", "counts.py"))
counts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(counts)


def build(name, folder, suffix):
    if shutil.which("ninja"):
        os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
    build_type = [f"-DCMAKE_BUILD_TYPE={os.environ['FOVEA_BUILD_TYPE']}"] if "FOVEA_BUILD_TYPE" in os.environ else []
    counts.run(["cmake", "--preset", name, "-B", folder, "-DFOVEA_BUILD_EXAMPLES=OFF", "-DFOVEA_BUILD_BENCH=OFF", *build_type], cwd=ROOT)
    counts.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1), "--target", "fovea_timing"])
    return os.path.join(folder, "tests", "fovea_timing" + suffix)


def count_by_valgrind(program, kind):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(kind)]
    done = subprocess.run(command, text=True, capture_output=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"check_timing.py: failed: {' '.join(command)}\n{done.stdout}{done.stderr[-2000:]}")
    return int(found[1])


def count_by_qemu(target, program, plugin, kind):
    out = f"{program}.{kind}.txt"
    option = ["-plugin", f"{plugin},out={out}"]
    if target.bare:
        command = target.emulator + ["--", program, str(kind)]
        counts.run(command, env={**os.environ, "FOVEA_QEMU_ARGS": " ".join(option)})
    else:
        counts.run(target.emulator + option + [program, str(kind)])
    with open(out) as lines:
        ran = [line.split() for line in lines]
    return {int(address, 16): int(count) for address, count in ran}


def check(name, builds):
    """Whether all kinds of inputs take the same number of instructions."""
    target = next(t for t in counts.TARGETS if t.name == name)
    program = build(name, os.path.join(builds, name), target.suffix)
    if name == "x86-64-avx2" and shutil.which("valgrind"):
        totals = [count_by_valgrind(program, kind) for kind in range(len(KINDS))]
        by_address = None
    else:
        plugin = counts.build_plugin(builds)
        by_address = [count_by_qemu(target, program, plugin, kind) for kind in range(len(KINDS))]
        totals = [sum(ran.values()) for ran in by_address]
    print(f"{name}: {totals[0]} instructions", "whatever the inputs" if len(set(totals)) == 1 else "of random inputs")
    for kind, total in zip(KINDS, totals):
        if total != totals[0]:
            print(f"    {kind}: {total - totals[0]:+d}")
    if by_address and len(set(totals)) != 1:
        differing = sorted({a for ran in by_address for a in ran if any(o.get(a, 0) != ran[a] for o in by_address)})
        print("    from", " ".join(f"{a:x}" for a in differing[:20]))
    return len(set(totals)) == 1


def show_times(program):
    """The time of each call with each kind of input, as a multiple of the time with random numbers."""
    targets = ["best", "avx2", "sse4", "scalar"]
    for target in targets:
        times = {}
        for kind, name in enumerate(KINDS):
            done = subprocess.run([program, str(kind), "15", target], text=True, capture_output=True)
            for line in done.stdout.splitlines() if done.returncode == 0 else []:
                _, call, seconds = re.fullmatch(r"([^,]*),(.*),([\d.]+)", line).groups()
                times.setdefault(call, {})[name] = float(seconds)
        for call, by_kind in times.items():
            print(f"{target:8} {call:18}", "  ".join(f"{k} {s / by_kind['random']:.2f}" for k, s in by_kind.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default=",".join(TARGETS), help="with commas between")
    parser.add_argument("--builds", default=os.path.join(ROOT, "build", "timing"), help="folder for builds")
    parser.add_argument("--time", metavar="BUILD", help="a build folder with fovea_timing")
    options = parser.parse_args()
    if options.time:
        return show_times(os.path.join(options.time, "tests", "fovea_timing"))
    os.makedirs(options.builds, exist_ok=True)
    equal = [check(name, options.builds) for name in options.targets.split(",")]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
