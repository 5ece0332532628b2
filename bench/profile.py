#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the instructions of a call go: bench/profile.py [--filter REGEX]

Builds bench/counts/calls.c and the library for AVX2 and lets callgrind, of valgrind, count the instructions of each function in a
call of each suite: those of two calls minus those of one, so that start-up is not counted. Neither a quiet machine nor a counter of
the processor is needed, and the counts repeat. They say nothing of the time that a load waits for memory.
"""
import argparse
import collections
import os
import re
import sys
import tempfile

import counts

# Suite, call, and its words for calls.c.
CASES = [
    ("prefill", "4 heads, 64 tokens, head_dim 64", counts.SHAPE),
    ("decode", "4 heads, 256 keys, head_dim 32", counts.DECODE),
    ("formats", "prefill, int8 rows", f"{counts.SHAPE} i8"),
    ("formats", "decode, f16 rows", f"{counts.DECODE} f16"),
    ("formats", "decode, int8 rows", f"{counts.DECODE} i8"),
    ("integer", "prefill, int8 rows", f"{counts.SHAPE} integers"),
    ("integer", "decode, int8 rows", f"{counts.DECODE} integers"),
    ("options", "prefill, a mask of floats", f"{counts.SHAPE} mask"),
    ("small", "1 head, 1 key, head_dim 64", "1 1 1 64"),
    ("small", "8 heads, 1 key, head_dim 64", "8 1 1 64"),
    ("linear", "128 tokens, int8 weights", f"{counts.LINEAR} i8"),
    ("linear", "the same, integer products", f"{counts.LINEAR} integers"),
    ("linear", "1 token, integer products", "1 1 1536 576 linear integers"),
    ("delta", "4 heads, 64 tokens", counts.DELTA),
    ("rows", "layer normalisation", counts.LAYER_NORM),
    ("rows", "GELU", counts.GELU),
]
MOST_FUNCTIONS = 4  # shown of a call


def short(name):
    """A function's name without its namespaces and arguments."""
    name = re.sub(r"\((?!fovea_dtype\)).*", "", name.replace("(anonymous namespace)::", ""))
    return re.sub(r"^.*?((?:\w+::)?\w+(<.*>)?)$", r"\1", name.split(" [clone")[0]).replace("(fovea_dtype)", "")


def functions_of(path):
    """{function: instructions} from callgrind's file."""
    total, name, inclusive = collections.Counter(), "", False
    with open(path) as lines:
        for line in lines:
            if line.startswith("fn="):
                name = line[3:].strip()
            elif line.startswith("calls="):
                inclusive = True  # the next line has the instructions of the function called
            elif line[0].isdigit() and not inclusive:
                total[name] += int(line.split()[1])
            elif line[0].isdigit():
                inclusive = False
    return total


def profile(program, words):
    """{function: instructions} of one call."""
    def of_calls(calls):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            counts.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-strings=no",
                        "--compress-pos=no", program, str(calls), "fovea", *words.split()])
            return functions_of(out)
    return of_calls(2) - of_calls(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only suites and calls with this in their names")
    parser.add_argument("--builds", default=os.path.join(counts.ROOT, "build"), help="folder of build folders, build/")
    options = parser.parse_args()
    target = next(target for target in counts.TARGETS if target.name == "x86-64-avx2")
    program = counts.build(target, os.path.abspath(options.builds))
    for suite, call, words in CASES:
        if not re.search(options.filter, f"{suite}: {call}"):
            continue
        ran = profile(program, words)
        total = sum(ran.values())
        most = [[short(name), count / total] for name, count in ran.most_common(MOST_FUNCTIONS)]
        print(f"{suite}: {call}: {total} instructions")
        for name, share in most:
            print(f"  {share:6.1%} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
