#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints results of fovea_bench as a table of Markdown: bench/board.py [--mhz N] [--suite NAME] FILE...
or makes a file of them to send: bench/board.py --send "NAME OF THE BOARD" [--mhz N] [--soc TEXT, --memory TEXT, ...] FILE... >my_board.json

A file is the console output of a program of platform/boards, or of fovea_bench on a bare board (lines that are not JSON are
ignored), or the file that the program wrote with --json on an operating system. A line above the table says what the results were
measured with. Several files make several tables. A file to send has the suite board alone, of the processor's best target, and
nothing about the machine but what the table shows; bench/results/boards collects such files. What an option says of the board
(FACTS_TO_SAY) is in it, or "not measured". The self-test has a digest: of those that it printed as the same for all targets, each
once, so that it does not depend on the targets of the build. A further FILE is what fovea_selftest printed, if it ran as a program of
its own.

Instructions of an emulator also bring cycles that a processor would take, where its manual has the time of instructions (TIMINGS): an
estimate, from the fastest to the slowest of those that kernels consist of. Caches and wait states come in addition.
"""
import argparse
import hashlib
import json
import pathlib
import re
import sys


HOST = ("processor", "compiler", "flags", "clock", "unit", "fovea_version", "mhz", "most_mhz", "governor")
# Option of --send: what it says.
FACTS_TO_SAY = {
    "soc": "the chip, as STM32F411RE",
    "core": "the processor's name and revision, as Cortex-M4 r0p1",
    "memory": "where code, workspace and stack are, wait states, caches",
    "commit": "of the sources",
    "flash": "bytes of flash of the program",
    "ram": "bytes of RAM of the program, without the stack",
    "sustained": "a case and its time after 60 seconds of it, as \"1x64x64x32: 7.1 ms\"",
    "mj": "a case and its energy in mJ, and how it was measured",
    "peer": "the same case by another library on this board: which, its flags, its time",
}
FACTS = ("board", "kind", "mhz", "note", "selftest", "digest", *FACTS_TO_SAY)
UNKNOWN = "not measured"
# Processor: cycles of the fastest and of the slowest instruction that fills kernels, where that is. Arm publishes none for the
# Cortex-M7 and A53.
TIMINGS = {
    "Cortex-M0+": (1, 2, "Cortex-M0+ Technical Reference Manual, instruction set summary: 1 of arithmetic and of its fast multiplier, 2 of a load"),
    "Cortex-M3": (1, 5, "Cortex-M3 Technical Reference Manual, instruction timings: 1 of arithmetic, 2 of a load, up to 5 of a long multiplication"),
    "Cortex-M4": (1, 3, "Cortex-M4 Technical Reference Manual, instruction timings: 1 of arithmetic, 2 of a load, 3 of a multiply-add"),
    "Cortex-M55": (1, 2, "Cortex-M55 Software Optimization Guide: 1 of most scalar instructions, 2 of most vectors"),
}


def read(path):
    """(host, results, facts) of a file of any kind. The facts are what a file to send says in addition: board, selftest, ..."""
    text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    try:
        data = json.loads(text)
        if "results" in data:
            return data.get("host", {}), data["results"], {key: data[key] for key in FACTS if key in data}
    except ValueError:
        pass
    host, results, facts, digests = {}, [], {}, []
    for line in text.splitlines():
        digests += re.findall(r"^([0-9a-f]{16})  .*\(same for: all\)$", line)
        if "give the published bits" in line or "DIFFERS: " in line:  # fovea_selftest
            facts["selftest"] = "differs" if "DIFFERS: " in line else "same bits"
            facts["digest"] = hashlib.sha256(" ".join(dict.fromkeys(digests)).encode()).hexdigest()[:16]
            digests = []
        try:
            data = json.loads(line)
        except ValueError:
            continue
        if not isinstance(data, dict):
            continue
        if "host" in data:
            host, results = data["host"], []  # a program that runs again and again: the last whole run counts
        elif "name" in data:
            results.append(data)
        else:
            facts.update({key: data[key] for key in FACTS if key in data})
    return host, results, facts


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


def estimate(result, host):
    """The cycles that the processor may take, as a text; empty if its manual does not tell."""
    least, most, _ = TIMINGS.get(host.get("processor", ""), (0, 0, ""))
    counted = result.get("instructions_median", 0)
    return f"{number(least * counted)} to {number(most * counted)}" if least and counted else ""


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


def to_send(paths, name, mhz, note, said):
    """The text of a file to send."""
    host, results, facts = {}, [], {}
    for path in paths:
        of_host, more, of_facts = read(path)
        host, results, facts = {**host, **of_host}, results + more, {**facts, **of_facts}
    results = [r for r in results if r["suite"] == "board"]
    measured = [r for r in results if "error" not in r]
    if not measured:
        sys.exit(f"{' '.join(paths)}: no results of fovea_bench in suite board")
    best = measured[0]["target"]
    kept = ("name", "target", "backend", "error", "multiply_adds", "flops", "workspace_bytes", "stack_bytes")
    ends = ("_median", "_mad", "_min")
    results = [{key: value for key, value in r.items() if key in kept or key.endswith(ends)}
               for r in results if "error" in r or r["target"] == best or best.startswith(r["target"])]
    host = {key: host[key] for key in HOST if host.get(key)}
    host.setdefault("unit", "ns")
    data = {"board": name, "kind": "emulator" if host["unit"] == "instructions" else "board", "mhz": mhz or host.get("mhz", 0),
            "note": note, "selftest": facts.get("selftest", "not run"), "digest": facts.get("digest", UNKNOWN), **said, "host": host}
    lines = ",\n".join("    " + json.dumps(result) for result in results)
    return "{\n" + "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in data.items()) + f'  "results": [\n{lines}\n  ]\n}}'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--mhz", type=float, default=0, help="the processor's clock while it ran, to compute time from cycles")
    parser.add_argument("--suite", default="", help="only cases of this suite, as board")
    parser.add_argument("--send", metavar="NAME", help="the board's name: prints the file to send instead of a table")
    parser.add_argument("--note", default="", help="with --send: what else matters, as memory, wait states or cooling")
    for name, text in FACTS_TO_SAY.items():
        parser.add_argument(f"--{name}", default=UNKNOWN, metavar="TEXT", help=f"with --send: {text}")
    arguments = parser.parse_args()
    if arguments.send:
        said = {name: getattr(arguments, name) for name in FACTS_TO_SAY}
        print(to_send(arguments.files, arguments.send, arguments.mhz, arguments.note, said))
        return
    for path in arguments.files:
        host, results, _ = read(path)
        results = [r for r in results if not arguments.suite or r.get("suite", "board") == arguments.suite]
        if not results:
            sys.exit(f"{path}: no results of fovea_bench" + (f" in suite {arguments.suite}" if arguments.suite else ""))
        unit = host.get("unit", results[0].get("unit", "ns"))
        if arguments.mhz and unit != "cycles":
            sys.exit(f"{path}: --mhz needs cycles, and these are {unit}")
        print(f"{about(host, results)}:\n")
        estimated = [estimate(result, host) for result in results]
        shown = [[*row(result, unit, arguments.mhz), *([cycles] if any(estimated) else [])] for result, cycles in zip(results, estimated)]
        print(f"| case | {unit} | for each multiply-add | time | workspace | stack |" + (" cycles, an estimate |" if any(estimated) else ""))
        print("| --- |" + " ---: |" * (len(shown[0]) - 1))
        print("".join("| " + " | ".join(cells) + " |\n" for cells in shown))
        if any(estimated):
            print(f"Estimate: {TIMINGS[host['processor']][2]}.\n")


if __name__ == "__main__":
    main()
