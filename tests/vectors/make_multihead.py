#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes multihead.inl and multihead.csv beside this file: what PyTorch's nn.MultiheadAttention answers, for
multihead_vectors_test.cc. The build makes arrays of the lines of multihead.csv.

    python3 -m venv venv
    venv/bin/pip install torch==2.15.0 numpy==2.4.6
    venv/bin/python make_multihead.py

Inputs and weights are not stored: here and in the test they come from the same formula, of a case's seed and an index.
Weights are whole numbers from -127 to 127 times a power of two for each output row, so f32, f16, bf16 and int8 with a
scale a row hold the very same ones. Answers are those of the module in double, rounded to f32; in f32 the largest
difference must be less than 1e-6 of the largest number.
"""

import itertools
import pathlib

import numpy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent

# What is drawn, as what is added to the case's seed.
X, KEYS, VALUES, PADDING, MASK, W_Q, W_K, W_V, W_OUT, B_IN, B_OUT = range(11)


def random_bits(seed, index):
    """As in tests/support/problem.cc."""
    z = (seed * 0xD1342543DE82EF95 + (index + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def uniform(seed, shape, low, high):
    """f32 numbers between low and high, as random_uniform of tests/support/problem.cc."""
    units = [(random_bits(seed, i) >> 40) / 2**24 for i in range(numpy.prod(shape))]
    return torch.tensor([low + (high - low) * unit for unit in units], dtype=torch.float32).reshape(shape)


def weights(seed, rows, columns):
    codes = [random_bits(seed, i) % 255 - 127 for i in range(rows * columns)]
    scales = torch.tensor([2.0 ** -(8 + row % 3) for row in range(rows)], dtype=torch.float32)
    return torch.tensor(codes, dtype=torch.float32).reshape(rows, columns) * scales[:, None]


class Case:
    """Defaults are the plainest choice. The test says what the fields mean."""

    def __init__(self, name, **options):
        self.name = name
        self.batch, self.q_tokens, self.kv_tokens = 2, 5, 0
        self.d_model, self.key_model, self.value_model, self.heads = 16, 0, 0, 2
        self.source = "Self"
        self.bias, self.tokens_first, self.causal = True, False, False
        self.mask, self.padding, self.want = "None", "None", "None"
        self.__dict__.update(options)
        self.kv_tokens = self.kv_tokens or self.q_tokens
        self.key_model = self.key_model or self.d_model
        self.value_model = self.value_model or self.key_model

    def inputs(self):
        x = uniform(self.seed + X, (self.batch, self.q_tokens, self.d_model), -2, 2)
        keys = values = x
        if self.source != "Self":
            keys = values = uniform(self.seed + KEYS, (self.batch, self.kv_tokens, self.key_model), -2, 2)
        if self.source == "KeysAndValues":
            values = uniform(self.seed + VALUES, (self.batch, self.kv_tokens, self.value_model), -2, 2)
        return x, keys, values

    def module(self):
        e = self.d_model
        module = torch.nn.MultiheadAttention(e, self.heads, bias=self.bias, kdim=self.key_model, vdim=self.value_model,
                                             batch_first=not self.tokens_first)
        w_q = weights(self.seed + W_Q, e, e)
        w_k = weights(self.seed + W_K, e, self.key_model)
        w_v = weights(self.seed + W_V, e, self.value_model)
        with torch.no_grad():
            if self.key_model == e and self.value_model == e:
                module.in_proj_weight.copy_(torch.cat([w_q, w_k, w_v]))
            else:
                module.q_proj_weight.copy_(w_q)
                module.k_proj_weight.copy_(w_k)
                module.v_proj_weight.copy_(w_v)
            module.out_proj.weight.copy_(weights(self.seed + W_OUT, e, e))
            if self.bias:
                module.in_proj_bias.copy_(uniform(self.seed + B_IN, (3 * e,), -0.5, 0.5))
                module.out_proj.bias.copy_(uniform(self.seed + B_OUT, (e,), -0.5, 0.5))
        return module

    def key_padding_mask(self):
        """True hides. A key 0 is never hidden, here and below."""
        if self.padding == "None":
            return None
        hidden = torch.zeros(self.batch, self.kv_tokens, dtype=torch.bool)
        for b, j in itertools.product(range(self.batch), range(1, self.kv_tokens)):
            if self.padding == "Tail":
                hidden[b, j] = j >= self.kv_tokens - 1 - b
            else:
                hidden[b, j] = random_bits(self.seed + PADDING, b * self.kv_tokens + j) % 3 == 0
        return hidden

    def attn_mask(self):
        if self.causal:
            return torch.ones(self.q_tokens, self.kv_tokens, dtype=torch.bool).triu(1)
        if self.mask == "None":
            return None
        planes = self.batch * self.heads if self.mask.endswith("3") else 1
        shape = (planes, self.q_tokens, self.kv_tokens)
        bits = [random_bits(self.seed + MASK, i) for i in range(numpy.prod(shape))]
        hidden = (torch.tensor([b % 4 for b in bits]) == 0).reshape(shape)
        hidden[:, :, 0] = False
        mask = hidden
        if self.mask.startswith("Float"):
            mask = uniform(self.seed + MASK, shape, -2, 2).masked_fill(hidden, -torch.inf)
        return mask if self.mask.endswith("3") else mask[0]

    def run(self, dtype):
        """y [batch][q_tokens][d_model] and, if wanted, weights [batch][heads][q_tokens][kv_tokens] or their mean."""
        mask, padding = self.attn_mask(), self.key_padding_mask()
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.to(dtype)
            if padding is not None:  # both of one type, as the module asks for
                padding = torch.zeros(padding.shape, dtype=dtype).masked_fill(padding, -torch.inf)
        inputs = [t.to(dtype).transpose(0, 1) if self.tokens_first else t.to(dtype) for t in self.inputs()]
        with torch.no_grad():
            y, seen = self.module().to(dtype)(
                *inputs, key_padding_mask=padding, attn_mask=mask, is_causal=self.causal,
                need_weights=self.want != "None", average_attn_weights=self.want == "Mean")
        return y.transpose(0, 1) if self.tokens_first else y, seen


CASES = [
    Case("self-attention, weights of each head", want="Heads"),
    Case("self-attention, tokens first, no bias", d_model=32, heads=4, q_tokens=4, tokens_first=True, bias=False,
         want="Mean"),
    Case("self-attention, one head", d_model=24, heads=1, q_tokens=3, want="Heads"),
    Case("self-attention, odd dimensions", d_model=21, heads=3, q_tokens=6, batch=1, want="Heads"),
    Case("self-attention, eight heads", d_model=64, heads=8, q_tokens=3, want="Mean"),
    Case("self-attention, one token", q_tokens=1, batch=3),
    Case("causal", d_model=24, heads=3, q_tokens=9, causal=True, want="Heads"),
    Case("causal, tokens first, no bias", heads=4, q_tokens=7, causal=True, tokens_first=True, bias=False),
    Case("causal, padded keys", q_tokens=6, causal=True, padding="Tail", want="Mean"),
    Case("padded keys", q_tokens=7, padding="Tail", want="Heads"),
    Case("hidden keys, tokens first", q_tokens=8, batch=3, padding="Anywhere", tokens_first=True, want="Mean"),
    Case("bool mask", q_tokens=6, mask="Bool2", want="Heads"),
    Case("bool mask of each head, tokens first", d_model=32, heads=4, q_tokens=5, mask="Bool3", tokens_first=True,
         want="Heads"),
    Case("float mask, tokens first, no bias", q_tokens=6, mask="Float2", tokens_first=True, bias=False, want="Mean"),
    Case("float mask of each head", d_model=20, heads=5, q_tokens=4, mask="Float3"),
    Case("bool mask of each head, hidden keys", q_tokens=9, mask="Bool3", padding="Anywhere", want="Mean"),
    Case("float mask, hidden keys, tokens first", q_tokens=5, mask="Float2", padding="Anywhere", tokens_first=True),
    Case("float mask of each head, padded keys", q_tokens=4, mask="Float3", padding="Tail", want="Heads"),
    Case("keys that are the values", q_tokens=3, kv_tokens=6, d_model=32, heads=4, source="Keys", want="Heads"),
    Case("keys that are the values, one query, tokens first", q_tokens=1, kv_tokens=9, heads=4, source="Keys",
         tokens_first=True, bias=False, padding="Tail", want="Mean"),
    Case("keys and values", q_tokens=5, kv_tokens=3, source="KeysAndValues", want="Mean"),
    Case("keys and values of other models", q_tokens=4, kv_tokens=7, d_model=32, heads=4, key_model=20, value_model=12,
         source="KeysAndValues", want="Heads"),
    Case("keys and values of other models, tokens first, no bias, padded keys", q_tokens=3, kv_tokens=8, heads=2,
         key_model=9, value_model=33, source="KeysAndValues", tokens_first=True, bias=False, padding="Tail",
         want="Mean"),
    Case("keys of another model, bool mask", q_tokens=6, kv_tokens=4, key_model=40, source="Keys", mask="Bool2",
         want="Heads"),
    Case("values of another model, float mask of each head", q_tokens=3, kv_tokens=5, key_model=16, value_model=11,
         source="KeysAndValues", mask="Float3", want="Mean"),
]

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
//
// Written by make_multihead.py, which tells all, with the numbers of multihead.csv; do not edit. Answers of PyTorch {torch}.
// clang-format off
#include "multihead_numbers.inl"
"""


def array(name, numbers):
    """Nine digits tell any two f32 apart."""
    return ",".join([name, *(repr(float(f"{number:.9g}")) for number in numbers.flatten().tolist())]) + "\n"


def row(number, case):
    counts = (case.seed, case.batch, case.q_tokens, case.kv_tokens, case.d_model, case.key_model, case.value_model,
              case.heads)
    flags = (str(flag).lower() for flag in (case.bias, case.tokens_first, case.causal))
    kinds = (f"k{kind if kind != 'None' else 'No' + what}"
             for kind, what in ((case.mask, "Mask"), (case.padding, "Padding"), (case.want, "Weights")))
    weights_name = "nullptr" if case.want == "None" else f"kWeights{number}"
    fields = ", ".join([*map(str, counts), f"k{case.source}", *flags, *kinds, f"kY{number}", weights_name])
    return f'    {{"{case.name}",\n     {fields}}},\n'


def main():
    arrays, rows = "", ""
    for number, case in enumerate(CASES):
        case.seed = 1000 * (number + 1)
        y, seen = case.run(torch.float64)
        y_f32, _ = case.run(torch.float32)
        assert torch.isfinite(y).all() and (y - y_f32).abs().max() < 1e-6 * y.abs().max(), case.name
        arrays += array(f"kY{number}", y.float())
        if seen is not None:
            arrays += array(f"kWeights{number}", seen.float())
        rows += row(number, case)
    head = HEAD.format(torch=torch.__version__.split("+")[0])
    (FOLDER / "multihead.inl").write_text(f"{head}constexpr MultiheadVector kMultiheadVectors[] = {{\n{rows}}};\n")
    (FOLDER / "multihead.csv").write_text(arrays)
    print(f"{len(CASES)} cases, {len(arrays)} bytes")


main()
