#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets measured numbers into the documents: bench/figures.py --write | --check | --measure [NAME...] [--as-built]

This script makes the text between two marks from files that scripts wrote. A page has no other measured number:

    <!-- figures: NAME -->
    ...
    <!-- /figures -->

--write    makes all of it anew.
--check    exits with 1 if --write would change a page, if no page has a figure, if a file of results has an impossible
           number, or if a page has a number with a unit outside of marks that is not in STATED.
--measure  builds the library as it ships, in build/peers, and measures RESULTS, or those that are named:
           bench/results/NAME.json, with the command and the date. It needs the packages of
           bench/peers/requirements.txt, and a machine that does nothing else. With --as-built it builds nothing and
           measures what is in build/peers.

The other files are bench/*_baseline.csv, by bench/size.py --update and bench/counts.py --write, tests/ACCURACY.md, and
tests/plan_test.cc, whose numbers a test compares with the library's.
"""
import argparse
import csv
import datetime
import functools
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time as clock

import counts
import size

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench" / "results"
BUILD = ROOT / "build" / "peers"

MOST_LOAD = .5  # cores that do other work when a measurement begins
BENCH = [BUILD / "bench" / "fovea_bench", "--cpu-time"]
COMPARE = [sys.executable, "bench/peers/compare.py", "--cpu-time"]
# The cases of the figure "decode" that do not need other libraries.
DECODE = (r"^decode/32over8x1x16384x128$|^integer/32over8x1x16384x128-kv_(i8|q8_0|q4_0)-compute_i8$|^linear/1x4096x49152-"
          r"|^never_slower/(32over8x1x1024x128-kv_q8_0|32over8x1x1024x128-kv_q4_0-compute_i8|9over3x1x3000x64-kv_i4-compute_i8)$"
          r"|^small/(1x1x1x64|8x1x1x64|8x1x32x64|8x50x50x40|12x77x77x64-causal)$")
# Name: the command that measures it, without --json.
RESULTS = {
    "speed": [*BENCH, "--min-time", "1", "--target", "avx512,avx2", "--filter", "^(prefill|causal|decode|small)/"],
    "integer": [*BENCH, "--target", "avx512_vnni,avx2", "--filter", "^integer/"],
    "blocks": [*BENCH, "--min-time", "1", "--target", "avx512,avx2", "--filter", "^blocks/"],
    "delta": [*BENCH, "--target", "avx512,avx2", "--filter", "^delta/"],
    "decode": [*BENCH, "--min-time", "1", "--target", "avx512_vnni", "--filter", DECODE],
    "peers": COMPARE,
    "peers_chat": [sys.executable, "bench/peers/chat.py", "--build", BUILD],
    "peers_chat_avx2": [sys.executable, "bench/peers/chat.py", "--target", "avx2"],
    "ggml": [sys.executable, "bench/peers/ggml.py", "--depths", "0", "1024", "--threads", "1", "--build", BUILD],
    "sentence_similarity": [sys.executable, "bench/peers/sentence_similarity.py", "--cpu-time", "--build", BUILD],
}

# Pages that are records of the past, or written as a whole by a program that checks itself.
NOT_CHECKED = {"CHANGELOG.md", "tests/ACCURACY.md"}
# Numbers with units that nobody measured: limits, sizes by definition, names. The page must contain all of its list.
STATED = {
    "ARCHITECTURE.md": ["at least 128 bytes"],
    # The numbers about formats are bounds of tests/convert_test.cc.
    "bench/README.md": ["by more than 5 %", "by more than 2 %", "at least 0.2 ms", "(0.3 s)", "less than 128 bytes", "64 entries of 1 MiB",
                        "19 instructions for 12", "0.67 and 0.3 times those", "0.91 and 0.96 times that"],
    "examples/README.md": ["a state of 128 bytes"],
    "examples/chat/README.md": ["64 MiB", "2 MiB"],
    "examples/keywords/README.md": ["20 ms at a time", "for each 20 ms"],
    "examples/linux_board/README.md": ["2 MiB"],
    "platform/boards/raspberry_pi/README.md": ["400 MB of free memory"],
    "platform/boards/imxrt/README.md": ["0xEB at 100 MHz"],
    "platform/boards/stm32/README.md": ["| 100 MHz |", "| 168 MHz |", "| 400 MHz |", "a stack of 1 KB"],
    "lib/src/ground/simd/VOCABULARY.md": ["128 times the sum", "16 bytes"],
}
UNIT = (r"(?:%|(?:[num]?s|[KMG]i?B|[MG]Hz|bytes?|cycles?|instructions?|(?:micro|milli)?seconds?|minutes?|times)\b"
        r"|G(?:FL)?OP|a second|of (?:the |FMA |DRAM )?(?:peak|bandwidth))")
MEASURED = re.compile(r"(?<![\w.^-])\d[\d,.]*(?: million)?(?: |-)?" + UNIT)
MARKED = re.compile(r"(<!-- figures: (\S+) -->\n)(.*?)(<!-- /figures -->)", re.S)

FIGURES = {}


def figure(name):
    def add(function):
        FIGURES[name] = function
        return function
    return add


class Fault(Exception):
    pass


# ---- Files.


def read_results(path):
    """The machine, and {(case, target or library): result}."""
    data = json.loads(path.read_text(encoding="utf-8"))
    found = {}
    for result in data["results"]:
        if "error" in result:
            continue
        for fraction in ("fraction_of_fma_peak", "fraction_of_integer_peak"):  # products of integers may exceed the first
            if result.get(fraction, 0) > 1 and not (result["shape"].get("compute") == "i8" and "fma" in fraction):
                raise Fault(f"{path.relative_to(ROOT)}: {result['name']}: {fraction} is {result[fraction]}")
        found[result["name"], result.get("library") or result["target"]] = result
    return data["host"], found


@functools.lru_cache(maxsize=None)
def results(name):
    return read_results(FOLDER / f"{name}.json")


@functools.lru_cache(maxsize=None)
def rows_of(name):
    with open(ROOT / "bench" / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


# ---- Words.


def table(header, rows, numbers=True):
    lines = [header, ["---"] + ["---:" if numbers else "---"] * (len(header) - 1), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def sentence(text):
    """Wraps words to the width of the pages."""
    lines = [""]
    for word in text.split():
        lines[-1:] = [f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < 119 else [lines[-1], word]
    return "\n".join(lines) + "\n"


def time(ns):
    unit, scale = ("ms", 1e6) if ns >= 1e6 else ("us", 1e3) if ns >= 1e3 else ("ns", 1)
    value = ns / scale
    return f"{value:.{max(0, 3 - len(str(int(value))))}f} {unit}"


def span(values, form=".2f"):
    least, most = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == most else f"{least} to {most}"


def version(host):
    """The library's, by a release that readers know: there was none of 0.2.0."""
    text = ".".join(map(str, host["fovea_version"]))
    return "fovea before 0.3.0" if text == "0.2.0" else f"fovea {text}"


def others_of(host):
    """The names and versions of other libraries."""
    return [f"{name} {version}" for name, version in {"ONNX Runtime" if library.startswith("ORT") else library: version for library, version
                                                      in host.get("versions", {}).items() if not is_ours(library)}.items()]


def place(host, *others):
    """The machine, the software and the date of a run; files of before 1.0 name no commit."""
    commit = f" at {host['commit']}" if "commit" in host else ""
    parts = [f"one core of an {host['processor']}", version(host) + commit, host["compiler"], *others]
    return f"{', '.join(parts)}; {host.get('date', 'not dated')}"


def machine(name):
    """A sentence about the machine, the software, the noise and the date of a measurement."""
    host, found = results(name)
    scatter = max(result["ns_mad"] / result["ns_median"] for result in found.values())
    where = place(host, *others_of(host))
    other = f" Other work kept {host['load']:.2f} cores busy." if "load" in host else ""
    return f"{where[0].upper()}{where[1:]}.{other} In the noisiest case half of the batches are within {100 * scatter:.0f} % of their median."


# ---- Speed.

SPEED = {
    "8 heads, 512 tokens, head_dim 64": "prefill/8x512x512x64",
    "8 heads, 2048 tokens, head_dim 128": "prefill/8x2048x2048x128",
    "8 heads, 2048 tokens, head_dim 128, causal": "causal/8x2048x2048x128-causal",
    "decode, 32 heads over 8, 1024 keys, head_dim 128": "decode/32over8x1x1024x128",
    "decode, 32 heads over 8, 16384 keys, head_dim 128": "decode/32over8x1x16384x128",
    "4 heads, 64 tokens, head_dim 32": "small/4x64x64x32",
    "4 heads, 1 query, 64 keys, head_dim 32": "small/4x1x64x32",
}
TARGETS = {"avx512": "AVX-512", "avx2": "AVX2"}


def with_bound(result):
    """The time, and the fraction of the bound, of memory or of arithmetic."""
    peak, read, level = (result[key] for key in ("fraction_of_fma_peak", "fraction_of_read_bandwidth", "read_level"))
    memory = level in ("l3", "dram") and read > peak
    bound = f"{read:.2f} of {level.upper()} bandwidth" if memory else f"{peak:.2f} of FMA peak"
    return f"{time(result['ns_median'])}, {bound}"


@figure("speed")
def speed():
    found = results("speed")[1]
    rows = [[title, *(with_bound(found[case, target]) for target in TARGETS)] for title, case in SPEED.items()]
    return sentence(machine("speed")) + "\n" + table(["call", *TARGETS.values()], rows, numbers=False)


@figure("speed.short")
def speed_short():
    """A token on boards in emulators, and one run next to other libraries."""
    token, host = "4 heads, 1 query, 256 keys, head_dim 32", results("peers")[0]
    (ours, plain), (m55, plain_m55) = ((row["fovea"], row["naive"]) for board in ("m4f", "m55") for row in rows_of("calls_baseline.csv")
                                       if (row["target"], row["shape"]) == (board, token))
    ratios = [best_ratio(of_case) for of_case in peers_of("prefill", "causal", "decode", "small").values()]
    *others, last = others_of(host)
    return sentence(f"""**Fast.** Instructions in emulators, **no board measured yet**: a token with 4 heads of 32 and 256 keys takes {int(ours):,} on a
        Cortex-M4F and {int(m55):,} on a Cortex-M55, by plain loops {int(plain):,} and {int(plain_m55):,}. On x86-64 (one run: {place(host)}) the
        fastest of {', '.join(others)} and {last} takes {span(ratios)} times as long as fovea, in {len(ratios)} cases of attention in f32.""")


INTEGER = {
    "8 heads, 2048 tokens, head_dim 64": "8x2048x2048x64{}",
    "8 heads, 2048 tokens, head_dim 128": "8x2048x2048x128{}",
    "8 heads, 2048 tokens, head_dim 128, causal": "8x2048x2048x128{}-causal",
    "8 heads, 197 tokens, head_dim 64": "8x197x197x64{}",
    "5 heads, 300 queries, 700 keys, head_dim 80": "5x300x700x80{}",
    "decode, 32 heads over 8, 1024 keys, head_dim 128": "32over8x1x1024x128{}",
    "decode, 32 heads over 8, 16384 keys, head_dim 128": "32over8x1x16384x128{}",
}


@figure("integer")
def integer():
    found, targets = results("integer")[1], {"avx512_vnni": "AVX-512 VNNI", "avx2": "AVX2"}

    def ns(case, target, rows):
        return found["integer/" + case.format(rows), target]["ns_median"]

    def cell(case, target, kv):
        took = ns(case, target, f"-kv_{kv}-compute_i8")
        return f"{time(took)}, {ns(case, target, '') / took:.2f}; {ns(case, target, f'-kv_{kv}') / took:.2f}"

    rows = [[title, *(cell(case, target, "i8") for target in targets)] for title, case in INTEGER.items()]
    rows += [[title + ", int4", *(cell(case, target, "i4") for target in targets)] for title, case in INTEGER.items()
             if title.startswith("decode")]
    def errors(library, kv):
        return span([of_case[library]["normalised_error"] for case, of_case in peers_of("integer").items() if case.endswith(kv)], ".1e")

    words = "; ".join(f"with {name} rows {errors('fovea, integers', kv)}, and in f32 arithmetic on these {errors('fovea, f32', kv)}"
                      for name, kv in (("int8", "kv_i8"), ("int4", "kv_i4")))
    return (sentence(machine("integer")) + "\n" + table(["call", *targets.values()], rows, numbers=False) + "\n"
            + sentence(f"Normalised mean square errors, by the run [Peers](#peers): {words}."))


BLOCKS = {
    "a map of all blocks": "-map_all",
    "24 % of the blocks": "-map_sparse",
    "eight documents": "-map_documents",
    "a window of 128, as blocks": "-map_window",
    "24 % of the blocks, in half of which a byte mask decides": "-map_sparse-edges",
    "eight documents, each with padding that a byte mask hides": "-map_documents-edges",
    "a window of 128, whose edges a byte mask cuts": "-map_window-edges",
    "a modifier of scores that does nothing": "-modifier_nothing",
    "a modifier of weights that does nothing": "-modifier_weights",
    "ALiBi as an option": "-alibi",
    "ALiBi as a modifier": "-modifier_alibi",
}


@figure("blocks")
def blocks():
    found = results("blocks")[1]

    def ns(case, target):
        return found["blocks/4x1024x1024x64" + case, target]["ns_median"]

    rows = [[title, *(f"{ns(case, target) / ns('', target):.2f}" for target in TARGETS)] for title, case in BLOCKS.items()]
    return sentence(machine("blocks")) + "\n" + table(["call", *TARGETS.values()], rows)


DELTA = {
    "16 heads of 128 x 128, one token": "delta/16x1x128x128",
    "16 heads of 128 x 128, one token, 64 sequences": "delta/64.16x1x128x128",
    "16 heads of 128 x 128, 64 tokens": "delta/16x64x128x128",
    "16 heads of 128 x 128, 512 tokens": "delta/16x512x128x128",
    "16 heads of 128 x 128, 4096 tokens": "delta/16x4096x128x128",
    "8 heads of 64 x 64, 512 tokens": "delta/8x512x64x64",
}


@figure("delta")
def delta():
    found = results("delta")[1]
    ratio = {case: f"{best_ratio(of_case):.2f}" for case, of_case in peers_of("delta").items()}
    rows = [[title, *(with_bound(found[case, target]) for target in TARGETS), ratio[case]] for title, case in DELTA.items()]
    header = ["call", *TARGETS.values(), "ONNX Runtime's time over fovea's, by the run [Peers](#peers)"]
    return sentence(machine("delta")) + "\n" + table(header, rows, numbers=False)


# ---- Other libraries.

# Kinds of cases: their suite, and the end of their names; of an encoder the arithmetic.
KINDS = {
    "attention, no mask": ("prefill", ""), "attention, causal": ("causal", ""), "decode": ("decode", ""), "small calls": ("small", ""),
    "int8 keys and values; PyTorch: bf16": ("integer", "kv_i8"), "int4 keys and values; PyTorch: bf16": ("integer", "kv_i4"),
    "softmax": ("softmax", ""), "log-softmax": ("log_softmax", ""), "linear attention": ("delta", ""), "normalisation": ("norm", ""),
    "activations": ("activation", ""), "a layer of an encoder, f32": ("encoder", "f32"), "the same, int8": ("encoder", "int8"),
}


@figure("ggml")
def ggml():
    host, found = results("ggml")
    rows = [[name.split(",")[0], *(f"{speed:.1f}" for speed in speeds), f"{speeds[1] / speeds[0]:.2f}"]
            for name in dict.fromkeys(name for name, _ in found)
            for speeds in [[found[name, library]["tokens_a_second"] for library in ("ggml", "fovea")]]]
    words = sentence(f"Tokens a second on {place(host, *others_of(host))}.")
    return words + "\n" + table(["test of llama-bench", "ggml", "fovea", "ratio"], rows)


def is_ours(library):
    return library.startswith("fovea")


def peers_of(*suites):
    """{case: {library: result}}, in the order of the file."""
    cases = {}
    for suite in suites:
        for (case, library), result in results("sentence_similarity" if suite == "sentence" else "peers")[1].items():
            if result["suite"] == suite:
                cases.setdefault(case, {})[library] = result
    return cases


def best_of(of_case):
    """The results of fovea's first contestant and of the fastest other library."""
    ours = next(result for library, result in of_case.items() if is_ours(library))
    return ours, min((result for library, result in of_case.items() if not is_ours(library)), key=lambda result: result["ns_median"])


def best_ratio(of_case):
    """The time of the fastest other library over fovea's."""
    ours, other = best_of(of_case)
    return other["ns_median"] / ours["ns_median"]


def compared(suite, end):
    """The two results of each case of a kind."""
    if suite == "encoder":
        of_case, = peers_of(suite).values()
        return [best_of({library: result for library, result in of_case.items() if ("int8" in library) == (end == "int8")})]
    return [best_of(of_case) for case, of_case in peers_of(suite).items() if case.endswith(end)]


def peer_table(*suites, cell=lambda result: time(result["ns_median"])):
    cases = peers_of(*suites)
    libraries = list(dict.fromkeys(library for of_case in cases.values() for library in of_case))
    rows = []
    for case, of_case in cases.items():
        cells = [cell(of_case[library]) if library in of_case else "" for library in libraries]
        rows.append([case, *cells, f"{best_ratio(of_case):.2f}"])
    return table(["case", *libraries, "ratio"], rows)


def fastest(ratios):
    return f"{sum(ratio > 1 for ratio in ratios)} of {len(ratios)}"


@figure("peers.short")
def peers_short():
    rows, every = [], []
    for kind, words in KINDS.items():
        pairs = compared(*words)
        ratios = [other["ns_median"] / ours["ns_median"] for ours, other in pairs]
        errors = [f"{max(pair[i]['normalised_error'] for pair in pairs):.0e}" for i in (0, 1)]
        every += ratios
        rows.append([kind, fastest(ratios), span(ratios), *errors])
    host = results("peers")[0]
    text = f"{machine('peers')} Times include the call from Python, for fovea {time(host['call_ns'])}. fovea is the fastest in {fastest(every)} cases."
    return sentence(text) + "\n" + table(
        ["cases", "fovea is the fastest in", "time of the fastest other over fovea's", "largest error", "that of the fastest other"],
        rows, numbers=False)


@figure("peers")
def peers():
    return peer_table("prefill", "causal", "decode", "small")


@figure("peers.integer")
def peers_integer():
    return peer_table("integer", cell=lambda result: f"{time(result['ns_median'])}, {result['normalised_error']:.1e}")


@figure("peers.softmax")
def peers_softmax():
    return peer_table("softmax", "log_softmax")


@figure("peers.delta")
def peers_delta():
    return peer_table("delta")


@figure("peers.layers")
def peers_layers():
    return peer_table("norm", "activation")


@figure("peers.encoder")
def peers_encoder():
    """Without a ratio: libraries have two arithmetics each."""
    of_case, = peers_of("encoder").values()
    rows = [[library, time(result["ns_median"]), f"{result['normalised_error']:.1e}"] for library, result in of_case.items()]
    return table(["library", "time", "normalised error"], rows)


@figure("peers.left_out")
def peers_left_out():
    left_out = json.loads((FOLDER / "peers.json").read_text(encoding="utf-8")).get("left_out", [])
    return "".join(f"- {one['library']}, of {one['name']}: {one['why']}\n" for one in left_out) or "- none\n"


# ---- Decode and small calls.


def of_peer(file, case, ours, theirs):
    """How many times as fast as a peer, which ran alternately, and the times of both."""
    found = results(file)[1]
    a, b = (found[case, library]["ns_median"] for library in (ours, theirs))
    return b / a, f"{time(a)} and {time(b)}"


def of_chat(case, file="peers_chat"):
    found = results(file)[1]
    ours, theirs = (found[case, library] for library in ("fovea", "llama.cpp"))
    return (theirs["ns_median"] / ours["ns_median"], f"{ours['tokens_a_second']:.0f} and {theirs['tokens_a_second']:.0f} tokens a second")


def of_threads():
    found = results("peers_chat")[1]
    one, two = (found["chat/answer" + threads, "fovea"] for threads in ("", "-2_threads"))
    return one["ns_median"] / two["ns_median"], f"{one['tokens_a_second']:.0f} and {two['tokens_a_second']:.0f} tokens a second"


def in_decode(case):
    one, = (result for (name, _), result in results("decode")[1].items() if name == case)
    return one


def of_read(case):
    """The fraction of plain reads from memory, even if a cache holds a part of the case."""
    one = in_decode(case)
    dram = json.loads((FOLDER / "decode.json").read_text(encoding="utf-8"))["probes"]["read_gbps"]["dram"]
    of_dram = one["fraction_of_read_bandwidth"] if one["read_level"] == "dram" else one["gbps"] / dram
    return of_dram, f"{time(one['ns_median'])}, {one['gbps']:.0f} GB/s"


def of_f32(case, turned=False):
    """The time of integer products as a multiple of that of f32 arithmetic on the same rows; turned: the case is that of f32."""
    one = in_decode(case)
    reached = one["goal"]["reached"]
    return 1 / reached if turned else reached, ""


def of_peak(case):
    one = in_decode(case)
    return one["fraction_of_fma_peak"], time(one["ns_median"])


def in_us(case):
    return in_decode(case)["ns_median"] / 1e3, ""


def instructions(toolchain, part):
    """Of a small call, or of each further head of it: rows are for each of 128 multiply-adds a head."""
    one, eight = (float(counted()[toolchain, f"instructions small call{heads}"]["value"]) * 128 * count
                  for heads, count in (("", 1), (" of 8 heads", 8)))
    head = (eight - one) / 7
    return {"call of one head": one, "head": head, "call without heads": one - head}[part], ""


# Each row: what is measured, how, whether more is better, the goal, and why it is missed.
M4F, AVX2 = "arm-none-eabi-cortex-m4f", "x86-64-avx2"
DECODE_GOALS = {
    "chat, an answer: speed compared with llama.cpp": (of_chat, ("chat/answer",), True, 2.5),
    "the same, its weights in pages of 2 MiB": (of_chat, ("chat/answer-large_pages",), True, 2.5),
    "chat, an answer: two threads compared with one": (of_threads, (), True, 1.5),
    "chat, an answer after 1,800 tokens, compared with llama.cpp": (of_chat, ("chat/answer-after_1800",), True, 3),
    "chat, a prompt of 512 tokens, compared with llama.cpp": (of_chat, ("chat/prompt_512",), True, 5.5),
    "chat on AVX2 alone, an answer": (of_chat, ("chat/answer", "peers_chat_avx2"), True, 2),
    "chat on AVX2 alone, an answer after 1,800 tokens": (of_chat, ("chat/answer-after_1800", "peers_chat_avx2"), True, 3.5),
    "chat on AVX2 alone, a prompt of 512 tokens": (of_chat, ("chat/prompt_512", "peers_chat_avx2"), True, 4),
    "linear layer of Q4_1, one token: of plain reads": (of_read, ("linear/1x4096x49152-q4_1-compute_i8",), True, 0.75),
    "linear layer of Q8_0, one token: of plain reads": (of_read, ("linear/1x4096x49152-q8_0-compute_i8",), True, 0.75),
    "Q8_0 rows, 1,024 keys: integer products' time of f32 arithmetic's":
        (of_f32, ("never_slower/32over8x1x1024x128-kv_q8_0", True), False, 0.5),
    "Q4_0 rows, 1,024 keys: integer products' time of f32 arithmetic's":
        (of_f32, ("never_slower/32over8x1x1024x128-kv_q4_0-compute_i8",), False, 0.5),
    "Q8_0 rows, 16,384 keys, integer products: of plain reads": (of_read, ("integer/32over8x1x16384x128-kv_q8_0-compute_i8",), True, 0.6),
    "Q4_0 rows, 16,384 keys, integer products: of plain reads": (of_read, ("integer/32over8x1x16384x128-kv_q4_0-compute_i8",), True, 0.6),
    "int4 rows, 9 heads over 3, 3,000 keys: integer products' time of f32 arithmetic's":
        (of_f32, ("never_slower/9over3x1x3000x64-kv_i4-compute_i8",), False, 0.9),
    "int8 rows, 16,384 keys, integer products: of plain reads": (of_read, ("integer/32over8x1x16384x128-kv_i8-compute_i8",), True, 0.75),
    "f32 rows, 16,384 keys: of plain reads": (of_read, ("decode/32over8x1x16384x128",), True, 0.8),
    "gated delta rule, 1 token: compared with ONNX Runtime": (of_peer, ("peers", "delta/16x1x128x128", "fovea", "ORT Linear"), True, 1.4),
    "gated delta rule, 1 token, 64 sequences": (of_peer, ("peers", "delta/64.16x1x128x128", "fovea", "ORT Linear"), True, 1.8),
    "gated delta rule, 64 tokens": (of_peer, ("peers", "delta/16x64x128x128", "fovea", "ORT Linear"), True, 1.5),
    "gated delta rule, 512 tokens": (of_peer, ("peers", "delta/16x512x128x128", "fovea", "ORT Linear"), True, 1.5),
    "softmax 64 x 4096: compared with ONNX Runtime": (of_peer, ("peers", "softmax/64x4096", "fovea", "ORT Softmax"), True, 1.15),
    "softmax 512 x 512": (of_peer, ("peers", "softmax/512x512", "fovea", "ORT Softmax"), True, 1.2),
    "1 head, 1 query, 1 key, head_dim 64: us": (in_us, ("small/1x1x1x64",), False, 0.17),
    "8 heads, 1 query, 1 key, head_dim 64: us": (in_us, ("small/8x1x1x64",), False, 0.9),
    "8 heads, 1 query, 32 keys, head_dim 64: us": (in_us, ("small/8x1x32x64",), False, 2.2),
    "the first of these, AVX2: instructions": (instructions, (AVX2, "call of one head"), False, 2000),
    "each further head": (instructions, (AVX2, "head"), False, 700),
    "the first of these, Cortex-M4F: instructions without those of the head": (instructions, (M4F, "call without heads"), False, 1800),
    "8 heads, 50 tokens, head_dim 40: of the FMA peak": (of_peak, ("small/8x50x50x40",), True, 0.65),
    "12 heads, 77 tokens, head_dim 64, causal: of the FMA peak": (of_peak, ("small/12x77x77x64-causal",), True, 0.6),
}

# Why a goal is missed, for those that were on some machine.
MEMORY = "nearly all of the time is that of reading weights, at almost the speed of plain reads"
CONVERTED = "each call converts the rows to codes of integer products, and f32 arithmetic reads them as they are"
EDGES = "rows that do not fill a vector, and keys that do not fill a block"
DECODE_MISSED = {
    "chat, an answer: speed compared with llama.cpp": MEMORY,
    "the same, its weights in pages of 2 MiB": MEMORY,
    "chat, a prompt of 512 tokens, compared with llama.cpp": "nearly",
    "chat on AVX2 alone, a prompt of 512 tokens": "a product of bytes takes two instructions",
    "chat, an answer: two threads compared with one": "two threads of this machine read memory as fast as one does",
    "linear layer of Q8_0, one token: of plain reads": "the probe has large pages and one stream, and a layer reads several rows at a time",
    "Q8_0 rows, 1,024 keys: integer products' time of f32 arithmetic's": CONVERTED,
    "Q4_0 rows, 1,024 keys: integer products' time of f32 arithmetic's": CONVERTED,
    "Q8_0 rows, 16,384 keys, integer products: of plain reads": CONVERTED,
    "Q4_0 rows, 16,384 keys, integer products: of plain reads": CONVERTED,
    "int8 rows, 16,384 keys, integer products: of plain reads": "products take as long as reads",
    "f32 rows, 16,384 keys: of plain reads": "on a Zen 4 vectors of 512 bits come from memory more slowly than those of 256",
    "gated delta rule, 1 token: compared with ONNX Runtime": "nearly; the state comes from the third-level cache, and the suite delta of "
                                                             "`./run bench` has its bandwidth",
    "gated delta rule, 1 token, 64 sequences": "the states come from memory: the suite delta of `./run bench` has its bandwidth",
    "softmax 64 x 4096: compared with ONNX Runtime": "both wait for the third-level cache",
    "softmax 512 x 512": "rows are short: 64 x 4096 has as many elements",
    "the first of these, Cortex-M4F: instructions without those of the head": "checks of every argument, and what tasks prepare",
    "8 heads, 50 tokens, head_dim 40: of the FMA peak": EDGES,
    "12 heads, 77 tokens, head_dim 64, causal: of the FMA peak": EDGES,
}


@figure("decode")
def decode():
    def show(value):
        return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"

    rows, runs = [], {}
    for title, (measured, words, more, goal) in DECODE_GOALS.items():
        value, note = measured(*words)
        reached = value >= goal if more else value <= goal
        why = "yes" if reached else f"no: {DECODE_MISSED.get(title, 'not explained')}"
        otherwise = {of_chat: "peers_chat", of_threads: "peers_chat", instructions: "counts"}.get(measured, "decode")
        run = next((word for word in words if word in RESULTS), otherwise)
        rows.append([title, show(goal), show(value), note, f"`{run}`", why])
        if run in RESULTS:
            runs[run] = sentence(f"- `{run}`: {machine(run)}")
    return table(["", "goal", "now", "measured", "run", "reached"], rows, numbers=False) + "\n" + "".join(runs.values())


@figure("sentence_similarity")
def sentences():
    return sentence(machine("sentence_similarity")) + "\n" + peer_table("sentence")


@figure("sentence_similarity.short")
def sentences_short():
    ratios = [best_ratio(of_case) for of_case in peers_of("sentence").values()]
    tokens = sorted({result["tokens"] for result in results("sentence_similarity")[1].values()})
    return sentence(f"The fastest of ONNX Runtime and PyTorch takes {span(ratios)} times as long as fovea for sentences "
                    f"of {tokens[0]} to {tokens[-1]} tokens; fovea is the fastest for {fastest(ratios)} lengths.")


# ---- Size.


@functools.lru_cache(maxsize=None)
def sizes():
    return {(row["target"], row["kind"], row["name"]): {column: int(row[column]) for column in size.COLUMNS}
            for row in rows_of("size_baseline.csv")}


@functools.lru_cache(maxsize=None)
def config():
    """platform/config.py, which knows what macros of workspace.h are on a board."""
    sys.path.insert(0, str(ROOT / "platform"))
    return importlib.import_module("config")


def code(target, name, kind="program"):
    """Bytes of code and of read-only data."""
    row = sizes()[target, kind, name]
    return row["code"] + row["rodata"]


def links(target, program):
    stack = "" if target in size.WITHOUT_STACK else f", {sizes()[target, 'program', program]['stack']:,}"
    return f"{code(target, program):,}{stack}"


@figure("size.short")
def size_short():
    programs = {
        "attention in f32, causal, with lengths of keys": ("attention, causal and key lengths", "FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(64, 64, 1)"),
        "attention on int8 tensors, without floating point": ("integer attention, int8 tensors", "FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(64, 64, 1)"),
        "caches and streams of int8 rows": ("streams and caches of int8 rows", "FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(64, 64, 1)"),
        "linear attention by the gated delta rule, without its state": ("linear attention, gated delta rule", "FOVEA_DELTA_WORKSPACE_BYTES(64, 1)"),
    }
    used = {column: max(row[column] for row in sizes().values()) for column in ("data", "bss")}
    if any(used.values()):
        raise Fault(f"the page says that the library has no data and no bss, but there is {used}")
    rows = [[title, f"{code('m4f', name):,}", f"{sizes()['m4f', 'program', name]['stack']:,}", f"{config().bytes_of('m4f', macro):,}"]
            for title, (name, macro) in programs.items()]
    return sentence("**Small.** Bytes on a Cortex-M4F, `-Os`, no data, no bss. Workspace of a query of 64 elements, whatever the keys:") + (
        "\n" + table(["program", "flash", "stack", "workspace"], rows))


@figure("size")
def size_table():
    rows = [[name, *(links(target, name) for target in size.TARGETS)] for name in size.PROGRAMS]
    return table(["static link of", *(title for _, _, title in size.TARGETS.values())], rows)


@figure("size.unchecked")
def size_unchecked():
    def shares(target, program):
        now, bare = code(target, program), code(target, program, kind="unchecked")
        return [f"{now:,}", f"{bare:,}", f"{1 - bare / now:.0%}"]
    targets = [target for target in size.FEATURE_TARGETS if (target, "unchecked", "all functions") in sizes()]
    rows = [[name, *(cell for target in targets for cell in shares(target, name))]
            for name in size.PROGRAMS if (targets[0], "unchecked", name) in sizes()]
    titles = [f"{size.TARGETS[target][2].split(',')[0]}{title}" for target in targets for title in ("", ", without checks", ", less")]
    return table(["static link of", *titles], rows)


@figure("size.goals")
def size_goals():
    rows = []
    for (target, program, column), goal in size.GOALS.items():
        now = size.bytes_of(sizes()[target, "program", program], column)
        earlier = sizes().get((target, "earlier", program))
        without = size.bytes_of(earlier, column) if earlier else now
        if goal:
            no = "without what came later" if without <= goal else "no"
            reached = "yes" if now <= goal else f"{no}: {size.MISSED[target, program, column]}"
            rows.append([size.TARGETS[target][2], program, column, f"{now:,}", f"{without:,}" if earlier else "", f"{goal:,}", reached])
    return table(["target", "static link of", "bytes of", "now", "without what came later", "goal", "reached"], rows, numbers=False)


@figure("size.features")
def size_features():
    targets = size.FEATURE_TARGETS
    measured = {row["name"] for row in rows_of("size_baseline.csv") if row["kind"] == "feature"}
    rows = [[f"`{name}`", *(code(target, name, kind="feature") if name in measured else "not measured yet" for target in targets)]
            for name in size.features()]
    return table(["feature", *(size.TARGETS[target][2] for target in targets)], rows)


def error_sentence(*kinds):
    """A sentence with what arithmetics of less precision cost, as tests/ACCURACY.md has it."""
    def cells(part, row):
        text = (ROOT / "tests" / "ACCURACY.md").read_text(encoding="utf-8").split(f"\n## {part}\n")[1].split("\n## ")[0]
        return [cell.strip() for cell in text.split(f"\n| {row} |")[1].split("\n")[0].split("|")]

    rows, halves = cells("Integer arithmetic", "int8 | normal, head_dim 64"), cells("Half precision", "normal, head_dim 64")
    words = {"rows": f"int8 rows {rows[1]} in f32 arithmetic and {rows[0]} by integer products",
             "tensors": f"tensors of int8 {cells('Tensors of int8', 'normal, head_dim 64')[2]}", "halves": f"halves {halves[0]}, f32 {halves[1]}"}
    return "\n" + sentence(f"Errors of attention (ACCURACY.md, normal numbers): {'; '.join(words[kind] for kind in kinds)}.")


@figure("calls")
def calls():
    found = {(row["target"], row["shape"]): f"{int(row['fovea']):,}" + (f" ({int(row['naive']):,})" if int(row["naive"]) else "")
             for row in rows_of("calls_baseline.csv")}
    rows = [[shape, *(found[target, shape] for target in size.BOARDS)] for shape in size.SHAPES]
    boards = [size.TARGETS[target][2] for target in size.BOARDS]
    return table(["instructions of a call (plain loops at -O2)", *boards], rows) + error_sentence("rows", "tensors")


@figure("firmware.example")
def firmware_example():
    """Decoding with 4 heads of 64 and 256 tokens in int8: by f32 arithmetic, by integer products, without floats."""
    ways = {
        "f32 arithmetic": ("attention, int8 keys and values", "FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(64, 64, 1)",
                           "4 heads, 1 query, 256 int8 keys, head_dim 64", 4),
        "integer products": ("attention, int8 keys and values, integer products", "FOVEA_ATTENTION_I8_WORKSPACE_BYTES_FOR(64, 64, 1)",
                             "the same, integer products", 4),
        "`fovea_integer_attention`": ("integer attention, int8 tensors", "FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(64, 64, 1)",
                                      "the same, integer attention", 0),
    }
    found = {(row["target"], row["shape"]): int(row["fovea"]) for row in rows_of("calls_baseline.csv")}
    rows, boards = [], ["m4f", "m55"]
    for way, (program, macro, shape, scale_bytes) in ways.items():
        rows.append([f"keys and values, {way}", *[f"{2 * 4 * 256 * (64 + scale_bytes):,} bytes of RAM"] * 2])
        rows.append([f"workspace, {way}", *(f"{config().bytes_of(target, macro):,} bytes of RAM" for target in boards)])
        rows.append([f"code and constants, {way}", *(f"{code(target, program):,} bytes of flash" for target in boards)])
        rows.append([f"a token, {way}", *(f"{found[target, shape]:,} instructions" for target in boards)])
    return table(["", *(size.TARGETS[target][2] for target in boards)], rows) + error_sentence("rows", "tensors")


def keywords_results():
    return json.loads((ROOT / "examples" / "keywords" / "results.json").read_text(encoding="utf-8"))


@figure("keywords.accuracy")
def keywords_accuracy():
    """How much of held-out voices the example hears right, by evaluate.py."""
    cells, seconds = {}, {}
    for result in keywords_results()["results"]:
        noise = "none" if result["decibels"] is None else f"{result['decibels']} dB weaker"
        seconds[noise] = result["seconds"]
        cells[noise, result["arithmetic"]] = [f"{100 * result[f'{kind}_right'] / result[kind]:.1f} %" for kind in ("keywords", "others")]
    return table(["noise", "keywords heard, f32", "int8", "other words passed over, f32", "int8"],
                 [[noise, *(cells[noise, arithmetic][kind] for kind in (0, 1) for arithmetic in ("f32", "int8"))] for noise in seconds])


@figure("keywords.boards")
def keywords_boards():
    boards = keywords_results()["boards"]
    rows = [("weights and code, without the recording", "flash", "bytes of flash"), ("static memory", "memory", "bytes of RAM"),
            ("stack", "stack", "bytes of RAM"), ("a frame of 20 ms", "instructions", "instructions")]
    return table(["", *boards], [[row, *(f"{board[key]:,} {unit}" for board in boards.values())] for row, key, unit in rows])


# ---- ExecuTorch.


@functools.lru_cache(maxsize=None)
def executorch():
    path = ROOT / "platform" / "engines" / "executorch" / "tests" / "results.json"
    return json.loads(path.read_text(encoding="utf-8"))


@figure("executorch.machine")
def executorch_machine():
    host = executorch()["host"]
    software = ", ".join(f"{name} {version}" for name, version in host["versions"].items())
    return sentence(f"One core of an {host['processor']}, {software}; {host['date']}. Times are the shortest of several, taken "
                    f"alternately{host['noise']}.")


@figure("executorch.kernels")
def executorch_kernels():
    rows = [[name, time(1e3 * one["fovea_us"]), time(1e3 * one["executorch_us"]), f"{one['executorch_us'] / one['fovea_us']:.1f}"]
            for name, one in executorch()["kernels"].items() if not name.startswith("update_cache")]
    return table(["call", "fovea", "ExecuTorch", "ratio"], rows)


@figure("executorch.llama")
def executorch_llama():
    """A llama of two layers, 512 wide: XNNPACK with ExecuTorch's operators, and with fovea's."""
    kinds = {"ExecuTorch's operators": "xnnpack, executorch", "fovea's in their place": "xnnpack, fovea",
             "`to_fovea` without linear layers": "fovea's but linear, xnnpack", "`to_fovea`": "fovea's layers, xnnpack"}
    found = {(row["weights"], row["context"], row["kernels"]): row for row in executorch()["llama"] + executorch()["llama_int4"]}
    rows = []
    for weights, context in sorted({key[:2] for key in found}):
        for phase in "prefill", "decode":
            base = found[weights, context, "xnnpack, executorch"][phase]
            times = [found.get((weights, context, kind), {}).get(phase) for kind in kinds.values()]
            cells = ["" if t is None or (weights != "f32" and i == 3) else f"{time(1e6 * t)}, {base / t:.2f}" for i, t in enumerate(times)]
            rows.append([f"{phase}, {context} tokens, weights {weights}", *cells])
    return table(["", *kinds], rows)


@figure("executorch.models")
def executorch_models():
    found = {}
    for row in executorch()["models"]:
        found.setdefault(row["model"], {})[row["kernels"]] = time(1e6 * row["ms"])
    kinds = list(dict.fromkeys(row["kernels"] for row in executorch()["models"]))
    return table(["model", *kinds], [[name, *(cells[kind] for kind in kinds)] for name, cells in found.items()])


# ---- Counts.


@functools.lru_cache(maxsize=None)
def counted():
    return {(row["toolchain"], row["measure"]): row for row in rows_of("counts_baseline.csv")}


def modelled(target):
    """Cycles of the inner loops, with the limit in parentheses. If a processor has published rules, only by these."""
    def cell(measure, name):
        row = counted()[target.name, f"{measure} {name}"]
        return f"{name} {float(row['value']):.3g} ({float(row['goal_or_limit']):.3g})"

    rules = [cell("rules", name) for name in target.rules]
    models = [cell("cycles", name) for name in target.models if name not in target.rules]
    return "; ".join(([f"by rules {', '.join(rules)}"] if rules else []) + ([", ".join(models)] if models else []))


@figure("counts")
def counts_table():
    rows = []
    for target in counts.TARGETS:
        row = counted()[target.name, "instructions"]
        goal = f"{float(row['goal_or_limit']):.2f}" if row["goal_or_limit"] else ""
        rows.append([f"`{target.name}`", f"{float(row['value']):.3f}", goal, modelled(target)])
    header = ["toolchain file", "instructions for each multiply-add", "goal", "cycles for each multiply-add (least)"]
    return table(header, rows, numbers=False)


MORE = {
    "f32 rows": "", "int8 rows": "int8 rows", "int8 rows, integer products": "integers", "tensors of int8": "tensors",
    "decode": "decode", "decode, f16 rows": "decode f16 rows", "decode, int8 rows": "decode int8 rows",
    "decode, integer products": "decode integers", "decode, tensors of int8": "decode tensors",
    "linear attention": "delta",
}


def counted_calls(calls, toolchains):
    """calls: {title: measure}; toolchains: {title: name}."""
    def cell(toolchain, measure):
        row = counted()[toolchain, measure.strip()]
        goal = row["goal_or_limit"]
        return f"{float(row['value']):.2f}" + (f" (goal {float(goal):.2f})" if goal else "")

    return table(["call", *toolchains], [[title, *(cell(toolchain, f"instructions {measure}") for toolchain in toolchains.values())]
                                         for title, measure in calls.items()])


@figure("counts.boards")
def counts_boards():
    toolchains = {"Cortex-M4F": "arm-none-eabi-cortex-m4f", "Cortex-M55": "arm-none-eabi-cortex-m55"}
    return counted_calls(MORE, toolchains) + error_sentence("rows", "tensors")


@figure("counts.halves")
def counts_halves():
    calls = {"attention, 64 queries and keys, f32": "", "attention, halves": "halves",
             "decode, 256 keys of f16, f32": "decode f16 rows", "decode, halves": "decode halves",
             "linear layer, many tokens, halves": "linear halves",
             "linear layer, one token, weights of f16, f32": "linear f16 weights, one token",
             "linear layer, one token, halves": "linear halves, one token"}
    return counted_calls(calls, {"AArch64": "aarch64-linux-gnu", "Cortex-M55": "arm-none-eabi-cortex-m55"}) + error_sentence("halves")


@figure("counts.halves.cycles")
def counts_halves_cycles():
    models = {"Cortex-A76": "cortex-a76", "Neoverse N1": "neoverse-n1"}
    rows = [[title, *(f"{float(counted()['aarch64-linux-gnu', f'cycles {model} decode of 1024 {rows}']['value']):.3f}"
                      for model in models.values())]
            for title, rows in (("keys of f16, f32", "f16 rows"), ("keys of f16, halves", "halves"))]
    in_order = float(counted()["aarch64-linux-gnu", "cycles cortex-a55 halves"]["value"])
    return table(["decode, 1 query, 1024 keys, head_dim 128", *models], rows) + (
        f"\nThe inner loops of 64 queries take {in_order:.3f} cycles on a Cortex-A55.\n")


# CMSIS-NN at commit 99f736a6, whose functions for int8 tensors were called one after the other, in QEMU; its calls for Cortex-M55
# were compiled by clang. Measured once, with -O3: they are no part of this tree.
CMSIS_NN = {"tensors": (6.74, 1.00), "decode tensors": (13.6, 2.02)}


@figure("counts.layers")
def counts_layers():
    calls = {"attention, 64 queries and keys, head_dim 64": "tensors", "attention, decode, 256 keys, head_dim 32": "decode tensors",
             "a layer of an encoder": "encoder layer of int8", "layer normalisation, an element": "norm of int8",
             "GELU by a table, an element": "table of int8"}
    rows = []
    for title, measure in calls.items():
        ours = [f"{float(counted()[f'arm-none-eabi-cortex-{core}', f'instructions {measure}']['value']):.2f}" for core in ("m4f", "m55")]
        theirs = [f"{value:.2f}" for value in CMSIS_NN.get(measure, ())] or ["none", "none"]
        rows.append([title, ours[0], theirs[0], ours[1], theirs[1]])
    return table(["call on tensors of int8", "Cortex-M4F", "CMSIS-NN", "Cortex-M55", "CMSIS-NN"], rows)


# ---- Boards: files that bench/board.py --send made, of boards and of emulators.


def boards(kind):
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / "boards").glob("*.json"))]
    return [board for board in found if board["kind"] == kind]


def board_script():
    return importlib.import_module("board")


def board_table(found):
    """A column for each board, a row for each case, and below what each was measured with."""
    def cell(board, name):
        result = next((r for r in board["results"] if r["name"] == name), {"error": "no such case"})
        if "error" in result:
            return "too little memory" if result["error"] == "too little memory" else "-"
        word = board["host"]["unit"].split()[0]
        median = result.get("ns_median", result.get(f"{word}_median"))  # on hosts every unit is called ns
        return time(median) if word == "ns" else f"{median:,.0f} {word}"

    names = list(dict.fromkeys(r["name"] for board in found for r in board["results"]))
    text = table(["case", *(board["board"] for board in found)],
                 [[f"`{name.split('/')[1]}`", *(cell(board, name) for board in found)] for name in names])
    text += "\n"
    for board in found:
        host = board["host"]
        clock = f", at {board['mhz']:.0f} MHz" if board["mhz"] else ""
        note = f"; {board['note']}" if board["note"] else ""
        said = "".join(f"; {name}: {board[name]}" for name in board_script().FACTS_TO_SAY
                       if name in board and (board["kind"] == "board" or board[name] != board_script().UNKNOWN))
        digest = f", digest {board['digest']}" if "digest" in board else ""
        text += sentence(f"- {board['board']}: {host['processor']}{clock}; {host['compiler']} with `{host['flags']}`; "
                                f"{version(host)}; self-test: {board['selftest']}{digest}{said}{note}.")
    return text


@figure("boards")
def boards_measured():
    return board_table(boards("board")) if boards("board") else "None yet: yours would be the first.\n"


@figure("boards.emulators")
def boards_emulated():
    return board_table(boards("emulator"))


# ---- Workspace.

WORKSPACE = [
    "decode, as many key heads as query heads, 32", "decode, as many key heads as query heads, 64",
    "decode, 8 heads over 2, 64", "decode, 8 heads over 2, 64, int8 keys and values", "64 queries, 32",
    "64 queries, 64", "64 queries, 128", "64 queries, 64, int8 keys and values",
]


@figure("bounds")
def bounds():
    stored = json.loads((ROOT / "bench" / "bounds.json").read_text(encoding="utf-8"))
    boards = {"m4f": "Cortex-M4F", "m55": "Cortex-M55"}
    operators = {"attention": "attention", "causal": "causal attention", "integer": "integer attention", "softmax": "softmax"}
    rows = [[title, name, one["shapes"], f"{one['least']:,} to {one['most']:,}", f"{one['least_excess']:.3f} to {one['most_excess']:.3f}"]
            for board, title in boards.items() for operator, name in operators.items() for one in [stored[board][operator]]]
    return table(["processor", "operator", "shapes", "instructions counted", "bound / count"], rows)


@figure("workspace")
def workspace():
    text = (ROOT / "tests" / "plan_test.cc").read_text(encoding="utf-8")
    found = re.findall(r"\bRow\{\d+, \d+, \d+, \d+, \w+, (\d+), (\d+), (\d+)\}", text)
    if len(found) != len(WORKSPACE):
        raise Fault(f"tests/plan_test.cc has {len(found)} rows of workspaces, and {len(WORKSPACE)} have a title")
    return table(["call", "scalar", "Helium, NEON", "AVX2"], [[title, *row] for title, row in zip(WORKSPACE, found)])


# ---- Pages.


FOLDERS = (".github", "bench", "examples", "lib", "platform", "tests", "toolchains")


def pages():
    """The documents of the tree, without those of builds and Python environments."""
    found = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    return sorted(path for path in found if "site-packages" not in path.parts)


def written(path, used):
    """(text, text as it should be) of a page."""
    def make(match):
        name = match.group(2)
        if name not in FIGURES:
            raise Fault(f"{path.relative_to(ROOT)}: there is no figure {name}")
        used.add(name)
        try:
            return match.group(1) + FIGURES[name]() + match.group(4)
        except KeyError as key:
            raise Fault(f"the figure {name}: no file has {key}; ./run baselines or ./run figures writes it") from key

    text = path.read_text(encoding="utf-8")
    for mark in ("<!-- figures:", "<!-- /figures"):
        if len(MARKED.findall(text)) != text.count(f"\n{mark}"):
            raise Fault(f"{path.relative_to(ROOT)}: a line with {mark} is not one of a pair of marks")
    return text, MARKED.sub(make, text)


def first_difference(name, old, new):
    for number, (before, after) in enumerate(zip(old.splitlines() + [""], new.splitlines() + [""]), 1):
        if before != after:
            return f"{name}:{number}: the page has\n  {before}\nand the files give\n  {after}"
    return f"{name}: the page has other lines than the files give"


def unmarked(name, text):
    """Numbers with units that are neither written by this script nor in STATED."""
    faults = []
    text = MARKED.sub(lambda match: "\n" * match.group().count("\n"), text)
    for words in STATED.get(name, []):
        if words not in text:
            faults.append(f"{name}: STATED has {words!r}, which is not there")
        text = text.replace(words, "")
    for number, line in enumerate(text.splitlines(), 1):
        faults += [f"{name}:{number}: {match.group()!r}: if it was measured, a script must set it between marks; else "
                   "STATED names it" for match in MEASURED.finditer(line)]
    return faults


def check():
    faults, used = [], set()
    for path in pages():
        name = str(path.relative_to(ROOT))
        old, new = written(path, used)
        if old != new:
            faults.append(first_difference(name, old, new))
        if name not in NOT_CHECKED:
            faults += unmarked(name, new)
    faults += [f"the figure {name} stands in no page" for name in FIGURES if name not in used]
    faults += [f"bench/results/{path.name} is not of RESULTS" for path in FOLDER.glob("*.json") if path.stem not in RESULTS]
    for fault in faults:
        print(fault)
    if faults:
        print("bench/figures.py --write sets what the files give into the pages")
    return int(bool(faults))


def write():
    for path in pages():
        old, new = written(path, set())
        if old != new:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(ROOT))
    return 0


def run(command):
    print("+ " + " ".join(map(str, command)), flush=True)
    subprocess.run(command, check=True, cwd=ROOT)


def build(names):
    run(["cmake", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
         "-DFOVEA_BUILD_TESTS=OFF", "-DFOVEA_BUILD_EXAMPLES=ON", "-DFOVEA_BUILD_BENCH=ON"])
    run(["cmake", "--build", BUILD, "--parallel", str(os.cpu_count() or 1),
         "--target", "fovea", "fovea_bench", "sentence_similarity", "chat_measure"])
    if "peers_chat_avx2" in names:
        run(["cmake", "--preset", AVX2])
        run(["cmake", "--build", ROOT / "build" / AVX2, "--parallel", str(os.cpu_count() or 1), "--target", "fovea_bench", "chat_measure"])


def one_line_a_case(data):
    cases = {}
    for result in data.pop("results"):
        cases.setdefault(result["name"], []).append(json.dumps(result))
    head = ",\n".join(f"{json.dumps(name)}: {json.dumps(part)}" for name, part in data.items())
    return f'{{\n{head},\n"results": [\n' + ",\n".join(", ".join(case) for case in cases.values()) + "\n]\n}\n"


def other_work(seconds=5):
    """How many cores are busy while this script waits."""
    def ticks():
        fields = [int(field) for field in pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]  # in all; idle, and waiting for disks

    before = ticks()
    clock.sleep(seconds)
    all_ticks, idle = (now - then for now, then in zip(ticks(), before))
    return (1 - idle / all_ticks) * os.cpu_count()


def quiet():
    """Waits until the machine does little else. Returns how many cores are busy."""
    for _ in range(60):
        load = other_work()
        if load < MOST_LOAD:
            return round(load, 2)
    raise Fault(f"{load:.2f} cores do other work, not less than {MOST_LOAD}")


def measure(names, as_built):
    names = names or list(RESULTS)
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True, cwd=ROOT)
    if not as_built:
        build(names)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name in names:
        path, fresh = FOLDER / f"{name}.json", BUILD / f"{name}.json"
        command = RESULTS[name] + ["--as-built"] * (as_built and RESULTS[name][:2] == COMPARE[:2])
        load = quiet()
        run([*command, "--json", fresh])
        read_results(fresh)
        data = json.loads(fresh.read_text(encoding="utf-8"))
        words = ["python3" if word == sys.executable else str(word).replace(f"{ROOT}/", "") for word in RESULTS[name]]
        data["host"] = {"date": datetime.date.today().isoformat(), "commit": commit.stdout.strip() or "no commit", "command": words,
                        "load": load, **data["host"]}
        path.write_text(one_line_a_case(data), encoding="utf-8")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    what.add_argument("--measure", nargs="*", metavar="NAME", choices=list(RESULTS))
    parser.add_argument("--as-built", action="store_true")
    options = parser.parse_args()
    return write() if options.write else check() if options.check else measure(options.measure, options.as_built)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Fault, FileNotFoundError) as fault:
        sys.exit(f"figures.py: {fault}")
