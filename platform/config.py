#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a value for FOVEA_CONFIG_HEADER with the features that calls need, and no other.

    config.py main.c model.c            the features that these sources name: fields, constants and functions of fovea
    config.py i8 ring window_left=32 fovea_kv_append    of a list: features, fields of descriptions and arguments, calls
    --out my_config.h                   the header; without it, to the standard output
    --operators                         instead, a value for FOVEA_OPERATORS: the operators whose functions they call
    --board m4f --head-dim 64           what the build takes on a board (m4f, m55): flash, stack, plan, workspace
    --rows 4 --kv-heads 2 --tokens 512  queries that share a key head (1), key heads (1), and tokens of a cache

rows is max_q_tokens * q_heads / kv_heads; head_dim counts for values, too. Flash and stack are figures of bench/size_baseline.csv,
which were measured with the compilers that its first lines name. The stack of a call is that of a program or a build that has the
features, and others; a compiler may inline more where there are fewer, and take some bytes more. Flash is that of such a program, or
a sum, which may be some percent off: attention in f32, what each feature adds to a build with all functions, and the other calls.
"""
import argparse
import csv
import math
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
    "I8_TENSORS": r"(q|key|value|out)_(scale|zero_point)|x_zero_point|value_channel_scales|q_scales",
    "DROPOUT": r"dropout(_seed)?",
    "HADAMARD": r"hadamard_seed|FOVEA_(ATTENTION_)?HADAMARD_\w+",
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
    "PREFIX": r"(fovea_kv_image_|max_)?prefix(es|_tokens)?",
    "RAGGED": r"(q_|kv_)?offsets",
    "RING": r"FOVEA_KV_RING|ring_tokens|pinned_tokens|first_tokens|allow_evicted",
    "EXECUTOR": r"(fovea_)?executor(_of)?|max_workers",
    "KEY_SPLITS": r"key_split_tokens",
    "IMAGES": r"fovea_kv_(image_\w+|export|import)|KvImageArgs",
    "STREAMS": r"fovea_stream_\w+|fovea::Stream(State)?",
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
    "IQ": r"FOVEA_(Q[23]_K|Q5_[01K]|IQ4_(NL|XS)|MXFP4|TQ2_0)",
    "K_QUANTS": r"FOVEA_Q[46]_K",
    "LOG_SOFTMAX": r"(fovea_)?log_softmax",
    "SOFTMAX_MASK": r"mask_(outer|axis|inner)_stride",
    "SOFTMAX_STRIDED": r"[xy]_axis_stride",
    "TEXT": r"fovea_attention_plan_describe|fovea_status_string",
}
ALWAYS = {"causal", "f32", "lengths"}  # words for what no macro leaves out
# Board: what its compiler defines of what workspace.h asks about. Another compiler is to have the same sizes of pointers and of
# structures.
BOARDS = {"m4f": ["-D__ARM_FEATURE_SIMD32"], "m55": ["-D__ARM_FEATURE_MVE=3"]}
COMPILERS = (["arm-none-eabi-gcc"], ["cc", "-m32", "-malign-double"], ["clang", "--target=arm-none-eabi"])
# What is meant where no call is named.
ATTENTION = ["fovea_attention_plan_init", "fovea_attention", "fovea_stream_push", "fovea_stream_end", "fovea_kv_append"]
NOT_BY_DEFAULT = {"COMPUTE_F16", "IQ", "KEY_MASS", "PREFIX"}  # of a Cortex-M
FORMATS = {"I8": "FOVEA_I8", "I4": "FOVEA_I4", "GGML": "FOVEA_Q8_0", "F16": "FOVEA_F16", "BF16": "FOVEA_BF16"}


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def features_of(text):
    """Of a source, or of a word of the command line."""
    found = {feature for feature, pattern in NEEDED_BY.items() if re.search(rf"\b(?:{pattern})\b", text)}
    linear = re.search(r"\b(fovea_linear(_args)?|LinearArgs)\b", text)
    return found | {"LINEAR_ACTIVATION"} if linear and re.search(r"\bactivation\b", text) else found


def wanted(arguments):
    """The features, in the order of fovea_config.h, and the calls."""
    found, calls, sources = set(), set(), ""
    for argument in arguments:
        path = pathlib.Path(argument)
        if path.suffix in {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino"}:
            sources += without_comments(path.read_text(encoding="utf-8"))
            continue
        word, _, value = argument.partition("=")
        calls |= calls_of(word)
        if word.upper() in NEEDED_BY:
            found.add(word.upper())
        elif features_of(word) or features_of(value):
            found |= features_of(word) | features_of(value)
        elif word.lower() not in ALWAYS and word not in calls:
            sys.exit(f"{argument}: neither a source, nor a feature ({', '.join(sorted(name.lower() for name in NEEDED_BY))}), "
                     f"nor a field that needs one, nor a call; always there are {', '.join(sorted(ALWAYS))}")
    found |= features_of(sources)
    calls |= calls_of(sources)  # together: in C++ a header may have the object whose function another file calls
    if "COMPUTE_F16" in found:
        found.add("F16")
    if "COMPUTE_I8" in found and not found & {"I8", "I4", "GGML"}:
        found.add("I8")
    if "I8_TENSORS" in found:
        found |= {"I8", "COMPUTE_I8"}
    return [feature for feature in NEEDED_BY if feature in found], calls


def operators_of(calls):
    """The folders of lib/src/core and layers that define these functions."""
    folders = {name: path.relative_to(ROOT / "lib" / "src").parts[1] for path in (ROOT / "lib" / "src").rglob("*.cc")
               for name in re.findall(r'^(?:extern "C" |FOVEA_C_CALL_\().*?\b(fovea_\w+)[(,]', path.read_text(encoding="utf-8"), flags=re.M)}
    operators = re.findall(r"^(\w+):", (ROOT / "lib" / "operators.txt").read_text(encoding="utf-8"), flags=re.M)
    return [operator for operator in operators if operator in {folders[call] for call in calls}]


def header(features, arguments):
    lines = [f"/* A value for FOVEA_CONFIG_HEADER, written by platform/config.py for {' '.join(arguments)}. */",
             "#define FOVEA_ENABLE_DEFAULT 0", *(f"#define FOVEA_ENABLE_{feature} 1" for feature in features)]
    return "\n".join(lines) + "\n"


def bytes_of(board, expression, compilers=COMPILERS):
    """What an expression of workspace.h comes to on a board, by the assembly of a constant; None if no compiler tells. Any tells what
    has no pointers."""
    source = f"#include <fovea/fovea.h>\nconst unsigned long bytes = {expression};\n"
    for compiler in (*compilers, *([] if "sizeof" in expression else [["cc"]])):
        if shutil.which(compiler[0]):
            result = subprocess.run([*compiler, "-x", "c", "-S", "-o", "-", "-ffreestanding", "-U__x86_64__", "-U__i386__", "-U__ARM_NEON",
                                     f"-I{INCLUDE}", *BOARDS[board], "-"], input=source, capture_output=True, text=True)
            found = re.search(r"bytes:\s*\n\s*\.(?:word|long|quad|xword|[48]byte)\s+(\d+)", result.stdout)
            if found:
                return int(found[1])
    return None


def baseline(board):
    """(kind, name): the bytes that were measured for a board."""
    with open(ROOT / "bench" / "size_baseline.csv", encoding="utf-8") as file:
        return {(row["kind"], row["name"]): {key: int(row[key]) for key in ("code", "rodata", "stack")}
                for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["target"] == board}


def calls_of(text):
    """The functions of fovea.h that a source or a word names, or that what it names of fovea.hpp calls."""
    found = set(re.findall(r"\bfovea_\w+", text))
    if re.search(r"fovea/\w+\.hpp|\bfovea::", text):
        for path in INCLUDE.glob("fovea/*.hpp"):
            for part in re.split(r"\n(?=class |struct |\};)", path.read_text(encoding="utf-8")):
                owner = re.match(r"(?:class|struct) (\w+)", part)
                for name, body in re.findall(r"\b(\w+)\([^;{}]*\)[^;{}]*\{([^{}]*)", part):
                    if re.search(rf"\b{name}\(", text) and (not owner or re.search(rf"\b{owner[1]}\b", text)):
                        found |= set(re.findall(r"\bfovea_\w+(?=\()", body))
    return {name for kind, name in baseline("m4f") if kind == "entry"} & found


class Measured:
    """What the rows of a board's baseline say about calls with some features."""

    def __init__(self, board, features):
        self.rows, self.features = baseline(board), features
        try:
            sys.path.insert(0, str(ROOT / "bench"))
            from size import PROGRAMS
        except OSError:  # no compiler tells which features they have
            PROGRAMS = {}
        self.programs = {name: calls for name, (calls, left_out) in PROGRAMS.items()
                         if calls and not (left_out | NOT_BY_DEFAULT) & set(features)}

    def flash(self, calls):
        """Of a program with these calls."""
        def bytes_in(*key):
            return max(0, self.rows[key]["code"]) + self.rows[key]["rodata"]
        others = [("entry", call) for call in calls if call not in ATTENTION or call == "fovea_kv_append"]
        parts = [("program", "attention, causal and key lengths"), *(("feature", feature) for feature in self.features), *others]
        more = [("feature", feature) for feature in self.features if feature in NOT_BY_DEFAULT]
        programs = [bytes_in("program", name) for name, own in self.programs.items() if set(calls) <= set(own)]
        return min(sum(bytes_in(*part) for part in parts if part in self.rows),
                   sum(bytes_in(*part) for part in [("program", "all functions"), *more]), *programs)

    def stack(self, call):
        """Of a call: the least that was measured with the features or with all."""
        kinds = ["whole", "entry"] if NOT_BY_DEFAULT & set(self.features) else ["entry"]
        build = next(self.rows[kind, call]["stack"] for kind in kinds if (kind, call) in self.rows)
        return min([build, *(self.rows["program", name]["stack"] for name, own in self.programs.items() if call in own)])


def report(board, features, calls, options):
    measured = Measured(board, features)
    stacks = sorted(((measured.stack(call), call) for call in calls or ATTENTION), reverse=True)
    flash = measured.flash(calls or ["fovea_attention"])
    macro = "FOVEA_ATTENTION_I8_WORKSPACE_BYTES_FOR" if "COMPUTE_I8" in features else (
        "FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR" if {"I8", "I4", "GGML", "F16", "BF16", "RING", "PAGES"} & set(features)
        else "FOVEA_ATTENTION_WORKSPACE_BYTES_FOR")
    plan = "fovea_multihead_plan" if any(call.startswith("fovea_multihead") for call in calls) else "fovea_attention_plan"
    sizes = [("plan", f"sizeof({plan})"), ("workspace", f"{macro}({options.head_dim}, {options.head_dim}, {options.rows})")]
    for dtype in [FORMATS[feature] for feature in FORMATS if feature in features] or ["FOVEA_F32"] if options.tokens else []:
        sizes.append(("cache", f"FOVEA_KV_CACHE_BYTES({dtype}, {dtype}, 1, {options.kv_heads}, {options.tokens}, {options.head_dim}, "
                               f"{options.head_dim})"))
    lines = [f"{board}: about {math.ceil(flash / 102.4) / 10} KiB of flash{'' if calls else ', with attention alone'}; "
             f"{stacks[0][0]} bytes of stack", "stack of calls: " + ", ".join(f"{call} {stack}" for stack, call in stacks)]
    for what, expression in sizes:
        lines.append(f"{what}: {expression} = {bytes_of(board, expression) or 'unknown, without a C compiler for the board,'} bytes")
    unknown = [feature for feature in features if ("feature", feature) not in measured.rows]
    return "\n".join(lines + ([f"without {', '.join(unknown)}, which nobody has measured"] if unknown else []))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", nargs="+", metavar="source|feature|field=value|call")
    parser.add_argument("--out", type=pathlib.Path, help="the header to write")
    parser.add_argument("--operators", action="store_true")
    parser.add_argument("--board", choices=sorted(BOARDS))
    parser.add_argument("--head-dim", type=int)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--kv-heads", type=int, default=1)
    parser.add_argument("--tokens", type=int, help="of a cache")
    options = parser.parse_args()
    if options.board and not options.head_dim:
        parser.error("--board needs --head-dim: workspaces and caches depend on it")
    features, calls = wanted(options.calls)
    if options.operators:
        return print(";".join(operators_of(calls)))
    text = header(features, options.calls)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    if options.board:
        print(report(options.board, features, calls, options))


if __name__ == "__main__":
    main()
