#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layers of the library: check_layers.py <folder lib>

An operator is a folder (attention, cache, ...), and the name of a file tells its layer. Includes go from left to right:
    api -> resolve -> call -> kernels.h <- kernels.cc -> kernel texts (*.inl) -> math, formats, simd
kernels.h and kernels.cc include targets/ for the list of targets. The resolve layer is resolve.h and plan.h; the call layer is all
files that are in no other layer. Words of products, simd/dot_*.inl and simd/half_*.inl, are made of the vocabulary and of kernel texts. selftest calls the library as a user does, by the public headers. An operator includes only resolve.h, plan.h and call.h of another. The script also lists the files
that may use SIMD, those that may ask what a build leaves out, and those below the resolve layer that know the caller's arguments. It
prints each line that breaks a rule, and each exception that no line needs.
"""
import pathlib
import re
import sys

# Sets the compiler's rules for arithmetic: each source file's first include.
ARITHMETIC = "base/arithmetic.h"

# Folders that operators share. Every other folder but selftest is an operator.
SHARED = {"base", "formats", "math", "simd", "targets"}
# Headers of an operator that others may include.
SEAM = {"call.h", "plan.h", "resolve.h"}

# Layer of a file -> layers it may include. fovea/ (the public headers) may be included by all.
MAY_INCLUDE = {
    "public": set(),
    "base": {"base", "targets"},
    "api": {"base", "api", "resolve", "call", "tables", "targets"},
    "resolve": {"base", "resolve", "call", "tables", "targets"},
    "call": {"base", "call", "tables", "targets"},
    "tables": {"base", "tables", "targets"},
    "instances": {"tables", "targets", "kernels", "simd", "words"},
    "targets": {"targets", "simd"},
    "selftest": {"base", "selftest", "targets"},
    "kernels": {"kernels", "simd", "words"},
    "simd": {"simd"},
    "words": {"kernels", "simd", "words"},
}

# Headers of the kernels layer with other names.
SEAMS = {"formats/formats.h"}

SIMD_WORDS = {"instances", "kernels", "simd", "targets", "words"}  # layers that use the vocabulary
ISA_WORDS = {"simd", "targets", "words"}  # layers that may name instruction sets

# Files that may ask what fovea_config.h leaves out (config::k...), in addition to the public headers and the resolve layer:
# accessors, which all other files call, and lists of kernels.
CONFIG_FILES = {
    "attention/call.h",
    "attention/describe.cc",
    "attention/few_kernel.inl",
    "attention/few_rows.inl",
    "attention/few_whole.inl",
    "attention/kernels.h",
    "attention/options.h",
    "attention/steps/asked.inl",
    "attention/steps/few_steps.inl",
    "attention/steps/score_steps.inl",
    "attention/steps/tile_steps.inl",
    "attention/tile.inl",
    "attention/tile_kernel.inl",
    "base/carver.h",
    "base/info.cc",
    "delta/kernels.h",
    "base/key_places.h",
    "base/tasks.h",
    "cache/call.h",
    "delta/call.h",
    "formats/formats.h",
    "linear/i8_kernels.h",
    "integer/kernels.h",
    "integer_layers/kernels.h",
    "linear/kernels.h",
    "linear/linear.inl",
    "math/activation.inl",
    "norm/kernels.h",
    "rope/call.h",
    "rope/rope.inl",
    "simd/common.inl",
    "softmax/softmax.inl",
    "targets/registry.h",
}

# pattern, layers that may contain it, its description
RULES = [
    (r"\b(hwy|hn)::|<hwy/", SIMD_WORDS, "the SIMD vocabulary"),
    (r"<hwy/|\bHWY_\w+", ISA_WORDS, "Highway itself"),
    (r"\bxsimd::|<xsimd/|\bXSIMD_\w+", ISA_WORDS, "xsimd"),
    (r"\b_mm(256|512)?_\w+|\b__m(128|256|512)[di]?\b|\b__mmask\d+\b", ISA_WORDS, "an x86 intrinsic"),
    (r"\bv[a-z]+[0-9a-z_]*_[fsup]\d+\b|\b(float|u?int)\d+x\d+(x\d+)?_t\b|\bmve_pred16_t\b", ISA_WORDS, "an Arm intrinsic"),
    (r"\bwasm_\w+|\bv128_t\b", ISA_WORDS, "a WebAssembly intrinsic"),
    (r"<\w*(intrin|arm_neon|arm_mve|arm_acle|wasm_simd128)\.h>", ISA_WORDS, "a header of intrinsics"),
    (r"\b__(SSE|AVX|FMA|F16C|ARM_NEON|ARM_FEATURE_|ARM_ARCH|wasm_simd128)\w*", ISA_WORDS | {"public"},
     "a macro of an instruction set"),
    (r"\b(__x86_64__|__i386__|__aarch64__|__arm__|__wasm__|_M_X64|_M_IX86|_M_ARM64)\b", ISA_WORDS | {"public"},
     "a macro of an architecture"),
    (r"\bFOVEA_ENABLE_\w+", {"public"}, "a switch of fovea_config.h: its constant in namespace config is what scripts look for"),
    (r"<(algorithm|cmath|cstdio|cstdlib|functional|iostream|math\.h|memory|new|stdio\.h|stdlib\.h|string|thread|vector)>",
     set(), "a header for what the library must not do"),
]
XSIMD_RULE = RULES[2]
SWITCH_RULE = RULES[-2]
# Files that ask a switch itself, because it decides which texts they include.
SWITCH_FILES = {"attention/steps/called.inl", "attention/steps/kernels.cc", "attention/steps/kernels.h",
                "attention/stream/merge_kernels.cc"}

# The caller's arguments, each fovea_..._args and fovea_..._desc of fovea.h, end where they are resolved: in these layers.
ARGUMENT = re.compile(r"\bfovea_\w+_(?:args|desc)\b")
ARGUMENT_LAYERS = {"public", "api", "resolve", "selftest"}
# Files below these layers, and the arguments that they get.
ARGUMENTS_BELOW = {
    # A plan holds its description. AttentionCall, in call.h, holds the arguments.
    "attention/call.h": {"fovea_attention_args", "fovea_attention_desc"},
    "attention/head_task.cc": {"fovea_attention_desc"},
    "attention/keys.cc": {"fovea_attention_desc"},
    "attention/keys.h": {"fovea_attention_desc"},
    "attention/layout.cc": {"fovea_attention_desc"},
    "attention/layout.h": {"fovea_attention_desc"},
    "attention/limits.cc": {"fovea_attention_desc"},
    "attention/options.h": {"fovea_attention_desc"},
    "attention/rotation.cc": {"fovea_attention_desc"},
    "attention/small_call.cc": {"fovea_attention_desc"},
    # A layer holds the arguments of its attention call, which AttentionCall reads.
    "multihead/call.h": {"fovea_attention_args"},
}

# A C function only forwards: it has no loop.
LOOP = re.compile(r"\b(?:do|for|while)\b")


def layer_of(path):
    """Layer of a path relative to lib/src, or None."""
    folder, name = path.parts[0], path.name
    if path.as_posix() in SEAMS:
        return "tables"
    if folder == "simd" and re.match(r"dots?\b|dot_|half_|halves\b", name):
        return "words"
    if folder in {"base", "selftest", "simd", "targets"}:
        return folder
    if path.suffix == ".inl":
        return "kernels" if folder not in {"base", "simd", "targets"} else None
    stem = path.stem.split("_")[-1]
    if stem == "kernels" and folder not in SHARED - {"formats", "math"}:
        return "tables" if path.suffix == ".h" else "instances"
    if folder in SHARED:
        return "call" if path.parts[0] == "formats" else None
    return stem if stem in {"api", "resolve"} else {"describe": "api", "plan": "resolve"}.get(stem, "call")


def is_inside_another(file, target):
    """Whether a file of an operator includes a private header of another operator."""
    one, other = file.parts[0], target.parts[0]
    return one != other and not {one, other} & SHARED and target.name not in SEAM


def without_comments(text):
    """The text with comments blanked, line numbers kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)


def without_strings(line):
    return line if line.lstrip().startswith("#") else re.sub(r'"(\\.|[^"\\])*"', '""', line)


def check_file(layer, file, source_root, complain):
    if file.suffix == ".cc":
        first = re.search(r"^#\s*include\s+(\S+)", file.read_text(), flags=re.M)
        if not first or first.group(1) != f'"{ARITHMETIC}"':
            complain(f"{file}: its first include must be {ARITHMETIC}")
    for number, line in enumerate(without_comments(file.read_text()).splitlines(), 1):
        where = f"{file}:{number}"
        included = re.match(r'\s*#\s*include\s+"([^"]+)"', line) or re.match(r"\s*#\s*include\s+<(fovea/[^>]+)>", line)
        if included:
            target = pathlib.PurePosixPath(included.group(1))
            if target.parts[0] == "fovea" or str(target) == ARITHMETIC:
                continue
            if not (source_root / target).is_file():
                complain(f'{where}: "{target}" is no file of the library, named from lib/src')
            elif layer_of(target) not in MAY_INCLUDE[layer]:
                complain(f"{where}: {layer} must not include {target}")
            elif layer != "public" and is_inside_another(file.relative_to(source_root), target):
                complain(f"{where}: another operator may include {', '.join(sorted(SEAM))} alone, not {target}")
            continue
        asked = re.search(r"\bconfig::k\w+", line)
        if asked and layer not in {"public", "resolve"} and file.relative_to(source_root).as_posix() not in CONFIG_FILES:
            complain(f"{where}: {asked.group()} belongs in an accessor in one of CONFIG_FILES")
        path = file.relative_to(source_root).as_posix() if layer != "public" else ""
        if layer not in ARGUMENT_LAYERS:
            for argument in ARGUMENT.findall(line):
                if argument in ARGUMENTS_BELOW.get(path, ()):
                    needed.add((path, argument))
                else:
                    complain(f"{where}: the caller's arguments in {layer}: {argument}")
        if layer == "api" and LOOP.search(without_strings(line)):
            complain(f"{where}: a loop in {layer}")
        for rule in RULES:
            pattern, layers, what = rule
            found = re.search(pattern, without_strings(line))
            if not found:
                continue
            if rule is SWITCH_RULE and path in SWITCH_FILES:
                continue
            if layer not in layers:
                complain(f"{where}: {what} in {layer}: {found.group()}")
            elif rule is XSIMD_RULE and layer == "simd" and not file.name.startswith("xsimd"):
                complain(f"{where}: {what} belongs in files named xsimd*: {found.group()}")


needed = set()  # exceptions that some line needs: (file, argument)


def check_exceptions(complain):
    """Complains about exceptions that are not needed any more, so that the lists only become shorter."""
    allowed = {(path, argument) for path, arguments in ARGUMENTS_BELOW.items() for argument in arguments}
    for path, argument in sorted(allowed - needed):
        complain(f"check_layers.py: {path} has no {argument} any more: take it out of the list")


MOST_LINES = 450  # of a file
MOST_LINES_OF_FUNCTION = 50
FUNCTION = re.compile(r"^( {0,2})(?!(?:if|for|while|switch|else|do|namespace|struct|class|enum|union)\b)[A-Za-z_~].*\)[\w ]*\{$")


def check_functions(file, complain):
    """No function is too long, from the line with its brace to its end."""
    begins = {}  # indentation -> line of the function that is open there
    for number, line in enumerate(without_comments(file.read_text()).splitlines(), 1):
        begin = FUNCTION.match(line)
        if begin:
            begins[begin[1]] = number
        elif line in ("}", "  }") and line[:-1] in begins:
            lines = number - begins.pop(line[:-1]) + 1
            if lines > MOST_LINES_OF_FUNCTION:
                complain(f"{file}:{number - lines + 1}: a function of {lines} lines, more than {MOST_LINES_OF_FUNCTION}")


def main():
    lib = pathlib.Path(sys.argv[1])
    source_root = lib / "src"
    complaints = []
    count = 0
    files = [(layer_of(file.relative_to(source_root)), file) for file in source_root.rglob("*.*") if file.suffix != ".md"]
    files += [("public", file) for file in (lib / "include").rglob("*.*")]
    for layer, file in sorted(files, key=lambda pair: str(pair[1])):
        if file.suffix not in {".c", ".cc", ".h", ".hpp", ".inl"}:
            complaints.append(f"{file}: not a source file")
        elif layer is None:
            complaints.append(f"{file}: in none of the library's folders")
        else:
            count += 1
            lines = len(file.read_text().splitlines())
            if lines > MOST_LINES:
                complaints.append(f"{file}: {lines} lines, more than {MOST_LINES}")
            check_file(layer, file, source_root, complaints.append)
            check_functions(file, complaints.append)
    check_exceptions(complaints.append)
    print("\n".join(complaints + [f"{count} files, {len(complaints)} complaints"]))
    return 1 if complaints or count == 0 else 0


sys.exit(main())
