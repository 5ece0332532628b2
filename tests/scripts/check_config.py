#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests platform/config.py: check_config.py

It knows each feature of fovea_config.h, finds those that sources and words need, refuses what it does not know, and what it writes
leaves out all others, as a compiler sees it.
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "platform"))
from config import NEEDED_BY  # noqa: E402
from library import features, left_out_by  # noqa: E402

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
REFUSED = ["warp", "rings", "head_dim=64"]


def run(*arguments):
    return subprocess.run([sys.executable, ROOT / "platform" / "config.py", *arguments], cwd=ROOT, capture_output=True, text=True)


def main():
    complaints = []
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
            result = run(*arguments, "--out", str(written), "--board", "m4f")
            if result.returncode != 0 or "KiB of flash" not in result.stdout:
                complaints.append(f"{arguments}: {result.stdout}{result.stderr}")
                continue
            found = set(features()) - left_out_by(written)
            if found != expected and (expected is not None or "STREAMS" not in found):
                complaints.append(f"{arguments}: {sorted(found)}, expected {sorted(expected or {'STREAMS'})}")
    for word in REFUSED:
        result = run(word)
        if result.returncode == 0 or "neither a source" not in result.stderr:
            complaints.append(f"{word} is not refused")
    print("\n".join(complaints + [f"{len(CASES) + len(SOURCES) + len(REFUSED)} calls, {len(complaints)} complaints"]))
    return 1 if complaints else 0


sys.exit(main())
