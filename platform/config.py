#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a value for FOVEA_CONFIG_HEADER with the features that calls need, and no other.

    config.py main.c model.c            the features that these sources name: fields, constants and functions of fovea
    config.py i8 ring window_left=32    the features, or fields of descriptions and arguments, of a list
    --out my_config.h                   the header; without it, to the standard output
    --board m4f --head-dim 64 --rows 4  what the build takes on a board (m4f, m55): flash, stack, workspace

rows is the number of queries that share a key head: max_q_tokens * q_heads / kv_heads. Flash and stack are sums of figures of
bench/size_baseline.csv, which were measured with the compilers that its first lines name: a program with one attention call in
f32, plus what each feature adds to a build with all functions. A program that calls less takes less.
"""
import argparse
import csv
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "lib" / "include"

# Feature: what a source in C or C++ has that needs it. Names of features are those of fovea_config.h.
NEEDED_BY = {
    "ADDITIVE": r"FOVEA_SCORE_(ADDITIVE|CONCAT)|score_vector",
    "COMPUTE_F16": r"FOVEA_COMPUTE_F16",
    "COMPUTE_I8": r"FOVEA_COMPUTE_I8",
    "I8_TENSORS": r"[qkx]_zero|(q|key|value|out)_scale|value_(zero|channel_scales)|out_zero|q_scales",
    "DROPOUT": r"dropout(_seed)?",
    "ROTATION": r"rotation(_seed)?|FOVEA_ROTATION_\w+",
    "SOFTCAP": r"softcap",
    "WINDOWS": r"window_(left|right)",
    "ALIBI": r"alibi_slopes",
    "BLOCK_MAPS": r"(fovea_|make_)?block_map\w*|BlockMap\w*|at_end|(fovea_)?tree_mask",
    "KEY_MASS": r"key_mass(_queries)?",
    "LSE": r"lse",
    "MASK_BYTE": r"FOVEA_MASK_BYTE",
    "MASK_F32": r"FOVEA_MASK_(F32|F16|BF16)",
    "MODIFIERS": r"(fovea_)?modifier|(Score|Weight)?Modifier",
    "SCORES": r"scores_stage|FOVEA_SCORES_\w+",
    "SINKS": r"sinks",
    "SLOW_WORKSPACE": r"(fovea_)?slow_workspace\w*",
    "FEW_ROWS": r"FEW_ROWS",
    "LOAD": r"FOVEA_KV_LOAD|(fovea_)?loader",
    "PAGES": r"FOVEA_KV_PAGED|page_t\w+|pages",
    "RAGGED": r"(q_|kv_)?offsets",
    "RING": r"FOVEA_KV_RING|ring_tokens|pinned_tokens|first_tokens|hide_gone",
    "EXECUTOR": r"(fovea_)?executor(_of)?|max_workers",
    "KEY_SPLITS": r"key_split_tokens",
    "STREAMS": r"fovea_stream_\w+|fovea_state\w*|fovea::(Stream|State)",
    "GENERAL_DELTA": r"FOVEA_DELTA_RULE_GENERAL",
    "INTEGER_ATTENTION": r"(fovea_)?integer_(attention|multiplier)\w*|IntegerAttention\w*",
    "GELU": r"FOVEA_ACTIVATION_GELU",
    "LAYER_NORM": r"FOVEA_NORM_LAYER",
    "LINEAR_ACTIVATION": r"LINEAR_ACTIVATION",  # and a linear layer in a source that names an activation
    "RESIDUAL": r"residual(_dtype)?",
    "TANH": r"FOVEA_ACTIVATION_TANH",
    "ROPE_HALF_SPLIT": r"FOVEA_ROPE_HALF_SPLIT",
    "ROPE_INTERLEAVED": r"FOVEA_ROPE_INTERLEAVED",
    "ROPE_TURNS": r"turns|(fovea_)?rope_frequencies",
    "BF16": r"FOVEA_(MASK_)?BF16",
    "F16": r"FOVEA_(MASK_)?F16",
    "GGML": r"FOVEA_Q(8_0|4_0|4_1)",
    "I4": r"FOVEA_I4",
    "I8": r"FOVEA_I8",
    "K_QUANTS": r"FOVEA_Q[46]_K",
    "LOG_SOFTMAX": r"(fovea_)?log_softmax(_f32)?",
    "SOFTMAX_MASK": r"mask_(outer|axis|inner)_stride",
    "SOFTMAX_STRIDED": r"(in|out)_axis_stride",
    "TEXT": r"fovea_plan_describe|fovea_status_string",
}
ALWAYS = {"causal", "f32", "lengths"}  # words for what no macro leaves out
# Board: what its compiler defines of what workspace.h asks about.
BOARDS = {"m4f": ["-D__ARM_FEATURE_SIMD32"], "m55": ["-D__ARM_FEATURE_MVE=3"]}


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def features_of(text):
    """Of a source, or of a word of the command line."""
    found = {feature for feature, pattern in NEEDED_BY.items() if re.search(rf"\b(?:{pattern})\b", text)}
    linear = re.search(r"\b(fovea_linear(_args|_f32)?|LinearArgs)\b", text)
    return found | {"LINEAR_ACTIVATION"} if linear and re.search(r"\bactivation\b", text) else found


def wanted(arguments):
    """The features, in the order of fovea_config.h."""
    found = set()
    for argument in arguments:
        path = pathlib.Path(argument)
        if path.suffix in {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino"}:
            found |= features_of(without_comments(path.read_text(encoding="utf-8")))
            continue
        word, _, value = argument.partition("=")
        if word.upper() in NEEDED_BY:
            found.add(word.upper())
        elif features_of(word) or features_of(value):
            found |= features_of(word) | features_of(value)
        elif word.lower() not in ALWAYS:
            sys.exit(f"{argument}: neither a source, nor a feature ({', '.join(sorted(name.lower() for name in NEEDED_BY))}), "
                     f"nor a field that needs one; always there are {', '.join(sorted(ALWAYS))}")
    if "COMPUTE_F16" in found:
        found.add("F16")
    if "COMPUTE_I8" in found and not found & {"I8", "I4", "GGML"}:
        found.add("I8")
    if "I8_TENSORS" in found:
        found |= {"I8", "COMPUTE_I8"}
    return [feature for feature in NEEDED_BY if feature in found]


def header(features, arguments):
    lines = [f"/* A value for FOVEA_CONFIG_HEADER, written by platform/config.py for {' '.join(arguments)}. */",
             "#define FOVEA_ENABLE_DEFAULT 0", *(f"#define FOVEA_ENABLE_{feature} 1" for feature in features)]
    return "\n".join(lines) + "\n"


def workspace(board, macro):
    """The bytes that a macro of workspace.h comes to: the length of an array in a compiled file."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return None
    source = f"#include <fovea/fovea.h>\nconst unsigned long bytes = {macro};\n"
    text = subprocess.run([compiler, "-x", "c", "-S", "-o", "-", "-ffreestanding", "-U__x86_64__", "-U__i386__", "-U__ARM_NEON", f"-I{INCLUDE}",
                           *BOARDS[board], "-"], input=source, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"bytes:\s*\n\s*\.(?:quad|xword|long|8byte)\s+(\d+)", text)[1])


def report(board, features, head_dim, rows):
    with open(ROOT / "bench" / "size_baseline.csv", encoding="utf-8") as file:
        table = {(row["kind"], row["name"]): row for row in csv.DictReader(line for line in file if not line.startswith("#"))
                 if row["target"] == board}
    base = table["program", "attention, causal and key lengths"]
    parts = [base, *(table["feature", feature] for feature in features if ("feature", feature) in table)]
    unknown = [feature for feature in features if ("feature", feature) not in table]
    flash = sum(max(0, int(part["code"])) + int(part["rodata"]) for part in parts)
    stack = sum(max(0, int(part["stack"])) for part in parts)
    macro = "FOVEA_I8_WORKSPACE_BYTES_FOR" if "COMPUTE_I8" in features else (
        "FOVEA_KV_WORKSPACE_BYTES_FOR" if {"I8", "I4", "GGML", "F16", "BF16", "RING", "PAGES"} & set(features)
        else "FOVEA_WORKSPACE_BYTES_FOR")
    expression = f"{macro}({head_dim}, {head_dim}, {rows})"
    bytes_of_workspace = workspace(board, expression)
    text = (f"{board}: at most {flash / 1024:.1f} KiB of flash, {stack} bytes of stack; workspace "
            f"{expression} = {bytes_of_workspace if bytes_of_workspace is not None else 'unknown, as there is no C compiler'} bytes")
    return f"{text}\nwithout {', '.join(unknown)}, which nobody has measured" if unknown else text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", nargs="+", metavar="source|feature|field=value")
    parser.add_argument("--out", type=pathlib.Path, help="the header to write")
    parser.add_argument("--board", choices=sorted(BOARDS))
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--rows", type=int, default=1)
    options = parser.parse_args()
    features = wanted(options.calls)
    text = header(features, options.calls)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    if options.board:
        print(report(options.board, features, options.head_dim, options.rows))


if __name__ == "__main__":
    main()
