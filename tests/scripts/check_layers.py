#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layers of the library: check_layers.py <folder lib>

Three rooms: ground, what all stand on; core, attention and what it needs; layers, the layers around it. An operator is a folder of core
or layers (attention, norm, ...). core includes ground; a layer includes ground and core, but no layer, except those that are made of
others (COMPOSED). An operator includes only resolve.h, plan.h and call.h of another.

The name of a file tells its layer of a call. Includes go from left to right:
    resolve -> call -> kernels.h <- kernels.cc -> kernel texts (*.inl) -> math, formats, simd
kernels.h and kernels.cc include targets/ for the list of targets. The resolve layer is resolve.* and plan.*, which have the C functions;
the call layer is all files that are in no other layer. Words of products, simd/dot_*.inl and simd/half_*.inl, are made of the vocabulary
and of kernel texts. selftest calls the library as a user does, by the public headers. The script also lists the files that may use SIMD,
those that may ask what a build leaves out, and those below the resolve layer that know the caller's arguments. It prints each line that
breaks a rule, and each exception that no line needs.
"""
import pathlib
import re
import sys

# Sets the compiler's rules for arithmetic: each source file's first include.
ARITHMETIC = "ground/base/arithmetic.h"
# Its options for kernels, which hold for what follows: the second include of each file of kernels.
OPTIONS = "ground/targets/options.inl"

ROOMS = ["ground", "core", "layers"]  # each includes itself and those before it
# Layers that are made of other operators, and two that use one of another: what a linear layer normalises, and int8 tensors' copies.
COMPOSED = {"multihead", "selftest"}
USES = {("integer_layers", "tensors"), ("linear", "norm")}
# Headers of an operator that others may include.
SEAM = {"call.h", "plan.h", "resolve.h"}

# Layer of a file -> layers it may include. fovea/ (the public headers) may be included by all.
MAY_INCLUDE = {
    "public": set(),
    "base": {"base", "targets"},
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

SIMD_WORDS = {"instances", "kernels", "simd", "targets", "words"}  # layers that use the vocabulary
ISA_WORDS = {"simd", "targets", "words"}  # layers that may name instruction sets

# What fovea_config.h leaves out (config::k...) is asked in the public headers, where arguments are checked, and in headers and kernel
# texts: accessors, which all other files call, and lists of kernels. No other file asks.
ASKS_CONFIG = {".h", ".inl"}

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
SWITCH_FILES = {"core/attention/steps/called.inl", "core/attention/steps/kernels.cc", "core/attention/steps/kernels.h",
                "core/attention/stream/merge_kernels.cc"}

# The caller's arguments, each fovea_..._args and fovea_..._desc of fovea.h, end where they are resolved: in these layers.
ARGUMENT = re.compile(r"\bfovea_\w+_(?:args|desc)\b")
ARGUMENT_LAYERS = {"public", "resolve", "selftest"}
# Below them a plan and a cache hold their descriptions; these files hold the arguments of an attention call.
DESCRIPTIONS = {("core/attention/", "fovea_attention_desc"), ("core/cache/", "fovea_kv_cache_desc")}
ARGUMENTS_BELOW = {
    "core/attention/call.h": {"fovea_attention_args"},
    "layers/multihead/call.h": {"fovea_attention_args"},
}

# A C function of the resolve layer only forwards: it has no loop.
LOOP = re.compile(r"\b(?:do|for|while)\b")


def layer_of(path):
    """Layer of a path relative to lib/src, or None."""
    if len(path.parts) < 3 or path.parts[0] not in ROOMS:
        return None
    (room, folder), name = path.parts[:2], path.name
    if folder == "simd" and re.match(r"dots?\b|dot_|half_|halves\b", name):
        return "words"
    if folder in {"base", "selftest", "simd", "targets"}:
        return folder
    if path.suffix == ".inl":
        return "kernels"
    stem = path.stem.split("_")[-1]
    if stem == "kernels":
        return "tables" if path.suffix == ".h" else "instances"
    if room == "ground":  # formats.h is a table that all read; math has kernels alone
        return {"formats.h": "tables"}.get(name, "call" if folder == "formats" else None)
    return "resolve" if stem in {"describe", "plan", "resolve"} else "call"


def wrong_room(file, target):
    """What is wrong where a file includes another, by their rooms and operators; None if nothing is."""
    (room, folder), (other_room, other) = file.parts[:2], target.parts[:2]
    if folder == other or other_room == "ground":
        return None if ROOMS.index(room) >= ROOMS.index(other_room) else f"ground must not include {target}"
    if target.name not in SEAM:
        return f"another operator may include {', '.join(sorted(SEAM))} alone, not {target}"
    if ROOMS.index(room) < ROOMS.index(other_room):
        return f"{room} must not include {target}"
    if room == "layers" and room == other_room and folder not in COMPOSED:
        if (folder, other) not in USES:
            return f"a layer must not include another's {target}"
        needed.add((folder, other))
    return None


def without_comments(text):
    """The text with comments blanked, line numbers kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)


def without_strings(line):
    return line if line.lstrip().startswith("#") else re.sub(r'"(\\.|[^"\\])*"', '""', line)


def check_file(layer, file, source_root, complain):
    if file.suffix == ".cc":
        includes = re.findall(r'^#\s*include\s+"(.*)"', file.read_text(), flags=re.M)
        if includes[:1] != [ARITHMETIC]:
            complain(f"{file}: its first include must be {ARITHMETIC}")
        if layer == "instances" and includes[1:2] != [OPTIONS]:
            complain(f"{file}: its second include must be {OPTIONS}")
    in_c_function = False
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
            elif layer != "public" and (complaint := wrong_room(file.relative_to(source_root), target)):
                complain(f"{where}: {complaint}")
            continue
        asked = re.search(r"\bconfig::k\w+", line)
        if asked and layer not in {"public", "resolve"} and file.suffix not in ASKS_CONFIG:
            complain(f"{where}: {asked.group()} belongs in an accessor, in a header")
        path = file.relative_to(source_root).as_posix() if layer != "public" else ""
        if layer not in ARGUMENT_LAYERS:
            for argument in ARGUMENT.findall(line):
                if any(path.startswith(folder) and argument == held for folder, held in DESCRIPTIONS):
                    continue
                if argument in ARGUMENTS_BELOW.get(path, ()):
                    needed.add((path, argument))
                else:
                    complain(f"{where}: the caller's arguments in {layer}: {argument}")
        in_c_function = line != "}" and (in_c_function or line.startswith('extern "C"'))
        if in_c_function and layer == "resolve" and LOOP.search(without_strings(line)):
            complain(f"{where}: a loop in a C function")
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


needed = set()  # exceptions that some line needs: (file, argument), (operator, operator)


def check_exceptions(complain):
    """Complains about exceptions that are not needed any more, so that the lists only become shorter."""
    allowed = {(path, argument) for path, arguments in ARGUMENTS_BELOW.items() for argument in arguments}
    for user, used in sorted((allowed | USES) - needed):
        complain(f"check_layers.py: {user} has no {used} any more: take it out of the list")


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
