#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds libfovea_executorch as a user does and runs its tests: run.py --build FOLDER [--python PYTHON] [--measure]

PYTHON, by default this one or $FOVEA_EXECUTORCH_PYTHON, is one that has the package executorch. Without it the test is
skipped. --measure takes times, instead, on a machine that does nothing else; results.json gets them, and
bench/figures.py sets them into the page of the adapter.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent
ROOT = FOLDER.parent.parent.parent
FIND = "import executorch, os; print(os.path.dirname(list(executorch.__path__)[0] + '/'))"
VERSIONS = """import importlib.metadata as m, json
print(json.dumps({name: m.version(name) for name in ('executorch', 'torch', 'torchao')}))"""
MEASURED = {
    "kernels": ["speed.py"],
    "llama": ["models.py", "--context", "1024", "128", "4096", "--layers-too"],
    "llama_int4": ["models.py", "--context", "1024", "--layers-too", "--int4"],
    "models": ["graph_models.py"],
}
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


def processor():
    cpus = pathlib.Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def measure(python, build, environment):
    for name, (script, *arguments) in MEASURED.items():
        if script != "speed.py":
            arguments = [*arguments, "--library", build / "libfovea_executorch.so"]
        arguments += ["--json", build / f"{name}.json"]
        subprocess.run([python, HERE / script, *arguments], env=environment, check=True)
    collect(python, build)


def text_of(found):
    """JSON with a line for each row."""
    def rows(part):
        if isinstance(part, list):
            return "[\n" + ",\n".join(map(json.dumps, part)) + "]"
        return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in part.items()) + "}"
    return "{" + ",\n".join(f'"{name}": {rows(part)}' for name, part in found.items()) + "}\n"


def collect(python, build, noise=""):
    found = {name: json.loads((build / f"{name}.json").read_text(encoding="utf-8")) for name in MEASURED}
    versions = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    found["host"] = {"date": datetime.date.today().isoformat(), "processor": processor(), "noise": noise,
                     "versions": json.loads(versions.stdout)}
    (HERE / "results.json").write_text(text_of(found), encoding="utf-8")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--build", type=pathlib.Path, required=True)
    options.add_argument("--python", default=os.environ.get("FOVEA_EXECUTORCH_PYTHON", sys.executable))
    options.add_argument("--measure", action="store_true")
    options = options.parse_args()
    found = subprocess.run([options.python, "-c", FIND], capture_output=True, text=True, check=False)
    if found.returncode:
        print(f"skipped: {options.python} has no package executorch; FOVEA_EXECUTORCH_PYTHON names one that has it")
        return 77
    package = pathlib.Path(found.stdout.strip())
    subprocess.run(["cmake", "-S", FOLDER, "-B", options.build, f"-DFOVEA_SOURCE={ROOT}", "-DFOVEA_EXECUTORCH_TESTS=ON",
                    "-DFOVEA_EXECUTORCH_RUNNER=ON", f"-DCMAKE_PREFIX_PATH={package / 'share' / 'cmake'}"], check=True)
    subprocess.run(["cmake", "--build", options.build, *PARALLEL], check=True)
    build, python = options.build.resolve(), ROOT / "platform" / "packages" / "python"
    environment = {**os.environ, "FOVEA_EXECUTORCH_LIBRARIES": str(build), "PYTHONPATH": str(python),
                   "FOVEA_LIBRARY": str(next(build.glob("libfovea_python.*")))}
    if options.measure:
        measure(options.python, build, environment)
        return 0
    test_boards(package, options.build / "boards")
    scripts = [["test_executorch.py"], ["test_graphs.py"], ["test_quantized.py"], ["test_runner.py"], ["own_tests.py"],
               ["models.py", "--library", build / "libfovea_executorch.so", "--context", "40",
                "--rounds", "1", "--dim", "128", "--portable"]]
    scripts += [["graph_models.py", "--library", build / "libfovea_executorch.so", "--rounds", "1"]]
    for script, *arguments in scripts:
        subprocess.run([options.python, HERE / script, *arguments], env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
