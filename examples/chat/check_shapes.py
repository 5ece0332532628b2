#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs models of random weights, in the shapes and the mixtures of types of files of Q4_K_M, Q5_K_M and Q3_K_M, and
compares them with the same arithmetic in double: check_shapes.py CHAT_MEASURE [--mixture NAME] [MODEL ...]

MODEL: qwen2.5-0.5b or llama-3.2-1b, of all their layers and tokens: minutes, and gigabytes; or one of these with -short,
two layers and 4096 tokens: the default. Of each model: the error of scores after some prompts, by f32 and by integers,
and the tokens that greedy answers consist of, each compared with the likeliest one by numpy in double after the same
tokens. --keep FOLDER leaves the files there. Exit code: 0, 1 where an error is above its bound, or 77 without numpy."""
import argparse
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print('skipped: this Python has no NumPy')
    sys.exit(77)

from reference import norm  # noqa: E402

F32, Q5_0, Q5_1, Q8_0, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL = 0, 6, 7, 8, 11, 12, 13, 14, 20  # ggml's numbers of types
BLOCKS = {Q5_0: (32, 22), Q5_1: (32, 24), Q8_0: (32, 34), IQ4_NL: (32, 18),  # elements, bytes
          Q3_K: (256, 110), Q4_K: (256, 144), Q5_K: (256, 176), Q6_K: (256, 210)}
NUMBERS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])  # of IQ4_NL
# Types of most matrices, of attn_output, and of attn_v and ffn_down in layers with more bits and in the others.
MIXTURES = {'Q4_K_M': (Q4_K, Q4_K, (Q6_K, Q4_K), (Q6_K, Q4_K)), 'Q5_K_M': (Q5_K, Q5_K, (Q6_K, Q5_K), (Q6_K, Q5_K)),
            'Q3_K_M': (Q3_K, Q4_K, (Q5_K, Q4_K), (Q4_K, Q3_K))}
U32, I32, F32_VALUE, STRING, ARRAY = 4, 5, 6, 8, 9  # types of values

# Bounds, by arithmetic and cache: of the error of a score, in standard deviations of the scores of all tokens; and of the
# greedy tokens that may be others. Where a made-up model turns from a token that it repeats to another one, a small error
# becomes a large one.
CASES = [('f32', 'f32', 1e-4, 0), ('i8', 'i8', 0.2, 4)]
PROMPTS, PROMPT, ANSWER = 3, 17, 24  # and tokens of each


class Shape:
    def __init__(self, architecture, layers, width, hidden, heads, kv_heads, vocabulary, base, epsilon, splitter):
        self.architecture, self.layers, self.width, self.hidden = architecture, layers, width, hidden
        self.heads, self.kv_heads, self.vocabulary, self.base = heads, kv_heads, vocabulary, base
        self.epsilon, self.splitter, self.dim = epsilon, splitter, width // heads
        self.is_qwen = architecture == 'qwen2'

    def shortened(self):
        return Shape(self.architecture, 2, self.width, self.hidden, self.heads, self.kv_heads, 4096, self.base, self.epsilon, self.splitter)


SHAPES = {
    'qwen2.5-0.5b': Shape('qwen2', 24, 896, 4864, 14, 2, 151936, 1e6, 1e-6, 'qwen2'),
    'llama-3.2-1b': Shape('llama', 16, 2048, 8192, 32, 8, 128256, 5e5, 1e-5, 'llama-bpe'),
}


def has_more_bits(layer, layers):
    """Whether values and the last matrix of a layer are in the larger of both types: in the first and the last eighth of
    the layers, and in each third layer between."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def type_for(wanted, inputs):
    """Rows that are no whole super-blocks have another type."""
    return wanted if inputs % 256 == 0 else {Q3_K: IQ4_NL, Q4_K: Q5_0, Q5_K: Q5_1, Q6_K: Q8_0}[wanted]


def halves(x):
    return x.astype('<f2').view(np.uint8).reshape(-1, 2)


def random_blocks(random, kind, count, deviation):
    """Blocks of random codes and scales, whose elements have this standard deviation and a mean of about 0."""
    blocks = random.integers(0, 256, (count, BLOCKS[kind][1]), np.uint8)
    spread = random.uniform(0.8, 1.2, count) * deviation
    if kind in (Q4_K, Q5_K):  # minima like the scales: elements are d * s * (u - 7.5), or 15.5, with s of 20 to 63
        middle = 7.5 if kind == Q4_K else 15.5
        s = random.integers(20, 64, (count, 8))
        low, high = s & 15, s >> 4
        blocks[:, 4:8] = blocks[:, 8:12] = s[:, :4] | high[:, 4:] << 6
        blocks[:, 12:16] = low[:, 4:] | low[:, 4:] << 4
        d = spread / (200 if kind == Q4_K else 400)
        blocks[:, 0:2], blocks[:, 2:4] = halves(d), halves(d * middle)
    elif kind == Q3_K:
        blocks[:, 108:110] = halves(spread / 42)
    elif kind == Q6_K:
        blocks[:, 192:208] = random.integers(40, 128, (count, 16)) * random.choice([-1, 1], (count, 16)) & 255
        blocks[:, 208:210] = halves(spread / 1600)
    else:
        d = spread / {Q5_0: 9.2, Q5_1: 9.2, Q8_0: 73.9, IQ4_NL: 70}[kind]
        blocks[:, 0:2] = halves(d)
        if kind == Q5_1:
            blocks[:, 2:4] = halves(-15.5 * d)
    return blocks


def widened(kind, blocks):
    """The numbers of blocks, [blocks][elements], in double."""
    def half_at(at):
        return np.ascontiguousarray(blocks[:, at:at + 2]).view('<f2').astype(float)

    def bits(first, last):
        return np.unpackbits(np.ascontiguousarray(blocks[:, first:last]), axis=1, bitorder='little').astype(int)

    def nibbles(first):
        return np.concatenate([blocks[:, first:] & 15, blocks[:, first:] >> 4], axis=1)

    d = half_at({Q6_K: 208, Q3_K: 108}.get(kind, 0))
    if kind == Q8_0:
        return d * blocks[:, 2:].view(np.int8)
    if kind == Q5_0:
        return d * ((nibbles(6) | bits(2, 6) << 4) - 16)
    if kind == Q5_1:
        return d * (nibbles(8) | bits(4, 8) << 4) + half_at(2)
    if kind == IQ4_NL:
        return d * NUMBERS[nibbles(2)]
    if kind == Q3_K:
        b = blocks[:, 96:108].astype(int)
        s = np.concatenate([b[:, :8] & 15, b[:, :8] >> 4], axis=1) | np.concatenate([b[:, 8:] >> 2 * i & 3 for i in range(4)], axis=1) << 4
        low = blocks[:, 32:96].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
        third = blocks[:, None, :32] >> np.arange(8, dtype=np.uint8)[:, None] & 1
        u = (low.reshape(-1, 8, 32) | third << 2).astype(int) - 4
        return ((d * (s - 32))[:, :, None] * u.reshape(-1, 16, 16)).reshape(-1, 256)
    if kind in (Q4_K, Q5_K):
        e, b = half_at(2), blocks[:, 4:16]
        s = np.concatenate([b[:, :4] & 63, b[:, 8:] & 15 | b[:, :4] >> 6 << 4], axis=1)
        m = np.concatenate([b[:, 4:8] & 63, b[:, 8:] >> 4 | b[:, 4:8] >> 6 << 4], axis=1)
        codes = blocks[:, -128:].reshape(-1, 4, 32)
        u = np.stack([codes & 15, codes >> 4], axis=2).reshape(-1, 8, 32)
        if kind == Q5_K:
            u = u | (blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1) << 4
        return ((d * s)[:, :, None] * u - (e * m)[:, :, None]).reshape(-1, 256)
    codes, pairs = blocks[:, :128].reshape(-1, 2, 2, 32), blocks[:, 128:192].reshape(-1, 2, 1, 32)
    low = np.concatenate([codes & 15, codes >> 4], axis=2)
    high = pairs >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    u = (low | high << 4).astype(np.int8).reshape(-1, 16, 16) - 32
    return ((d * blocks[:, 192:208].view(np.int8))[:, :, None] * u).reshape(-1, 256)


class Matrix:
    """A row for each output."""

    def __init__(self, random, wanted, inputs, outputs, deviation):
        self.inputs, self.outputs, self.kind = inputs, outputs, type_for(wanted, inputs)
        elements, _ = BLOCKS[self.kind]
        self.blocks = random_blocks(random, self.kind, outputs * inputs // elements, deviation)

    def rows(self, first, last):
        of_row = self.inputs // BLOCKS[self.kind][0]
        return widened(self.kind, self.blocks[first * of_row:last * of_row]).reshape(last - first, self.inputs)

    def times(self, x):
        step = 1 << 12
        return np.concatenate([x @ self.rows(first, min(first + step, self.outputs)).T for first in range(0, self.outputs, step)], axis=1)


def make_tensors(shape, mixture, random):
    """By their names: a Matrix, or an array of f32."""
    w, kv = shape.width, shape.kv_heads * shape.dim
    tensors = {'token_embd.weight': Matrix(random, Q6_K, w, shape.vocabulary, 2 / w ** 0.5)}
    if not shape.is_qwen:  # Llama 3.2 divides the slower turns by up to 32
        tensors['rope_freqs.weight'] = np.geomspace(1, 32, shape.dim // 2).astype(np.float32)
    for i in range(shape.layers):
        block, less = f'blk.{i}.', int(not has_more_bits(i, shape.layers))
        most, output, values, down = MIXTURES[mixture]
        sizes = {'attn_q': (w, w, most), 'attn_k': (w, kv, most), 'attn_v': (w, kv, values[less]), 'attn_output': (w, w, output),
                 'ffn_gate': (w, shape.hidden, most), 'ffn_up': (w, shape.hidden, most), 'ffn_down': (shape.hidden, w, down[less])}
        for name, (inputs, outputs, kind) in sizes.items():
            tensors[f'{block}{name}.weight'] = Matrix(random, kind, inputs, outputs, inputs ** -0.5)
            if shape.is_qwen and name in ('attn_q', 'attn_k', 'attn_v'):
                tensors[f'{block}{name}.bias'] = random.standard_normal(outputs, np.float32) / 2
        for name in ('attn_norm', 'ffn_norm'):
            tensors[f'{block}{name}.weight'] = random.uniform(0.5, 1.5, w).astype(np.float32)
    tensors['output_norm.weight'] = random.uniform(0.5, 1.5, w).astype(np.float32)
    return tensors


def text(value):
    value = value.encode()
    return struct.pack('<Q', len(value)) + value


def words_of(shape):
    """The 256 bytes in the spelling of vocabularies, made-up words, and the marks of turns."""
    printed = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    bytes_of = [chr(byte) if byte in printed else chr(0x100 + others.index(byte)) for byte in range(256)]
    marks = ['<|im_start|>', '<|im_end|>'] if shape.is_qwen else [
        '<|begin_of_text|>', '<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>']
    made = [f'w{i}' for i in range(shape.vocabulary - 256 - len(marks))]
    return bytes_of + made + marks, [1] * (256 + len(made)) + [3] * len(marks)


def write_file(path, shape, tensors):
    words, types = words_of(shape)
    a, values = shape.architecture + '.', []

    def value(key, kind, packed):
        values.append(text(key) + struct.pack('<I', kind) + packed)

    value('general.architecture', STRING, text(shape.architecture))
    for key, number in (('block_count', shape.layers), ('context_length', 8192), ('embedding_length', shape.width),
                        ('feed_forward_length', shape.hidden), ('attention.head_count', shape.heads),
                        ('attention.head_count_kv', shape.kv_heads)):
        value(a + key, U32, struct.pack('<I', number))
    value(a + 'rope.freq_base', F32_VALUE, struct.pack('<f', shape.base))
    value(a + 'attention.layer_norm_rms_epsilon', F32_VALUE, struct.pack('<f', shape.epsilon))
    value('tokenizer.ggml.model', STRING, text('gpt2'))
    value('tokenizer.ggml.pre', STRING, text(shape.splitter))
    array = lambda kind, elements: struct.pack('<IQ', kind, len(elements)) + b''.join(elements)  # noqa: E731
    value('tokenizer.ggml.tokens', ARRAY, array(STRING, [text(word) for word in words]))
    value('tokenizer.ggml.merges', ARRAY, array(STRING, [text('w 1')]))
    value('tokenizer.ggml.token_type', ARRAY, array(I32, [struct.pack('<i', kind) for kind in types]))
    value('tokenizer.ggml.eos_token_id', U32, struct.pack('<I', shape.vocabulary - 1))
    if not shape.is_qwen:
        value('tokenizer.ggml.bos_token_id', U32, struct.pack('<I', words.index('<|begin_of_text|>')))
    infos, offset, arrays = [], 0, []
    for name, tensor in tensors.items():
        is_matrix = isinstance(tensor, Matrix)
        dims, kind = ((tensor.inputs, tensor.outputs), tensor.kind) if is_matrix else (tensor.shape, F32)
        numbers = tensor.blocks if is_matrix else tensor
        infos.append(text(name) + struct.pack(f'<I{len(dims)}QIQ', len(dims), *dims, kind, offset))
        arrays.append((numbers, -numbers.nbytes % 32))
        offset += numbers.nbytes + arrays[-1][1]
    head = b'GGUF' + struct.pack('<IQQ', 3, len(infos), len(values)) + b''.join(values + infos)
    with open(path, 'wb') as file:
        file.write(head + bytes(-len(head) % 32))
        for numbers, padding in arrays:
            file.write(numbers.data)
            file.write(bytes(padding))


def scores_of(shape, tensors, sequences):
    """Scores after each token of sequences of the same length, [sequence][token][vocabulary], in double."""
    count, n = len(sequences), len(sequences[0])
    tokens = [token for sequence in sequences for token in sequence]
    dim, heads, kv_heads = shape.dim, shape.heads, shape.kv_heads
    x = np.concatenate([tensors['token_embd.weight'].rows(token, token + 1) for token in tokens])
    turns = shape.base ** (-np.arange(0, dim, 2) / dim) / tensors.get('rope_freqs.weight', np.float64(1))
    turn = np.exp(1j * np.arange(n)[:, None] * turns)[:, None, :]
    hidden = np.triu(np.full((n, n), -np.inf), 1)

    def rope(t):
        t = t.reshape(count, n, -1, dim)
        a, b = (t[..., :dim // 2], t[..., dim // 2:]) if shape.is_qwen else (t[..., ::2], t[..., 1::2])
        turned = (a + 1j * b) * turn
        parts = turned.real, turned.imag
        return np.concatenate(parts, -1) if shape.is_qwen else np.stack(parts, -1).reshape(t.shape)

    def linear(name, x):
        return tensors[name + '.weight'].times(x) + tensors.get(name + '.bias', np.float64(0))

    for layer in range(shape.layers):
        block = f'blk.{layer}.'
        y = norm(x, tensors[block + 'attn_norm.weight'], shape.epsilon)
        q, k = rope(linear(block + 'attn_q', y)), rope(linear(block + 'attn_k', y))
        v = linear(block + 'attn_v', y).reshape(count, n, kv_heads, dim)
        k, v = np.repeat(k, heads // kv_heads, 2), np.repeat(v, heads // kv_heads, 2)
        s = np.einsum('bqhd,bkhd->bhqk', q, k) / np.sqrt(dim) + hidden
        s = np.exp(s - s.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        x = x + linear(block + 'attn_output', np.einsum('bhqk,bkhd->bqhd', s, v).reshape(count * n, -1))
        y = norm(x, tensors[block + 'ffn_norm.weight'], shape.epsilon)
        gate = linear(block + 'ffn_gate', y)
        x = x + linear(block + 'ffn_down', gate / (1 + np.exp(-gate)) * linear(block + 'ffn_up', y))
    x = norm(x, tensors['output_norm.weight'], shape.epsilon)
    return tensors['token_embd.weight'].times(x).reshape(count, n, -1)


def run(program, mode, path, compute, cache, lines, *others):
    done = subprocess.run([program, mode, path, compute, cache, *others], input='\n'.join(lines) + '\n',
                          stdout=subprocess.PIPE, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def check(program, name, mixture, folder):
    shape = SHAPES[name.removesuffix('-short')]
    shape = shape.shortened() if name.endswith('-short') else shape
    random = np.random.default_rng(1)
    tensors = make_tensors(shape, mixture, random)
    path = os.path.join(folder, f'{name}.{mixture}.gguf')
    write_file(path, shape, tensors)
    kinds = {kind: sum(tensor.blocks.nbytes for tensor in tensors.values() if getattr(tensor, 'kind', None) == kind) for kind in BLOCKS}
    names = {number: text for text, number in globals().items() if text in ('IQ4_NL',) or text[0] == 'Q' and number in BLOCKS}
    print(f'{name} of {mixture}: {shape.layers} layers, {shape.vocabulary} tokens, {os.path.getsize(path) / 1e6:.1f} MB, of which',
          ', '.join(f'{kinds[kind] / 1e6:.1f} in {names[kind]}' for kind in BLOCKS if kinds[kind]), flush=True)
    prompts = random.integers(0, shape.vocabulary, (PROMPTS, PROMPT)).tolist()
    lines = [' '.join(map(str, prompt)) for prompt in prompts]
    asked = ' '.join(map(str, range(shape.vocabulary)))
    wrong = False
    for compute, cache, most, others in CASES:
        answers = [[int(token) for token in line] for line in run(program, 'greedy', path, compute, cache, lines, str(ANSWER))]
        wanted = scores_of(shape, tensors, [prompt + answer for prompt, answer in zip(prompts, answers)])
        got = np.array(run(program, 'scores', path, compute, cache, [f'{line}|{asked}' for line in lines]), float)
        after = wanted[:, PROMPT - 1]
        error, spread = np.abs(got - after), after.std()
        steps = wanted[:, PROMPT - 1:-1]
        best, chosen = steps.argmax(-1), np.array(answers)
        lost = steps.max(-1) - np.take_along_axis(steps, chosen[..., None], -1)[..., 0]
        print(f'  {compute}, cache of {cache}: scores have a standard deviation of {spread:.3f}; largest error '
              f'{error.max():.2g}, root mean square {np.sqrt((error ** 2).mean()):.2g}; {(best == chosen).sum()} of '
              f'{best.size} greedy tokens are the likeliest in double, the others lack at most {lost.max():.2g}', flush=True)
        wrong = wrong or not (error.max() <= most * spread and (best != chosen).sum() <= others)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', metavar='CHAT_MEASURE')
    parser.add_argument('models', metavar='MODEL', nargs='*', default=[f'{name}-short' for name in SHAPES])
    parser.add_argument('--mixture', nargs='*', choices=MIXTURES, default=list(MIXTURES))
    parser.add_argument('--keep', metavar='FOLDER')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return int(any([check(options.program, name, mixture, options.keep or folder)
                        for name in options.models for mixture in options.mixture]))


if __name__ == '__main__':
    sys.exit(main())
