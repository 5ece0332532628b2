#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions for each multiply-add of a whole attention call, and cycles of its inner loops by models of processors.

    bench/counts.py                      # builds, counts, prints; --write makes the table the new baseline
    bench/counts.py --compare            # exits with 1 if a figure is worse than in bench/counts_baseline.csv
    bench/counts.py --targets arm-none-eabi-cortex-m55 --loops

bench/README.md says how. The inner loops are those of the two matrix products: loops that contain no loop and run a tenth or more of the
multiply-adds. The limit is the cycles that the same model needs for only their multiply-adds. Integer arithmetic has only rows of
instructions; tensors are fovea_integer_attention, linear is fovea_linear, delta is fovea_delta. Needs QEMU and llvm-19, and for each
toolchain the packages that its file names.
"""
import argparse
import bisect
import collections
import copy
import csv
import os
import platform
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench", "counts"))
import rules  # noqa: E402
BASELINE = os.path.join(ROOT, "bench", "counts_baseline.csv")
SHAPE, DECODE = "4 64 64 64", "4 1 256 32"  # heads, queries, keys and head_dim, as calls.c takes them
LINEAR = "1 128 1536 576 linear"  # tokens, outputs and inputs
LAYER_NORM, GELU = "1 16 1 768 layer_norm", "1 16 1 768 gelu"  # rows and their elements: an element counts as a multiply-add
FEW, MANY = "1 1 64 512 linear integers", "1 32 64 512 linear integers"  # the same, of weights in groups
DELTA = "4 64 64 64 delta"  # heads, tokens, head_dim and value_dim
ENCODER = "4 98 256 16 encoder"  # heads, tokens, units between the linear layers, head_dim
NOISE = {"instructions": 1.005, "cycles": 1.01, "rules": 1.01}  # a figure is worse above this multiple of the baseline's
NOT_SERVED = 3  # the exit status of calls.c if the library does not support the call
MOST_FUNCTIONS = 8  # functions shown for a row
LEAST_SHARE = 0.1  # the share of the multiply-adds that makes a loop an inner loop: the exponential has a twentieth


class Target:
    """models: processors that llvm-mca knows; rules: those of counts/rules.py. After = comes a bound of cycles. Without
    either, only instructions are counted."""

    def __init__(self, name, goal, emulator, triple, models, rules=""):
        self.name, self.goal, self.emulator, self.triple = name, goal, emulator.split(), triple
        self.models = [word.partition("=")[0] for word in models.split()]
        self.rules = [word.partition("=")[0] for word in rules.split()]
        self.bounds = {f"{measure} {word.partition('=')[0]}": float(word.partition("=")[2])
                       for measure, words in (("cycles", models), ("rules", rules))
                       for word in words.split() if "=" in word}
        self.bare = "toolchains/common" in emulator
        self.suffix = ".elf" if self.bare else ""

    def assembly(self, lines):
        return "\n".join(([] if self.triple.startswith(("aarch64", "x86_64")) else [".syntax unified"]) + lines) + "\n"


def board(machine, processor="arm"):
    return f"{ROOT}/toolchains/common/qemu-system.sh qemu-system-{processor} -M {machine}"


TARGETS = [
    Target("aarch64-linux-gnu", 0.44, "qemu-aarch64 -cpu cortex-a53", "aarch64-linux-gnu",
           "cortex-a53 cortex-a55 cortex-a72=0.255 cortex-a76=0.255 neoverse-n1=0.13 cortex-a510 cortex-a710",
           "cortex-a53=0.37 cortex-a55=0.37"),
    Target("aarch64-linux-gnu-cortex-a53", None, "qemu-aarch64 -cpu cortex-a53", "aarch64-linux-gnu",
           "cortex-a53 cortex-a55 cortex-a510", "cortex-a53=0.32 cortex-a55=0.26"),
    Target("armv7-linux-gnueabihf-neon", 0.60, "qemu-arm -cpu cortex-a7", "armv7-linux-gnueabihf", "cortex-a57=0.18"),
    Target("arm-none-eabi-cortex-m55", 0.66, board("mps3-an547"), "thumbv8.1m.main-none-eabihf",
           "cortex-m55=0.56 cortex-m85"),
    Target("arm-none-eabi-cortex-m4f", 1.75, board("mps2-an386"), "thumbv7em-none-eabihf",
           "cortex-m4=1.21", "cortex-m4"),
    Target("arm-none-eabi-cortex-m7", None, board("mps2-an500"), "thumbv7em-none-eabihf",
           "cortex-m7=1.33", "cortex-m7"),
    Target("arm-none-eabi-cortex-m33", None, board("mps2-an505"), "thumbv8m.main-none-eabihf", "cortex-m33"),
    Target("arm-none-eabi-cortex-m0plus", None, board("mps2-an385"), "thumbv6m-none-eabi", ""),  # floats by functions
    Target("riscv64-linux-gnu", None, "qemu-riscv64 -cpu rv64", "riscv64-linux-gnu", ""),
    Target("riscv64-linux-gnu-rvv128", 0.64, "qemu-riscv64 -cpu rv64,v=true,vlen=128,vext_spec=v1.0",
           "riscv64-linux-gnu", ""),
    Target("riscv64-linux-gnu-rvv256", 0.32, "qemu-riscv64 -cpu rv64,v=true,vlen=256,vext_spec=v1.0",
           "riscv64-linux-gnu", ""),
    Target("riscv64-linux-gnu-rvv512", 0.16, "qemu-riscv64 -cpu rv64,v=true,vlen=512,vext_spec=v1.0",
           "riscv64-linux-gnu", ""),
    Target("x86-64-avx2", 0.27, "qemu-x86_64 -cpu Haswell", "x86_64-linux-gnu", "haswell znver3"),
]


class More:
    """A row in addition to that of SHAPE. The goal is a number, or (row, factor): 1 / factor of that row's figure. models:
    processors for which there is also a row of the inner loops' cycles; limit: the goal of these."""

    def __init__(self, name, words, goal=None, models="", limit=None):
        self.name, self.words, self.goal, self.models, self.limit = name, words, goal, models.split(), limit


# Calls whose checks and preparation take most of their instructions: of one head, and of eight. Of the first 2,000
# instructions were the goal, of each further head 700.
def small_calls(goals=(None, None)):
    return [More("small call", "1 1 1 64", goals[0]), More("small call of 8 heads", "8 1 1 64", goals[1])]


# Decode of more query rows that share their keys, and of other keys.
MORE_DECODE = [
    More("decode f16 rows", f"{DECODE} f16"),
    *(More(f"decode of {queries} {kind}".strip(), f"4 {queries} 256 32 {word}".strip())
      for queries in (2, 4) for kind, word in (("", ""), ("f16 rows", "f16"), ("int8 rows", "i8"), ("integers", "integers"))),
]
# Products of halves, where the processor has arithmetic for them.
HALVES = [
    More("halves", f"{SHAPE} halves", 0.45),
    More("decode halves", f"{DECODE} halves", ("decode", 1.0)),
    More("decode of 2 halves", "4 2 256 32 halves"),
]


# Decode of one head with 1024 keys: its inner loops' cycles by models that have the instructions for halves.
OUT_OF_ORDER = "cortex-a76 neoverse-n1"
LONG_DECODE = [
    More("decode of 1024 f16 rows", "1 1 1024 128 f16 neon", None, OUT_OF_ORDER),
    More("decode of 1024 halves", "1 1 1024 128 halves neon", None, OUT_OF_ORDER, ("decode of 1024 f16 rows", 2.0)),
]


# Linear layers with products of halves, of many tokens and of one to three, each after f32 arithmetic on the same weights.
def linear_halves(shape, goal, target=""):
    few = [More(f"linear {name}, {tokens}", f"1 {count} 64 512 linear {word} {target}".strip(),
                (f"linear f16 weights, {tokens}", 1.0) if word == "halves" else None)
           for tokens, count in (("one token", 1), ("2 tokens", 2), ("3 tokens", 3))
           for name, word in (("f16 weights", "f16"), ("halves", "halves"))]
    return [More("linear halves", f"{shape} linear halves {target}".strip(), goal), *few]


# Linear layers with an activation that costs next to nothing, each after the same layer without: of codes, and in f32.
def linear_relu(codes="", floats=""):
    return [More(name, f"1 32 64 {inputs} linear {words}".strip(), goal)
            for inputs in (64, 256) for name, words, goal in (
                (f"linear codes, {inputs} inputs", f"codes {codes}", None),
                (f"linear codes and ReLU, {inputs} inputs", f"codes relu {codes}", (f"linear codes, {inputs} inputs", 1 / 1.02)),
                (f"linear, {inputs} inputs", floats, None),
                (f"linear and ReLU, {inputs} inputs", f"relu {floats}", (f"linear, {inputs} inputs", 1 / 1.02) if inputs > 64 else None))]


# Layers on rows of int8, for each element: of many rows, and of rows as small models have them.
def integer_layers(norm_goal, table_goal=None):
    return [
        More("norm of int8", "1 64 1 768 integer_norm", norm_goal),
        More("norm of int8, 64", "1 64 1 64 integer_norm"),
        More("RMS norm of int8", "1 64 1 768 integer_rms_norm", norm_goal),
        More("sum of int8", "1 64 1 768 integer_add"),
        More("product of int8", "1 64 1 768 integer_multiply"),
        More("table of int8", "1 64 1 768 integer_table", table_goal),
        More("hard swish of int8", "1 64 1 768 integer_hard_swish"),
        More("mean of int8", "1 64 1 768 integer_mean"),
    ]


def tensors(goal=None, decode_goal=None):
    return [
        More("tensors", f"{SHAPE} tensors", goal),
        More("decode tensors", f"{DECODE} tensors", decode_goal),
        *(More(f"decode of {queries} tensors", f"4 {queries} 256 32 tensors") for queries in (2, 3, 4)),
    ]


def integers_on_a_board(goal=None, times_fewer=None):
    return [
        More("int8 rows", f"{SHAPE} i8"),
        More("integers", f"{SHAPE} integers", goal),
        More("decode", DECODE),
        More("decode int8 rows", f"{DECODE} i8"),
        More("decode integers", f"{DECODE} integers", times_fewer and ("decode", times_fewer)),
        *small_calls(),
    ]


def super_blocks(target=""):
    """Weights in ggml's super-blocks, next to those in Q4_1: instructions of one token, and of many."""
    return [More(f"linear {kind} integers{tokens}", f"{shape} {kind} {target}".strip())
            for shape, tokens in ((MANY, ""), (FEW, ", one token")) for kind in ("q4_1", "q4_k", "q6_k")]


def rare_formats(target):
    """The same of one token with those that small processors leave out: at most 1.3 of Q4_1's instructions, or 1.5."""
    return [More(f"linear {kind} integers, one token", f"{FEW} {kind} {target}", ("linear q4_1 integers, one token", 1 / most))
            for most, kinds in ((1.3, "q5_0 q5_1 q5_k iq4_nl mxfp4 iq4_xs tq2_0"), (1.5, "q3_k q2_k")) for kind in kinds.split()]


def rows_of_floats(layer_norm_goal=None):
    return [More("layer normalisation", LAYER_NORM, layer_norm_goal), More("GELU", GELU)]


def risc_v(length):
    """length: bits of its vectors; 0: none, whose rows are what those of vectors are compared with."""
    def goal(value):
        return value * 256 / length if length else None
    return [
        More("int8 rows", f"{SHAPE} i8"),
        More("integers", f"{SHAPE} integers", goal(0.20)),
        More("decode", DECODE, goal(0.40)),
        More("decode int8 rows", f"{DECODE} i8"),
        More("decode integers", f"{DECODE} integers"),
        More("tensors", f"{SHAPE} tensors"),
        More("linear int8 weights", f"{LINEAR} i8"),
        More("linear integers", f"{LINEAR} integers"),
        More("delta", DELTA),
    ]


# Rows of integer arithmetic, of what it is compared with, and of linear attention. On AArch64 these run on an emulated
# processor that has all instructions.
MORE = {
    "aarch64-linux-gnu": [
        More("int8 rows", f"{SHAPE} i8 neon"),
        More("integers neon", f"{SHAPE} integers neon"),
        More("integers neon_dotprod", f"{SHAPE} integers neon_dotprod", 0.17),
        More("integers neon_i8mm", f"{SHAPE} integers neon_i8mm", 0.14),
        More("linear int8 weights", f"{LINEAR} i8 neon"),
        More("linear integers neon_dotprod", f"{LINEAR} integers neon_dotprod", 0.11),
        More("linear integers neon_i8mm", f"{LINEAR} integers neon_i8mm"),
        *super_blocks("neon_dotprod"), *rare_formats("neon_dotprod"),
        More("halves", f"{SHAPE} halves neon", 0.29, "cortex-a55", 0.16),
        More("decode f16 rows", f"{DECODE} f16 neon"),
        More("decode halves", f"{DECODE} halves neon", ("decode f16 rows", 1.0)),
        *LONG_DECODE,
        *linear_halves("1 128 1536 576", 0.20, "neon"),
        *linear_relu("neon_dotprod", "neon"),
        More("delta", f"{DELTA} neon", 0.50),
        More("general delta", f"{DELTA} general neon"),
    ],
    "riscv64-linux-gnu": risc_v(0),
    "riscv64-linux-gnu-rvv128": risc_v(128),
    "riscv64-linux-gnu-rvv256": risc_v(256),
    "riscv64-linux-gnu-rvv512": [More("head_dim 128", "4 64 64 128"), *risc_v(512)],
    "arm-none-eabi-cortex-m55": [*integers_on_a_board(0.26, 2.0), *tensors(0.28, 0.8), *MORE_DECODE, *HALVES,
                                 *linear_halves("1 24 64 512", 0.34), *linear_relu(), More("delta", DELTA, 0.80),
                                 More("general delta", f"{DELTA} general"), *super_blocks(),
                                 *integer_layers(4), *rows_of_floats(), More("encoder layer of int8", ENCODER, 0.40)],
    "arm-none-eabi-cortex-m4f": [*integers_on_a_board(1.15, 1.6), *tensors(1.25, 2.5), *MORE_DECODE, More("delta", DELTA, 2.2),
                                 More("general delta", f"{DELTA} general"), *linear_relu(), *super_blocks(),
                                 *integer_layers(12, 3), *rows_of_floats(10), More("encoder layer of int8", ENCODER, 1.6)],
    "arm-none-eabi-cortex-m33": [*integers_on_a_board(), *tensors(), More("encoder layer of int8", ENCODER)],
    "arm-none-eabi-cortex-m0plus": [*integers_on_a_board(), *tensors(), More("encoder layer of int8", ENCODER)],
    "x86-64-avx2": [*small_calls((2000 / 128, (2000 + 7 * 700) / 1024)), *super_blocks(), *rare_formats("avx2")],
}


def multiply_adds_of(words):
    """Those of a call: of q.k and p.v, of a linear layer, of three products with each matrix of linear attention, or of
    an encoder layer's linear layers and attention. Of other layers the elements."""
    heads, queries, keys, dim = map(int, words.split()[:4])
    if "encoder" in words:
        return queries * heads * dim * (4 * heads * dim + 2 * keys + 2 * queries)
    return (1 if re.search("linear|integer_|layer_norm|gelu", words) else 3 if "delta" in words else 2) * heads * queries * keys * dim


MULTIPLY_ADDS = multiply_adds_of(SHAPE)


class NotServed(Exception):
    pass


def run(command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    if done.returncode == NOT_SERVED:
        raise NotServed
    if done.returncode != 0:
        sys.exit(f"counts.py: failed: {' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def llvm(tool):
    for name in (f"{tool}-19", tool):  # figures differ between releases
        if shutil.which(name):
            return name
    sys.exit(f"counts.py: there is no {tool}: install llvm-19")


def build(target, builds):
    folder = os.path.join(builds, target.name)
    if shutil.which("ninja"):
        os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
    run(["cmake", "--preset", target.name, "-B", folder, "-DFOVEA_BUILD_BENCH=ON"], cwd=ROOT)
    run(["cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1), "--target", "fovea_calls"])
    return os.path.join(folder, "bench", "fovea_calls" + target.suffix)


def build_plugin(builds):
    plugin = os.path.join(builds, "count_instructions.so")
    run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
         os.path.join(ROOT, "bench", "counts", "count_instructions.c"), "-o", plugin])
    return plugin


def counts(target, program, plugin, *words):
    """Of one call: {address: how often it ran}. The words follow the count in the program's command line."""
    def of_calls(calls):
        out = f"{program}.{calls}.txt"
        option = ["-plugin", f"{plugin},out={out}"]
        if target.bare:
            command = target.emulator + ["--", program, str(calls), *words]
            run(command, env={**os.environ, "FOVEA_QEMU_ARGS": " ".join(option)})
        else:
            run(target.emulator + option + [program, str(calls), *words])
        with open(out) as lines:
            return {int(address, 16): int(count) for address, count in (line.split() for line in lines)}
    one, two = of_calls(1), of_calls(2)
    return {address: count - one.get(address, 0) for address, count in two.items() if count > one.get(address, 0)}


def disassemble(target, program):
    """[(address, text)] in the order of addresses; branch targets as hexadecimal numbers after 0x."""
    processor = [f"--triple={target.triple}", f"--mcpu={target.models[0]}"] if target.bare else []
    text = run([llvm("llvm-objdump"), "-d", "--no-show-raw-insn"] + processor + [program])
    code = []
    for line in text.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+(\S.*)", line)
        if match:
            code.append((int(match[1], 16), re.sub(r"\s*(<|//|@ imm).*", "", match[2])))
    return code


def show_functions(program, ran, multiply_adds):
    """Prints the functions with the most instructions, for each multiply-add of the call."""
    symbols = []
    for line in run([llvm("llvm-nm"), "-C", "-n", program]).splitlines():
        address, kind, name = line.split(maxsplit=2) if line[0] != " " else ("", "", "")
        if kind in ("t", "T", "w", "W") and not name.startswith("$"):
            symbols.append((int(address, 16) & ~1, name))
    totals = collections.Counter()
    for address, count in ran.items():
        totals[symbols[bisect.bisect_right(symbols, (address, "~")) - 1][1]] += count
    for name, count in totals.most_common(MOST_FUNCTIONS):
        name = re.sub(r"\((?!fovea_dtype\)).*", "", name.replace("(anonymous namespace)::", ""))
        print(f"#   {count / multiply_adds:.4f} {name}")


def multiply_adds(text):
    """Multiply-adds of one instruction."""
    match = re.match(r"(fmla|vfma|vfmat|vfmadd\d+ps|fmadd|vmla)(\.\S+)?\s+(.*)", text)
    if not match:
        return 0
    operands = match[3]
    if "%ymm" in operands or re.match(r"v\d+\.8h", operands):
        return 8
    return 4 if re.match(r"(v\d+\.4s|q\d+)", operands) else 1


BRANCH = re.compile(r"^(b\.?[a-z]*|cbn?z|j[a-z]+|le|tbn?z)(\.[wn])?\s+(?:.*,\s*)?#?(0x)?([0-9a-f]+)$")


def inner_loops(code, ran, total=MULTIPLY_ADDS):
    """Of a call of `total` multiply-adds: [(instructions of a loop, from the first to the branch that closes it; how often it ran)]."""
    index = {address: i for i, (address, _) in enumerate(code)}
    spans = []
    for i, (address, text) in enumerate(code):
        match = BRANCH.match(text)
        if not match or not ran.get(address):
            continue
        begin = index.get(int(match[4], 16))
        if begin is not None and begin <= i and "call" not in text and not text.startswith("bl"):
            spans.append((begin, i))
    loops = []
    for begin, end in spans:
        if any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in spans):
            continue
        body = code[begin:end + 1]
        rounds = ran[code[end][0]]
        if rounds * sum(multiply_adds(text) for _, text in body) >= LEAST_SHARE * total:
            loops.append(([text for _, text in body], rounds))
    return loops


def cycles(target, model, body):
    """llvm-mca's cycles for each round of a loop."""
    lines = ["loop:"]
    for text in body:
        match = BRANCH.match(text)
        if match and match[1] == "le":
            continue  # the end of a low-overhead loop: no cycle on a Cortex-M55, and not known to llvm-mca
        if match:  # a branch to the begin: the target does not change the result
            text = text[:match.start(3) if match[3] else match.start(4)] + "loop"
        lines.append(text)

    def total(rounds):
        out = run([llvm("llvm-mca"), f"--mtriple={target.triple}", f"--mcpu={model}", f"--iterations={rounds}"],
                  input=target.assembly(lines))
        return int(re.search(r"Total Cycles:\s+(\d+)", out)[1])
    return (total(600) - total(100)) / 500


def least_cycles(target, model, body):
    """The model's cycles for the multiply-adds alone, as if each were independent of all others."""
    only = [text for text in body if multiply_adds(text)]
    out = run([llvm("llvm-mca"), f"--mtriple={target.triple}", f"--mcpu={model}"], input=target.assembly(only))
    return float(re.search(r"Block RThroughput:\s+([\d.]+)", out)[1])


def measure_loops(target, loops, add):
    """Cycles of the inner loops by each model and by each set of rules, for each of their multiply-adds."""
    done = sum(rounds * sum(map(multiply_adds, body)) for body, rounds in loops)
    if done < 0.9 * MULTIPLY_ADDS:  # the first and last rounds may be outside of the loop
        sys.exit(f"counts.py: {target.name}: the loops found hold only {done / MULTIPLY_ADDS:.2f} of the multiply-adds")
    for model in target.models:
        taken = sum(rounds * cycles(target, model, body) for body, rounds in loops)
        least = sum(rounds * least_cycles(target, model, body) for body, rounds in loops)
        add(f"cycles {model}", taken / done, least / done)
    for processor in target.rules:
        taken = sum(rounds * rules.cycles(processor, body) for body, rounds in loops)
        least = sum(rounds * rules.cycles(processor, [text for text in body if multiply_adds(text)]) for body, rounds in loops)
        add(f"rules {processor}", taken / done, least / done)


def goal_of(goal, rows, measure=""):
    return rows[measure + goal[0]]["value"] / goal[1] if isinstance(goal, tuple) else goal


def cycles_of_more(target, program, more, ran, rows):
    """Adds rows of the cycles of a call's inner loops, for each of their multiply-adds."""
    loops = inner_loops(disassemble(target, program), ran, multiply_adds_of(more.words))
    done = sum(rounds * sum(map(multiply_adds, body)) for body, rounds in loops)
    for model in more.models:
        value = sum(rounds * cycles(target, model, body) for body, rounds in loops) / done
        name = f"cycles {model} {more.name}"
        rows[name] = {"toolchain": target.name, "measure": name, "value": value,
                      "beside": goal_of(more.limit, rows, f"cycles {model} "), "bound": None}


def measure_more(target, program, plugin, options):
    """Rows of MORE. A row that this build does not support is left out."""
    rows = {}
    any_processor = copy.copy(target)
    any_processor.emulator = [re.sub("^cortex-a53$", "max", word) for word in target.emulator]
    for more in MORE.get(target.name, []):
        try:
            ran = counts(any_processor, program, plugin, "fovea", *more.words.split())
        except NotServed:
            print(f"{target.name}: this build does not serve {more.name}: {more.words}")
            continue
        done = multiply_adds_of(more.words)
        if options.functions:
            print(f"# {target.name}: {more.name}")
            show_functions(program, ran, done)
        rows[more.name] = {"toolchain": target.name, "measure": f"instructions {more.name}",
                           "value": sum(ran.values()) / done, "beside": goal_of(more.goal, rows), "bound": None}
        if more.models:
            cycles_of_more(target, program, more, ran, rows)
    return list(rows.values())


def measure(target, builds, plugin, options):
    """The rows of a target."""
    program = build(target, builds)
    ran = counts(target, program, plugin)
    total = sum(ran.values())
    rows = []

    def add(measure, value, beside):
        rows.append({"toolchain": target.name, "measure": measure, "value": value, "beside": beside, "bound": target.bounds.get(measure)})
    add("instructions", total / MULTIPLY_ADDS, target.goal)
    if options.functions:
        print(f"# {target.name}")
        show_functions(program, ran, MULTIPLY_ADDS)
    rows += measure_more(target, program, plugin, options)
    if not target.models and not target.rules:
        return rows
    loops = inner_loops(disassemble(target, program), ran)
    if options.loops:
        for body, rounds in loops:
            print(f"# {target.name}: {rounds} rounds of {len(body)} instructions", f"with {sum(map(multiply_adds, body))} multiply-adds")
            print("\n".join("    " + text for text in body))
    measure_loops(target, loops, add)
    return rows


def worse(row, baseline):
    before = baseline.get((row["toolchain"], row["measure"]))
    return before is None or row["value"] > before * NOISE[row["measure"].split()[0]] + 0.00005


def over(row):
    return row["bound"] is not None and row["value"] > row["bound"] + 0.00005


def number(value):
    return "" if value is None else format(value, ".4f")


def show(rows, baseline):
    print(f"{'toolchain':29} {'for each multiply-add':34} {'value':>8} {'goal or limit':>14} {'fraction':>9} "
          f"{'bound':>7} {'baseline':>9}")
    for row in rows:
        before = baseline.get((row["toolchain"], row["measure"]))
        fraction = None if row["beside"] is None or row["measure"].startswith("instr") else row["beside"] / row["value"]
        print(f"{row['toolchain']:29} {row['measure']:34} {row['value']:8.4f} {number(row['beside']):>14} "
              f"{'' if fraction is None else format(fraction, '.2f'):>9} {number(row['bound']):>7} {number(before):>9}"
              f"{'' if not worse(row, baseline) else '  NEW' if before is None else '  WORSE'}"
              f"{'  OVER ITS BOUND' if over(row) else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="+", metavar="NAME", choices=[t.name for t in TARGETS], help="only these toolchains")
    parser.add_argument("--builds", default=os.path.join(ROOT, "build"), help="folder of build folders, build/")
    parser.add_argument("--compare", action="store_true", help="exit with 1 where a figure is worse than the baseline's")
    parser.add_argument("--write", action="store_true", help="write the baseline anew; with --targets the others' rows stay")
    parser.add_argument("--loops", action="store_true", help="show the inner loops")
    parser.add_argument("--functions", action="store_true", help="show the functions that take the most instructions")
    options = parser.parse_args()
    os.makedirs(options.builds, exist_ok=True)
    stored = []
    if os.path.exists(BASELINE):
        with open(BASELINE, newline="") as file:
            stored = list(csv.DictReader(file))
    baseline = {(row["toolchain"], row["measure"]): float(row["value"]) for row in stored}
    builds = os.path.abspath(options.builds)
    plugin = build_plugin(builds)
    rows = []
    for target in TARGETS:
        if target.name.startswith("x86-64") and platform.machine() != "x86_64":
            continue  # its toolchain file needs an x86 host
        if not options.targets or target.name in options.targets:
            rows += measure(target, builds, plugin, options)

    show(rows, baseline)
    failed = any(worse(row, baseline) or over(row) for row in rows)
    if options.write:
        lines = {target.name: [] for target in TARGETS}
        for row in rows:
            lines[row["toolchain"]].append([row["toolchain"], row["measure"], f"{row['value']:.4f}", number(row["beside"])])
        for row in stored:
            if options.targets and row["toolchain"] not in options.targets:
                lines[row["toolchain"]].append(list(row.values()))
        with open(BASELINE, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["toolchain", "measure", "value", "goal_or_limit"])
            for of_target in lines.values():
                writer.writerows(of_target)
    return 1 if options.compare and failed else 0


if __name__ == "__main__":
    sys.exit(main())
