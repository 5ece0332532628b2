#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes and stack of the library: bench/size.py [target...] [--features] [--check | --update | --readme]

Builds the library for each target as it ships (-Os for Cortex-M, -O2 for the others) and prints, for each function, its code
and its own stack; for each public function and for whole programs, what a static link brings in (code, read-only data, data,
bss) and the worst stack.

Code, read-only data, data, bss: of a relocatable link with --gc-sections that keeps the named functions alone. Tables for
unwinding are left out. memcpy and the compiler's helpers for integers, which the link leaves undefined, are not counted.

Stack: the longest way through the compiler's own call graph (-fcallgraph-info=su), the caller's frame not counted. An indirect
call may reach every function that is named in a table of the link (kAttention, kSoftmax, ...): the relocations of the object
files tell which. Undefined helpers count 0.

--features  leaves out each feature of fovea_config.h in turn, and prints by how much the whole library becomes smaller.
--check     holds all of this against bench/size_baseline.csv: 1 if anything that is linked is more than 2 % or 64 bytes larger
            than there, or if a limit in LIMITS is passed. Differences below 16 bytes are never counted.
--update    writes that file.
--readme    prints the tables of README.md.
"""
import argparse
import collections
import csv
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASELINE = ROOT / "bench" / "size_baseline.csv"

# Name: toolchain file, build type, what it is.
TARGETS = {
    "m4f": ("arm-none-eabi-cortex-m4f", "MinSizeRel", "Cortex-M4F, scalar, -Os"),
    "m55": ("arm-none-eabi-cortex-m55", "MinSizeRel", "Cortex-M55, Helium, -Os"),
    "a53": ("aarch64-bare-cortex-a53", "Release", "Cortex-A53, NEON, -O2"),
    "avx2": ("x86-64-avx2", "Release", "x86-64, AVX2, -O2"),
}

ATTENTION = ["fovea_plan_init", "fovea_workspace_bytes", "fovea_attention"]
# Program: the functions it calls, and whether all features but those of LEAST are left out.
PROGRAMS = {
    "softmax alone": (["fovea_softmax_f32"], False),
    "attention, causal and key lengths": (ATTENTION, True),
    "attention": (ATTENTION, False),
    "all functions": (None, False),
}
LEAST = {"CAUSAL"}

# Target, what, column: bytes at most.
LIMITS = {
    ("m4f", "softmax alone", "code"): 2048,
    ("m4f", "attention, causal and key lengths", "code"): 6144,
    ("m4f", "attention", "code"): 16384,
    ("m4f", "all functions", "stack"): 768,
    **{(target, "all functions", column): 0 for target in TARGETS for column in ("data", "bss")},
}

COLUMNS = ["code", "rodata", "data", "bss", "stack"]
Row = collections.namedtuple("Row", ["target", "kind", "name"] + COLUMNS)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, universal_newlines=True,
                          **options).stdout


def features():
    """The names of the switches: SOFTCAP for FOVEA_ENABLE_SOFTCAP."""
    header = (ROOT / "lib/include/fovea/fovea_config.h").read_text()
    return re.findall(r"^#define FOVEA_ENABLE_(\w+) 1\b", header, flags=re.M)


def public_functions():
    header = re.sub(r"/\*.*?\*/", " ", (ROOT / "lib/include/fovea/fovea.h").read_text(), flags=re.S)
    return re.findall(r"^[a-z][\w \*]*?\b(fovea_\w+)\(", header, flags=re.M)


class Build:
    """The library for a target, with some features left out."""

    def __init__(self, target, folder, left_out=()):
        toolchain, build_type, _ = TARGETS[target]
        self.target, self.folder = target, folder / target
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "settings.h"
        text = "".join(f"#define FOVEA_ENABLE_{name} 0\n" for name in sorted(left_out))
        if not settings.exists() or settings.read_text() != text:
            settings.write_text(text)
        if not (self.folder / "CMakeCache.txt").exists():
            environment = dict(os.environ, CXXFLAGS="-fstack-usage -fcallgraph-info=su")
            run("cmake", "-S", ROOT, "-B", self.folder, f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/toolchains/{toolchain}.cmake",
                f"-DCMAKE_BUILD_TYPE={build_type}", f"-DFOVEA_CONFIG_HEADER={settings}", "-DFOVEA_BUILD_TESTS=OFF",
                "-DFOVEA_BUILD_BENCH=OFF", "-DFOVEA_BUILD_EXAMPLES=OFF", env=environment)
        jobs = str(os.cpu_count() or 1)
        run("cmake", "--build", self.folder, "--target", "fovea", "--parallel", jobs)
        cache = (self.folder / "CMakeCache.txt").read_text()
        tool = lambda name: re.search(rf"^{name}:\w+=(.*)$", cache, flags=re.M).group(1)
        self.nm, self.readelf = tool("CMAKE_NM"), tool("CMAKE_READELF")
        found = next(self.folder.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")).read_text()
        self.compiler = re.search(r'set\(CMAKE_CXX_COMPILER "(.*)"\)', found).group(1)
        self.library = self.folder / "lib" / "libfovea.a"

    def version(self):
        return run(self.compiler, "-dumpfullversion").strip()

    def objects(self):
        """(source file below lib/src, object file, call graph) of each file of the library."""
        base = self.folder / "lib/CMakeFiles/fovea.dir/src"
        for graph in sorted(base.glob("**/*.ci")):
            name = graph.with_suffix("")
            objects = [path for path in (name.parent / f"{name.name}{suffix}" for suffix in (".o", ".obj")) if path.exists()]
            yield str(name.relative_to(base)), objects[0], graph

    def linked(self, functions):
        """(code, rodata, data, bss) of a link that keeps these functions, and its symbols."""
        image = self.folder / "image.o"
        keep = [f"-Wl,-u,{name}" for name in functions]
        run(self.compiler, "-r", "-nostdlib", "-no-pie" if self.target in ("avx2", "a53") else "-nostartfiles",
            "-Wl,--gc-sections", *keep, self.library, "-o", image)
        size = dict.fromkeys(COLUMNS[:4], 0)
        for line in run(self.readelf, "--sections", "--wide", image).splitlines():
            match = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+([A-Z_0-9]+)\s+\S+\s+\S+\s+([0-9a-f]+)\s+\S+\s+([A-Za-z]+)\s", line)
            if not match or "A" not in match.group(4):
                continue
            name, kind, size_bytes, flags = match.group(1), match.group(2), int(match.group(3), 16), match.group(4)
            if re.match(r"\.(eh_frame|ARM\.ex|gcc_except|note)", name):
                continue
            writes = "W" in flags and not name.startswith(".data.rel.ro")
            size["code" if "X" in flags else "rodata" if not writes else "bss" if kind == "NOBITS" else "data"] += size_bytes
        symbols = {line.split()[0] for line in run(self.nm, "--defined-only", "--format=posix", image).splitlines()}
        return [size[column] for column in COLUMNS[:4]], symbols


class CallGraph:
    """Functions with their frames and calls. A function is (object file, name): names within files may repeat."""

    def __init__(self, build):
        self.frame, self.code, self.label, self.calls, self.home = {}, {}, {}, collections.defaultdict(set), {}
        self.tables, self.indirect, self.target = collections.defaultdict(set), set(), build.target
        for part, path, graph in build.objects():
            for line in run(build.nm, "-S", "--defined-only", path).splitlines():
                fields = line.split()
                if len(fields) == 4 and fields[2] in "tTwWuV":
                    self.code[part, fields[3]] = int(fields[1], 16)
            for line in graph.read_text().splitlines():
                node = re.match(r'node: \{ title: "([^"]+)" label: "([^"]*)"', line)
                edge = re.match(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', line)
                if node and " bytes (" in node.group(2):
                    name = node.group(1).split(":")[-1]
                    label, _, frame = node.group(2).split("\\n")[:3]
                    if "dynamic" in frame and "bounded" not in frame:
                        sys.exit(f"{build.target}: {name} has a stack of no fixed size")
                    self.frame[part, name] = int(frame.split()[0])
                    self.label[part, name] = label
                    self.home.setdefault(name, (part, name))
                elif edge:
                    caller, callee = ((part, end.split(":")[-1]) for end in edge.groups())
                    if callee[1] == "__indirect_call":
                        self.indirect.add(caller)
                    else:
                        self.calls[caller].add(callee)
            for table, name in self.table_entries(build, path):
                self.tables[table].add((part, name))

    @staticmethod
    def table_entries(build, path):
        """(table, function) for each address of a function in a constant of its own section."""
        table = None
        for line in run(build.readelf, "--relocs", "--wide", path).splitlines():
            section = re.match(r"Relocation section '(\S+)'", line)
            if section:
                found = re.match(r"\.rela?\.(?:rodata|data\.rel\.ro(?:\.local)?)\.(\w+)$", section.group(1))
                table = found.group(1) if found else None
            elif table and re.match(r"[0-9a-f]{8}", line):
                fields = line.split()
                if len(fields) >= 5 and (fields[4].startswith(".text.") or not fields[4].startswith(".")):
                    yield table, re.sub(r"^\.text\.", "", fields[4])

    def resolve(self, function):
        return function if function in self.frame else self.home.get(function[1])

    def worst(self, function, symbols, path=()):
        """The worst stack from a function on, in a link with these symbols."""
        function = self.resolve(function)
        if function is None:
            return 0  # a helper that is not the library's
        if function in path:
            sys.exit(f"{function[1]} calls itself")
        callees = set(self.calls[function])
        if function in self.indirect:
            named = {callee for table in symbols & set(self.tables) for callee in self.tables[table]}
            if not named:
                sys.exit(f"{self.target}: {function[1]} calls through a table, and there is none")
            callees |= named
        return self.frame[function] + max((self.worst(callee, symbols, path + (function,)) for callee in callees), default=0)

    def worst_of(self, names, symbols):
        return max(self.worst(("", name), symbols) for name in names)


def measure(build, least):
    graph = CallGraph(build)
    public = public_functions()
    rows = []
    for name, (functions, is_least) in PROGRAMS.items():
        if is_least == least:
            functions = functions or public
            size, symbols = build.linked(functions)
            rows.append(Row(build.target, "program", name, *size, graph.worst_of(functions, symbols)))
    if least:
        return rows
    for name in public:
        size, symbols = build.linked([name])
        rows.append(Row(build.target, "entry", name, *size, graph.worst_of([name], symbols)))
    for function in sorted(graph.frame):
        label = re.sub(r"^.*?((?:\w+::|\{anonymous\}::)*[\w~]+(?:::operator\S+)?)\(.*$", r"\1", graph.label[function])
        with_clone = function[1].split(".", 1)[1:]
        arguments = re.search(r"\[with (.*)\]", graph.label[function])
        name = re.sub(r"\{anonymous\}::|fovea::", "", label) + (f" <{arguments.group(1)}>" if arguments else "")
        name = function[0] + ": " + name + "".join("." + clone for clone in with_clone)
        rows.append(Row(build.target, "function", name, graph.code.get(function, 0), 0, 0, 0, graph.frame[function]))
    return rows


def measure_features(target, folder):
    """Rows whose bytes are what a feature adds to the whole library."""
    whole, _ = Build(target, folder).linked(public_functions())
    rows = []
    for name in features():
        without, _ = Build(target, folder, {name}).linked(public_functions())
        rows.append(Row(target, "feature", name, *(a - b for a, b in zip(whole, without)), 0))
    Build(target, folder)
    return rows


def show(rows, kinds):
    for kind in kinds:
        chosen = [row for row in rows if row.kind == kind]
        if not chosen:
            continue
        if kind == "function":
            chosen.sort(key=lambda row: -row.code)
        print(f"\n{chosen[0].target} {kind:<66}" + "".join(f"{column:>8}" for column in COLUMNS))
        for row in chosen:
            print(f"{row.name[:70]:<70}" + "".join(f"{getattr(row, column):>8}" for column in COLUMNS))


def load_baseline():
    with open(BASELINE, encoding="utf-8") as file:
        version = file.readline().split()[-1]
        rows = {(row["target"], row["kind"], row["name"]): row for row in csv.DictReader(file)}
    return version, rows


def check(rows, version):
    base_version, base = load_baseline()
    if version.split(".")[0] != base_version.split(".")[0]:
        print(f"not compared: {BASELINE.name} was made with g++ {base_version}, this is {version}")
        return 0
    complaints = []
    for row in rows:
        before = base.get((row.target, row.kind, row.name))
        for column in COLUMNS:
            now = getattr(row, column)
            limit = LIMITS.get((row.target, row.name, column))
            if limit is not None and now > limit:
                complaints.append(f"{row.target} {row.name}: {column} {now} is over the limit of {limit}")
            if row.kind != "function" and before:
                was = int(before[column])
                if now - was >= 16 and (now - was > 64 or now > was * 1.02):
                    complaints.append(f"{row.target} {row.kind} {row.name}: {column} grew from {was} to {now}")
        if not before and row.kind != "function":
            complaints.append(f"{row.target} {row.kind} {row.name} is not in {BASELINE.name}: --update it")
    grown = [(row, int(base[key]["code"])) for row in rows if row.kind == "function"
             for key in [tuple(row[:3])] if key in base and row.code > int(base[key]["code"])]
    if complaints and grown:
        print("\nfunctions that grew:")
        for row, was in sorted(grown, key=lambda pair: pair[1] - pair[0].code):
            print(f"  {row.target} {row.name}: {was} to {row.code}")
    print("\n".join(complaints) or "nothing grew beyond what is allowed")
    return 1 if complaints else 0


def readme(rows):
    print("| | code | read-only data | worst stack |\n| --- | ---: | ---: | ---: |")
    for target in TARGETS:
        for row in rows:
            if row.kind == "program" and row.target == target:
                print(f"| {TARGETS[target][2]}: {row.name} | {row.code} | {row.rodata} | {row.stack} |")
    sizes = {(row.target, row.name): row.code + row.rodata for row in rows if row.kind == "feature"}
    targets = [target for target in TARGETS if any(key[0] == target for key in sizes)]
    print("\n| left out | " + " | ".join(TARGETS[target][2] for target in targets) + " |")
    print("| --- |" + " ---: |" * len(targets))
    for name in features():
        print(f"| `FOVEA_ENABLE_{name}` | " + " | ".join(str(sizes.get((target, name), "")) for target in targets) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(TARGETS)}; without it: all")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "size", help="folder to build in")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    unknown = set(arguments.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    arguments.build = arguments.build.resolve()
    targets = arguments.targets or list(TARGETS)
    if arguments.update and targets != list(TARGETS):
        parser.error("--update measures all targets")

    rows, version = [], ""
    for target in targets:
        least = Build(target, arguments.build / "least", set(features()) - LEAST)
        full = Build(target, arguments.build / "full")
        version = full.version()
        rows += measure(least, True) + measure(full, False)
        if (arguments.features or arguments.update or arguments.readme) and target in ("m4f", "m55"):
            rows += measure_features(target, arguments.build / "features")
        if not arguments.readme:
            show([row for row in rows if row.target == target], ["function", "entry", "program", "feature"])
    if arguments.update:
        with open(BASELINE, "w", encoding="utf-8", newline="") as file:
            file.write(f"# made by bench/size.py --update with g++ {version}\n")
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Row._fields)
            writer.writerows(rows)
    if arguments.readme:
        readme(rows)
    return check(rows, version) if arguments.check else 0


sys.exit(main())
