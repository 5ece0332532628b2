#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares scores with those of numpy in double, which reference.txt has: check_scores.py MODEL CHAT_MEASURE. Exit code: 0, 1,
or 77 without the model."""
import os
import pathlib
import subprocess
import sys

# The arithmetic, the cache, and the largest allowed error of scores, which are from -20 to 30.
CASES = [('f32', 'f32', 1e-4), ('f32', 'f16', 2e-2), ('f32', 'i8', 1.0), ('i8', 'i8', 1.5)]


def main():
    model, program = sys.argv[1:]
    if not os.path.exists(model):
        print(f'skipped: there is no {model}, which "./run model" fetches')
        return 77
    lines = (pathlib.Path(__file__).parent / 'reference.txt').read_text(encoding='utf-8').splitlines()
    rows = [line.split('|') for line in lines if not line.startswith('#')]
    asked = ''.join(f'{prompt}|{tokens}\n' for prompt, tokens, _ in rows)
    wrong = len(rows) != 20
    for compute, cache, most in CASES:
        done = subprocess.run([program, 'scores', model, compute, cache], input=asked, stdout=subprocess.PIPE, text=True, check=True)
        found = [[float(x) for x in line.split()] for line in done.stdout.splitlines()]
        want = [[float(x) for x in scores.split()] for _, _, scores in rows]
        fits = [len(row) for row in found] == [len(row) for row in want]
        error = max(abs(x - y) for f, w in zip(found, want) for x, y in zip(f, w)) if fits else float('inf')
        print(f'{compute}, cache of {cache}: largest error {error:.2g}, allowed {most}')
        wrong = wrong or not error <= most
    return int(wrong)


if __name__ == '__main__':
    sys.exit(main())
