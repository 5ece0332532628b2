#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests bench/compare.py with made-up runs: check_compare.py

In 19 of 20 comparisons of one program with itself all cases are the same, whatever the noise; changes are found; files that cannot be
compared are refused in words.
"""
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from compare import changed  # noqa: E402

CASES, PAIRS, TIMES = 112, 8, 200
BOARDS = [f"bench/results/boards/qemu-cortex-{name}.json" for name in ("m4f", "m55")]
# Noise of a run, in percent: of the machine for all cases, of each case, how often a case is disturbed, a drift from run to run.
NOISES = {"a quiet machine": (0, .5, 0, 0), "cases": (0, 5, 0, 0), "machine": (8, 1, 0, 0), "disturbed": (1, 1, .1, 0),
          "drift": (0, 1, 0, 1)}
# Files, options; what is said, and the status.
CALLS = [
    (BOARDS, r"16 cases in 1 pairs of runs: 0 slower, 16 faster", 0),
    (BOARDS[::-1], r"16 slower, 0 faster", 1),
    (BOARDS[:1] * 2, r"0 slower, 0 faster, 16 the same", 0),
    ([BOARDS[0], "bench/results/speed.json"], r"count instructions and ns: they cannot be compared", 2),
    (["bench/results/speed.json"] * 2, r"need at least 3 pairs", 2),
    (["bench/results/speed.json"] * 6, r"3 pairs of runs: 0 slower, 0 faster, \d+ the same", 0),
    (["bench/results/speed.json"] * 3, r"runs come in pairs", 2),
    (["bench/results/peers_chat.json", "bench/results/delta.json"] * 3, r"no case in common", 2),
    ([*BOARDS, "--filter", "nothing"], r"no case in common", 2),
    (["bench/results/none.json"] * 2, r"No such file", 2),
    (["faster.py", "slower.py", "--pairs", "3", "--", "--twice"], r"1 cases in 3 pairs of runs: 1 slower", 1),
    (["faster.py", "faster.py", "--pairs", "3", "--", "--twice"], r"1 cases in 3 pairs of runs: 0 slower", 0),
]
# A program that measures as fovea_bench does.
PROGRAM = """#!{python}
import json, random, sys
assert sys.argv[1:3] == ["--twice", "--json"]
result = {{"name": "softmax", "target": "scalar", "backend": "scalar", "threads": 1, "ns_median": {ns} + random.random()}}
json.dump({{"host": {{"unit": "ns"}}, "results": [result]}}, open(sys.argv[3], "w"))
"""


def logs(noise, slower):
    """Logarithms of the pairs' ratios of made-up runs. The second program takes `slower` times as long in every tenth case."""
    machine, own, disturbed, drift = (part / 100 if i != 2 else part for i, part in enumerate(noise))
    found = {case: [] for case in range(CASES)}
    for pair in range(PAIRS):
        speeds = [random.gauss(0, machine) + drift * run for run in (2 * pair, 2 * pair + 1)]
        speeds = speeds[::-1] if pair % 2 else speeds  # as compare.py does: the order of a pair changes
        for case, values in found.items():
            runs = [speed + random.gauss(0, own) + (random.random() if random.random() < disturbed else 0) for speed in speeds]
            values.append(runs[1] - runs[0] + (math.log(slower) if case % 10 == 0 else 0))
    return found


def main():
    random.seed(49)
    complaints = []
    for name, noise in NOISES.items():
        wrong = sum(bool(changed(logs(noise, 1), .02)) for _ in range(TIMES))
        if wrong > TIMES / 20:
            complaints.append(f"{name}: of {TIMES} comparisons of a program with itself {wrong} find a difference")
    found = changed(logs(NOISES["a quiet machine"], 1.05), .02)
    if found != set(range(0, CASES, 10)):
        complaints.append(f"of the cases that take 5 % longer these are found: {sorted(found)}")
    if changed(logs((0, .1, 0, 0), 1.01), .02):
        complaints.append("1 % counts as a change")
    with tempfile.TemporaryDirectory() as folder:
        for name, ns in (("faster.py", 100), ("slower.py", 120)):
            path = pathlib.Path(folder) / name
            path.write_text(PROGRAM.format(python=sys.executable, ns=ns))
            path.chmod(0o755)
        for arguments, expected, status in (call for call in CALLS if os.name == "posix" or "--twice" not in call[0]):
            words = [folder + "/" + word if word.endswith(".py") else word for word in arguments]
            result = subprocess.run([sys.executable, "bench/compare.py", *words], cwd=ROOT, capture_output=True, text=True)
            if result.returncode != status or not re.search(expected, result.stdout + result.stderr):
                complaints.append(f"{' '.join(arguments)}: {result.returncode}, {result.stdout}{result.stderr}")
    print("\n".join(complaints + [f"{len(NOISES)} kinds of noise, {len(CALLS)} calls, {len(complaints)} complaints"]))
    return 1 if complaints else 0


sys.exit(main())
