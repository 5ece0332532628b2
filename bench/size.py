#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes, stack and speed of the library: bench/size.py [target...] [--features [name...]] [--later] [--compare | --update]

Builds the library for each target as it ships (-Os for Cortex-M, -O2 for the others). Prints, for each function, its code and
its own stack; for each public function and for whole programs, the bytes of a static link (code, read-only data, data, bss) and
the worst stack.

Code, read-only data, data, bss: of a relocatable link with --gc-sections that keeps only the named functions. Tables for
unwinding are left out. memcpy and the compiler's helpers for integers, which the link leaves undefined, are not counted.

Stack: the longest path through the compiler's own call graph (-fcallgraph-info=su), without the caller's frame. An indirect
call through a field of a kernel table, as kernels.scores_out(...), may reach each function in tables of the link (kAttention,
kSoftmax, ...) whose name contains the field's, as FewScoresOut does. Relocations of the object files tell which functions tables
contain. The stack of an executor or a loader is not counted, and undefined helpers count 0. A function that ends with a jump to
another has left its frame by then; relocations of Arm's object files tell jumps from calls.

Speed: instructions of a whole call, counted in an emulator as bench/counts.py does, for shapes in SHAPES; compared with those of
plain loops (counts/naive.c), which are compiled with -O2. The library is compiled for size, but must not be slower than these.

--features  leaves out each feature of fovea_config.h in turn, or each of those that are named, and prints by how much the whole
            library becomes smaller; or puts in one that the processor is without by default, and prints by how much it grows.
            Prints what calls take with all that it is without.
--later     measures also what each program of FLASH_GOALS takes without what came after its goal: LATER_FEATURES and
            LATER_FUNCTIONS; and what it takes with FOVEA_CHECKS=0.
--compare   compares all of this with bench/size_baseline.csv and bench/calls_baseline.csv: 1 if anything that is linked is larger
            than there, by a byte; if a program or the count of a shape differs from there at all, because pages show these; if
            a goal in GOALS is missed that is not in MISSED; or if a shape is slower than plain loops. With another compiler than
            the baseline's it only prints what differs.
--stack     prints the worst stack of each public function alone, for a toolchain file by its name, as x86-64-avx512.
--update    writes these files: the commit that changes them explains growth. What was not measured is kept:
            other targets, features unless --features is given, and what --later measures unless that is given. Then
            bench/figures.py --write sets the files into the pages.
"""
import argparse
import collections
import csv
import functools
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "scripts"))
from library import Library, features, left_out_by, public_functions, run  # noqa: E402
import counts  # noqa: E402

BASELINE = ROOT / "bench" / "size_baseline.csv"
CALLS_BASELINE = ROOT / "bench" / "calls_baseline.csv"

# Name: toolchain file, build type, description.
TARGETS = {
    "m4f": ("arm-none-eabi-cortex-m4f", "MinSizeRel", "Cortex-M4F, scalar, -Os"),
    "m55": ("arm-none-eabi-cortex-m55", "MinSizeRel", "Cortex-M55, Helium, -Os"),
    "m33": ("arm-none-eabi-cortex-m33", "MinSizeRel", "Cortex-M33, scalar, -Os"),
    "m0plus": ("arm-none-eabi-cortex-m0plus", "MinSizeRel", "Cortex-M0+, scalar, -Os"),
    "a53": ("aarch64-bare-cortex-a53", "Release", "Cortex-A53, NEON, -O2"),
    "avx2": ("x86-64-avx2", "Release", "x86-64, AVX2, -O2"),
    "rvv256": ("riscv64-linux-gnu-rvv256", "Release", "RV64, vectors of 256 bits, -O2"),
}
# clang writes no call graph: there the stack is not measured, and 0.
WITHOUT_STACK = {"rvv256"}

ATTENTION = ["fovea_attention_plan_init", "fovea_attention_workspace_bytes", "fovea_attention"]
STREAMS = ["fovea_stream_state_bytes", "fovea_stream_begin", "fovea_stream_push", "fovea_stream_end"]
CACHES = ["fovea_kv_cache_bytes", "fovea_kv_cache_init", "fovea_kv_append", "fovea_kv_describe", "fovea_kv_attach"]
INTEGER_ATTENTION = ["fovea_integer_attention", "fovea_integer_attention_workspace_bytes"]
DELTA = ["fovea_delta_state_bytes", "fovea_delta_begin", "fovea_delta_workspace_bytes", "fovea_delta"]
NOT_ONE_CALL_IN_F32 = {"BF16", "EXECUTOR", "F16", "GGML", "I4", "I8", "IQ", "KEY_SPLITS", "K_QUANTS", "LOAD", "PAGES", "RAGGED", "RING", "STREAMS"}
# Program: the functions that it calls, None for all but the self-test; the features that are left out.
PROGRAMS = {
    "softmax alone": (["fovea_softmax"], set()),
    "attention, causal and key lengths": (ATTENTION, left_out_by("minimal.h")),
    "streams and caches of int8 rows": (ATTENTION + STREAMS + CACHES, left_out_by("streaming.h")),
    "attention, int8 keys and values": (ATTENTION, set(features()) - {"FEW_ROWS", "I8"}),
    "attention, int8 keys and values, integer products": (ATTENTION, set(features()) - {"COMPUTE_I8", "FEW_ROWS", "I8"}),
    "attention, causal and int8 rows, integer products": (ATTENTION, set(features()) - {"COMPUTE_I8", "I8"}),
    "integer attention, int8 tensors": (INTEGER_ATTENTION, left_out_by("int8.h")),
    "linear attention, gated delta rule": (DELTA, left_out_by("minimal.h")),
    "attention, all options of one f32 call": (ATTENTION, NOT_ONE_CALL_IN_F32),
    "attention": (ATTENTION, set()),
    "all functions": (None, set()),
}

# Shape: heads, queries, keys and head_dim, as counts/calls.c takes them, and whether there is a mask.
SHAPES = {
    "1 query, 64 keys, head_dim 8": "1 1 64 8",
    "4 heads, 1 query, 64 keys, head_dim 64": "4 1 64 64",
    "4 heads, 1 query, 256 keys, head_dim 32": "4 1 256 32",
    "the same, masked": "4 1 256 32 mask",
    "4 heads, 64 queries, 64 keys, head_dim 64": "4 64 64 64",
    "4 heads, 1 query, 256 int8 keys, head_dim 64": "4 1 256 64 i8",
    "the same, integer products": "4 1 256 64 integers",
    "the same, integer attention": "4 1 256 64 tensors",
}
INT8 = re.compile(r"\b(i8|integers|tensors)$")  # shapes that no plain loops compute
# The targets that are compiled for size, on which SHAPES are counted; counts.py counts on the others.
BOARDS = {"m4f": "mps2-an386", "m55": "mps3-an547", "m33": "mps2-an505", "m0plus": "mps2-an385"}

# Program: bytes of flash at most on each target, which are code and constants.
FLASH_GOALS = {
    "softmax alone": {"m4f": 2200, "m55": 4600, "a53": 20 * 1024, "avx2": 22 * 1024},
    "attention, causal and key lengths": {"m4f": 7800, "m55": 8400},
    "streams and caches of int8 rows": {"m4f": 19500, "m55": 26000},
    "integer attention, int8 tensors": {"m4f": 5600, "m55": 6600},
    "linear attention, gated delta rule": {"m4f": 8000, "m55": 8600},
    "attention, all options of one f32 call": {"m4f": 16400, "m55": 27000},
    "attention, causal and int8 rows, integer products": {"m4f": 14500, "m55": 17500},
    "attention": {"m4f": 36000, "m55": 61000, "a53": 300 * 1024, "avx2": 380 * 1024},
    "all functions": {"m4f": 88000, "m55": 132000, "a53": 480 * 1024, "avx2": 640 * 1024},
}
# Target, program, column: bytes at most.
GOALS = {
    **{(target, program, "flash"): goal for program, goals in FLASH_GOALS.items() for target, goal in goals.items()},
    ("m4f", "attention", "stack"): 1536,
    ("m4f", "all functions", "stack"): 2048,
    ("m55", "all functions", "stack"): 2560,
    **{(target, "all functions", column): 0 for target in TARGETS for column in ("data", "bss")},
}
# What came after these goals: bench/README.md shows, next to each sum, what it is without that.
LATER_FEATURES = ["COMPUTE_F16", "GELU", "GENERAL_DELTA", "IMAGES", "KEY_MASS", "K_QUANTS", "LAYER_NORM", "LINEAR_ACTIVATION", "PREFIX", "RESIDUAL",
                  "HADAMARD", "TANH"]
LATER_FUNCTIONS = {f"fovea_{name}" for name in (
    "hadamard", "delta_matrices", "delta_matrices_workspace_bytes", "integer_norm", "integer_add", "integer_multiply",
    "integer_activation_table", "integer_activation", "integer_hard_swish", "integer_mean", "integer_argmax", "integer_top_k",
    "kv_compact", "kv_export", "kv_image_bytes", "kv_image_prefix", "kv_import", "kv_shift", "add", "multiply", "pooling", "embedding", "argmax", "top_k")}
# The goals that are not reached, and why. The baseline prevents that they become worse.
HADAMARD = "Hadamard transforms, some 750 bytes, came after the goal"
HALVES = "products of halves, 5.3 KB of kernels, and Hadamard transforms came after the goal"
ANY_ROWS = "a description names its arithmetic when the program runs: on the M4F 3 KB are the kernels of f32"
TABLES = "checks and the layout of the workspace are 1.6 KB, tables 833 bytes, products of single rows 880"
LAYERS = "calls are 65 KB, checks and plans above all, and the kernels of delta and linear layers 13 KB"
LATER = "layers, products of halves, K-quants and others came after the goal"
FEW_ROWS = "with fewer functions for few rows, calls of few rows took up to 1.35 times as long"
MISSED = {
    ("m4f", "integer attention, int8 tensors", "flash"): TABLES,
    ("m55", "integer attention, int8 tensors", "flash"): TABLES,
    ("m4f", "attention, all options of one f32 call", "flash"): HADAMARD,
    ("m4f", "attention, causal and int8 rows, integer products", "flash"): ANY_ROWS,
    ("m55", "attention, causal and int8 rows, integer products", "flash"): ANY_ROWS,
    ("m4f", "attention, causal and key lengths", "flash"): "that prefixes are refused where they are left out, 12 bytes, came after the goal",
    ("m55", "attention, causal and key lengths", "flash"): "that structures of later versions are accepted came after the goal",
    ("m4f", "streams and caches of int8 rows", "flash"): "sizes with a status, and what is reserved, came after the goal",
    ("m4f", "attention", "flash"): HADAMARD,
    ("m55", "attention", "flash"): HALVES,
    ("m4f", "all functions", "flash"): LAYERS,
    ("m55", "all functions", "flash"): LATER,
    ("avx2", "attention", "flash"): FEW_ROWS,
    **{(target, "all functions", "flash"): FEW_ROWS for target in ("a53", "avx2")},
    **{(target, "softmax alone", "flash"): "rows and columns each have three loops, for time" for target in ("a53", "avx2")},
}

# Targets whose features --update measures: each other target takes minutes, and its numbers are not needed.
FEATURE_TARGETS = ["m4f", "m55"]

COLUMNS = ["code", "rodata", "data", "bss", "stack"]
Row = collections.namedtuple("Row", ["target", "kind", "name"] + COLUMNS)
Speed = collections.namedtuple("Speed", ["target", "shape", "fovea", "naive"])


class Build:
    """The library of a target, with some features left out."""

    def __init__(self, target, folder):
        toolchain, build_type, _ = TARGETS[target]
        self.target = target
        # Without ccache, whose older releases do not cache the file that -fcallgraph-info writes.
        self.library = Library(folder / target, f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/toolchains/{toolchain}.cmake",
                               f"-DCMAKE_BUILD_TYPE={build_type}", "-DCMAKE_CXX_COMPILER_LAUNCHER=",
                               flags="" if target in WITHOUT_STACK else "-fstack-usage -fcallgraph-info=su")
        self.link = [self.library.compiler, *(word for word in next(iter(self.library.commands.values())) if word.startswith("--target="))]

    def linked(self, functions, left_out=frozenset(), put_in=frozenset(), checks=True):
        """(code, rodata, data, bss) of a link that keeps these functions, and its symbols."""
        library, image = self.library, self.library.folder / "image.o"
        keep = [f"-Wl,-u,{name}" for name in functions]
        run(*self.link, "-r", "-nostdlib", "-Wl,--gc-sections", *keep, *(item.path for item in library.objects(left_out, put_in, checks)), "-o", image)
        size = dict.fromkeys(COLUMNS[:4], 0)
        for line in run(library.readelf, "--sections", "--wide", image).splitlines():
            match = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+([A-Z_0-9]+)\s+\S+\s+\S+\s+([0-9a-f]+)\s+\S+\s+([A-Za-z]+)\s", line)
            if not match or "A" not in match.group(4):
                continue
            name, kind, size_bytes, flags = match.group(1), match.group(2), int(match.group(3), 16), match.group(4)
            if re.match(r"\.(eh_frame|ARM\.ex|gcc_except|note)", name):
                continue
            writes = "W" in flags and not name.startswith(".data.rel.ro")
            size["code" if "X" in flags else "rodata" if not writes else "bss" if kind == "NOBITS" else "data"] += size_bytes
        symbols = {line.split()[0] for line in run(library.nm, "--defined-only", "--format=posix", image).splitlines()}
        return [size[column] for column in COLUMNS[:4]], symbols


@functools.lru_cache(maxsize=None)
def fields(pattern):
    """Names of pointers to functions in these headers of the library."""
    member_if = r"\b(?:MemberIf|If\w+)<[^;]*?\(\*\)\([^;]*?\)>\s+(\w+)"
    texts = [path.read_text() for path in (ROOT / "lib").glob(pattern)]
    return {name for text in texts for name in re.findall(r"\(\*(\w+)(?:\[\w+\])?\)\(", text) + re.findall(member_if, text)}


@functools.lru_cache(maxsize=None)
def callers_own():
    """Fields with functions of the caller, whose stack does not count. An executor's task is the library's function."""
    return fields("include/fovea/*.h") - fields("src/**/*.h") - {"task"}


@functools.lru_cache(maxsize=None)
def called_fields(place):
    """The fields of tables that an indirect call at file:line:column may use."""
    path, number, column = place.rsplit(":", 2)
    text = pathlib.Path(path).read_text()
    line = text.splitlines()[int(number) - 1]
    known = fields("src/**/*.h") | fields("include/fovea/*.h")
    found = set(re.findall(r"[.>](\w+)(?=\)?[\[(])", line)) & known
    if not found:  # a variable that holds the pointer of a field
        name = re.search(r"\w*$", line[:int(column) - 1]).group()
        found = set(re.findall(r"\w+", " ".join(re.findall(rf"\b{name} = ([^;]*);", text)))) & known
    if not found:
        sys.exit(f"{place}: through which field of a table is this call?")
    return found - callers_own()


def is_reached(function, field):
    return "".join(word.capitalize() for word in field.split("_")) in function


@functools.lru_cache(maxsize=None)  # most do not depend on the features that are left out
def read_object(path, nm, readelf, target):
    """Of an object file: code, frame and label of functions, their calls, calls by pointer, entries of tables."""
    code, frame, label, calls, tables, jumps, branches = {}, {}, {}, [], [], set(), set()
    for line in run(nm, "-S", "--defined-only", path).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tTwWuV":
            code[fields[3]] = int(fields[1], 16)
    for line in path.with_suffix(".ci").read_text().splitlines():
        node = re.match(r'node: \{ title: "([^"]+)" label: "([^"]*)"', line)
        edge = re.match(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^"]+)")?', line)
        if node and " bytes (" in node.group(2):
            name = node.group(1).split(":")[-1]
            label[name], _, stack = node.group(2).split("\\n")[:3]
            if "dynamic" in stack and "bounded" not in stack:
                sys.exit(f"{target}: {name} has a stack of no fixed size")
            frame[name] = int(stack.split()[0])
        elif edge:
            calls.append((edge.group(1).split(":")[-1], edge.group(2).split(":")[-1], edge.group(3)))
    # An address of a function in a constant, which has a section of its own, is an entry of a table.
    table = function = None
    for line in run(readelf, "--relocs", "--wide", path).splitlines():
        section = re.match(r"Relocation section '(\S+)'", line)
        if section:
            function = re.match(r"(?:\.rela?\.text\.)?(.*)", section.group(1)).group(1)
            found = re.match(r"\.rela?\.(?:rodata|data\.rel\.ro(?:\.local)?)\.(\w+)$", section.group(1))
            table = found.group(1) if found and found.group(1) not in code else None  # else of a function: the jump table of a switch
        elif table and re.match(r"[0-9a-f]{8}", line):
            fields = line.split()
            if len(fields) >= 5 and (fields[4].startswith(".text.") or not fields[4].startswith(".")):
                tables.append((table, re.sub(r"^\.text\.", "", fields[4])))
        elif re.match(r"[0-9a-f]{8}", line) and re.search(r"(JUMP|CALL)", line):
            fields = line.split()
            (jumps if "JUMP" in fields[2] else branches).add((function, fields[4]))
    return code, frame, label, calls, tables, jumps - branches


class CallGraph:
    """Functions with their frames and calls. A function is (source file, name): files may have the same static names."""

    def __init__(self, build, left_out=frozenset(), put_in=frozenset(), checks=True):
        self.frame, self.code, self.label, self.calls, self.home = {}, {}, {}, collections.defaultdict(set), {}
        self.tables, self.indirect, self.jumps = collections.defaultdict(set), collections.defaultdict(set), set()
        library = build.library
        for part, path in library.objects(left_out, put_in, checks):
            code, frame, label, calls, tables, jumps = read_object(path, library.nm, library.readelf, build.target)
            self.jumps.update(((part, caller), callee) for caller, callee in jumps)
            self.code.update(((part, name), size) for name, size in code.items())
            self.frame.update(((part, name), size) for name, size in frame.items())
            self.label.update(((part, name), text) for name, text in label.items())
            for name in frame:
                self.home.setdefault(name, (part, name))
            for caller, callee, place in calls:
                if callee == "__indirect_call":
                    self.indirect[part, caller] |= called_fields(place)
                else:
                    self.calls[part, caller].add((part, callee))
            for table, name in tables:
                self.tables[table].add((part, name))
        for table, entries in self.tables.items():
            entries -= {entry for entry in entries if entry[1] in self.tables}  # tables that this one points to
            for part, name in entries:
                if not any(is_reached(name, field) for field in fields("src/**/*.h")):
                    sys.exit(f"{part}: {name} in {table} has the name of no field of a table")

    def resolve(self, function):
        return function if function in self.frame else self.home.get(function[1])

    def worst(self, function, symbols, path=()):
        """The worst stack of a function and those that it calls, in a link with these symbols."""
        function = self.resolve(function)
        if function is None:
            return 0  # a helper that is not the library's
        if function in path:
            sys.exit(f"{function[1]} calls itself")
        callees = set(self.calls[function])
        for field in self.indirect.get(function, ()):
            callees |= {callee for table in symbols & set(self.tables) for callee in self.tables[table] if is_reached(callee[1], field)}
        below = {callee: self.worst(callee, symbols, path + (function,)) for callee in callees}
        return max([self.frame[function], *(stack + (0 if (function, callee[1]) in self.jumps else self.frame[function])
                                            for callee, stack in below.items())])

    def worst_of(self, names, symbols):
        return max(self.worst(("", name), symbols) for name in names)


def without_selftest(functions):
    """What programs call that compute something: the self-test is a program of its own."""
    return [name for name in functions if not name.startswith("fovea_selftest_")]


def measure(build):
    public, rows = public_functions(), []
    library = without_selftest(public)
    if build.target in WITHOUT_STACK:
        return [Row(build.target, "program", name, *build.linked(functions or library, left_out)[0], 0)
                for name, (functions, left_out) in PROGRAMS.items()]
    for name, (functions, left_out) in PROGRAMS.items():
        size, symbols = build.linked(functions or library, left_out)
        rows.append(Row(build.target, "program", name, *size, CallGraph(build, left_out).worst_of(functions or library, symbols)))
    graph = CallGraph(build)
    for name in public:
        size, symbols = build.linked([name])
        rows.append(Row(build.target, "entry", name, *size, graph.worst_of([name], symbols)))
    for function in sorted(graph.frame):
        label = re.sub(r"^.*?((?:\w+::|\{anonymous\}::)*[\w~]+(?:::operator\S+)?)\(.*$", r"\1", graph.label[function])
        clones = function[1].split(".")[1:]
        arguments = re.search(r"\[with (.*)\]", graph.label[function])
        name = re.sub(r"\{anonymous\}::|fovea::", "", label) + (f" <{arguments.group(1)}>" if arguments else "")
        name = ".".join([f"{function[0]}: {name}"] + clones)
        rows.append(Row(build.target, "function", name, graph.code.get(function, 0), 0, 0, 0, graph.frame[function]))
    return rows


def measure_speed(target, folder):
    """Instructions of a call of each shape. The library of the build exists already."""
    run("cmake", folder / target, "-DFOVEA_BUILD_BENCH=ON")
    run("cmake", "--build", folder / target, "--target", "fovea_calls", "--parallel", os.cpu_count() or 1)
    emulated = counts.Target(target, None, counts.board(BOARDS[target]), "arm-none-eabihf", "")
    program = folder.resolve() / target / "bench" / ("fovea_calls" + emulated.suffix)
    plugin = counts.build_plugin(str(folder.resolve()))

    def instructions(who, shape):
        return sum(counts.counts(emulated, str(program), plugin, who, *shape.split()).values())

    return [Speed(target, name, instructions("fovea", shape), 0 if INT8.search(shape) else instructions("naive", shape))
            for name, shape in SHAPES.items()]


def measure_features(build, names):
    """The bytes that each of these features adds to the whole library. One that is left out by default is put in."""
    public, by_default = without_selftest(public_functions()), build.library.left_out()

    def linked(**changed):
        size, symbols = build.linked(public, **changed)
        return size + [CallGraph(build, **changed).worst_of(public, symbols)]

    whole, rows = linked(), []
    for name in names:
        more, less = (linked(put_in={name}), whole) if name in by_default else (whole, linked(left_out={name}))
        rows.append(Row(build.target, "feature", name, *(a - b for a, b in zip(more, less))))
    return rows


def measure_whole(build):
    """The calls that take other bytes with the features that the target's processor is without by default, and these bytes."""
    put_in, rows = build.library.left_out(), []
    graphs = [CallGraph(build), CallGraph(build, put_in=put_in)]
    for name in without_selftest(public_functions()) if put_in else ():
        linked = [build.linked([name]), build.linked([name], put_in=put_in)]
        before, after = (size + [graph.worst_of([name], symbols)] for graph, (size, symbols) in zip(graphs, linked))
        if before != after:
            rows.append(Row(build.target, "whole", name, *after))
    return rows


def measure_later(build):
    """For each program that has a goal, and of which something came after that: what it takes without that."""
    later, rows = set(LATER_FEATURES) - build.library.left_out(), []
    for name in (name for name, goals in FLASH_GOALS.items() if build.target in goals):
        functions, left_out = PROGRAMS[name]
        earlier = functions or [function for function in without_selftest(public_functions()) if function not in LATER_FUNCTIONS]
        if functions and later <= left_out:
            continue
        size, symbols = build.linked(earlier, left_out | later)
        rows.append(Row(build.target, "earlier", name, *size, CallGraph(build, left_out | later).worst_of(earlier, symbols)))
    return rows


def measure_unchecked(build):
    """What each program that has a goal takes without checks of arguments."""
    rows = []
    for name in (name for name, goals in FLASH_GOALS.items() if build.target in goals):
        functions, left_out = PROGRAMS[name]
        functions = functions or without_selftest(public_functions())
        size, symbols = build.linked(functions, left_out, checks=False)
        rows.append(Row(build.target, "unchecked", name, *size, CallGraph(build, left_out, checks=False).worst_of(functions, symbols)))
    return rows


def show(rows):
    for kind in ("function", "entry", "program", "feature", "whole", "earlier", "unchecked"):
        chosen = [row for row in rows if row.kind == kind]
        if kind == "function":
            chosen.sort(key=lambda row: -row.code)
        if chosen:
            print(f"\n{chosen[0].target} {kind:<66}" + "".join(f"{column:>8}" for column in COLUMNS))
        for row in chosen:
            print(f"{row.name[:70]:<70}" + "".join(f"{getattr(row, column):>8}" for column in COLUMNS))


def show_speeds(speeds):
    for speed in speeds:
        loops = f", plain loops {speed.naive:>9}: {speed.naive / speed.fovea:.2f} times as many" if speed.naive else ""
        print(f"{speed.target:5} {speed.shape:<50} {speed.fovea:>9} instructions{loops}")


def slower(speeds):
    """Whether a shape is slower than plain loops; prints which."""
    found = [speed for speed in speeds if speed.fovea > speed.naive > 0]
    for speed in found:
        print(f"{speed.target} {speed.shape}: {speed.fovea} instructions, plain loops {speed.naive}: slower")
    return bool(found)


def is_kept(target, kind):
    """Whether the baseline has rows of a kind: of functions there are hundreds, and calls alone are shown for two targets."""
    return kind != "function" and (kind != "entry" or target in FEATURE_TARGETS)


def write_baseline(path, kind, rows, compilers, measured):
    """Replaces the rows of the file for which measured(row) is true by these. Targets are in the order of TARGETS."""
    base_compilers, base = read_baseline(path)
    kept = [kind(**row) for row in base if not measured(row)]
    rows = [row for target in TARGETS for row in rows + kept if row.target == target]
    compilers = {**base_compilers, **compilers}
    compilers = {target: compilers[target] for target in TARGETS if target in compilers}
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {target}: {compiler}\n" for target, compiler in compilers.items())
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kind._fields)
        writer.writerows(rows)


def bytes_of(row, column):
    """A row's bytes in a column of the baseline, or of flash."""
    return bytes_of(row, "code") + bytes_of(row, "rodata") if column == "flash" else int(row[column])


def goals_of(row):
    """(column, its bytes, goal) for each goal of a program."""
    return [(column, bytes_of(row._asdict(), column), goal) for (target, program, column), goal in GOALS.items()
            if (row.kind, row.target, row.name) == ("program", target, program)]


def read_baseline(path):
    """The compilers and the rows of a baseline."""
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    return (dict(line[2:].rstrip("\n").split(": ", 1) for line in lines if line.startswith("#")),
            list(csv.DictReader(line for line in lines if line[0] != "#")))


def compare_speeds(speeds, compilers):
    """1 if a shape is slower than plain loops or, with the baseline's compiler, its count differs from the baseline."""
    base_compilers, rows = read_baseline(CALLS_BASELINE)
    base = {(row["target"], row["shape"]): (int(row["fovea"]), int(row["naive"])) for row in rows}
    failed = slower(speeds)
    for speed in speeds:
        now, was = (speed.fovea, speed.naive), base.get((speed.target, speed.shape))
        if now != was:
            print(f"{speed.target} {speed.shape}: {now[0]} instructions, plain loops {now[1]}; in the baseline {was}")
            failed = failed or compilers[speed.target] == base_compilers.get(speed.target)
    return int(failed)


def compare(rows, compilers):
    base_compilers, base_rows = read_baseline(BASELINE)
    base = {(row["target"], row["kind"], row["name"]): row for row in base_rows}

    failed = False
    for target, compiler in compilers.items():
        grown, smaller = [], 0
        for row in (row for row in rows if row.target == target and is_kept(target, row.kind)):
            before = base.get((row.target, row.kind, row.name))
            for column, now, goal in goals_of(row):
                missed = (row.target, row.name, column) in MISSED
                if (now > goal) != missed:
                    grown.append(f"{target} {row.name}: {column} {now}, goal {goal}: not as MISSED has it")
                elif missed:
                    print(f"{target} {row.name}: {column} {now}, {now - goal} over its goal of {goal}")
            for column in COLUMNS:
                now = getattr(row, column)
                was = int(before[column]) if before else 0
                if now > was or (now < was and row.kind == "program"):
                    grown.append(f"{target} {row.kind} {row.name}: {column} {was} -> {now}")
                else:
                    smaller += now < was
        print(f"{target}: {len(grown)} figures grew, or are of a program and not those of the baseline; {smaller} others are smaller")
        print("".join(f"  {line}\n" for line in grown), end="")
        if grown:
            print(f"  bench/size.py {target} lists functions by their size: here, and in a checkout of the commit before")
        if compiler == base_compilers.get(target):
            failed = failed or bool(grown)
        else:
            print(f"  not held against it: this is {compiler}, the baseline is of {base_compilers.get(target)}")
    if failed:
        print("Write the baselines anew with ./run baselines; if something must grow, say in the commit why.")
    return 1 if failed else 0


def show_stacks(toolchain, folder):
    TARGETS[toolchain] = toolchain, "MinSizeRel" if "cortex-m" in toolchain else "Release", toolchain
    build = Build(toolchain, folder)
    graph = CallGraph(build)
    for name in public_functions():
        print(f"{graph.worst(('', name), build.linked([name])[1]):6}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(TARGETS)}; without it: all")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "size", help="folder to build in")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--features", nargs="*", metavar="name")
    parser.add_argument("--later", action="store_true")
    parser.add_argument("--stack", metavar="TOOLCHAIN")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if arguments.stack:
        show_stacks(arguments.stack, arguments.build)
        return 0
    unknown = set(arguments.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    unknown = set(arguments.features or []) - set(features())
    if unknown:
        parser.error(f"no such feature: {', '.join(sorted(unknown))}")
    targets = arguments.targets or list(TARGETS)
    chosen = set() if arguments.features is None else set(arguments.features or features())

    rows, compilers, speeds = [], {}, []
    for target in targets:
        build = Build(target, arguments.build)
        compilers[target] = build.library.compiler_version()
        found = measure(build)
        if target in BOARDS:
            speeds += measure_speed(target, arguments.build)
        if chosen and (target in FEATURE_TARGETS or not arguments.update):
            found += measure_features(build, [name for name in features() if name in chosen]) + measure_whole(build)
        if arguments.later:
            found += measure_later(build) + (measure_unchecked(build) if target in FEATURE_TARGETS else [])
        if not (arguments.compare or arguments.update):
            show(found)
            show_speeds([speed for speed in speeds if speed.target == target])
        rows += found
    if arguments.update:
        rows = [row for row in rows if is_kept(row.target, row.kind)]
        write_baseline(BASELINE, Row, rows, compilers,
                       lambda row: row["target"] in targets and {"feature": row["name"] in chosen, "whole": bool(chosen),
                                                                 "earlier": arguments.later, "unchecked": arguments.later}.get(row["kind"], True))
        write_baseline(CALLS_BASELINE, Speed, speeds, compilers, lambda row: row["target"] in targets)
    if arguments.compare:
        return compare(rows, compilers) | compare_speeds(speeds, compilers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
