#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the keyword transformer of model.h on speech of espeak-ng and writes weights.bin: train.py [--folder FOLDER]

Clips and the model in f32 stay in the folder, for evaluate.py. See README.md.
"""
import argparse
import concurrent.futures
import math
import pathlib
import struct
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import clips
from speech import FEATURES, FOLDER, KEYWORDS

STACK, DIM, HEADS, HIDDEN, LAYERS, WINDOW, PERIOD = 3, 64, 4, 128, 3, 17, 32  # the shapes of weights.h
CLASSES = len(KEYWORDS) + 1
EPSILON = 1e-5
INPUT_SCALE = 1 / 32  # of a feature's code
STEPS, ROUNDED_STEPS, WARMUP, BATCH, FRAMES, RATE, DECAY = (2400, 1300), 400, 150, 16, 80, 2e-3, 0.05


class Codes(nn.Module):
    """Rounds to int8 codes of one scale where Codes.rounds; gradients ignore the rounding. Before, it learns the
    scale."""
    rounds = learns = False

    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))

    def scale(self):
        return self.largest / 127

    def forward(self, x):
        if Codes.learns:
            most = torch.quantile(x.detach().abs().flatten()[:1 << 20], 0.9999)
            self.largest.copy_(torch.where(self.largest == 0, most, 0.95 * self.largest + 0.05 * most))
        if not Codes.rounds:
            return x
        scale = self.scale()
        inside = x.clamp(-128 * scale, 127 * scale)
        return inside + (torch.round(inside.detach() / scale) * scale - inside.detach())


class Linear(nn.Linear):
    """Weights become int8 codes with a scale for each row."""
    def forward(self, x):
        weight = self.weight
        if Codes.rounds:
            scale = weight.detach().abs().amax(dim=1, keepdim=True) / 127
            weight = weight + (torch.round(weight.detach() / scale) * scale - weight.detach())
        return functional.linear(x, weight, self.bias)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = Linear(DIM, 3 * DIM), Linear(DIM, DIM)
        self.up, self.down = Linear(DIM, HIDDEN), Linear(HIDDEN, DIM)
        self.norms = nn.ModuleList(nn.LayerNorm(DIM, EPSILON) for _ in range(2))
        names = ("q", "k", "v", "seen", "out", "sum", "normed", "up", "active", "down", "sum2", "normed2")
        self.codes = nn.ModuleDict({name: Codes() for name in names})
        for linear in (self.out, self.down):
            nn.init.normal_(linear.weight, std=0.3 * linear.in_features**-0.5)

    def forward(self, x, mask):
        codes, (batch, frames, _) = self.codes, x.shape
        q, k, v = (codes[name](part).view(batch, frames, HEADS, -1).transpose(1, 2)
                   for name, part in zip("qkv", self.qkv(x).split(DIM, dim=-1)))
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        seen = codes["seen"](seen.transpose(1, 2).reshape(batch, frames, DIM))
        x = codes["normed"](self.norms[0](codes["sum"](x + codes["out"](self.out(seen)))))
        active = codes["active"](functional.gelu(codes["up"](self.up(x))))
        return codes["normed2"](self.norms[1](codes["sum2"](x + codes["down"](self.down(active)))))


class Model(nn.Module):
    """Scores of the classes after each frame. A frame attends to WINDOW frames, itself included, in each layer."""
    def __init__(self):
        super().__init__()
        self.embedding, self.places = Linear(STACK * FEATURES, DIM), nn.Parameter(torch.randn(PERIOD, DIM) * 0.3)
        self.norm, self.layers = nn.LayerNorm(DIM, EPSILON), nn.ModuleList(Layer() for _ in range(LAYERS))
        self.classes = Linear(DIM, CLASSES)
        self.codes = nn.ModuleDict({name: Codes() for name in ("embedded", "sum", "normed", "scores")})

    def forward(self, features, first=0):
        """features: [batch][frames][FEATURES], codes. first: the number of the first frame."""
        frames = features.shape[1]
        x = functional.pad(features * INPUT_SCALE, (0, 0, STACK - 1, 0), value=SILENCE * INPUT_SCALE)
        x = torch.cat([x[:, i:i + frames] for i in range(STACK)], dim=-1)
        at = torch.arange(frames)
        places = self.codes["embedded"](self.places[(first + at) % PERIOD])
        x = self.codes["sum"](self.codes["embedded"](self.embedding(x)) + places)
        x = self.codes["normed"](self.norm(x))
        before = at[:, None] - at
        mask = torch.zeros(frames, frames).masked_fill_((before < 0) | (before >= WINDOW), -math.inf)
        for layer in self.layers:
            x = layer(x, mask)
        return self.codes["scores"](self.classes(x))


SILENCE = -112  # every feature of silence, by front_end.c


def varied(rng, features):
    """Other levels, and some bands without sound."""
    features = features.float() + torch.from_numpy(rng.integers(-12, 13, (len(features), 1, 1)).astype(np.float32))
    for entry in range(len(features)):
        first, count = rng.integers(FEATURES), rng.integers(5)
        features[entry, :, first:first + count] = SILENCE
    return features.clamp(SILENCE, 127)


def train(model, features, classes, cycle, steps, rounded_steps):
    kinds = [[p for p in model.parameters() if (p.dim() == 2) == matrix] for matrix in (True, False)]
    optimizer = torch.optim.AdamW(({"params": kinds[0], "weight_decay": DECAY},
                                   {"params": kinds[1], "weight_decay": 0}), lr=RATE, betas=(0.9, 0.98))
    weight = torch.ones(CLASSES)
    weight[-1] = 0.4  # most frames have no keyword
    rng, start = np.random.default_rng(3 + cycle), time.process_time()
    for step in range(steps):
        Codes.rounds = step >= steps - rounded_steps
        Codes.learns = not Codes.rounds and step >= steps - rounded_steps - 100
        for group in optimizer.param_groups:
            group["lr"] = RATE * min((step + 1) / WARMUP, 1.02 - step / steps)
        chosen, first = rng.integers(len(features), size=BATCH), rng.integers(features.shape[1] - FRAMES + 1)
        parts = [torch.from_numpy(array[chosen, first:first + FRAMES]) for array in (features, classes)]
        scores = model(varied(rng, parts[0]), int(rng.integers(PERIOD)))
        loss = functional.cross_entropy(scores.flatten(0, 1), parts[1].flatten(), weight, ignore_index=clips.IGNORED, label_smoothing=0.02)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1}, {time.process_time() - start:.0f} s: loss {loss.item():.4f}", flush=True)
    Codes.rounds = Codes.learns = False


# ---- What is written, in the order of weights.h.

def multiplier(real):
    """As fovea_integer_multiplier."""
    fraction, shift = math.frexp(real)
    factor = math.floor(fraction * 2**31 + 0.5)
    return struct.pack("<ii", *((factor // 2, shift + 1) if factor == 2**31 else (factor, shift)))


def floats(values):
    return values.detach().numpy().astype("<f4").tobytes()


def matrix(linear, x_scale, y_scale):
    """Codes, and for each row what turns a sum of products of codes into a code of y, and the bias as a code of y.
    y_scale may be a scale for each row."""
    scales = linear.weight.abs().amax(dim=1) / 127
    codes = torch.round(linear.weight / scales[:, None]).to(torch.int8)
    return codes.numpy().tobytes() + floats(scales * x_scale / y_scale) + floats(linear.bias / y_scale)


def norm(module, x_scale, y_scale):
    largest = module.weight.abs().max().item() / 32767
    weight = np.round(module.weight.detach().numpy() / largest).astype("<i2")
    bias = np.clip(np.round(module.bias.detach().numpy() * 128 / y_scale), -32768, 32767).astype("<i2")
    return weight.tobytes() + bias.tobytes() + multiplier(largest / y_scale) + multiplier(EPSILON / x_scale**2)


def gelu(x_scale, y_scale):
    codes = np.arange(256).astype(np.uint8).view(np.int8).astype(np.float64) * x_scale
    y = [x * (1 + math.erf(x / math.sqrt(2))) / 2 / y_scale for x in codes]
    return np.clip(np.floor(np.array(y) + 0.5), -128, 127).astype(np.int8).tobytes()


@torch.no_grad()
def binary(model):
    scale = {name: codes.scale().item() for name, codes in model.codes.items()}
    places = torch.round(model.places / scale["embedded"]).clamp(-128, 127).to(torch.int8)
    parts = [matrix(model.embedding, INPUT_SCALE, scale["embedded"]), places.detach().numpy().tobytes(),
             2 * multiplier(scale["embedded"] / scale["sum"]), norm(model.norm, scale["sum"], scale["normed"])]
    x = scale["normed"]
    for layer in model.layers:
        s = {name: codes.scale().item() for name, codes in layer.codes.items()}
        each = torch.tensor([s[name] for name in "qkv"]).repeat_interleave(DIM)
        octaves = (DIM // HEADS)**-0.5 * math.log2(math.e)
        parts += [matrix(layer.qkv, x, each), multiplier(s["q"] * s["k"] * octaves), multiplier(s["v"] / s["seen"]),
                  matrix(layer.out, s["seen"], s["out"]),
                  multiplier(x / s["sum"]), multiplier(s["out"] / s["sum"]),
                  norm(layer.norms[0], s["sum"], s["normed"]),
                  matrix(layer.up, s["normed"], s["up"]), gelu(s["up"], s["active"]),
                  matrix(layer.down, s["active"], s["down"]),
                  multiplier(s["normed"] / s["sum2"]), multiplier(s["down"] / s["sum2"]),
                  norm(layer.norms[1], s["sum2"], s["normed2"])]
        x = s["normed2"]
    return b"".join(parts + [matrix(model.classes, x, scale["scores"])])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER.parent.parent / "build" / "keywords")
    parser.add_argument("--clips", type=int, default=6000, help="fewer for a trial")
    parser.add_argument("--part", type=float, default=1, help="of the steps, for a trial")
    parser.add_argument("--cycle", type=int, default=0, help="1: goes on with the model of the folder")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    data = options.folder / "clips.npz"
    if not data.exists():
        with concurrent.futures.ProcessPoolExecutor() as pool:
            made = list(pool.map(clips.make, [options.clips // 8] * 8, range(1, 9), [options.folder] * 8))
        features, classes = (np.concatenate(parts) for parts in zip(*made))
        np.savez(data, features=features, classes=classes)
    made = np.load(data)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Model()
    print(f"{sum(p.numel() for p in model.parameters())} weights", flush=True)
    if options.cycle > 0:
        model.load_state_dict(torch.load(options.folder / "model.pt"))
    for cycle in range(options.cycle, len(STEPS)):  # the rate rises again in each
        steps, rounded_steps = int(STEPS[cycle] * options.part), int(ROUNDED_STEPS * options.part)
        train(model, made["features"], made["classes"], cycle, steps, rounded_steps)
        torch.save(model.state_dict(), options.folder / "model.pt")
    (FOLDER / "weights.bin").write_bytes(binary(model))


if __name__ == "__main__":
    main()
