#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares fovea with the libraries that one would use instead.

    python3 -m venv somewhere && somewhere/bin/pip install -r bench/peers/requirements.txt
    somewhere/bin/python bench/peers/compare.py --json peers.json

Builds fovea as a shared library and calls it through its C interface. All libraries compute every case, one thread each on the same core, a
batch of calls alternately; a call before each batch is not timed. Times are medians over the batches, with the call from Python. The ratio is
the time of the best peer over fovea's: above 1, fovea is faster. bench/README.md says what is compared, and which results are refused: then
the run ends with an error that names the row, and no file is written.
"""
import argparse
import collections
import ctypes
import functools
import json
import logging
import math
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

# Environment variables that the libraries read when they are loaded. Those that would limit a library to fewer instructions
# than the processor has, or tell it other cache sizes, are removed; the number of threads is 1.
HOLDS_BACK = ("ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "MKL_DEBUG_CPU_TYPE", "MKL_ENABLE_INSTRUCTIONS",
              "NPY_DISABLE_CPU_FEATURES", "ONEDNN_MAX_CPU_ISA")
for variable in list(os.environ):
    if variable in HOLDS_BACK or variable.startswith("OPENBLAS_"):
        del os.environ[variable]
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

MOST_RATIO = 50  # the largest credible ratio of the best peer's time to fovea's, or of fovea's to the peer's

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "platform" / "packages" / "python"))

import numpy as np  # noqa: E402

import fovea  # noqa: E402


class Case:
    def __init__(self, suite, heads, kv_heads, q_tokens, kv_tokens, dim, causal=False, kv="f32"):
        self.suite, self.heads, self.kv_heads, self.causal, self.kv = suite, heads, kv_heads, causal, kv
        self.q_tokens, self.kv_tokens, self.dim = q_tokens, kv_tokens, dim
        over = f"over{kv_heads}" if kv_heads != heads else ""
        rows = f"-kv_{kv}" if kv != "f32" else ""
        self.name = f"{suite}/{heads}{over}x{q_tokens}x{kv_tokens}x{dim}{rows}" + ("-causal" if causal else "")
        # Causal: only the products that are needed count. Causal cases here have the same number of queries and keys.
        pairs = q_tokens * (q_tokens + 1) // 2 if causal else q_tokens * kv_tokens
        self.flops = 4 * dim * heads * pairs
        row_bytes = {"f32": 4 * dim, "i8": dim + 4, "i4": dim // 2 + dim // 16}[kv]
        self.bytes = 8 * dim * heads * q_tokens + 2 * row_bytes * kv_heads * kv_tokens

    def shape(self):
        return {"batch": 1, "heads": self.heads, "kv_heads": self.kv_heads, "q": self.q_tokens, "k": self.kv_tokens,
                "dim": self.dim, "vdim": self.dim, "causal": "bottom_right" if self.causal else "none", "window": 0,
                "right": 0, "threads": 1, "dtype": "f32", "kv": self.kv}

    def inputs(self, random):
        q, k = (random.standard_normal((1, heads, tokens, self.dim), np.float32)
                for heads, tokens in ((self.heads, self.q_tokens), (self.kv_heads, self.kv_tokens)))
        return q, k, random.uniform(-1, 1, k.shape).astype(np.float32)

    def reference(self, q, k, v):
        """The output in double, by the definition."""
        q, k, v = (array[0].astype(np.float64) for array in (q, k, v))
        out = np.empty_like(q)
        for head in range(self.heads):
            kv_head = head // (self.heads // self.kv_heads)
            scores = q[head] @ k[kv_head].T / self.dim ** 0.5
            if self.causal:
                scores[np.triu_indices(self.q_tokens, 1)] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            out[head] = weights @ v[kv_head] / weights.sum(axis=1, keepdims=True)
        return out[np.newaxis]

    def is_right(self, answer, expected):
        """Whether an output has only the error of its formats: f32 outputs are of the order of 1."""
        if self.kv == "f32":
            return float(np.abs(answer - expected).max()) < 1e-4
        return normalised(answer, expected) < {"i8": 1e-2, "i4": 0.2}[self.kv]


class RowsCase:
    """What the cases share that are not attention. Attributes: suite, name, flops, bytes, and the fields of shape()."""
    kv, epsilon, flops, largest_error = "f32", 1e-5, 0, 1e-4

    def __init__(self, name, number_of_bytes, **fields):
        self.name, self.bytes, self.fields = f"{self.suite}/{name}", number_of_bytes, fields
        self.__dict__.update(fields)

    def shape(self):
        return self.fields

    def is_right(self, answer, expected):
        return float(np.abs(answer - expected).max()) < self.largest_error

    def inputs(self, random):
        return (3 * random.standard_normal(self.dimensions, np.float32),)


class SoftmaxCase(RowsCase):
    def __init__(self, suite, *shape):
        self.suite, self.logarithm = suite, suite == "log_softmax"
        super().__init__("x".join(map(str, shape)), 8 * int(np.prod(shape)), dimensions=shape,
                         axis=1)  # the last of two, the middle one of three

    def is_right(self, answer, expected):
        return float(np.abs(answer - expected).max()) < 1e-5 * max(1.0, float(np.abs(expected).max()))

    def reference(self, x):
        x = x.astype(np.float64)
        x -= x.max(axis=self.axis, keepdims=True)
        log_sum = np.log(np.exp(x).sum(axis=self.axis, keepdims=True))
        return x - log_sum if self.logarithm else np.exp(x - log_sum)


class DeltaCase(RowsCase):
    """Arrays [batch][tokens][heads][dim], as a projection writes them."""
    suite = "delta"

    def __init__(self, heads, tokens, dim, batch=1):
        super().__init__(f"{f'{batch}.' if batch > 1 else ''}{heads}x{tokens}x{dim}x{dim}",
                         4 * batch * heads * (dim * dim * (1.25 if tokens == 1 else 2) + tokens * (4 * dim + 2)),
                         batch=batch, heads=heads, tokens=tokens, head_dim=dim, value_dim=dim)
        self.dim, self.flops = dim, 6 * batch * heads * tokens * dim * dim

    def inputs(self, random):
        rows = (self.batch, self.tokens, self.heads)
        q, k, v = (random.standard_normal((*rows, self.dim), np.float32) for _ in range(3))
        k /= np.linalg.norm(k, axis=-1, keepdims=True)
        decay, beta = -random.uniform(0, 0.2, rows).astype(np.float32), random.uniform(0, 1, rows).astype(np.float32)
        return q, k, v, decay, beta

    def reference(self, *inputs):
        q, k, v, decay, beta = (array.astype(np.float64) for array in inputs)
        state = np.zeros((self.batch, self.heads, self.dim, self.dim))
        out = np.empty_like(v)
        for t in range(self.tokens):
            state *= np.exp(decay[:, t])[..., None, None]
            held = np.einsum("bhkv,bhk->bhv", state, k[:, t])
            state += k[:, t, :, :, None] * (beta[:, t, :, None] * (v[:, t] - held))[:, :, None]
            out[:, t] = np.einsum("bhkv,bhk->bhv", state, q[:, t]) / self.dim ** 0.5
        return out


class NormCase(RowsCase):
    """Rows with weights; layer normalisation has a bias, too."""
    suite = "norm"

    def __init__(self, kind, rows, dim):
        super().__init__(f"{rows}x{dim}-{kind}", 8 * rows * dim, kind=kind, rows=rows, dim=dim)

    def inputs(self, random):
        x, weight, bias = (random.standard_normal(shape, np.float32) for shape in ((self.rows, self.dim), self.dim, self.dim))
        return (x + 1, weight, bias) if self.kind == "layer" else (x, weight)

    def reference(self, x, weight, bias=0):
        x = x.astype(np.float64)
        if self.kind == "layer":
            x -= x.mean(axis=1, keepdims=True)
        return x / np.sqrt(np.square(x).mean(axis=1, keepdims=True) + self.epsilon) * weight + bias


class ActivationCase(RowsCase):
    suite, largest_error = "activation", 1e-5

    def __init__(self, kind, *dimensions):
        super().__init__(f"{'x'.join(map(str, dimensions))}-{kind}", 8 * int(np.prod(dimensions)), kind=kind, dimensions=dimensions)

    def reference(self, x):
        x = x.astype(np.float64)
        if self.kind == "gelu":
            return x * (1 + np.vectorize(math.erf)(x / 2 ** 0.5)) / 2
        if self.kind == "gelu_tanh":
            return x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3))) / 2
        return np.tanh(x) if self.kind == "tanh" else x / (1 + np.exp(-x))  # SiLU


class EncoderCase(RowsCase):
    """A layer of an encoder, with the normalisation after each sum. Inputs and outputs are f32."""
    suite, kv = "encoder", "i8"

    def __init__(self, tokens, dim, heads, hidden):
        super().__init__(f"{tokens}x{dim}-{heads}_heads-{hidden}", 8 * tokens * dim + dim * (4 * dim + 2 * hidden),
                         tokens=tokens, dim=dim, heads=heads, hidden=hidden)
        self.flops = 2 * tokens * dim * (4 * dim + 2 * hidden + 2 * tokens)

    def inputs(self, random):
        """x, then weights [out][in] and a bias of the four linear layers, then weights and biases of the norms."""
        def linear(out_dim, in_dim):
            return (random.standard_normal((out_dim, in_dim), np.float32) * np.float32(1.2 / in_dim ** 0.5),
                    random.standard_normal(out_dim, np.float32) / 4)

        layers = [linear(*dims) for dims in ((3 * self.dim, self.dim), (self.dim, self.dim), (self.hidden, self.dim),
                                             (self.dim, self.hidden))]
        norms = [(random.uniform(0.5, 1.5, self.dim).astype(np.float32), random.standard_normal(self.dim, np.float32) / 4)
                 for _ in range(2)]
        x = random.standard_normal((self.tokens, self.dim), np.float32)
        return (x, *(array for pair in layers + norms for array in pair))

    def tensors(self, x, *weights):
        """All tensors of the layer in double, in the order of the calls."""
        pairs = [tuple(array.astype(np.float64) for array in weights[i:i + 2]) for i in range(0, 12, 2)]

        def linear(x, pair):
            return x @ pair[0].T + pair[1]

        def norm(x, pair):
            x = x - x.mean(axis=1, keepdims=True)
            return x / np.sqrt(np.square(x).mean(axis=1, keepdims=True) + self.epsilon) * pair[0] + pair[1]

        x = x.astype(np.float64)
        qkv = linear(x, pairs[0])
        q, k, v = np.moveaxis(qkv.reshape(self.tokens, 3, self.heads, -1), (1, 2), (0, 1))
        scores = np.exp(q @ np.swapaxes(k, 1, 2) / q.shape[2] ** 0.5)
        seen = np.moveaxis(scores / scores.sum(axis=2, keepdims=True) @ v, 0, 1).reshape(self.tokens, self.dim)
        projected = linear(seen, pairs[1])
        first_sum = x + projected
        normed = norm(first_sum, pairs[4])
        raised = linear(normed, pairs[2])
        active = raised * (1 + np.vectorize(math.erf)(raised / 2 ** 0.5)) / 2
        lowered = linear(active, pairs[3])
        second_sum = normed + lowered
        return {"x": x, "qkv": qkv, "seen": seen, "projected": projected, "first_sum": first_sum, "normed": normed,
                "active": active, "lowered": lowered, "second_sum": second_sum, "y": norm(second_sum, pairs[5])}

    def reference(self, *inputs):
        return self.tensors(*inputs)["y"]

    def is_right(self, answer, expected):
        return normalised(answer, expected) < 1e-2


def normalised(answer, expected):
    """Normalised mean square error."""
    return float(np.square(answer - expected).sum() / np.square(expected).sum())


CASES = [
    *(Case("prefill", 8, 8, tokens, tokens, dim) for dim in (64, 128) for tokens in (128, 512, 2048)),
    *(Case("causal", 8, 8, tokens, tokens, dim, True) for dim in (64, 128) for tokens in (128, 512, 2048)),
    *(Case("decode", 32, 8, 1, keys, 128) for keys in (1024, 4096, 16384)),
    Case("small", 4, 4, 64, 64, 32),
    Case("small", 4, 4, 128, 128, 32),
    Case("small", 4, 4, 16, 16, 32),
    Case("small", 4, 4, 1, 64, 32),
    Case("small", 4, 4, 8, 256, 32),
    Case("small", 8, 8, 32, 512, 64),
]

INTEGER_CASES = [
    *(Case("integer", 32, 8, 1, keys, 128, kv=kv) for keys in (1024, 16384) for kv in ("i8", "i4")),
    *(Case("integer", 8, 8, 2048, 2048, dim, kv=kv) for dim in (64, 128) for kv in ("i8", "i4")),
]

SOFTMAX_SHAPES = [(1, 1000), (64, 64), (512, 64), (512, 512), (64, 4096), (1, 50257), (4096, 4096), (8, 512, 64)]
SOFTMAX_CASES = [SoftmaxCase(suite, *shape) for suite in ("softmax", "log_softmax") for shape in SOFTMAX_SHAPES]

# The one of 64 entries has 64 MiB of states.
DELTA_CASES = [DeltaCase(16, 1, 128), DeltaCase(16, 1, 128, 64), *(DeltaCase(16, tokens, 128) for tokens in (64, 512, 4096)),
               DeltaCase(8, 512, 64)]

NORM_CASES = [NormCase(kind, *shape) for kind in ("layer", "rms") for shape in ((98, 64), (512, 768), (1, 4096))]
ENCODER_CASES = [EncoderCase(98, 64, 4, 256)]
ACTIVATION_CASES = [ActivationCase(kind, 64, 3072) for kind in ("gelu", "gelu_tanh", "silu", "tanh")]

# ---------------------------------------------------------------------------------------------------------- contestants
# Each is a class with `name`, `version` and `compute`: the type of its products, f32 or i8; empty if that is not known.
# prepare(case, q, k, v) takes arrays [1][heads][tokens][dim] and returns a Prepared, or None if the library cannot do the
# case. Those of the softmax table take one array.
#     call       computes, and returns None or a status, which is 0 unless the call failed
#     answer     returns the last output as [1][heads][tokens][dim], as a view of the library's own array if that is f32.
#                It keeps alive what the call reads and writes
#     restart    if each call continues the one before: makes the next call the first again
Prepared = collections.namedtuple("Prepared", "call answer restart", defaults=[None])


class Fovea:
    def __init__(self, target, compute="f32", name="fovea"):
        self.target = fovea.targets()[0] if target == "best" else target
        self.version = fovea.__version__
        self.compute, self.name = compute, name

    def prepare(self, case, q, k, v):
        options = {"causal": "bottom_right" if case.causal else "none", "target": self.target, "compute": self.compute}
        (batch, heads, tokens, _), (_, kv_heads, kv_tokens, dim) = q.shape, v.shape
        shape = {"kv_heads": kv_heads, "head_dim": k.shape[3], "value_dim": dim}
        if case.kv == "f32":
            plan = fovea.Plan(q_heads=heads, max_batch=batch, max_q_tokens=tokens, max_kv_tokens=kv_tokens, **shape, **options)
            call = plan.bind(q, k, v)
        else:
            cache = fovea.Cache(batch=batch, max_tokens=kv_tokens, key_dtype=case.kv, value_dtype=case.kv, **shape)
            cache.append(k, v)
            plan = cache.plan(q_heads=heads, max_q_tokens=tokens, **options)
            call = plan.bind(q, cache)
        call()
        self.workspace_bytes = plan.workspace_bytes
        return Prepared(call.raw, lambda: call.out)


class FoveaSoftmax(Fovea):
    workspace_bytes = 0

    def prepare(self, case, x):
        call, out = fovea.bind_softmax(x, case.axis, logarithm=case.logarithm, target=self.target)
        return Prepared(call, lambda: out)


class FoveaDelta(Fovea):
    def prepare(self, case, *inputs):
        out = np.empty_like(inputs[2])
        names = ("out", "q", "k", "v", "decay", "beta")
        arrays = {name: fovea.arrays.view("out" if name == "out" else "in", np.moveaxis(array, 2, 1))
                  for name, array in zip(names, (out, *inputs))}
        args = fovea.c.structure("delta_args", rule="gated_delta", batch=case.batch, q_heads=case.heads, k_heads=case.heads,
                                 v_heads=case.heads, head_dim=case.dim, value_dim=case.dim, decay_dim=1, tokens=case.tokens,
                                 target=self.target, **arrays)
        counts = case.batch, case.heads, case.dim, case.dim, 1
        state = fovea.arrays.memory(fovea.c.size("fovea_delta_state_bytes", *counts))
        workspace = fovea.arrays.memory(fovea.c.size("fovea_delta_workspace_bytes", args))
        self.workspace_bytes = workspace.nbytes

        def restart():
            fovea.c.call("fovea_delta_begin", state.ctypes.data, state.nbytes, *counts)

        def call(function=fovea.c.function("fovea_delta"), state_at=state.ctypes.data, args_at=ctypes.addressof(args),
                 at=workspace.ctypes.data, count=workspace.nbytes, keep=(args, state, workspace, out, inputs)):
            return function(state_at, args_at, at, count)

        restart()
        return Prepared(call, lambda: out, restart)


def rows_in_heads(array, to="in"):
    """[rows][dim] as the library's rows of one head."""
    return fovea.arrays.view(to, array[np.newaxis, np.newaxis])


class FoveaRows(Fovea):
    """Normalisation, which has weights, and activation."""
    workspace_bytes = 0

    def prepare(self, case, x, weight=None, bias=None):
        out, name = np.empty_like(x), case.suite
        fields = {"epsilon": case.epsilon, "weight": weight, "bias": bias} if name == "norm" else {}
        args = fovea.c.structure(f"{name}_args", **{name: case.kind}, batch=1, heads=1, tokens=x.shape[0], dim=x.shape[1],
                                 x=rows_in_heads(x), y=rows_in_heads(out, "out"), target=self.target, **fields)
        return Prepared(functools.partial(fovea.c.function(f"fovea_{name}"), *fovea.c.pointers(args)), lambda: out)


class FoveaEncoder(Fovea):
    """The calls of a layer, in int8 from end to end, or in f32. Scales of int8 are those of the tensors in double."""

    def step(self, name, kind=None, workspace=None, **fields):
        """A function that makes the call."""
        args = fovea.c.structure(kind or name.removeprefix("fovea_") + "_args", **fields)
        more = () if workspace is None else (workspace.ctypes.data, workspace.nbytes)
        keep = args, workspace
        return lambda function=fovea.c.function(name), at=ctypes.addressof(args), keep=keep: function(at, *more)

    def linear(self, y, x, weights, bias, **fields):
        if self.compute == "i8":
            scales = np.abs(weights).max(axis=1) / np.float32(127)
            codes = np.rint(weights / scales[:, np.newaxis]).astype(np.int8)
            weights = fovea.c.structure("linear_weights", dtype="i8", data=codes, row_stride=codes.shape[1], scales=scales, bias=bias)
            fields |= {"x_dtype": "i8", "y_dtype": "i8", "compute": "i8", "x_scales": self.scales[x].reshape(1),
                       "y_scale": float(self.scales[y])}
        else:
            weights = fovea.c.structure("linear_weights", dtype="f32", data=weights, row_stride=weights.shape[1], bias=bias)
        x, y = self.arrays[x], self.arrays[y]
        fields |= {"tokens": x.shape[0], "in_dim": x.shape[1], "out_dim": y.shape[1], "x": x, "x_stride": x.shape[1], "y": y,
                   "y_stride": y.shape[1], "weights": weights, "target": self.target}
        fields["workspace"] = fovea.arrays.memory(
            max(64, fovea.c.size("fovea_linear_workspace_bytes",
                                 fovea.c.structure("linear_args", **fields))))
        return self.step("fovea_linear", **fields)

    def attention(self, case):
        qkv, seen = self.arrays["qkv"], self.arrays["seen"]
        q, k, v = np.moveaxis(qkv.reshape(1, case.tokens, 3, case.heads, -1), (2, 3), (0, 2))
        out = np.moveaxis(seen.reshape(1, case.tokens, case.heads, -1), 2, 1)
        options = {}
        if self.compute == "i8":
            scale = float(self.scales["qkv"])
            options = {name + "_dtype": "i8" for name in ("q", "key", "value", "out")} | {
                "q_scale": scale, "key_scale": scale, "value_scale": scale, "out_scale": float(self.scales["seen"])}
        desc = fovea.c.structure("attention_desc", q_heads=case.heads, kv_heads=case.heads, head_dim=q.shape[3],
                                 value_dim=q.shape[3], max_batch=1, max_q_tokens=case.tokens, max_kv_tokens=case.tokens,
                                 compute=self.compute, target=self.target, **options)
        plan = fovea.c.structure("attention_plan")
        fovea.c.call("fovea_attention_plan_init", plan, desc)
        args = fovea.c.structure("attention_args", batch=1, q_tokens=case.tokens, kv_tokens=case.tokens,
                                 q=fovea.arrays.view("in", q), out=fovea.arrays.view("out", out))
        args.kv.keys, args.kv.values = fovea.arrays.view("in", k), fovea.arrays.view("in", v)
        workspace = fovea.arrays.memory(fovea.c.size("fovea_attention_workspace_bytes", plan))
        keep = plan, args, workspace
        return lambda function=fovea.c.function("fovea_attention"), keep=keep: function(
            ctypes.addressof(plan), ctypes.addressof(args), workspace.ctypes.data, workspace.nbytes)

    def rows(self, case, **names):
        """The fields of rows of these tensors."""
        return {"batch": 1, "heads": 1, "tokens": case.tokens, "dim": case.dim,
                **{field: rows_in_heads(self.arrays[name], "out" if field in ("y", "sum") else "in")
                   for field, name in names.items()}}

    def multiplier(self, field, number):
        """The fields of a multiplier and its shift."""
        shift = math.frexp(number)[1]
        return {field + "multiplier": min(round(math.ldexp(number, 31 - shift)), 2 ** 31 - 1), field + "shift": shift}

    def norm(self, case, y, x, weight, bias, residual):
        """y = norm(x + residual)"""
        total = "first_sum" if y == "normed" else "second_sum"
        if self.compute == "f32":
            return [self.step("fovea_norm", norm="layer", epsilon=case.epsilon, weight=weight, bias=bias, target=self.target,
                              **self.rows(case, y=y, x=x, residual=residual))]
        scale, ratio = self.scales, float(self.scales[total])
        add = self.step("fovea_integer_add", "integer_binary_args", **self.rows(case, y=total, a=x, b=residual),
                        **self.multiplier("a_", float(scale[x]) / ratio), **self.multiplier("b_", float(scale[residual]) / ratio))
        codes = np.rint(weight * 2 ** 14).astype(np.int16), np.rint(128 * bias / scale[y]).astype(np.int16)
        return [add, self.step("fovea_integer_norm", norm="layer", weight=codes[0], bias=codes[1], **self.rows(case, y=y, x=total),
                               **self.multiplier("weight_", 2 ** -14 / float(scale[y])),
                               **self.multiplier("epsilon_", case.epsilon / ratio ** 2))]

    def prepare(self, case, x, *weights):
        self.workspace_bytes = None
        tensors, integers = case.tensors(x, *weights), self.compute == "i8"
        self.arrays = {name: np.empty(tensor.shape, np.int8 if integers else np.float32) for name, tensor in tensors.items()}
        self.scales = {name: np.float32(np.abs(tensor).max() / 127) for name, tensor in tensors.items()}
        out = np.empty_like(x)
        if not integers:
            self.arrays |= {"x": x, "y": out}
        steps = [
            self.linear("qkv", "x", *weights[0:2]), self.attention(case), self.linear("projected", "seen", *weights[2:4]),
            *self.norm(case, "normed", "projected", *weights[8:10], residual="x"),
            self.linear("active", "normed", *weights[4:6], activation="gelu"), self.linear("lowered", "active", *weights[6:8]),
            *self.norm(case, "y", "lowered", *weights[10:12], residual="normed")]
        if integers:
            to, back = (fovea.c.function(f"fovea_quantize_{way}_i8") for way in ("to", "from"))
            codes, y, scales = self.arrays["x"], self.arrays["y"], (float(self.scales["x"]), float(self.scales["y"]))
            steps = [lambda: to(x.ctypes.data, x.size, scales[0], 0, codes.ctypes.data), *steps,
                     lambda: back(y.ctypes.data, y.size, scales[1], 0, out.ctypes.data)]

        def call(keep=(x, weights)):
            for step in steps:
                if status := step():
                    return status
            return 0

        return Prepared(call, lambda: out)


class OnnxRuntime:
    """Sessions are made once for each case, inputs and outputs are bound to memory once."""
    compute = "f32"

    def __init__(self):
        import onnx
        import onnxruntime

        self.onnx, self.runtime = onnx, onnxruntime
        self.version = onnxruntime.__version__
        onnxruntime.set_default_logger_severity(3)

    def one_node(self, kind, inputs, shape_of, **attributes):
        """A node that writes an array like `shape_of`. inputs: name -> array."""
        out = np.empty_like(shape_of)
        node = self.onnx.helper.make_node(kind, list(inputs), ["out"], **attributes)
        return Prepared(self.session(node, inputs, {"out": out}), lambda: out)

    def session(self, node, inputs, outputs):
        """inputs: name -> array; outputs: name -> array to write to, or to grow in place."""
        helper = self.onnx.helper

        def info(name, array):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

        graph = helper.make_graph([node], node.op_type, [info(*item) for item in inputs.items()], [info(*item) for item in outputs.items()])
        opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
        return self.bound(helper.make_model(graph, opset_imports=opsets, ir_version=11), inputs, outputs)

    def bound(self, model, inputs, outputs):
        """A function that runs a model on these arrays."""
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = self.runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for bind, arrays in ((binding.bind_input, inputs), (binding.bind_output, outputs)):
            for name, array in arrays.items():
                bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

        def call(run=session.run_with_iobinding, binding=binding, keep=(inputs, outputs)):
            run(binding)

        return call


class OnnxSoftmax(OnnxRuntime):
    name = "ORT Softmax"

    def prepare(self, case, x):
        return self.one_node("LogSoftmax" if case.logarithm else "Softmax", {"x": x}, x, axis=case.axis)


class OnnxNorm(OnnxRuntime):
    name = "ORT"

    def prepare(self, case, *inputs):
        kind = "LayerNormalization" if case.kind == "layer" else "RMSNormalization"
        return self.one_node(kind, dict(zip(("x", "weight", "bias"), inputs)), inputs[0], axis=-1, epsilon=case.epsilon)


class OnnxActivation(OnnxRuntime):
    """com.microsoft QuickGelu with alpha = 1 is SiLU."""
    name = "ORT"
    NODES = {"gelu": ("Gelu", {}), "gelu_tanh": ("Gelu", {"approximate": "tanh"}), "tanh": ("Tanh", {}),
             "silu": ("QuickGelu", {"alpha": 1.0, "domain": "com.microsoft"})}

    def prepare(self, case, x):
        kind, attributes = self.NODES[case.kind]
        return self.one_node(kind, {"x": x}, x, **attributes)


class OnnxEncoder(OnnxRuntime):
    """The layer as a graph, in f32 or quantised by ONNX Runtime's own tool, with scales of the same input: weights in int8
    with a scale for each output."""

    def __init__(self, quantised):
        super().__init__()
        self.quantised, self.name = quantised, "ORT int8" if quantised else "ORT f32"
        self.compute = "" if quantised else "f32"

    def model(self, case, x, *weights):
        helper, nodes, constants = self.onnx.helper, [], {}

        def node(kind, out, inputs, **attributes):
            nodes.append(helper.make_node(kind, inputs, [out], out, **attributes))

        def linear(out, x, number):
            constants[out + "_weight"], constants[out + "_bias"] = weights[2 * number].T.copy(), weights[2 * number + 1]
            node("MatMul", out + "_product", [x, out + "_weight"])
            node("Add", out, [out + "_product", out + "_bias"])

        def norm(out, x, number):
            constants[out + "_weight"], constants[out + "_bias"] = weights[2 * number], weights[2 * number + 1]
            node("LayerNormalization", out, [x, out + "_weight", out + "_bias"], axis=-1, epsilon=case.epsilon)

        head_dim = case.dim // case.heads
        constants["heads"] = np.array([1, case.tokens, case.heads, head_dim], np.int64)
        constants["joined"] = np.array([case.tokens, case.dim], np.int64)
        constants["scale"] = np.float32(head_dim ** -0.5)
        linear("qkv", "x", 0)
        nodes.append(helper.make_node("Split", ["qkv"], ["q", "k", "v"], "split", axis=1, num_outputs=3))
        for name, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
            node("Reshape", name + "_heads", [name, "heads"])
            node("Transpose", name + "_turned", [name + "_heads"], perm=order)
        node("MatMul", "products", ["q_turned", "k_turned"])
        node("Mul", "scores", ["products", "scale"])
        node("Softmax", "shares", ["scores"], axis=-1)
        node("MatMul", "seen_turned", ["shares", "v_turned"])
        node("Transpose", "seen_heads", ["seen_turned"], perm=(0, 2, 1, 3))
        node("Reshape", "seen", ["seen_heads", "joined"])
        linear("projected", "seen", 1)
        node("Add", "first_sum", ["x", "projected"])
        norm("normed", "first_sum", 4)
        linear("raised", "normed", 2)
        node("Gelu", "active", ["raised"])
        linear("lowered", "active", 3)
        node("Add", "second_sum", ["normed", "lowered"])
        norm("y", "second_sum", 5)
        info = [helper.make_tensor_value_info(name, self.onnx.TensorProto.FLOAT, x.shape) for name in ("x", "y")]
        initial = [self.onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "encoder", info[:1], info[1:], initial)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)

    def quantise(self, model, x):
        from onnxruntime import quantization

        logging.getLogger().setLevel(logging.ERROR)  # it advises to optimise the graph first

        class Once(quantization.CalibrationDataReader):
            given = iter([{"x": x}])

            def get_next(self):
                return next(self.given, None)

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "quantised.onnx"
            quantization.quantize_static(model, path, Once(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                         activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
            return self.onnx.load(path)

    def prepare(self, case, x, *weights):
        model, out = self.model(case, x, *weights), np.empty_like(x)
        if self.quantised:
            model = self.quantise(model, x)
        return Prepared(self.bound(model, {"x": x}, {"y": out}), lambda: out)


class OnnxDelta(OnnxRuntime):
    """com.microsoft LinearAttention, with the state in place."""
    name = "ORT Linear"

    def prepare(self, case, *inputs):
        out, state = np.empty_like(inputs[2]), np.zeros((case.batch, case.heads, case.dim, case.dim), np.float32)
        node = self.onnx.helper.make_node("LinearAttention", ["q", "k", "v", "past", "decay", "beta"], ["out", "present"],
                                          domain="com.microsoft", q_num_heads=case.heads, kv_num_heads=case.heads,
                                          update_rule="gated_delta")
        q, k, v, decay, beta = (array.reshape(case.batch, case.tokens, -1) for array in inputs)
        arrays = {"q": q, "k": k, "v": v, "past": state, "decay": decay, "beta": beta}
        call = self.session(node, arrays, {"out": out.reshape(q.shape), "present": state})
        return Prepared(call, lambda: out, lambda: state.fill(0))


class OnnxAttention(OnnxRuntime):
    name = "ORT Attention"

    def prepare(self, case, q, k, v):
        return self.one_node("Attention", {"q": q, "k": k, "v": v}, q, is_causal=int(case.causal))


def tokens_first(array):
    """[1][heads][tokens][dim] -> [1][tokens][heads * dim], a copy."""
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(1, array.shape[2], -1)


def heads_first(array, heads):
    return array.reshape(1, array.shape[1], heads, -1).transpose(0, 2, 1, 3)


class OnnxMultiHead(OnnxRuntime):
    """com.microsoft MultiHeadAttention; for grouped heads GroupQueryAttention with the cache in place."""
    name = "ORT MHA/GQA"

    def prepare(self, case, q, k, v):
        helper = self.onnx.helper
        out = np.empty((1, case.q_tokens, case.heads * case.dim), np.float32)
        if case.heads == case.kv_heads:
            node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["out"], domain="com.microsoft",
                                    num_heads=case.heads, unidirectional=int(case.causal))
            inputs = dict(zip("qkv", map(tokens_first, (q, k, v))))
            return Prepared(self.session(node, inputs, {"out": out}), lambda: heads_first(out, case.heads))
        if case.q_tokens != 1:
            return None
        # The last key is the new one, which the operator appends to the cache's keys.
        new, cache_k, cache_v = case.kv_tokens - 1, k.copy(), v.copy()
        names = ["q", "k", "v", "past_k", "past_v", "seqlens_k", "total"]
        node = helper.make_node("GroupQueryAttention", names, ["out", "present_k", "present_v"], domain="com.microsoft",
                                num_heads=case.heads, kv_num_heads=case.kv_heads)
        arrays = [tokens_first(q), tokens_first(k[:, :, new:]), tokens_first(v[:, :, new:]), cache_k, cache_v,
                  np.array([new], np.int32), np.array([case.kv_tokens], np.int32)]
        outputs = {"out": out, "present_k": cache_k, "present_v": cache_v}
        return Prepared(self.session(node, dict(zip(names, arrays)), outputs), lambda: heads_first(out, case.heads))


def narrow(array, bits, axis):
    """Codes and the scale for the maximum over the axis (None: over all). Of 4 bits, two codes in a byte, the first lowest."""
    most = {8: 127, 4: 7}[bits]
    largest = np.abs(array).max(axis=axis, keepdims=axis is not None)
    scale = (largest / most).astype(np.float32) if axis is not None else np.array([largest / most], np.float32)
    codes = np.rint(array / scale).astype(np.int8)
    if bits == 4:
        pairs = (codes + 8).astype(np.uint8)
        codes = pairs[..., 0::2] | pairs[..., 1::2] << 4
    return np.ascontiguousarray(codes), scale


class OnnxIntegers(OnnxRuntime):
    """com.microsoft GroupQueryAttention with the cache in place, in int8 or int4. The operator stores the new tokens: in
    decode the last one, else all."""
    compute = ""  # not known

    def __init__(self, kind, name):
        super().__init__()
        self.kind, self.name = kind, name

    def prepare(self, case, q, k, v):
        bits = {"i8": 8, "i4": 4}[case.kv]
        axis = 2 if self.kind == "PER_CHANNEL" else None
        out = np.empty((1, case.q_tokens, case.heads * case.dim), np.float32)
        (cache_k, scale_k), (cache_v, scale_v) = narrow(k, bits, axis), narrow(v, bits, axis)
        new = case.kv_tokens - case.q_tokens
        names = ["q", "k", "v", "past_k", "past_v", "seqlens_k", "total", *[""] * 5, "k_scale", "v_scale"]
        node = self.onnx.helper.make_node(
            "GroupQueryAttention", names, ["out", "present_k", "present_v"], domain="com.microsoft", num_heads=case.heads,
            kv_num_heads=case.kv_heads, k_quant_type=self.kind, v_quant_type=self.kind, kv_cache_bit_width=bits,
            causal=int(case.causal or case.q_tokens == 1))
        arrays = [tokens_first(q), tokens_first(k[:, :, new:]), tokens_first(v[:, :, new:]), cache_k, cache_v,
                  np.array([case.kv_tokens - 1], np.int32), np.array([case.kv_tokens], np.int32), scale_k, scale_v]
        outputs = {"out": out, "present_k": cache_k, "present_v": cache_v}
        call = self.session(node, dict(zip(filter(None, names), arrays)), outputs)
        return Prepared(call, lambda: heads_first(out, case.heads))


class Torch:
    def __init__(self, dtype="float32", name="PyTorch"):
        import torch

        self.torch, self.dtype, self.name = torch, getattr(torch, dtype), name
        self.compute = "f32" if dtype == "float32" else dtype
        self.version = torch.__version__
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)

    def prepare(self, case, q, k, v):
        attention = self.torch.nn.functional.scaled_dot_product_attention
        tensors = [self.torch.from_numpy(array).to(self.dtype) for array in (q, k, v)]
        # Query heads that share a key head are passed as queries of one head, which is faster than enable_gqa.
        grouped = case.heads != case.kv_heads
        if grouped and case.q_tokens == 1:
            tensors[0] = tensors[0].reshape(1, case.kv_heads, -1, case.dim)
        return self.calls(lambda: attention(*tensors, is_causal=case.causal, enable_gqa=grouped and case.q_tokens > 1),
                          lambda out: out.float().numpy().reshape(q.shape))

    def calls(self, function, answer=lambda out: out.numpy()):
        """Keeps the last output of a function."""
        last = [None]

        def call():
            last[0] = function()

        return Prepared(call, lambda: answer(last[0]))


class TorchSoftmax(Torch):
    def prepare(self, case, x):
        functions = self.torch.nn.functional
        function, tensor = functions.log_softmax if case.logarithm else functions.softmax, self.torch.from_numpy(x)
        return self.calls(lambda: function(tensor, case.axis))


class TorchRows(Torch):
    """Normalisation and activation."""

    def prepare(self, case, *inputs):
        functions, (x, *weights) = self.torch.nn.functional, map(self.torch.from_numpy, inputs)
        function, options = {
            "layer": (functions.layer_norm, {"eps": case.epsilon}), "rms": (functions.rms_norm, {"eps": case.epsilon}),
            "gelu": (functions.gelu, {}), "gelu_tanh": (functions.gelu, {"approximate": "tanh"}),
            "silu": (functions.silu, {}), "tanh": (self.torch.tanh, {})}[case.kind]
        arguments = (x, (case.dim,), *weights) if weights else (x,)
        return self.calls(lambda: function(*arguments, **options))


class TorchEncoder(Torch):
    """nn.TransformerEncoderLayer, which for inference is one native call."""

    def prepare(self, case, x, *weights):
        layer = self.torch.nn.TransformerEncoderLayer(case.dim, case.heads, case.hidden, 0, "gelu", case.epsilon, batch_first=True)
        names = ("self_attn.in_proj_", "self_attn.out_proj.", "linear1.", "linear2.", "norm1.", "norm2.")
        layer.load_state_dict({names[i // 2] + ("bias" if i % 2 else "weight"): self.torch.from_numpy(array)
                               for i, array in enumerate(weights)})
        layer.eval()
        tensor = self.torch.from_numpy(x[np.newaxis])
        return self.calls(lambda: layer(tensor), lambda out: out[0].numpy())


class NumPy:
    """Two matrix products by OpenBLAS, and softmax between them, for blocks of queries whose scores stay in the cache. Query
    heads that share a key head are rows of one product. Causal blocks leave out the keys after their last query."""
    name = "NumPy"
    version = np.__version__
    compute = "f32"
    BLOCK_FLOATS = 128 * 1024

    def prepare(self, case, q, k, v):
        group = case.heads // case.kv_heads
        rows = group * case.q_tokens
        scale = np.float32(case.dim ** -0.5)
        q_rows, k_heads, v_heads = q.reshape(case.kv_heads, rows, case.dim), k[0], v[0]
        out = np.empty_like(q_rows)
        block = max(16, min(rows, self.BLOCK_FLOATS // case.kv_tokens))
        assert not case.causal or group == 1
        hidden = np.triu(np.full((block, block), -np.inf, np.float32), 1)
        buffer = np.empty(block * case.kv_tokens, np.float32)

        def call():
            for head in range(case.kv_heads):
                for begin in range(0, rows, block):
                    end = min(begin + block, rows)
                    keys = end if case.causal else case.kv_tokens
                    scores = buffer[: (end - begin) * keys].reshape(end - begin, keys)
                    np.matmul(q_rows[head, begin:end] * scale, k_heads[head, :keys].T, out=scores)
                    if case.causal:
                        scores[:, begin:end] += hidden[: end - begin, : end - begin]
                    scores -= scores.max(axis=1, keepdims=True)
                    np.exp(scores, out=scores)
                    result = np.matmul(scores, v_heads[head, :keys], out=out[head, begin:end])
                    result /= scores.sum(axis=1, keepdims=True)

        return Prepared(call, lambda: out.reshape(q.shape))


# -------------------------------------------------------------------------------------------------------------- method


class Fault(Exception):
    """A result that must not be in a table. It ends the run."""


def measure(calls, clock, min_seconds, batch_ns=200e3, fewest=7, most=1000):
    """Runs calls, {name: function}, alternately; returns {name: times of its batches, in ns a call}."""

    def timed(name, count):
        call = calls[name]
        begin = clock()
        for _ in range(count):
            if status := call():
                raise Fault(f"{name}: a timed call returned the status {status}")
        return clock() - begin

    counts = dict.fromkeys(calls, 1)
    for name in calls:
        timed(name, 1)
        while timed(name, counts[name]) < batch_ns:
            counts[name] *= 2
    times = {name: [] for name in calls}
    names, total, turn = list(calls), 0, 0
    while turn < most and (turn < fewest or total < min_seconds * 1e9 * len(calls)):
        for name in names:
            if counts[name] > 1:
                timed(name, 1)  # so that the caches hold this function's data, not the previous one's
            took = timed(name, counts[name])
            times[name].append(took / counts[name])
            total += took
        names.append(names.pop(0))
        turn += 1
    return times


def build(folder, as_built):
    """Builds fovea as a shared library, and the benchmark for its probes, unless they are there."""
    def run(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(done.stdout + "failed: " + " ".join(map(str, command)))

    if not as_built:
        print(f"building fovea in {folder}", file=sys.stderr)
        run("cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
            "-DFOVEA_BUILD_TESTS=OFF", "-DFOVEA_BUILD_EXAMPLES=OFF", "-DFOVEA_BUILD_BENCH=ON")
        run("cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", "fovea", "fovea_bench")
    for name in ("libfovea.so", "libfovea.dylib"):
        if (folder / "lib" / name).exists():
            return folder / "lib" / name, folder / "bench" / "fovea_bench"
    sys.exit(f"there is no shared library in {folder / 'lib'}")


def probes(program, cpu_time):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "probes.json"
        command = [program, "--shape", "q=1", "--min-time", "0.01", "--json", path] + ["--cpu-time"] * cpu_time
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        data = json.loads(path.read_text())
        return data["host"], data["probes"]


def empty_call():
    """A call like the timed ones, through ctypes, of a function that does almost nothing."""
    function = fovea.c.function("fovea_version")

    def call():
        function()

    return call


def write_json(path, data):
    pathlib.Path(path).write_text(json.dumps(data), encoding="utf-8")


def pin(cpu):
    """Pins the process to this core; None: to the last that is allowed."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if cpu is None else cpu})


def believed(ratio, best):
    """The ratio of the best peer's time to fovea's, or a Fault."""
    if not 1 / MOST_RATIO <= ratio <= MOST_RATIO:
        raise Fault(f"{best} takes {ratio:.3g} times as long as fovea, which is not believed")
    return ratio


def read_level(case, host):
    for level in ("l1", "l2", "l3"):
        if case.bytes <= host[level + "_bytes"]:
            return level
    return "dram"


def show_time(ns):
    return f"{ns:.0f} ns" if ns < 1e3 else f"{ns / 1e3:.2f} us" if ns < 1e6 else f"{ns / 1e6:.3f} ms"


def available(*makers):
    """The contestants that these functions make, without those whose library is missing."""
    made = []
    for maker in makers:
        try:
            made.append(maker())
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    return made


Entrant = collections.namedtuple("Entrant", "contestant prepared largest_error normalised_error")


class Comparison:
    """Makes the tables. The first contestant of a table is fovea as it should be used for these cases."""
    NAME, WIDTH = 34, 12

    def __init__(self, options, clock, host, bounds):
        self.options, self.clock, self.host, self.bounds = options, clock, host, bounds
        self.results, self.left_out, self.rows, self.lost = [], [], 0, 0

    def table(self, cases, contestants):
        cases = [case for case in cases if re.search(self.options.filter, case.name)]
        if not cases:
            return
        wide = self.WIDTH + 8 + 8 * (cases[0].kv != "f32")
        names = "".join(f"{c.name:>{wide}}" for c in contestants)
        print(f"\n{'case':{self.NAME}}" + names + f"{'ratio to the best':>20}")
        for index, case in enumerate(cases):
            if sys.stderr.isatty():
                print(f"\r[{index + 1}/{len(cases)}] {case.name}\033[K", end="", file=sys.stderr, flush=True)
            self.row(case, contestants, index)

    def row(self, case, contestants, seed):
        try:
            self.checked_row(case, contestants, seed)
        except Fault as fault:
            raise Fault(f"{case.name}: {fault}") from None

    def checked_row(self, case, contestants, seed):
        inputs = case.inputs(np.random.default_rng(seed))
        expected = case.reference(*inputs)
        entrants = self.entrants(case, contestants, inputs, expected)
        for entrant in entrants:
            entrant.prepared.answer()[...] = np.nan  # every timed call must overwrite it
        calls = {entrant.contestant.name: entrant.prepared.call for entrant in entrants}
        times = measure(calls, self.clock, self.options.min_time)
        results = {}
        for entrant in entrants:
            self.check_again(case, entrant, expected)
            results[entrant.contestant] = self.result(case, entrant, times[entrant.contestant.name])
        self.results += results.values()
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self.show(case, contestants, results)

    def entrants(self, case, contestants, inputs, expected):
        """The contestants that can do the case and are right. fovea must be one of them."""
        entrants = []
        for contestant in contestants:
            try:
                prepared = contestant.prepare(case, *inputs)
                if prepared is None:
                    continue
                if status := prepared.call():
                    raise Fault(f"the first call returned the status {status}")
                got = prepared.answer()
                if not case.is_right(got, expected):
                    raise Fault(f"wrong by {np.abs(got - expected).max():.1e}")
            except Exception as error:  # a library may raise anything; the others are still compared
                why = str(error).splitlines()[0]
                if isinstance(contestant, Fovea):
                    raise Fault(f"{contestant.name}: {why}") from error
                print(f"{case.name}: {contestant.name} is left out: {why}")
                self.left_out.append({"name": case.name, "library": contestant.name, "why": why})
                continue
            largest = float(np.abs(got - expected).max())
            entrants.append(Entrant(contestant, prepared, largest, normalised(got, expected)))
        return entrants

    def check_again(self, case, entrant, expected):
        """Checks the output after the timed calls; if each continues the one before, that of a first call after them."""
        call, answer, restart = entrant.prepared
        if not np.isfinite(answer()).all():
            raise Fault(f"{entrant.contestant.name}: the timed calls wrote no answer")
        if restart:
            restart()
            if status := call():
                raise Fault(f"{entrant.contestant.name}: a call after the timed ones returned the status {status}")
        if not case.is_right(answer(), expected):
            off = np.abs(answer() - expected).max()
            raise Fault(f"{entrant.contestant.name}: the answer of the timed calls is wrong by {off:.1e}")

    def peak(self, contestant):
        """The peak of multiply-adds, or of products of integers, of fovea's target; for other libraries the machine's best
        in f32. 0 = not known."""
        fma = self.bounds["fma_gflops"]
        if not isinstance(contestant, Fovea):
            return max(fma.values()) if contestant.compute == "f32" else 0
        if contestant.compute == "i8":
            return self.bounds["integer_gops"].get(contestant.target, 0)
        return next((peak for name, peak in fma.items() if contestant.target.startswith(name)), 0)

    def result(self, case, entrant, samples):
        contestant = entrant.contestant
        ns, peak, level = float(np.median(samples)), self.peak(contestant), read_level(case, self.host)
        fraction = case.flops / ns / peak if peak else 0
        if fraction > 1:
            raise Fault(f"{contestant.name}: {show_time(ns)} is {fraction:.3g} of the peak")
        target = getattr(contestant, "target", "")
        return {
            "name": case.name, "suite": case.suite, "shape": case.shape(), "library": contestant.name, "target": target,
            "threads": 1, "compute": contestant.compute,
            "backend": f"{contestant.name} {contestant.version}", "ns_median": ns,
            "ns_mad": float(np.median(np.abs(np.array(samples) - ns))), "ns_min": min(samples), "batches": len(samples),
            "gflops": case.flops / ns, "gbps": case.bytes / ns,
            f"fraction_of_{'integer' if contestant.compute == 'i8' else 'fma'}_peak": fraction,
            "fraction_of_read_bandwidth": case.bytes / ns / self.bounds["read_gbps"][level], "read_level": level,
            "flops": case.flops, "bytes": case.bytes, "largest_error": entrant.largest_error,
            "normalised_error": entrant.normalised_error,
            "workspace_bytes": getattr(contestant, "workspace_bytes", None)}

    def show(self, case, contestants, results):
        ours = results[contestants[0]]["ns_median"]
        row = f"{case.name:{self.NAME}}"
        for contestant in contestants:
            if contestant not in results:
                row += f"{'-':>{self.WIDTH}}".ljust(self.WIDTH + 8 + 8 * (case.kv != "f32"))
                continue
            ns, error = (results[contestant][key] for key in ("ns_median", "normalised_error"))
            row += f"{show_time(ns):>{self.WIDTH}} {f'x{ns / ours:.2f}' if contestant is not contestants[0] else '':>7}"
            row += f" {error:7.1e}" if case.kv != "f32" else ""
        peers = {contestant.name: result["ns_median"] for contestant, result in results.items() if not isinstance(contestant, Fovea)}
        if peers:
            best = min(peers, key=peers.get)
            ratio = believed(peers[best] / ours, best)
            self.rows += 1
            self.lost += ratio <= 1
            row += f"{ratio:8.2f} {best}" + ("  LOST" if ratio <= 1 else "")
        print(row, flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only cases whose name matches this expression")
    parser.add_argument("--json", help="write probes and results to this file")
    parser.add_argument("--target", default="best", help="fovea's target: avx2, ...")
    parser.add_argument("--min-time", type=float, default=0.5, help="seconds of timed calls for each case and library (0.5)")
    parser.add_argument("--cpu", type=int, help="the core to run on; without it the last of those allowed")
    parser.add_argument("--cpu-time", action="store_true", help="count the thread's processor time, for a machine shared with others")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "peers", help="where to build fovea")
    parser.add_argument("--as-built", action="store_true", help="build nothing: all is in that folder")
    return parser.parse_args()


def main():
    options = parse()
    library, program = build(options.build, options.as_built)
    pin(options.cpu)
    clock = time.thread_time_ns if options.cpu_time else time.perf_counter_ns
    host, bounds = probes(program, options.cpu_time)
    host["python"] = platform.python_version()
    comparison = Comparison(options, clock, host, bounds)

    fovea.c.load(library)
    ours = Fovea(options.target)

    def both(kind, compute="f32", name="fovea"):
        """fovea, and with AVX2 alone, where the target has more."""
        narrow = [kind("avx2", compute, f"{name}, AVX2")] if ours.target != "avx2" and "avx2" in fovea.targets() else []
        return [kind(options.target, compute, name), *narrow]

    in_f32 = [*both(Fovea), *available(OnnxAttention, OnnxMultiHead, Torch, NumPy)]
    in_integers = [*both(Fovea, "i8", "fovea, integers"), Fovea(options.target, "f32", "fovea, f32"),
                   *available(lambda: OnnxIntegers("PER_TENSOR", "ORT, a tensor"), lambda: OnnxIntegers("PER_CHANNEL", "ORT, a channel"),
                              lambda: Torch("bfloat16", "PyTorch bf16"))]
    host["versions"] = {c.name: c.version for c in in_f32}
    print(f"{host['processor']}; one thread; " + ", ".join(f"{c.name} {c.version}" for c in in_f32))
    host["call_ns"] = call_ns = float(np.median(measure({"a call": empty_call()}, clock, 0.05)["a call"]))
    print(f"fovea's target {ours.target}, multiply-add peak {comparison.peak(ours):.1f} GFLOP/s; an empty call through ctypes "
          f"takes {call_ns:.0f} ns")
    comparison.table(CASES, in_f32)
    comparison.table(INTEGER_CASES, in_integers)
    comparison.table(SOFTMAX_CASES, [*both(FoveaSoftmax), *available(OnnxSoftmax, TorchSoftmax)])
    comparison.table(DELTA_CASES, [*both(FoveaDelta), *available(OnnxDelta)])
    comparison.table(NORM_CASES, [*both(FoveaRows), *available(OnnxNorm, TorchRows)])
    comparison.table(ACTIVATION_CASES, [*both(FoveaRows), *available(OnnxActivation, TorchRows)])
    comparison.table(ENCODER_CASES, [*both(FoveaEncoder, "i8", "fovea, int8"), *both(FoveaEncoder, "f32", "fovea, f32"),
                                     *available(lambda: OnnxEncoder(True), lambda: OnnxEncoder(False), TorchEncoder)])
    print(f"\nfovea is the fastest in {comparison.rows - comparison.lost} of {comparison.rows} rows")

    if options.json:
        write_json(options.json, {"host": host, "probes": bounds, "results": comparison.results, "left_out": comparison.left_out})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fault as fault:
        sys.exit(f"compare.py: {fault}")
