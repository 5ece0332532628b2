#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes reference.txt: scores of some tokens after 20 prompts, by numpy in double on the model's own weights.

reference.py MODEL.gguf TOKENS > reference.txt, where TOKENS has a line for each prompt: its tokens, as "chat_measure tokens
MODEL.gguf" prints them. Each line of the output: the prompt's tokens, a bar, the tokens asked for (the eight likeliest, and some others), a bar, their scores."""
import struct
import sys

import numpy as np

ROPE_BASE = 'llama.rope.freq_base'
FORMATS = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: '?', 10: 'Q', 11: 'q', 12: 'd'}
STRING, ARRAY = 8, 9
OTHERS = 24


class Reader:
    def __init__(self, path):
        self.file, self.at = open(path, 'rb').read(), 0

    def number(self, code):
        value, = struct.unpack_from('<' + code, self.file, self.at)
        self.at += struct.calcsize(code)
        return value

    def text(self):
        length = self.number('Q')
        self.at += length
        return self.file[self.at - length:self.at]

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            kind, count = self.number('I'), self.number('Q')
            return [self.value(kind) for _ in range(count)]
        return self.number(FORMATS[kind])


def widened(numbers, kind, count):
    if kind == 0:
        return np.frombuffer(numbers, '<f4', count).astype(np.float64)
    if kind == 8:
        blocks = np.frombuffer(numbers, np.dtype([('d', '<f2'), ('q', 'i1', 32)]), count // 32)
        return (blocks['d'].astype(np.float64)[:, None] * blocks['q']).ravel()
    if kind == 3:
        blocks = np.frombuffer(numbers, np.dtype([('d', '<f2'), ('m', '<f2'), ('u', 'u1', 16)]), count // 32)
        codes = np.concatenate([blocks['u'] & 15, blocks['u'] >> 4], axis=1)
        return (blocks['d'].astype(np.float64)[:, None] * codes + blocks['m'].astype(np.float64)[:, None]).ravel()
    raise SystemExit(f'type {kind} is not read here')


def read_values(path):
    """The values of a GGUF file (ggml's docs/gguf.md) by their keys, the number of its tensors, and the reader at the first one."""
    reader = Reader(path)
    if reader.file[:4] != b'GGUF':
        sys.exit('not a GGUF file')
    reader.at = 8
    tensors, values = reader.number('Q'), reader.number('Q')
    return {reader.text().decode(): reader.value(reader.number('I')) for _ in range(values)}, tensors, reader


def read(path):
    known, tensors, reader = read_values(path)
    places = {}
    for _ in range(tensors):
        name = reader.text().decode()
        dims = [reader.number('Q') for _ in range(reader.number('I'))]
        places[name] = dims, reader.number('I'), reader.number('Q')
    base = (reader.at + 31) // 32 * 32
    weights = {name: widened(memoryview(reader.file)[base + offset:], kind, int(np.prod(dims))).reshape(dims[::-1])
               for name, (dims, kind, offset) in places.items()}
    return known, weights


def norm(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def scores(known, w, tokens):
    heads, kv_heads = known['llama.attention.head_count'], known['llama.attention.head_count_kv']
    epsilon, n = known['llama.attention.layer_norm_rms_epsilon'], len(tokens)
    x = w['token_embd.weight'][tokens]
    dim = x.shape[1] // heads
    angles = np.arange(n)[:, None] * float(known[ROPE_BASE]) ** (-np.arange(0, dim, 2) / dim)
    turn = np.exp(1j * angles)[:, None, :]
    hidden = np.triu(np.full((n, n), -np.inf), 1)

    def rope(t):
        pairs = t.reshape(n, -1, dim // 2, 2)
        turned = (pairs[..., 0] + 1j * pairs[..., 1]) * turn
        return np.stack([turned.real, turned.imag], -1).reshape(n, -1, dim)

    for layer in range(known['llama.block_count']):
        block = f'blk.{layer}.'
        y = norm(x, w[block + 'attn_norm.weight'], epsilon)
        q, k = rope(y @ w[block + 'attn_q.weight'].T), rope(y @ w[block + 'attn_k.weight'].T)
        v = (y @ w[block + 'attn_v.weight'].T).reshape(n, kv_heads, dim)
        k, v = np.repeat(k, heads // kv_heads, 1), np.repeat(v, heads // kv_heads, 1)
        s = np.einsum('qhd,khd->hqk', q, k) / np.sqrt(dim) + hidden
        s = np.exp(s - s.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        x = x + np.einsum('hqk,khd->qhd', s, v).reshape(n, -1) @ w[block + 'attn_output.weight'].T
        y = norm(x, w[block + 'ffn_norm.weight'], epsilon)
        gate = y @ w[block + 'ffn_gate.weight'].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w[block + 'ffn_up.weight'].T)) @ w[block + 'ffn_down.weight'].T
    return norm(x[-1], w['output_norm.weight'], epsilon) @ w['token_embd.weight'].T


def main():
    known, weights = read(sys.argv[1])
    print('# SPDX-License-Identifier: Apache-2.0')
    print(f'# By reference.py, numpy {np.__version__}.')
    random = np.random.default_rng(1)
    vectors = [line.split() for line in open(sys.argv[2])]
    for tokens in vectors:
        tokens = [int(t) for t in tokens]
        row = scores(known, weights, tokens)
        asked = list(np.argsort(-row)[:8]) + list(random.integers(0, len(row), OTHERS))
        print(' '.join(map(str, tokens)), '|', ' '.join(map(str, asked)), '|', ' '.join(f'{row[i]:.6f}' for i in asked))


if __name__ == '__main__':
    main()
