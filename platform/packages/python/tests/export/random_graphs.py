# SPDX-License-Identifier: Apache-2.0
"""Random graphs of the operators that transformers consist of: make(seed) -> (module, inputs)."""
import random

import torch
from torch import nn
from torch.nn import functional as f


class Graph(nn.Module):
    """Steps, each of which makes a tensor of some that are there. Tensors are [batch][tokens][dim]."""

    def __init__(self, seed):
        super().__init__()
        self.choose = random.Random(seed)
        self.layers = nn.ModuleList()
        self.steps = []  # (function, numbers of the tensors that it takes)
        batch, tokens, dim = self.choose.choice([1, 1, 2]), self.choose.randint(2, 12), self.choose.choice([16, 24, 32])
        self.shapes = [(batch, tokens, dim)]
        if self.choose.random() < 0.5:
            self.shapes.append((batch, self.choose.randint(2, 12), self.choose.choice([16, 24, 32])))
        self.inputs = len(self.shapes)
        for _ in range(self.choose.randint(4, 14)):
            self.grow()
        self.results = [len(self.shapes) - 1]
        if self.choose.random() < 0.3:
            self.results.append(self.choose.randrange(self.inputs, len(self.shapes)))

    def add(self, function, taken, shape):
        self.steps.append((function, taken))
        self.shapes.append(shape)

    def layer(self, module):
        self.layers.append(module)
        return module

    def any(self, fits=lambda shape: True):
        """A tensor that fits, a late one more often than an early one; None if there is none."""
        fitting = [i for i, shape in enumerate(self.shapes) if fits(shape)]
        return max(self.choose.choice(fitting), self.choose.choice(fitting)) if fitting else None

    def grow(self):
        kind = self.choose.choice([
            self.linear, self.linear, self.norm, self.activation, self.sum, self.sum, self.product, self.scale, self.swap,
            self.slice, self.cat, self.heads, self.windows, self.attention, self.attention, self.multihead, self.mean,
            self.embed_bias])
        kind()

    def linear(self):
        x = self.any()
        out = self.choose.choice([16, 24, 32])
        layer = self.layer(nn.Linear(self.shapes[x][2], out, bias=self.choose.random() < 0.7))
        self.add(layer, [x], (*self.shapes[x][:2], out))

    def norm(self):
        x = self.any(lambda shape: shape[2] > 1)
        dim = self.shapes[x][2]
        affine = self.choose.random() < 0.8
        kind = self.choose.choice([lambda: nn.LayerNorm(dim, elementwise_affine=affine), lambda: nn.RMSNorm(dim, eps=1e-6)])
        self.add(self.layer(kind()), [x], self.shapes[x])

    def activation(self):
        x = self.any()
        function = self.choose.choice([f.gelu, f.relu, f.silu, torch.tanh, torch.sigmoid, f.hardswish, f.relu6,
                                       lambda t: f.gelu(t, approximate="tanh")])
        self.add(function, [x], self.shapes[x])

    def pair(self, function):
        a = self.any()
        b = self.any(lambda shape: shape == self.shapes[a])
        self.add(function, [a, b], self.shapes[a])

    def sum(self):
        self.pair(torch.add)

    def product(self):
        self.pair(torch.mul)

    def scale(self):
        x, factor = self.any(), self.choose.choice([0.5, -1.5, 0.125])
        self.add(lambda t: t * factor, [x], self.shapes[x])

    def embed_bias(self):
        x = self.any()
        parameter = nn.Parameter(torch.randn(self.shapes[x][1:]))
        self.register_parameter(f"positions_{len(self.steps)}", parameter)
        self.add(lambda t: t + parameter, [x], self.shapes[x])

    def swap(self):
        x = self.any()
        batch, tokens, dim = self.shapes[x]
        self.add(lambda t: t.transpose(1, 2), [x], (batch, dim, tokens))

    def slice(self):
        x = self.any(lambda shape: shape[1] > 2)
        if x is None:
            return
        batch, tokens, dim = self.shapes[x]
        first = self.choose.randrange(tokens - 1)
        last = self.choose.randint(first + 1, tokens)
        self.add(lambda t: t[:, first:last], [x], (batch, last - first, dim))

    def cat(self):
        a = self.any(lambda shape: shape[1] < 30 and shape[2] < 64)
        if a is None:
            return
        batch, tokens, dim = self.shapes[a]
        if self.choose.random() < 0.5:
            b = self.any(lambda shape: shape[0] == batch and shape[2] == dim and shape[1] < 30)
            self.add(lambda s, t: torch.cat([s, t], 1), [a, b], (batch, tokens + self.shapes[b][1], dim))
        else:
            b = self.any(lambda shape: shape[:2] == (batch, tokens) and shape[2] < 64)
            self.add(lambda s, t: torch.cat([s, t], 2), [a, b], (batch, tokens, dim + self.shapes[b][2]))

    def heads(self):
        """Reordered by heads, as a view that is merged again in another order."""
        x = self.any(lambda shape: shape[2] % 4 == 0)
        if x is None:
            return
        batch, tokens, dim = self.shapes[x]

        def reorder(t):
            return t.reshape(batch, tokens, 4, dim // 4).permute(0, 2, 1, 3).reshape(batch, 4 * tokens, dim // 4)

        self.add(reorder, [x], (batch, 4 * tokens, dim // 4))

    def windows(self):
        """Tokens of a grid as two windows, each a sequence of its own."""
        x = self.any(lambda shape: shape[1] % 4 == 0 and shape[0] < 8)
        if x is None:
            return
        batch, tokens, dim = self.shapes[x]

        def reorder(t):
            return t.reshape(batch, 2, 2, tokens // 4, dim).permute(0, 2, 1, 3, 4).reshape(2 * batch, tokens // 2, dim)

        self.add(reorder, [x], (2 * batch, tokens // 2, dim))

    def attention(self):
        q = self.any(lambda shape: shape[2] % 2 == 0)
        if q is None:
            return
        batch, tokens, dim = self.shapes[q]
        k = self.any(lambda shape: shape[0] == batch and shape[2] == dim)
        keys = self.shapes[k][1]
        v = self.any(lambda shape: shape == self.shapes[k])
        heads = self.choose.choice([h for h in (1, 2, 4) if dim % h == 0])
        causal = tokens == keys and self.choose.random() < 0.4
        scale = self.choose.choice([None, 0.3])

        def attend(q, k, v):
            q, k, v = (t.reshape(batch, t.shape[1], heads, dim // heads).transpose(1, 2) for t in (q, k, v))
            out = f.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
            return out.transpose(1, 2).reshape(batch, tokens, dim)

        self.add(attend, [q, k, v], (batch, tokens, dim))

    def multihead(self):
        x = self.any(lambda shape: shape[2] % 4 == 0 and shape[2] >= 8)
        if x is None:
            return
        layer = self.layer(nn.MultiheadAttention(self.shapes[x][2], 4, batch_first=True))
        self.add(lambda t: layer(t, t, t, need_weights=False)[0], [x], self.shapes[x])

    def mean(self):
        x = self.any(lambda shape: shape[1] > 1)
        if x is None:
            return
        batch, _, dim = self.shapes[x]
        self.add(lambda t: t.mean(dim=1, keepdim=True), [x], (batch, 1, dim))

    def forward(self, *inputs):
        tensors = list(inputs)
        for function, taken in self.steps:
            tensors.append(function(*[tensors[i] for i in taken]))
        results = [tensors[i] for i in self.results]
        return results[0] if len(results) == 1 else tuple(results)


def make(seed):
    torch.manual_seed(seed)
    graph = Graph(seed)
    inputs = tuple(torch.randn(shape) for shape in graph.shapes[:graph.inputs])
    return graph.eval(), inputs
