#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library through ctypes, as bench/peers/fovea.py has it: check_python.py <shared library>"""
import ctypes
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "peers"))
import fovea  # noqa: E402

HEADS, TOKENS, DIM = 2, 5, 3


def floats(seed):
    array = (ctypes.c_float * DIM * TOKENS * HEADS * 1)()
    for head in range(HEADS):
        for token in range(TOKENS):
            array[0][head][token][:] = [math.sin(seed + 10 * head + 3 * token + d) for d in range(DIM)]
    return array


def attention(q, keys, values, causal):
    """[heads][tokens][dim] in double."""
    answer = []
    for head in range(HEADS):
        for i in range(TOKENS):
            seen = range(i + 1 if causal else TOKENS)
            scores = [sum(a * b for a, b in zip(q[head][i], keys[head][j])) / math.sqrt(DIM) for j in seen]
            weights = [math.exp(score - max(scores)) for score in scores]
            answer.append([sum(w * values[head][j][d] for w, j in zip(weights, seen)) / sum(weights) for d in range(DIM)])
    return answer


def main():
    library = fovea.Library(sys.argv[1])
    q, keys, values, out = floats(1), floats(2), floats(3), floats(4)
    cases = [(False, "f32", "f32", 1e-6), (True, "f32", "f32", 1e-6), (True, "i8", "f32", 0.01), (True, "i8", "i8", 0.01)]
    for causal, kv, compute, most in cases:
        call, _ = library.attention(out, q, keys, values, causal, kv=kv, compute=compute)
        library.check(call())
        rows = [out[0][head][token][:] for head in range(HEADS) for token in range(TOKENS)]
        worst = max(abs(a - b) for got, want in zip(rows, attention(q[0], keys[0], values[0], causal))
                    for a, b in zip(got, want))
        print(f"fovea {library.version()} on {library.best_target()}, causal {causal}, rows of {kv}, products of {compute}: "
              f"largest difference {worst:.1e}")
        if not worst < most:
            return 1
    scale, zero = library.int8_scale([q, keys])
    largest = max(abs(x) for tensor in (q, keys) for head in tensor[0] for row in head for x in row)
    print(f"scale of an int8 tensor: {scale:.6f}, zero point {zero}")
    return 0 if zero == 0 and abs(scale * 127 - largest) < 1e-6 else 1


sys.exit(main())
