#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds libfovea_executorch as a user does and runs its tests: run.py --build FOLDER [--python PYTHON] [--speed]

PYTHON, by default this one or $FOVEA_EXECUTORCH_PYTHON, is one that has the package executorch. Without it the test is
skipped.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
FOLDER = ROOT / "platform" / "engines" / "executorch"
FIND = "import executorch, os; print(os.path.dirname(list(executorch.__path__)[0] + '/'))"


BOARDS = ["arm-none-eabi-cortex-m4f", "arm-none-eabi-cortex-m55"]
NEEDED = ["arm-none-eabi-g++", "qemu-system-arm"]
PARALLEL = ["--parallel", str(os.cpu_count() or 1)]


def test_boards(package, build):
    """The operators on int8 tensors on Cortex-M processors, in QEMU: board/board_test.cc."""
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        print(f"skipped on boards: there is no {', '.join(missing)}")
        return
    for board in BOARDS:
        print(board, flush=True)
        for integers_alone in "OFF", "ON":
            subprocess.run(["cmake", "-S", HERE / "board", "-B", build / board, f"-DEXECUTORCH_PACKAGE={package}",
                            f"-DFOVEA_EXECUTORCH_INT8_ONLY={integers_alone}",
                            f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'toolchains' / f'{board}.cmake'}"], check=True)
            subprocess.run(["cmake", "--build", build / board, *PARALLEL, "--target", "board_test"], check=True)
            subprocess.run(["ctest", "--test-dir", build / board, "--verbose", "-R", "^board_test$"], check=True)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--build", type=pathlib.Path, required=True)
    options.add_argument("--python", default=os.environ.get("FOVEA_EXECUTORCH_PYTHON", sys.executable))
    options.add_argument("--speed", action="store_true", help="time kernels and models, too")
    options = options.parse_args()
    found = subprocess.run([options.python, "-c", FIND], capture_output=True, text=True, check=False)
    if found.returncode:
        print(f"skipped: {options.python} has no package executorch; FOVEA_EXECUTORCH_PYTHON names one that has it")
        return 77
    package = pathlib.Path(found.stdout.strip())
    subprocess.run(["cmake", "-S", FOLDER, "-B", options.build, f"-DFOVEA_SOURCE={ROOT}",
                    "-DFOVEA_EXECUTORCH_TESTS=ON", "-DFOVEA_EXECUTORCH_RUNNER=ON",
                    f"-DCMAKE_PREFIX_PATH={package / 'share' / 'cmake'}"], check=True)
    subprocess.run(["cmake", "--build", options.build, *PARALLEL], check=True)
    test_boards(package, options.build / "boards")
    build, python = options.build.resolve(), ROOT / "platform" / "packages" / "python"
    environment = {**os.environ, "FOVEA_EXECUTORCH_LIBRARIES": str(build), "PYTHONPATH": str(python),
                   "FOVEA_LIBRARY": str(next(build.glob("libfovea_python.*")))}
    scripts = [["test_executorch.py"], ["test_graphs.py"], ["test_quantized.py"], ["test_runner.py"], ["own_tests.py"],
               ["models.py", "--library", build / "libfovea_executorch.so", "--context", "40",
                "--rounds", "1", "--dim", "128", "--portable"]]
    scripts += [["graph_models.py", "--library", build / "libfovea_executorch.so", "--rounds", "1"]]
    if options.speed:
        scripts += [["speed.py"]]
    for script, *arguments in scripts:
        subprocess.run([options.python, HERE / script, *arguments], env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
