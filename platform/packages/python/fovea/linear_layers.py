# SPDX-License-Identifier: Apache-2.0
"""Linear layers: linear.h has formulas and errors."""
import math

import numpy as np

from . import c
from .arrays import as_array, fault, is_array, is_of, memory, numbers
from .prepared import Pool, Prepared
from .weights import Weights

_calls = Pool()
FORMS = {"float32": ("f32", "f32"), "float16": ("f16", "f16"), "int8": ("i8", "i8")}  # x: its form, its products


def linear(x, weights, bias=None, *, activation="identity", compute=None, x_scales=None, x_zero_point=0, y_scale=None, y_zero_point=0,
           portable_bits=False, out=None, target="best"):
    """activation(x W^T + bias), [...][in_dim] to [...][out_dim].

    weights: Weights, or an array of float32, float16 or bfloat16, which is read anew in each call. bias: beside an
    array. x is of float32, or of int8 with x_scales: a number, or one for each token. compute="i8": products of int8,
    for weights of int8 and in groups; so x of int8 has it. compute="f16": products of float16, for weights of float16;
    x may be of float16, which has it. y_scale: the output becomes int8 with this scale and y_zero_point.
    """
    if type(x_scales) in (float, int):
        x_scales = np.array([x_scales], np.float32)
    options = {"activation": activation, "compute": compute, "x_zero_point": x_zero_point, "y_scale": y_scale, "y_zero_point": y_zero_point,
               "portable_bits": portable_bits, "target": target}
    if not isinstance(weights, Weights):
        return _calls.call(prepare_linear, (x, x_scales, weights, bias), (out,), options)[0]
    if bias is not None:
        raise TypeError("bias is given beside Weights, which have their own")

    def prepare_with_weights(inputs, outputs, **options):
        return prepare_linear((*inputs, weights, None), outputs, **options)

    return weights.calls.call(prepare_with_weights, (x, x_scales), (out,), options)[0]


def flat(array, name, width, writes=False):
    """Rows [tokens][width] of an array [...][width]: a view of it, or else a copy of an input."""
    tokens = math.prod(array.shape[:-1])
    rows = array.reshape(tokens, width)
    if writes and not np.shares_memory(rows, array) and array.size:
        raise ValueError(f"{name} has strides of {array.strides} bytes: all dimensions but the last must follow one another")
    wrong = fault(rows[np.newaxis, np.newaxis], writes)
    if wrong and writes:
        raise ValueError(f"{name} {wrong}")
    return np.array(rows, rows.dtype.newbyteorder("="), order="C") if wrong else rows


def prepare_linear(inputs, outputs, compute, y_scale, **fields):
    x, x_scales, given, bias = inputs
    weights = given if isinstance(given, Weights) else Weights(given, bias)
    x = as_array(x, "x")
    is_of(x, "x", tuple(FORMS))
    if x.ndim == 0 or x.shape[-1] != weights.in_dim:
        raise ValueError(f"x has the shape {x.shape}: it must be [...][in_dim {weights.in_dim}]")
    rows, shape = flat(x, "x", weights.in_dim), (*x.shape[:-1], weights.out_dim)
    form, products = FORMS[x.dtype.name]
    args = c.structure("linear_args", tokens=len(rows), in_dim=weights.in_dim, out_dim=weights.out_dim,
                       compute=products if compute is None else compute, x=rows, x_dtype=form, x_stride=row_stride(rows), weights=weights.c,
                       processor_features=c.PROCESSOR_FEATURES, **fields)
    if x_scales is not None:
        scales = numbers(x_scales, np.float32, "x_scales")
        if scales.size != 1 and scales.shape != x.shape[:-1]:
            raise ValueError(f"x_scales has the shape {scales.shape}: it must be one number or {x.shape[:-1]}")
        c.assign(args, x_scales=scales, x_scales_stride=int(scales.size != 1))
    dtype = "float32" if y_scale is None else "int8"
    if y_scale is not None:
        c.assign(args, y_dtype="i8", y_scale=y_scale)
    out = np.empty(shape, dtype) if outputs[0] is None else outputs[0]
    is_array(out, "out")
    is_of(out, "out", (dtype,))
    if out.shape != shape:
        raise ValueError(f"out has the shape {out.shape}: it must be {shape}")
    y = flat(out, "out", weights.out_dim, writes=True)
    c.assign(args, y=y, y_stride=row_stride(y))
    pairs = [("x", inputs[0]), ("x_scales", x_scales)]
    if not isinstance(given, Weights):
        pairs += ("weights.data", given), ("weights.bias", bias)
    return Prepared("fovea_linear", args, pairs, (("y", out),), memory(max(1, c.size("fovea_linear_workspace_bytes", args))))


def row_stride(rows):
    return rows.strides[0] // rows.itemsize if len(rows) > 1 else rows.shape[1]
