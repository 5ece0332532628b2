#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares one run of the benchmark with another: bench/compare.py before.json after.json

Says what became slower or faster beyond noise, and exits with 1 if anything became slower. A change is beyond noise when it is
greater than --least and than three standard errors of the two medians, which follow from their median absolute deviations.
"""
import argparse
import json
import math
import re
import sys

# For a normal distribution: standard deviation / median absolute deviation; standard error of the median / of the mean.
MAD_TO_DEVIATION = 1.4826
MEDIAN_TO_MEAN = 1.2533


def load(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    results = {}
    for result in data["results"]:
        if "ns_median" in result:
            results[result["name"], result["target"], result["backend"], result["threads"]] = result
    return data, results


def bound(result):
    """The speed of the probe that bounds the case, measured right before and after it, or 0."""
    if result.get("exp_geps"):
        return result["exp_geps"]
    from_memory = result.get("read_level") in ("l3", "dram")
    of_peak = result.get("fraction_of_fma_peak", result.get("fraction_of_integer_peak", 0))
    if from_memory and result.get("fraction_of_read_bandwidth", 0) > of_peak:
        return result.get("read_gbps", 0)
    return result.get("peak_gflops", 0)


def error(result):
    """Relative standard error of the median."""
    batches = result.get("batches", 1)
    return MEDIAN_TO_MEAN * MAD_TO_DEVIATION * result["ns_mad"] / result["ns_median"] / math.sqrt(batches)


def show_time(ns):
    for unit, scale in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if ns < 1000 * scale:
            break
    return f"{ns / scale:.4g} {unit}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--least", type=float, default=2.0, help="percent that never count as a change (2)")
    parser.add_argument("--filter", default="", help="only cases whose name matches this expression")
    parser.add_argument("--by-probe", action="store_true",
                        help="compare fractions of the probes measured beside each case, for machines whose speed drifts")
    parser.add_argument("--all", action="store_true", help="print what did not change as well")
    options = parser.parse_args()

    before_data, before = load(options.before)
    after_data, after = load(options.after)
    for key in ("processor", "compiler", "clock", "cold"):
        was, now = before_data["host"].get(key), after_data["host"].get(key)
        if was != now:
            print(f"note: {key} differs: {was} / {now}")

    slower, faster, same, logs = [], [], [], []
    for key, new in after.items():
        old = before.get(key)
        if not old or not re.search(options.filter, key[0]):
            continue
        ratio = new["ns_median"] / old["ns_median"]
        if options.by_probe and bound(old) and bound(new):
            ratio *= bound(new) / bound(old)
        noise = max(options.least / 100, 3 * math.hypot(error(old), error(new)))
        logs.append(math.log(ratio))
        row = (ratio, noise, key, old, new)
        (slower if ratio > 1 + noise else faster if ratio < 1 / (1 + noise) else same).append(row)
    if not logs:
        sys.exit("the two files have no case in common")

    groups = [("slower", slower), ("faster", faster)] + ([("no change beyond noise", same)] if options.all else [])
    for title, rows in groups:
        if not rows:
            continue
        print(f"\n{title}:")
        for ratio, noise, (name, target, backend, _), old, new in sorted(rows, key=lambda row: -abs(math.log(row[0]))):
            print(f"  {name:44} {target:8} {backend:10} {show_time(old['ns_median']):>10} -> {show_time(new['ns_median']):>10}"
                  f"  time x {ratio:.3f}  (noise {100 * noise:.1f}%)")
    missing = [key[0] for key in before if key not in after and re.search(options.filter, key[0])]
    if missing:
        print(f"\nnot in {options.after}: {', '.join(missing)}")
    print(f"\n{len(logs)} cases: {len(slower)} slower, {len(faster)} faster, {len(same)} the same; "
          f"time x {math.exp(sum(logs) / len(logs)):.3f} in the geometric mean")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
