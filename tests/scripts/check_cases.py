#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests, and shows that no case was left out:
check_cases.py --filter "[short]" --tests <folder tests> -- <command that runs them> <arguments>

The command gets the filter; "-d yes", which makes Catch2 print the name of each case that it ran; and "-w NoAssertions", which
makes a case without checks fail. The small driver always does both. The names are compared with the cases of the sources, and
the number of skipped parts that cases print with the program's count. The status is the command's, or 1 if something differs.
A filter is a tag, "[short]", or a part of a name, "*stream*"; ~ before it negates it.
"""
import argparse
import pathlib
import re
import subprocess
import sys

CASE = re.compile(r'^(?:INSIDE|TEST)_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)(?:,\s*"([^"]*)")?\s*\)', flags=re.M)
RAN = re.compile(r"^\d+\.\d+ s: (.*)$")
SKIPPED = re.compile(r"^skipped: (.*)$")
SKIPPED_IN_ALL = re.compile(r"^skipped in all: (\d+) cases, .*; (\d+) targets$")


def cases(folder):
    """Names of the cases in the sources, and their tags."""
    found = {}
    for path in sorted(folder.glob("*.cc")):
        text = path.read_text()
        matches = list(CASE.finditer(text))
        if len(matches) != len(re.findall(r"^\w*_CASE\(", text, flags=re.M)):
            sys.exit(f"{path}: a case that this script does not understand")
        for match in matches:
            found["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1)))] = match.group(2) or ""
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True, help="[tag] or *part of a name*; ~ before it negates it")
    parser.add_argument("--tests", required=True, type=pathlib.Path)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    match = re.fullmatch(r"(~?)(?:(\[\w+\])|\*([^[*,]+)\*)", arguments.filter)
    if not match:
        sys.exit(f"{arguments.filter} is neither a tag nor a part of a name")
    inverted, tag, part = match.groups()
    wanted = {name for name, tags in cases(arguments.tests).items()
              if (tag in tags if tag else part.lower() in name.lower()) != bool(inverted)}
    print(f"{len(wanted)} cases {arguments.filter} to run", flush=True)

    ran, skipped, counted = [], set(), None
    command = arguments.command + [arguments.filter, "-d", "yes", "-w", "NoAssertions"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    for line in process.stdout:
        print(line, end="", flush=True)
        if match := RAN.match(line):
            ran.append(match.group(1).strip())
        elif match := SKIPPED.match(line):
            subject = next((name for name in wanted if match.group(1).startswith(f"{name}: ")), match.group(1))
            skipped.add(subject)
        elif match := SKIPPED_IN_ALL.match(line):
            counted = sum(map(int, match.groups()))
    status = process.wait()

    complaints = [f"not run: {name}" for name in sorted(wanted - set(ran))]
    complaints += [f"run, but not among the sources' {arguments.filter}: {name}" for name in sorted(set(ran) - wanted)]
    complaints += [f"run more than once: {name}" for name in sorted(set(ran)) if ran.count(name) > 1]
    if len(skipped) != counted:
        complaints.append(f"the program counts {counted} things skipped, and says it of {len(skipped)}")
    print("\n".join(complaints))
    print(f"{len(set(ran) & wanted)} of {len(wanted)} cases {arguments.filter} run; status {status}")
    sys.exit(status or (1 if complaints or not wanted else 0))


main()
