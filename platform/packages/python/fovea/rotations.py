# SPDX-License-Identifier: Apache-2.0
"""Rows that are turned by their position, or rotated by a Hadamard matrix: layers.h has formulas and errors."""
import functools

import numpy as np

from . import c
from .arrays import Rows, rows_of
from .prepared import Pool, Prepared

F32 = ("float32",)
_calls = Pool()


def rope(x, layout, *, rotary_dim=0, base=10000.0, position_scale=1.0, first_positions=None, position_offset=0, inverse=False,
         out=None, target="best"):
    """Rotary position embedding of [batch][heads][tokens][dim], or of the last one, two or three of these dimensions.
    layout: "interleaved" or "half_split". A token's position is position_offset + its number + first_positions, int64
    [batch]. rotary_dim: elements that are turned, 0 = all."""
    return _calls.call(prepare_rope, (x, first_positions), (out,), {
        "layout": layout, "rotary_dim": rotary_dim, "base": base, "position_scale": position_scale,
        "position_offset": position_offset, "inverse": inverse, "target": target})[0]


@functools.lru_cache(64)
def turns_of(rotary_dim, base, position_scale):
    turns = np.empty(rotary_dim // 2, np.uint64)
    c.call("fovea_rope_frequencies", turns, base, position_scale, rotary_dim)
    return turns


def prepare_rope(inputs, outputs, base, position_scale, **fields):
    x = rows_of(inputs[0], "x", F32)
    rows = Rows("rope_args", x.shape, **fields)
    rotary_dim = rows.args.rotary_dim or rows.args.dim
    if not rows.args.dim:
        raise ValueError(f"x has the shape {x.shape}: it must have rows of elements")
    if rotary_dim > rows.args.dim or rotary_dim % 2 or not rotary_dim:
        raise ValueError(f"rotary_dim is {rotary_dim}: it must be even, and at most {rows.args.dim}, the dim of x")
    base, position_scale = c.number(base, c.c_double, "base"), c.number(position_scale, c.c_double, "position_scale")
    rows.args.turns = turns = turns_of(rotary_dim, base, position_scale)
    rows.read("x", inputs[0], F32)
    rows.vector("first_positions", inputs[1], np.int64, (rows.batch,))
    rows.write("y", outputs[0], x.shape, F32, np.float32)
    return Prepared("fovea_rope", rows.args, rows.inputs, rows.outputs, keep=turns)


def hadamard(x, *, block=0, seed=0, inverse=False, out=None, target="best"):
    """Rotates rows by a Hadamard matrix, which keeps dot products and spreads large elements, so that codes of few bits
    serve all elements alike. block: elements that are rotated together, a power of two; 0 = the largest. seed: signs,
    0 = none. inverse=True undoes it."""
    return _calls.call(prepare_hadamard, (x,), (out,), {"block": block, "seed": seed, "inverse": inverse, "target": target})[0]


def prepare_hadamard(inputs, outputs, **fields):
    x = rows_of(inputs[0], "x", F32)
    rows = Rows("hadamard_args", x.shape, **fields)
    rows.read("x", inputs[0], F32)
    rows.write("y", outputs[0], x.shape, F32, np.float32)
    return Prepared("fovea_hadamard", rows.args, rows.inputs, rows.outputs)
