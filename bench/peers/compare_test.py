#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what compare.py must refuse, with contestants made for this. Exits with 77 if there is no NumPy."""
import argparse
import contextlib
import io
import sys
import time

try:
    import numpy as np
except ImportError:
    sys.exit(77)
import compare

CASE = compare.Case("small", 1, 1, 4, 8, 16)
HOST = {"l1_bytes": 32768, "l2_bytes": 1 << 20, "l3_bytes": 0}
BOUNDS = {"fma_gflops": {"avx2": 1e6}, "integer_gops": {}, "read_gbps": {"l1": 100, "dram": 10}}


class Honest:
    """Writes the right output. The other classes differ in one point each."""
    version, compute, seconds = "1", "f32", 0

    def __init__(self, name="peer"):
        self.name, self.calls, self.target = name, 0, "avx2"

    def prepare(self, case, *inputs):
        self.expected, self.out = case.reference(*inputs), np.zeros_like(inputs[0])
        return compare.Prepared(self.call, lambda: self.out)

    def call(self):
        self.calls += 1
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return self.work()

    def work(self):
        self.out[...] = self.expected


class FailsLater(Honest):
    def work(self):
        if self.calls > 20:
            return -2
        return super().work()


class WritesOnce(Honest):
    def work(self):
        if self.calls == 1:
            super().work()


class WrongLater(Honest):
    def work(self):
        self.out[...] = self.expected + (self.calls > 20)


class WrongAtOnce(Honest):
    def work(self):
        self.out[...] = 0


class FailsAtOnce(Honest):
    def work(self):
        return -2


class Slow(Honest):
    seconds = 0.005


def as_fovea(kind):
    """A contestant that the comparison treats as fovea."""
    class Ours(kind, compare.Fovea):
        pass
    return Ours("fovea")


def compared(ours, peer, bounds=None):
    """The comparison after one row, and its printed text."""
    options = argparse.Namespace(filter="", min_time=0.001)
    comparison, printed = compare.Comparison(options, time.perf_counter_ns, HOST, bounds or BOUNDS), io.StringIO()
    with contextlib.redirect_stdout(printed):
        comparison.table([CASE], [as_fovea(ours), peer("peer")])
    return comparison, printed.getvalue()


def refused(what, words, *arguments):
    try:
        compared(*arguments)
    except compare.Fault as fault:
        if CASE.name in str(fault) and words in str(fault):
            return
        sys.exit(f"{what}: refused with other words: {fault}")
    sys.exit(f"{what}: a row was printed")


def compute_all(library):
    """fovea computes a case of each table."""
    compare.fovea.c.load(library)
    rows = [compare.NormCase("rms", 4, 64), compare.ActivationCase("gelu", 4, 64)]
    pairs = [(compare.Case("small", 4, 2, 3, 64, 32), compare.Fovea("best")), (compare.DeltaCase(2, 8, 32), compare.FoveaDelta("best")),
             *((compare.Case("integer", 4, 2, 1, 64, 32, kv=kv), compare.Fovea("best", "i8")) for kv in ("i8", "i4")),
             (compare.SoftmaxCase("log_softmax", 4, 64), compare.FoveaSoftmax("best")), *((row, compare.FoveaRows("best")) for row in rows),
             *((compare.EncoderCase(12, 64, 4, 256), compare.FoveaEncoder("best", compute)) for compute in ("f32", "i8"))]
    for case, ours in pairs:
        inputs = case.inputs(np.random.default_rng(1))
        prepared = ours.prepare(case, *inputs)
        assert not prepared.call() and case.is_right(prepared.answer(), case.reference(*inputs)), case.name


def main():
    if sys.argv[1:]:
        return compute_all(sys.argv[1])
    comparison, printed = compared(Honest, Honest)
    assert comparison.rows == 1 and len(comparison.results) == 2 and CASE.name in printed, printed

    refused("a status of fovea", "returned the status -2", FailsLater, Honest)
    refused("a status of a peer", "peer: a timed call returned the status -2", Honest, FailsLater)
    refused("no answer", "wrote no answer", WritesOnce, Honest)
    refused("a wrong answer of timed calls", "is wrong by", Honest, WrongLater)
    refused("fovea fails at once", "status -2", FailsAtOnce, Honest)
    refused("fovea is wrong at once", "wrong by", WrongAtOnce, Honest)
    refused("a ratio above 50", "not believed", Honest, Slow)
    refused("a ratio below 1 / 50", "not believed", Slow, Honest)
    refused("more than the peak", "of the peak", Honest, Honest, {**BOUNDS, "fma_gflops": {"avx2": 1e-6}})

    comparison, printed = compared(Honest, WrongAtOnce)  # a peer that is wrong is left out, and named
    assert len(comparison.results) == 1 and comparison.left_out[0]["library"] == "peer", comparison.left_out
    assert "left out" in printed, printed


if __name__ == "__main__":
    main()
