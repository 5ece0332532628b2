#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes multihead.csv beside this file: what PyTorch's nn.MultiheadAttention answers to the rows of kVectors in
multihead_vectors_test.cc: a line for each, its outputs and then its weights. The build makes an array of them.

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
import re

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
    """A row of kVectors, whose test says what the fields mean."""

    def __init__(self, number, name, row):
        self.seed, self.name = 1000 * (number + 1), name
        (self.batch, self.q_tokens, self.kv_tokens, self.d_model, self.key_model, self.value_model, self.heads, self.source, self.bias,
         self.tokens_first, self.causal, self.mask, self.padding, self.want) = (
             int(word) if word.isdigit() else word == "true" if word in ("true", "false") else word.removeprefix("k") for word in row.split(", "))

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
        if self.padding == "NoPadding":
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
        if self.mask == "NoMask":
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
                need_weights=self.want != "NoWeights", average_attn_weights=self.want == "Mean")
        return y.transpose(0, 1) if self.tokens_first else y, seen


def main():
    rows = re.findall(r'^    \{"(.*?)",\s+(.*?)\},$', (FOLDER.parent / "multihead_vectors_test.cc").read_text(), flags=re.M)
    with open(FOLDER / "multihead.csv", "w") as file:
        for case in itertools.starmap(Case, ((number, *row) for number, row in enumerate(rows))):
            y, seen = case.run(torch.float64)
            y_f32, _ = case.run(torch.float32)
            assert torch.isfinite(y).all() and (y - y_f32).abs().max() < 1e-6 * y.abs().max(), case.name
            numbers = y.float().flatten().tolist() + ([] if seen is None else seen.float().flatten().tolist())
            print(*(repr(float(f"{number:.9g}")) for number in numbers), sep=",", file=file)  # nine digits tell any two f32 apart


main()
