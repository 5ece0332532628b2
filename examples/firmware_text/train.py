#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of this example and writes weights.bin and vocabulary.cc next to this file.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python train.py

It takes about ten minutes on one core. stories.py makes the text during training, a new story each time. The shape is
Llama's: RMS normalisation, rotary positions, grouped query heads, SwiGLU, embeddings that are also the last layer. In
the last steps weights and inputs of linear layers are rounded to 8 bits as in the library; so the final rounding of the
weights does almost no harm. Another machine adds in another order and gets slightly different weights: then the texts
that main.cc expects change, too."""
import argparse
import pathlib
import random
import textwrap
import time

import torch
from torch import nn
from torch.nn import functional

import stories

FOLDER = pathlib.Path(__file__).resolve().parent
LAYERS, DIM, HIDDEN, Q_HEADS, KV_HEADS, HEAD_DIM, ROTARY_DIM, TOKENS = 4, 96, 192, 4, 2, 24, 8, 160
EPSILON, ROPE_BASE = 1e-5, 10000.0
STEPS, ROUNDED_STEPS, WARMUP, BATCH, RATE, DECAY = 4500, 900, 100, 16, 1.5e-3, 0.1


def rounded(x):
    """Rounds each row to int8 codes times a scale; gradients ignore the rounding."""
    scale = x.detach().abs().amax(dim=-1, keepdim=True).clamp(min=1e-20) / 127
    return x + (torch.round(x.detach() / scale) * scale - x.detach())


class Linear(nn.Linear):
    rounds = False

    def __init__(self, inputs, outputs, size=1.0):
        super().__init__(inputs, outputs, bias=False)
        nn.init.normal_(self.weight, std=size * inputs**-0.5)

    def forward(self, x):
        if Linear.rounds:
            return functional.linear(rounded(x), rounded(self.weight))
        return functional.linear(x, self.weight)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(DIM, EPSILON), nn.RMSNorm(DIM, EPSILON)
        self.qkv = Linear(DIM, (Q_HEADS + 2 * KV_HEADS) * HEAD_DIM)
        self.out = Linear(Q_HEADS * HEAD_DIM, DIM, 0)
        self.gate, self.up = Linear(DIM, HIDDEN), Linear(DIM, HIDDEN)
        self.down = Linear(HIDDEN, DIM, 0)

    def forward(self, x, cos, sin):
        batch, tokens, _ = x.shape
        rows = self.qkv(self.attention_norm(x)).view(batch, tokens, -1, HEAD_DIM).transpose(1, 2)
        q, k, v = rows.split((Q_HEADS, KV_HEADS, KV_HEADS), dim=1)

        def turned(rows):  # half-split pairs
            a, b, rest = rows.split((ROTARY_DIM // 2, ROTARY_DIM // 2, HEAD_DIM - ROTARY_DIM), dim=-1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), dim=-1)

        k, v = (rows.repeat_interleave(Q_HEADS // KV_HEADS, dim=1) for rows in (turned(k), v))
        seen = functional.scaled_dot_product_attention(turned(q), k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, -1))
        y = self.mlp_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embedding = Linear(DIM, words, DIM**0.5 * 0.1)  # weight is [words][DIM]
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(DIM, EPSILON)
        angles = torch.arange(TOKENS)[:, None] * ROPE_BASE**(-torch.arange(0, ROTARY_DIM, 2) / ROTARY_DIM)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens):
        length = tokens.shape[1]
        table = rounded(self.embedding.weight) if Linear.rounds else self.embedding.weight
        x = functional.embedding(tokens, table)
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        return self.embedding(self.norm(x))


def batches(rng, numbers):
    """Stories between marks, padded to the longest with -1."""
    while True:
        rows = [[0] + [numbers[word] for word in stories.story(rng)] + [0] for _ in range(BATCH)]
        longest = max(map(len, rows))
        if longest > TOKENS + 1:
            raise ValueError(f"a story has {longest} tokens")
        yield torch.tensor([row + [-1] * (longest - len(row)) for row in rows])


def train(model, numbers, steps):
    kinds = [[p for p in model.parameters() if (p.dim() == 2) == matrix] for matrix in (True, False)]
    optimizer = torch.optim.AdamW(({"params": kinds[0], "weight_decay": DECAY},
                                   {"params": kinds[1], "weight_decay": 0}), lr=RATE, betas=(0.9, 0.98))
    data, start = batches(random.Random(2), numbers), time.time()
    for step in range(steps):
        Linear.rounds = step >= steps - ROUNDED_STEPS
        rate = RATE * min((step + 1) / WARMUP, 1 - step / steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        rows = next(data)
        logits = model(rows[:, :-1].clamp(min=0))
        loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1}, {time.time() - start:.0f} s: loss {loss.item():.4f}", flush=True)


@torch.no_grad()
def right_answers(model, words, numbers, count):
    """The share of right answers, word for word, to questions about stories that were not used in training."""
    rng, right, asked = random.Random(3), 0, 0
    for _ in range(count):
        tokens = [0] + [numbers[word] for word in stories.story(rng)] + [0]
        best = model(torch.tensor([tokens]))[0].argmax(dim=-1).tolist()
        begins = [i for i, token in enumerate(tokens) if words[token] == "answer"]
        for begin in begins:
            end = tokens.index(numbers["."], begin)
            asked += 1
            right += best[begin + 1:end] == tokens[begin + 2:end + 1]
    return right / asked


# ---- What is written.

def listed(numbers):
    """Items in braces, on lines of up to 120 columns."""
    return textwrap.fill("{" + ", ".join(numbers) + "}", 120, break_long_words=False).replace(", ", ",")


def floats(values):
    return values.numpy().astype("<f4").tobytes()


def matrix(*parts):
    """Rows of codes, and their scales."""
    weights = torch.cat(parts)
    scales = weights.abs().amax(dim=1).clamp(min=1e-20) / 127
    return torch.round(weights / scales[:, None]).to(torch.int8).numpy().tobytes() + floats(scales)


def binary(weights):
    """weights.bin, in the order of weights.h."""
    parts = [matrix(weights["embedding.weight"])]
    for prefix in (f"layers.{layer}." for layer in range(LAYERS)):
        parts += [floats(weights[prefix + "attention_norm.weight"]), matrix(weights[prefix + "qkv.weight"]),
                  matrix(weights[prefix + "out.weight"]), floats(weights[prefix + "mlp_norm.weight"]),
                  matrix(weights[prefix + "gate.weight"], weights[prefix + "up.weight"]), matrix(weights[prefix + "down.weight"])]
    return b"".join(parts + [floats(weights["norm.weight"])])


def vocabulary(words):
    """vocabulary.cc, which also holds the shapes against weights.h."""
    shape = {"kWords": len(words), "kLayers": LAYERS, "kDim": DIM, "kHidden": HIDDEN, "kQHeads": Q_HEADS,
             "kKvHeads": KV_HEADS, "kHeadDim": HEAD_DIM, "kRotaryDim": ROTARY_DIM, "kRopeBase": ROPE_BASE,
             "kTokens": TOKENS, "kEpsilon": f"{EPSILON}f"}
    version = torch.__version__.split("+")[0]
    same = textwrap.fill(" && ".join(f"{name} == {value}" for name, value in shape.items()), 100)
    return f"""// SPDX-License-Identifier: Apache-2.0
//
// Written by train.py with weights.bin, which belong together; do not edit. Trained on the text of stories.py with PyTorch {version}.
// clang-format off
#include "weights.h"

namespace firmware_text {{

static_assert({same},
"run train.py anew");

const char* const kVocabulary[kWords] =
{listed(f'"{word}"' for word in words)};

}}  // namespace firmware_text
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS, help="fewer for a trial")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    words = stories.vocabulary()
    numbers = {word: number for number, word in enumerate(words)}
    model = Model(len(words))
    print(f"{len(words)} words, {sum(p.numel() for p in model.parameters())} weights")
    train(model, numbers, options.steps)
    for Linear.rounds in (False, True):
        part = right_answers(model, words, numbers, 500)
        print(f"{100 * part:.1f} % of answers right, {'with' if Linear.rounds else 'without'} rounding")
    (FOLDER / "weights.bin").write_bytes(binary(model.state_dict()))
    (FOLDER / "vocabulary.cc").write_text(vocabulary(words))


if __name__ == "__main__":
    main()
