#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of the benchmark, or files of results.

    bench/compare.py before/fovea_bench after/fovea_bench --pairs 8 -- --filter "^decode/"
    bench/compare.py before_1.json after_1.json before_2.json after_2.json ...

Runs both programs in turns, or reads what was measured so, and says which cases became slower or faster; exits with 1 if any became
slower, with 2 if nothing can be said. Of each pair the ratio of the two medians counts, and the pairs' scatter decides (t-test; Benjamini and
Hochberg's rule for many cases). What changed by less than --least is the same, too. Counts of instructions, as emulated boards print them,
have no errors: one pair is enough.
"""
import argparse
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import board

CHANCE = 0.04  # that any case of one program is called slower or faster
LEAST_PAIRS = 3


def read(path):
    """The host, the unit of its times, and {(name, target, backend, threads): result} of one run."""
    host, results, _ = board.read(path)
    unit = host.get("unit", "ns").split()[0]
    found = {}
    for result in results:
        unit = "ns" if "ns_median" in result else unit
        if result.get(f"{unit}_median"):
            found[tuple(result.get(part) for part in ("name", "target", "backend", "threads"))] = result
    return host, unit, found


def measured(programs, pairs, arguments, folder):
    """Files of runs of both programs. Which of them begins changes from pair to pair, so that a drift cancels."""
    for pair in range(pairs):
        files = [pathlib.Path(folder) / f"{pair}_{side}.json" for side in (0, 1)]
        for side in ((0, 1), (1, 0))[pair % 2]:
            print(f"\rrun {2 * pair + side + 1} of {2 * pairs}", end="", file=sys.stderr, flush=True)
            subprocess.run([programs[side], *arguments, "--json", files[side]], check=True, stdout=subprocess.DEVNULL)
        yield from files
    print("\r", end="", file=sys.stderr)


def bound(result):
    """The speed of the probe that bounds the case, measured right before and after it, or 0."""
    if result.get("exp_geps"):
        return result["exp_geps"]
    from_memory = result.get("read_level") in ("l3", "dram")
    of_peak = result.get("fraction_of_fma_peak", result.get("fraction_of_integer_peak", 0))
    if from_memory and result.get("fraction_of_read_bandwidth", 0) > of_peak:
        return result.get("read_gbps", 0)
    return result.get("peak_gflops", 0)


def chance(logs):
    """The chance that numbers around 0 scatter so far from it, by Student's t."""
    mean, degrees = statistics.fmean(logs), len(logs) - 1
    deviation = statistics.stdev(logs) if degrees else 0
    if deviation == 0:
        return float(mean == 0)
    angle = math.atan(mean / (deviation / math.sqrt(len(logs))) / math.sqrt(degrees))
    term = total = math.cos(angle) if degrees % 2 else 1
    for i in range(2 + degrees % 2, degrees, 2):
        term *= math.cos(angle) ** 2 * (i - 1) / i
        total += term
    inside = math.sin(abs(angle)) * total
    return 1 - (2 / math.pi * (abs(angle) + (inside if degrees > 1 else 0)) if degrees % 2 else inside)


def changed(logs, least):
    """Of {case: the logarithms of its pairs' ratios} the cases that became slower or faster."""
    found, count = {}, 0
    for rank, (probability, case) in enumerate(sorted((chance(values), case) for case, values in logs.items()), 1):
        found[case] = rank
        if probability <= CHANCE * rank / len(logs):
            count = rank
    return {case for case, rank in found.items() if rank <= count and abs(statistics.median(logs[case])) > math.log1p(least)}


def show_time(value, unit):
    if unit != "ns":
        return f"{value:.6g}"
    for name, scale in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if value < 1000 * scale:
            break
    return f"{value / scale:.4g} {name}"


def compare(files, options, fail):
    """Prints what changed in runs in the order before, after, before, after; 1 if anything became slower."""
    runs = [read(path) for path in files]
    units = {unit for _, unit, _ in runs}
    if len(units) > 1:
        fail(f"the files count {' and '.join(sorted(units))}: they cannot be compared")
    unit = units.pop()
    if unit != "instructions" and len(runs) < 2 * LEAST_PAIRS:
        fail(f"errors between runs need at least {LEAST_PAIRS} pairs of runs, made in turns: before, after, before, after, ...")
    for key in ("processor", "compiler", "flags", "clock", "cold"):
        was, now = ({str(host.get(key)) for host, _, _ in runs[side::2]} for side in (0, 1))
        if was != now:
            print(f"note: {key} differs: {', '.join(sorted(was))} / {', '.join(sorted(now))}")
    found = [run[2] for run in runs]
    common = set.intersection(*map(set, found))
    if not common:  # other targets: the best one of each
        print("note: the runs have no target in common: of each case the best target counts")
        found = [{(case[0], "", "", ""): result for case, result in reversed(results.items())} for results in found]
        common = set.intersection(*map(set, found))
    common = {case for case in common if re.search(options.filter, case[0])}
    if not common:
        fail("the runs have no case in common")

    logs = {case: [] for case in common}
    for before, after in zip(found[::2], found[1::2]):
        for case, values in logs.items():
            old, new = before[case], after[case]
            probes = bound(new) / bound(old) if options.by_probe and bound(old) and bound(new) else 1
            values.append(math.log(new[f"{unit}_median"] / old[f"{unit}_median"] * probes))
    different = changed(logs, options.least / 100)
    ratios = {case: math.exp(statistics.median(values)) for case, values in logs.items()}
    groups = {"slower": [case for case in different if ratios[case] > 1], "faster": [case for case in different if ratios[case] < 1],
              "the same": [case for case in logs if case not in different]}
    for title, cases in groups.items():
        if not cases or (title == "the same" and not options.all):
            continue
        print(f"\n{title}:")
        for case in sorted(cases, key=lambda case: (-abs(math.log(ratios[case])), case[0])):
            times = [show_time(statistics.median(run[case][f"{unit}_median"] for run in found[side::2]), unit) for side in (0, 1)]
            noise = 100 * statistics.stdev(logs[case]) if len(logs[case]) > 1 else 0
            print(f"  {case[0]:44} {case[1] or '':8} {case[2] or '':10} {times[0]:>10} -> {times[1]:>10}"
                  f"  time x {ratios[case]:.3f}  (pairs scatter by {noise:.1f} %)")
    missing = sorted({case[0] for run in found for case in run if case not in common and re.search(options.filter, case[0])})
    if missing:
        print(f"\nnot in all runs: {', '.join(missing)}")
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    counts = ", ".join(f"{len(cases)} {title}" for title, cases in groups.items())
    print(f"\n{len(logs)} cases in {len(runs) // 2} pairs of runs: {counts}; "
          f"{unit if unit != 'ns' else 'time'} x {mean:.3f} in the geometric mean")
    return 1 if groups["slower"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="program|file", help="two programs, or files: before, after, before, after, ...")
    parser.add_argument("--pairs", type=int, default=8, help="how often each program runs (8)")
    parser.add_argument("--least", type=float, default=2.0, help="percent that never count as a change (2)")
    parser.add_argument("--filter", default="", help="only cases whose name matches this expression")
    parser.add_argument("--by-probe", action="store_true",
                        help="compare fractions of the probes measured beside each case, for machines whose speed drifts")
    parser.add_argument("--all", action="store_true", help="print what did not change as well")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:end])
    if len(options.runs) % 2:
        parser.error("runs come in pairs: before, after, before, after, ...")
    try:
        if len(options.runs) > 2 or not all(os.access(path, os.X_OK) for path in options.runs):
            return compare(options.runs, options, parser.error)
        with tempfile.TemporaryDirectory() as folder:
            return compare(list(measured(options.runs, options.pairs, sys.argv[end + 1:], folder)), options, parser.error)
    except (OSError, subprocess.CalledProcessError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
