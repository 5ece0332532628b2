#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks lib/operators.txt against the library's object files: check_operators.py [--nm NM] <lib/CMakeFiles of a build>

The folders that a line names are all that the operator's object files need, one after another, and no other.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ALWAYS = {"base", "math", "targets"}


def operators():
    """{operator: the folders that are compiled with it}"""
    lines = (ROOT / "lib" / "operators.txt").read_text(encoding="utf-8").splitlines()
    return {name: set(folders.split()) for name, _, folders in (line.partition(":") for line in lines if not line.startswith("#"))}


def symbols(nm, objects):
    """Of each folder: the symbols that it defines, and those that it uses."""
    defined, used = {}, collections.defaultdict(set)
    files = [path.relative_to(objects) for path in objects.glob("fovea*.dir/*/*/*/**/*.o*")]
    text = subprocess.run([nm, "-A", "-P", *files], cwd=objects, check=True, capture_output=True, text=True).stdout
    for path, name, kind in re.findall(r"^(.*): (\S+) (\w)\b", text, flags=re.M):
        folder = path.split("/")[3]
        if kind in "Uw":
            used[folder].add(name)
        elif kind.isupper():
            defined[name] = folder
    return defined, used


def needed(folder, uses):
    """All folders that a folder uses, one after another."""
    found, todo = set(), [folder]
    while todo:
        todo += uses[todo.pop()] - found - {folder}
        found |= set(todo)
    return found - ALWAYS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("objects", type=pathlib.Path)
    options = parser.parse_args()
    defined, used = symbols(options.nm, options.objects)
    uses = collections.defaultdict(set, {folder: {defined[name] for name in names if name in defined} - {folder}
                                         for folder, names in used.items()})
    complaints = [f"lib/operators.txt: {name} needs {', '.join(sorted(needed(name, uses)))}" for name, folders in operators().items()
                  if needed(name, uses) != folders]
    unknown = set(uses) - set(operators()) - ALWAYS - {"formats"}
    complaints += [f"lib/operators.txt lacks {name}" for name in sorted(unknown)]
    print("\n".join(complaints + [f"{len(operators())} operators, {len(complaints)} complaints"]))
    return 1 if complaints or not used else 0


if __name__ == "__main__":
    sys.exit(main())
