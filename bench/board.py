#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints results of fovea_bench as a table of Markdown: bench/board.py [--mhz N] [--suite NAME] FILE...

A file is the console output of fovea_bench on a bare board (lines that are not JSON are ignored), or the file that the program
wrote with --json on an operating system. A line above the table says what the results were measured with. Several files make
several tables.
"""
import argparse
import json
import pathlib
import sys


def read(path):
    """(host, results) of a file of either kind."""
    text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    try:
        data = json.loads(text)
        if "results" in data:
            return data["host"], data["results"]
    except ValueError:
        pass
    host, results = {}, []
    for line in text.splitlines():
        try:
            data = json.loads(line)
        except ValueError:
            continue
        if not isinstance(data, dict):
            continue
        if "host" in data:
            host = data["host"]
        elif "name" in data:
            results.append(data)
    return host, results


def about(host, results):
    """What the results were measured with."""
    facts = [host.get("processor", "a processor without a name")]
    targets = sorted({f"{r['target']} ({r['backend']})" for r in results if "target" in r})
    facts.append("target " + ", ".join(targets))
    if "fovea_version" in host:
        facts.append("fovea " + ".".join(f"{number:g}" for number in host["fovea_version"]))
    facts.append(f"{host.get('compiler', 'unknown compiler')}, flags {host.get('flags') or 'unknown'}")
    facts.append(f"clock {host.get('clock', 'unknown')}")
    if host.get("mhz"):
        facts.append(f"{host['mhz']:.0f} MHz when it began")
    if host.get("most_mhz"):
        facts.append(f"at most {host['most_mhz']:.0f} MHz")
    if host.get("governor"):
        facts.append(f"governor {host['governor']}")
    return "; ".join(facts)


def number(value):
    return f"{value:.4g}" if value < 1e4 else f"{value:,.0f}".replace(",", " ")


def row(result, unit, mhz):
    if "error" in result:
        return [result["name"], "not run: " + result["error"], "", "", "", ""]
    word = "ns" if "ns_median" in result else unit.split()[0]  # on hosts every unit is called ns
    median, deviation = result[f"{word}_median"], result[f"{word}_mad"]
    multiply_adds = result.get("multiply_adds", result.get("flops", 0) / 2)
    time = median / mhz if mhz else median / 1e3 if unit == "ns" else 0
    return [
        result["name"],
        f"{number(median)} +- {100 * deviation / median:.1f} %",
        f"{median / multiply_adds:.3f}" if multiply_adds else "",
        f"{number(time)} us" if time else "",
        str(int(result.get("workspace_bytes", 0)) or ""),
        str(int(result.get("stack_bytes", 0)) or ""),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--mhz", type=float, default=0, help="the processor's clock while it ran, to compute time from cycles")
    parser.add_argument("--suite", default="", help="only cases of this suite, as board")
    arguments = parser.parse_args()
    for path in arguments.files:
        host, results = read(path)
        results = [r for r in results if not arguments.suite or r["suite"] == arguments.suite]
        if not results:
            sys.exit(f"{path}: no results of fovea_bench" + (f" in suite {arguments.suite}" if arguments.suite else ""))
        unit = host.get("unit", results[0].get("unit", "ns"))
        if arguments.mhz and unit != "cycles":
            sys.exit(f"{path}: --mhz needs cycles, and these are {unit}")
        print(f"{about(host, results)}:\n")
        print(f"| case | {unit} | for each multiply-add | time | workspace | stack |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for result in results:
            print("| " + " | ".join(row(result, unit, arguments.mhz)) + " |")
        print()


if __name__ == "__main__":
    main()
