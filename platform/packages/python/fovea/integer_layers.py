# SPDX-License-Identifier: Apache-2.0
"""Layers on int8 tensors without floating point, to the bit as on a board: integer_layers.h has the equations.

Arrays are [batch][heads][tokens][dim] or the last one, two or three of these dimensions. A tensor is scale * (code -
zero).
"""
import ctypes

import numpy as np

from . import c
from .arrays import Rows, dense, rows_of
from .layers import prepare_over_tokens, shape_of_both
from .prepared import Pool, Prepared

CODES = ("int8",)
_calls = Pool()


def integer_multiplier(real):
    """Multiplier and shift of a number: real = multiplier * 2^(shift - 31)."""
    multiplier, shift = ctypes.c_int32(), ctypes.c_int32()
    c.call("fovea_integer_multiplier", real, ctypes.byref(multiplier), ctypes.byref(shift))
    return multiplier.value, shift.value


def multipliers(**numbers):
    """The fields for numbers that are made of scales."""
    fields = {}
    for name, real in numbers.items():
        prefix = f"{name}_" if name != "all" else ""
        fields[f"{prefix}multiplier"], fields[f"{prefix}shift"] = integer_multiplier(real)
    return fields


def scale(value, name):
    """A scale as a Python number above 0."""
    value = c.number(value, c.c_float, name)
    if not value > 0:
        raise ValueError(f"{name} is {value}: it must be above 0")
    return float(value)


def integer_norm(x, weight, bias=None, *, x_scale, y_scale, weight_scale, norm="layer", epsilon=1e-5, x_zero_point=0, y_zero_point=0, out=None):
    """Layer normalisation, or norm="rms". weight: int16 [dim], codes of weight_scale; bias: int16 [dim], round(128 *
    bias / y_scale)."""
    return _calls.call(prepare_norm, (x, weight, bias), (out,), {
        "norm": norm, "x_scale": x_scale, "y_scale": y_scale, "weight_scale": weight_scale, "epsilon": epsilon,
        "x_zero_point": x_zero_point, "y_zero_point": y_zero_point})[0]


def prepare_norm(inputs, outputs, x_scale, y_scale, weight_scale, epsilon, **fields):
    x, (weight, bias) = rows_of(inputs[0], "x", CODES), inputs[1:]
    x_scale, y_scale = scale(x_scale, "x_scale"), scale(y_scale, "y_scale")
    numbers = {"weight": scale(weight_scale, "weight_scale") / y_scale}
    if c.number(epsilon, c.c_float, "epsilon") != 0:
        numbers["epsilon"] = epsilon / x_scale ** 2
    rows = Rows("integer_norm_args", x.shape, **fields, **multipliers(**numbers))
    rows.read("x", inputs[0], CODES)
    rows.vector("weight", weight, np.int16, (rows.args.dim,))
    rows.vector("bias", bias, np.int16, (rows.args.dim,))
    rows.write("y", outputs[0], x.shape, CODES, np.int8)
    return Prepared("fovea_integer_norm", rows.args, rows.inputs, rows.outputs)


def integer_add(a, b=None, *, a_scale, y_scale, b_scale=None, a_zero_point=0, b_zero_point=0, y_zero_point=0, activation_min=0, activation_max=0, out=None):
    """a + b, broadcast as in NumPy; without b, a in another scale and zero point. activation_min, activation_max: bounds of the
    codes."""
    return _calls.call(prepare_add, (a, b), (out,), {
        "a_scale": a_scale, "b_scale": b_scale, "y_scale": y_scale, "a_zero_point": a_zero_point, "b_zero_point": b_zero_point, "y_zero_point": y_zero_point,
        "activation_min": activation_min, "activation_max": activation_max})[0]


def prepare_add(inputs, outputs, a_scale, b_scale, y_scale, **fields):
    if (inputs[1] is None) != (b_scale is None):
        raise TypeError("b_scale is given without b" if inputs[1] is None else "b_scale is missing beside b")
    y_scale = scale(y_scale, "y_scale")
    numbers = {"a": scale(a_scale, "a_scale") / y_scale}
    if b_scale is not None:
        numbers["b"] = scale(b_scale, "b_scale") / y_scale
    return prepare_pair("fovea_integer_add", inputs, outputs, {**fields, **multipliers(**numbers)})


def integer_multiply(a, b, *, a_scale, b_scale, y_scale, a_zero_point=0, b_zero_point=0, y_zero_point=0, activation_min=0, activation_max=0, out=None):
    """a * b, element by element, broadcast as in NumPy. activation_min, activation_max: bounds of the codes."""
    return _calls.call(prepare_multiply, (a, b), (out,), {
        "a_scale": a_scale, "b_scale": b_scale, "y_scale": y_scale, "a_zero_point": a_zero_point, "b_zero_point": b_zero_point, "y_zero_point": y_zero_point,
        "activation_min": activation_min, "activation_max": activation_max})[0]


def prepare_multiply(inputs, outputs, a_scale, b_scale, y_scale, **fields):
    real = scale(a_scale, "a_scale") * scale(b_scale, "b_scale") / scale(y_scale, "y_scale")
    return prepare_pair("fovea_integer_multiply", inputs, outputs, {**fields, **multipliers(a=real)})


def prepare_pair(function, inputs, outputs, fields):
    a = rows_of(inputs[0], "a", CODES)
    shape = a.shape if inputs[1] is None else shape_of_both(a, rows_of(inputs[1], "b", CODES))
    rows = Rows("integer_binary_args", shape, **fields)
    rows.read("a", inputs[0], CODES, shape)
    rows.read("b", inputs[1], CODES, shape)
    rows.write("y", outputs[0], shape, CODES, np.int8)
    return Prepared(function, rows.args, rows.inputs, rows.outputs)


def activation_table(activation, *, x_scale, y_scale, x_zero_point=0, y_zero_point=0, alpha=0.0):
    """The codes that an activation makes of the codes 0 to 127 and then -128 to -1: int8 [256], for
    integer_activation."""
    table = np.empty(256, np.int8)
    kind = c.structure("activation_args", activation=activation).activation
    c.call("fovea_integer_activation_table", kind, alpha, x_scale, x_zero_point, y_scale, y_zero_point, table)
    return table


def integer_activation(x, table, *, out=None):
    """The table's code for each code of x. table: int8 [256], as activation_table makes it."""
    return _calls.call(prepare_activation, (x, table), (out,), {})[0]


def prepare_activation(inputs, outputs):
    x = rows_of(inputs[0], "x", CODES)
    rows = Rows("integer_activation_args", x.shape)
    rows.read("x", inputs[0], CODES)
    rows.args.table = dense(inputs[1], "table", CODES, (256,))
    rows.inputs.append(("table", inputs[1]))
    rows.write("y", outputs[0], x.shape, CODES, np.int8)
    return Prepared("fovea_integer_activation", rows.args, rows.inputs, rows.outputs)


def integer_hard_swish(x, *, x_scale, y_scale, x_zero_point=0, y_zero_point=0, out=None):
    """x * min(max(x + 3, 0), 6) / 6 without a table."""
    return _calls.call(prepare_hard_swish, (x,), (out,), {"x_scale": x_scale, "y_scale": y_scale, "x_zero_point": x_zero_point, "y_zero_point": y_zero_point})[0]


def prepare_hard_swish(inputs, outputs, x_scale, y_scale, **fields):
    x, x_scale = rows_of(inputs[0], "x", CODES), scale(x_scale, "x_scale")
    numbers = multipliers(three=3 / x_scale, out=x_scale ** 2 / (6 * scale(y_scale, "y_scale")))
    rows = Rows("integer_hard_swish_args", x.shape, **fields, **numbers)
    rows.read("x", inputs[0], CODES)
    rows.write("y", outputs[0], x.shape, CODES, np.int8)
    return Prepared("fovea_integer_hard_swish", rows.args, rows.inputs, rows.outputs)


def integer_mean(x, *, x_scale, y_scale, x_zero_point=0, y_zero_point=0, lengths=None, out=None):
    """The mean of the tokens of each entry: [batch][tokens][dim] becomes [batch][dim]; x may also be [tokens][dim], or
    have heads after batch. lengths: tokens of each entry, [batch]."""
    return _calls.call(prepare_mean, (x, lengths), (out,), {"x_scale": x_scale, "y_scale": y_scale, "x_zero_point": x_zero_point, "y_zero_point": y_zero_point})[0]


def prepare_mean(inputs, outputs, x_scale, y_scale, **fields):
    rows_of(inputs[0], "x", CODES)
    real = multipliers(all=scale(x_scale, "x_scale") / scale(y_scale, "y_scale"))
    return prepare_over_tokens("fovea_integer_mean", inputs, outputs, CODES, (CODES, np.int8), "integer_mean_args", **fields, **real)
