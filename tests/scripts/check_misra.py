#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what cppcheck's addon for MISRA C:2012 says of a C program that includes fovea.h with the deviations of SAFETY.md:
check_misra.py <include folder> tests/SAFETY.md

A rule that is broken must be in the page's table, with its reason. Ends with 77 where there is no cppcheck with this addon.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

include, page = (pathlib.Path(path).resolve() for path in sys.argv[1:])
listed = set(re.findall(r"^\| (\d+\.\d+) \|", page.read_text(), flags=re.M))
if not shutil.which("cppcheck"):
    print("skipped: there is no cppcheck")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder) / "program.c"
    program.write_text('#include "fovea/fovea.h"\nint main(void) { return 0; }\n')
    ran = subprocess.run(["cppcheck", "--quiet", "--std=c99", "--addon=misra", "--enable=style", f"-I{include}", program],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
if "misra-c2012-" not in ran.stdout:  # unused macros of a header are always found
    print(f"skipped: cppcheck has no addon for MISRA\n{ran.stdout}")
    sys.exit(77)
found = collections.Counter(re.findall(r"misra-c2012-(\d+\.\d+)", ran.stdout))
complaints = [line for line in ran.stdout.splitlines() if (rule := re.search(r"misra-c2012-(\d+\.\d+)", line)) and rule[1] not in listed]
print("\n".join(complaints))
print(f"{', '.join(f'{rule}: {count} times' for rule, count in sorted(found.items()))}; {len(complaints)} are not in {page.name}")
sys.exit(bool(complaints))
