# SPDX-License-Identifier: Apache-2.0
"""Weights of linear layers, multi-head layers and embeddings."""
import operator

import numpy as np

from . import c
from .arrays import BLOCKS, HELD_IN, Shown, as_array, dense_copy, dtype_of, fault, groups, is_of, numbers, row_elements
from .prepared import Pool


class Weights(Shown):
    """Weights(array, bias=None, scales=None, dtype=None, in_dim=None): rows [out_dim][in_dim], one for each output, as
    in PyTorch's nn.Linear. It reads the array in place wherever C can, else a copy.

    array is of float32, float16, bfloat16 (of ml_dtypes) or int8; dtype names another format of fovea.h: "bf16" for
    bits in uint16; "i4", and ggml's blocks as a GGUF file has them, "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k",
    "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "mxfp4" and "tq2_0", for bytes in uint8, whose rows have in_dim inputs (32
    for each group, 256 for each super-block, unless given). scales: of int8 one for each row, as rows_to_i8 returns them;
    of i4 float16 [out_dim][groups]; quantize_rows makes both of floats.
    bias: [out_dim]; one of int32 is added to the sums of codes.
    """

    def __init__(self, array, bias=None, scales=None, dtype=None, in_dim=None):
        array = as_array(array, "weights")
        if dtype is None and array.dtype.kind == "u":
            raise TypeError(f"weights is of {array.dtype}: dtype must name the format of its codes")
        dtype = dtype_of(array, "weights") if dtype is None else dtype
        if dtype not in HELD_IN:
            raise ValueError(f"dtype is {dtype!r}: it must be one of {', '.join(HELD_IN)}")
        is_of(array, "weights", HELD_IN[dtype])
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"weights has the shape {array.shape}: it must be [out_dim][in_dim]")
        self.dtype, (self.out_dim, row) = dtype, array.shape
        elements, count = BLOCKS.get(dtype, (1, 1))
        self.in_dim = row // count * elements if in_dim is None else operator.index(in_dim)
        if row_elements(dtype, self.in_dim) != row:
            raise ValueError(f"weights has the shape {array.shape}: a row of {self.in_dim} inputs in {dtype} must have "
                             f"{row_elements(dtype, self.in_dim)} elements")
        self.array = dense_copy(array) if fault(array[np.newaxis, np.newaxis], False) else array
        self.c = c.structure("linear_weights", dtype=dtype, data=self.array,
                             row_stride=self.array.strides[0] // self.array.itemsize if self.out_dim > 1 else row)
        self.calls = Pool()  # that have these weights
        self.add_scales(scales)
        if bias is not None:
            integer = getattr(bias, "dtype", None) == np.int32
            bias = self.vector(numbers(bias, np.int32 if integer else np.float32, "bias"), "bias", (self.out_dim,))
            c.assign(self.c, **{"bias_i32" if integer else "bias": bias})

    def _shown(self):
        return [(name, getattr(self, name)) for name in ("dtype", "out_dim", "in_dim")]

    def vector(self, array, name, shape):
        if array.shape != shape:
            raise ValueError(f"{name} has the shape {array.shape}: it must be {shape}")
        return array

    def add_scales(self, scales):
        if self.dtype not in ("i8", "i4"):
            if scales is not None:
                raise TypeError(f"scales is given: {self.dtype} has no scales in an array")
            return
        if scales is None:
            raise TypeError(f"scales is missing beside weights of {self.dtype}")
        if self.dtype == "i8":
            scales = self.vector(numbers(scales, np.float32, "scales"), "scales", (self.out_dim,))
        else:
            scales = as_array(scales, "scales")
            is_of(scales, "scales", ("float16", "uint16"))
            scales = np.require(self.vector(scales, "scales", (self.out_dim, groups(self.in_dim))),
                                scales.dtype.newbyteorder("="), ["C", "A"])
        self.c.scales = scales


def rows_to_i8(x):
    """Codes of int8 and a scale for each row, for weights, keys and values: x = scale * code, where the element of
    largest magnitude of a row becomes 127 or -127."""
    x = numbers(x, np.float32, "x")
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"x has the shape {x.shape}: it must have rows")
    if not np.isfinite(x).all():
        raise ValueError("x has a NaN or an infinity, which int8 does not have")
    return quantize_rows(x, "i8")


def quantize_rows(x, dtype):
    """Rows of floats in a format that keys may have, or "q4_1": the array that holds them, for Weights or a plan with
    this dtype, and for int8 and "i4" their scales, else None."""
    x = numbers(x, np.float32, "x")
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"x has the shape {x.shape}: it must have rows")
    if dtype not in HELD_IN:
        raise ValueError(f"dtype is {dtype!r}: it must be one of {', '.join(HELD_IN)}")
    *shape, dim = x.shape
    data = np.empty((*shape, row_elements(dtype, dim)), "uint16" if dtype == "bf16" else HELD_IN[dtype][0])
    scales = np.empty(shape, np.float32) if dtype == "i8" else None
    scales = np.empty((*shape, groups(dim)), np.float16) if dtype == "i4" else scales
    c.call("fovea_quantize_rows", x, x.size // dim, dim, c.HEADER.enums["fovea_dtype"][dtype], data, scales)
    return data, scales
