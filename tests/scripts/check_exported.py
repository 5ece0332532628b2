#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether users get the same library where tests, benchmark and examples are built with it: check_exported.py <folder to build in>

Configures a build without an operating system, for which this machine's compiler is enough, with and without them. Compares what is
installed for find_package, and the commands that compile the library.
"""
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def library(folder, others):
    """What users get of a build: its targets, and command lines."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_SYSTEM_PROCESSOR=arm",
                    "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DFOVEA_SIMD=scalar",
                    *(f"-DFOVEA_BUILD_{what}={others}" for what in ("TESTS", "BENCH", "EXAMPLES"))], check=True, capture_output=True)
    targets = [path.read_text() for path in sorted(folder.glob("lib/CMakeFiles/Export/*/foveaTargets*.cmake"))]
    commands = [entry["command"] for entry in json.loads((folder / "compile_commands.json").read_text())
                if "lib/CMakeFiles/fovea.dir/" in entry["command"]]
    return {"targets": targets, "commands": [command.replace(str(folder), "") for command in commands]}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    alone, beside = (library(folder / others, others) for others in ("OFF", "ON"))
    differ = [what for what, items in alone.items() if not items or items != beside[what]]
    print("\n".join([f"the library's {what} differ where tests are built" for what in differ] or
                    [f"the same {len(alone['commands'])} command lines and {len(alone['targets'])} files of targets"]))
    return 1 if differ else 0


sys.exit(main())
