#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the targets that the last run of ctest tested, and what it left out: show_skipped.py <build folder>

Tests print a line "targets: <names>", and a line "skipped: <what>: <reason>" for each part that they leave out.
"""
import pathlib
import re
import sys

targets, skipped = {}, {}
log = pathlib.Path(sys.argv[1]) / "Testing" / "Temporary" / "LastTest.log"
for block in re.split(r"^\d+/\d+ Testing: ", log.read_text(errors="replace"), flags=re.M)[1:]:
    test = block.splitlines()[0]
    targets.update((f"{test} ran on {names}", None) for names in re.findall(r"^targets: (.*)$", block, flags=re.M))
    skipped.update((f"{test}: {reason}", None) for reason in re.findall(r"^skipped: (.*)$", block, flags=re.M))
print("\n".join([*targets, f"{len(skipped)} skipped, whole tests or parts of them", *(f"    {line}" for line in skipped)]))
