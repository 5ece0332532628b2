#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported models on boards: test_boards.py <libfovea.so> [--boards NAME...] [--out DIR]

The models of examples/export and three of families.py, in f32 and with int8 tensors, become projects, which are built by the
toolchain file of each board with the library of this tree, and run in QEMU. A project's test holds the board's answers against
PyTorch's in f32, and against the host's, bit for bit, in int8. Boards without a compiler or an emulator are skipped, and named.
"""
import argparse
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import warnings
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[5]
SKIPPED = 77
try:
    import torch
except ImportError as error:
    print(f"skipped: {error}: pip install torch")
    sys.exit(SKIPPED)
sys.path[:0] = [str(ROOT / "platform" / "packages" / "python"), str(pathlib.Path(__file__).resolve().parent)]

BOARDS = ["arm-none-eabi-cortex-m4f", "arm-none-eabi-cortex-m55"]
NEEDED = ["arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm"]
MOST_DIFFERENCE = 1e-5  # of the largest output, in f32


def models():
    """name -> (module, inputs)"""
    from families import FAMILIES
    torch.manual_seed(4)
    example = runpy.run_path(str(ROOT / "examples" / "export" / "models.py"))
    frames = torch.randn(1, example["FRAMES"], example["FEATURES"])
    return {"keywords": (example["keywords"](), (frames,)), "vit": (example["vit"](), (torch.randn(1, 3, 32, 32),)),
            "conformer": FAMILIES["Conformer"](), "patch_tst": FAMILIES["PatchTST"](),
            "keywords_of_batch_norm": FAMILIES["keyword transformer with batch norm"]()}


def exported(folder):
    """Name -> folder of a project. Each test has the answers that the board must give."""
    import fovea.export
    for name, (model, inputs) in models().items():
        fovea.export(model.eval(), inputs, out=folder / name, name=name)
        yield name, folder / name
        samples = [tuple(map(torch.randn_like, inputs)) for _ in range(32)]
        int8 = f"{name}_int8"
        with mock.patch("fovea.exporter.pipeline.is_portable", lambda call: True):  # the test has the answers of this machine
            fovea.export(model, inputs, out=folder / int8, name=int8, arithmetic="integer", calibrate=samples)
        yield int8, folder / int8


def run(command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def check_board(board, projects, folder):
    """Builds and runs all projects for a board, as one build, so that the library is compiled once."""
    lines = ["cmake_minimum_required(VERSION 3.22)", "project(boards LANGUAGES C CXX)", "enable_testing()",
             "set(FOVEA_BUILD_PLATFORM ON)", f"add_subdirectory({ROOT} fovea EXCLUDE_FROM_ALL)"]
    lines += [f"add_subdirectory({project} {name})" for name, project in projects]
    folder.mkdir(exist_ok=True)
    (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
    toolchain = ROOT / "toolchains" / f"{board}.cmake"
    run(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"])
    run(["cmake", "--build", folder / "build", "--parallel", "2"])
    said = run(["ctest", "--test-dir", folder / "build", "--verbose"])
    for name, _ in projects:
        found = re.search(rf"{name}: .* differs by (\S+) of its largest number", said)
        assert found, f"{name} did not run: {said[-2000:]}"
        text, data, bss = run(["arm-none-eabi-size", *(folder / "build").rglob(f"{name}_test.elf")]).split()[6:9]
        print(f"    {found[0]}; text {text}, data {data}, bss {bss}", flush=True)
        assert float(found[1]) <= (0 if name.endswith("_int8") else MOST_DIFFERENCE), f"{name} differs on {board}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--boards", nargs="+", default=BOARDS)
    parser.add_argument("--out", type=pathlib.Path, help="a folder for the projects, which stays")
    arguments = parser.parse_args()
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return SKIPPED
    warnings.filterwarnings("ignore")
    os.environ["FOVEA_LIBRARY"] = str(arguments.library.resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.out.resolve() if arguments.out else pathlib.Path(temporary)
        projects = list(exported(folder))
        failed = 0
        for board in arguments.boards:
            print(board, flush=True)
            try:
                check_board(board, projects, folder / board)
            except AssertionError as error:  # the other boards run, too
                failed += 1
                print(f"    failed: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
