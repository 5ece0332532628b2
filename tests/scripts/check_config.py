#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests platform/config.py: check_config.py

It knows each feature of fovea_config.h, finds those that sources and words need, refuses what it does not know, and what it writes
leaves out all others, as a compiler sees it. Its bytes of stack are those that were measured, and its flash is no less.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "platform"), str(ROOT / "bench")]
import config  # noqa: E402
from config import NEEDED_BY, NOT_BY_DEFAULT  # noqa: E402
from library import features, left_out_by  # noqa: E402
from size import PROGRAMS  # noqa: E402

CASES = {
    ("causal", "lengths"): set(),
    ("causal", "i8"): {"I8"},
    ("window_left=32", "key_dtype=FOVEA_I8", "ring"): {"WINDOWS", "I8", "RING"},
    ("compute_f16",): {"COMPUTE_F16", "F16"},
    ("compute_i8",): {"COMPUTE_I8", "I8"},
    ("i8_tensors",): {"COMPUTE_I8", "I8", "I8_TENSORS"},
    ("examples/decode_static_buffers.c",): {"WINDOWS", "RING", "ROPE_HALF_SPLIT", "ROPE_TURNS", "I8", "TEXT"},
    ("examples/stream_sensor/main.cc",): None,  # streams among others
}
# What a source has, and its features.
SOURCES = {
    "fovea_linear_args linear = {.activation = FOVEA_ACTIVATION_GELU};": {"LINEAR_ACTIVATION", "GELU"},
    "fovea_activation_args gelu = {.activation = FOVEA_ACTIVATION_TANH};": {"TANH"},
}
# Sources, and the operators whose functions they call.
OPERATORS = {
    ("examples/attend_sentence/main.cc",): "attention",
    ("tests/consumer/consumer.c",): "softmax",
    ("examples/decode_static_buffers.c", "fovea_linear"): "attention;cache;linear;rope",
    ("examples/hybrid_block/block.cc", "examples/hybrid_block/block.h"): "attention;cache;conv1d;delta;linear;multihead;norm;rope",
}
REFUSED = ["warp", "rings", "head_dim=64", "fovea_attend"]
# What is named, and the row of bench/size_baseline.csv that has the stack of a call.
STACKS = [
    ("i8", "fovea_attention", "program", "attention, int8 keys and values"),
    ("i8", "fovea_stream_push", "program", "streams and caches of int8 rows"),
    ("ring", "fovea_stream_push", "program", "streams and caches of int8 rows"),
    ("i8 ring lse", "fovea_attention", "entry", "fovea_attention"),
    ("causal lengths", "fovea_attention", "program", "attention, causal and key lengths"),
    ("compute_f16", "fovea_attention", "whole", "fovea_attention"),
    ("key_mass", "fovea_kv_append", "entry", "fovea_kv_append"),
    ("gelu fovea_activation", "fovea_activation", "entry", "fovea_activation"),
    ("examples/stream_sensor/main.cc", "fovea_stream_push", "program", "streams and caches of int8 rows"),
    ("examples/tutorials/multi_head.cc", "fovea_multihead", "entry", "fovea_multihead"),
    ("examples/keywords/model.c", "fovea_linear", "entry", "fovea_linear"),
]


def check_board(board):
    """Complaints about the bytes that config.py prints for a board."""
    rows, complaints = config.baseline(board), []

    def said(words):
        text = config.report(board, *config.wanted(words), argparse.Namespace(head_dim=64, rows=1, kv_heads=1, tokens=100))
        flash, stack = re.search(r"about ([\d.]+) KiB of flash.*; (\d+) bytes of stack", text).groups()
        if not all(re.search(rf"^{what}: .* = (\d+ bytes|unknown)", text, flags=re.M) for what in ("plan", "workspace", "cache")):
            complaints.append(f"{board}, {words}: {text}")
        return flash, int(stack), dict(re.findall(r"(fovea_\w+) (\d+)", text))

    for words, call, kind, name in STACKS:
        key = (kind, name) if (kind, name) in rows else ("entry", call)  # the M55 has products of halves by default
        stack = said(words.split())[2].get(call)
        if stack != str(rows[key]["stack"]):
            complaints.append(f"{board}, {words}: {call} has {stack} bytes of stack, measured are {rows[key]['stack']}")
    for name, (calls, left_out) in PROGRAMS.items():
        row, has = rows["program", name], set(features()) - left_out - NOT_BY_DEFAULT
        has -= {"COMPUTE_I8", "I8_TENSORS"} - ({"COMPUTE_I8"} if "I8" in has else set())  # these words mean I8, too
        if calls and has != set(features()) - NOT_BY_DEFAULT:
            flash, stack, _ = said([*sorted(has), *calls])
            if stack != row["stack"] or float(flash) * 1024 < row["code"] + row["rodata"]:
                complaints.append(f"{board}, {name}: {flash} KiB, {stack} bytes of stack; measured are {row}")
    plans = {config.bytes_of(board, "sizeof(fovea_multihead_plan)", [words]) for words in config.COMPILERS if shutil.which(words[0])}
    if len(plans - {None}) > 1:
        complaints.append(f"{board}: the compilers differ in the bytes of a plan: {plans}")
    return complaints


def run(*arguments):
    return subprocess.run([sys.executable, ROOT / "platform" / "config.py", *arguments], cwd=ROOT, capture_output=True, text=True)


def main():
    complaints = []
    os.chdir(ROOT)
    if sorted(NEEDED_BY) != sorted(features()):
        complaints.append(f"config.py and fovea_config.h differ in {sorted(set(NEEDED_BY) ^ set(features()))}")
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / "config.h"
        sources = {}
        for number, (text, expected) in enumerate(SOURCES.items()):
            source = pathlib.Path(folder) / f"source_{number}.c"
            source.write_text(text)
            sources[str(source),] = expected
        for arguments, expected in {**CASES, **sources}.items():
            result = run(*arguments, "--out", str(written), "--board", "m4f", "--head-dim", "64")
            if result.returncode != 0 or "KiB of flash" not in result.stdout:
                complaints.append(f"{arguments}: {result.stdout}{result.stderr}")
                continue
            found = set(features()) - left_out_by(written)
            if found != expected and (expected is not None or "STREAMS" not in found):
                complaints.append(f"{arguments}: {sorted(found)}, expected {sorted(expected or {'STREAMS'})}")
    for arguments, expected in OPERATORS.items():
        found = run("--operators", *arguments).stdout.strip()
        if found != expected:
            complaints.append(f"{arguments}: needs {found}, expected {expected}")
    for word in REFUSED:
        result = run(word)
        if result.returncode == 0 or "neither a source" not in result.stderr:
            complaints.append(f"{word} is not refused")
    if run("i8", "--board", "m4f").returncode == 0:
        complaints.append("a board without head_dim is not refused")
    complaints += check_board("m4f") + check_board("m55")
    print("\n".join(complaints + [f"{len(CASES) + len(SOURCES) + len(REFUSED) + 2 * len(STACKS)} calls, {len(complaints)} complaints"]))
    return 1 if complaints else 0


sys.exit(main())
