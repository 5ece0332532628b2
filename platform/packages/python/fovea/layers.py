# SPDX-License-Identifier: Apache-2.0
"""The layers around attention, on arrays [batch][heads][tokens][dim] or the last one, two or three of these dimensions.

Inputs are of float32, float16 or bfloat16, and are copied if C cannot read them in place. An output has the type of its
input, unless dtype names another format or out is given, which may be an input. layers.h and tensors.h have formulas
and errors.
"""
import numpy as np

from . import c
from .arrays import DTYPES, FLOATS, HELD_IN, Rows, as_array, dense, dtype_of, four, numbers, rows_of
from .prepared import Pool, Prepared
from .weights import Weights

_calls = Pool()


def format_of(dtype, out, x):
    """The format of an output, the types that its array may have, and the type of a new one."""
    if dtype is None:
        dtype = dtype_of(out, "out") if isinstance(out, np.ndarray) else dtype_of(x, "x")
    if dtype not in DTYPES.values() or dtype == "i8":
        raise ValueError(f"dtype is {dtype!r}: it must be f32, f16 or bf16")
    return dtype, HELD_IN[dtype], x.dtype.newbyteorder("=") if x.dtype.name in HELD_IN[dtype] else HELD_IN[dtype][-1]


def activation(x, activation, factor=None, *, alpha=0.0, dtype=None, out=None, target="best"):
    """activation(x) * factor. activation: identity, silu, sigmoid, relu, relu6, hard_swish, gelu, gelu_tanh or tanh.
    factor has x's type and is broadcast: with silu this is SwiGLU. alpha: of silu and sigmoid; 0 = 1."""
    return _calls.call(prepare_activation, (x, factor), (out,),
                       {"activation": activation, "alpha": alpha, "dtype": dtype, "target": target})[0]


def prepare_activation(inputs, outputs, dtype, **fields):
    x, factor = rows_of(inputs[0], "x", FLOATS), inputs[1]
    y_dtype, *types = format_of(dtype, outputs[0], x)
    rows = Rows("activation_args", x.shape, x_dtype=dtype_of(x, "x"), y_dtype=y_dtype, **fields)
    rows.read("x", inputs[0])
    rows.read("factor", factor, (x.dtype.name,), x.shape)
    rows.write("y", outputs[0], x.shape, *types)
    return Prepared("fovea_activation", rows.args, rows.inputs, rows.outputs)


def norm(x, weight=None, bias=None, *, norm="layer", epsilon=1e-5, residual=None, gate=None, gate_order="after",
         gate_activation="silu", weight_offset=0.0, return_sum=False, dtype=None, out=None, target="best"):
    """n(x + residual) * (weight + weight_offset) + bias, where n is layer normalisation, or norm="rms" or "l2". With
    return_sum=True: this, and x + residual, of the residual's type. gate has x's type; gate_order: after or before.
    residual and gate are broadcast. weight and bias: float32 [dim] or [heads][dim]."""
    results = _calls.call(prepare_norm, (x, residual, gate, weight, bias), (out, None) if return_sum else (out,), {
        "norm": norm, "epsilon": epsilon, "gate_order": gate_order, "gate_activation": gate_activation,
        "weight_offset": weight_offset, "dtype": dtype, "target": target})
    return tuple(results) if return_sum else results[0]


def prepare_norm(inputs, outputs, gate_order, gate_activation, dtype, **fields):
    x, (residual, gate, weight, bias) = rows_of(inputs[0], "x", FLOATS), inputs[1:]
    y_dtype, *types = format_of(dtype, outputs[0], x)
    rows = Rows("norm_args", x.shape, x_dtype=dtype_of(x, "x"), y_dtype=y_dtype, **fields)
    rows.read("x", inputs[0])
    rows.read("residual", residual, FLOATS, x.shape)
    rows.read("gate", gate, (x.dtype.name,), x.shape)
    if residual is not None:
        rows.args.residual_dtype = dtype_of(np.asarray(residual), "residual")
    c.assign(rows.args, gate_order=gate_order, gate_activation=gate_activation)
    per_head = any(np.ndim(vector) > 1 for vector in (weight, bias))
    shape = (rows.heads, rows.args.dim) if per_head else (rows.args.dim,)
    rows.args.weight_head_stride = rows.args.dim if per_head else 0
    rows.vector("weight", weight, np.float32, shape)
    rows.vector("bias", bias, np.float32, shape)
    rows.write("y", outputs[0], x.shape, *types)
    if len(outputs) > 1:
        if residual is None:
            raise TypeError("return_sum is given without a residual")
        kind = np.asarray(residual).dtype
        rows.write("sum", None, x.shape, (kind.name,), kind.newbyteorder("="), "sum")
    return Prepared("fovea_norm", rows.args, rows.inputs, rows.outputs)


def add(a, b, *, dtype=None, out=None, target="best"):
    """a + b, element by element, broadcast as in NumPy. The result has the type of a."""
    return _calls.call(prepare_pair, (a, b), (out,), {"function": "fovea_add", "dtype": dtype, "target": target})[0]


def multiply(a, b, *, dtype=None, out=None, target="best"):
    """a * b, element by element, broadcast as in NumPy. The result has the type of a."""
    return _calls.call(prepare_pair, (a, b), (out,), {"function": "fovea_multiply", "dtype": dtype, "target": target})[0]


def shape_of_both(a, b):
    try:
        return np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        raise ValueError(f"a has the shape {np.shape(a)}, b {np.shape(b)}: they must broadcast to one shape") from None


def prepare_pair(inputs, outputs, function, dtype, target):
    a, b = rows_of(inputs[0], "a", FLOATS), rows_of(inputs[1], "b", FLOATS)
    y_dtype, *types = format_of(dtype, outputs[0], a)
    shape = shape_of_both(a, b)
    rows = Rows("binary_args", shape, a_dtype=dtype_of(a, "a"), b_dtype=dtype_of(b, "b"), y_dtype=y_dtype, target=target)
    rows.read("a", inputs[0], FLOATS, shape)
    rows.read("b", inputs[1], FLOATS, shape)
    rows.write("y", outputs[0], shape, *types)
    return Prepared(function, rows.args, rows.inputs, rows.outputs)


def tokens_of(array, name="x"):
    """The array as [batch][heads][tokens][dim]: without heads where it has three dimensions."""
    if not 2 <= array.ndim <= 4:
        raise ValueError(f"{name} has the shape {array.shape}: it must be [tokens][dim], [batch][tokens][dim] or "
                         "[batch][heads][tokens][dim]")
    return array[:, np.newaxis] if array.ndim == 3 else four(array, name)


def pooling(x, pooling="mean", *, lengths=None, dtype=None, out=None, target="best"):
    """The mean of the tokens of each entry, or with pooling="first" its first token: [batch][tokens][dim] becomes
    [batch][dim]; x may also be [tokens][dim], or have heads after batch. lengths: tokens of each entry, [batch]."""
    return _calls.call(prepare_pooling, (x, lengths), (out,), {"pooling": pooling, "dtype": dtype, "target": target})[0]


def prepare_pooling(inputs, outputs, dtype, **fields):
    x = rows_of(inputs[0], "x", FLOATS)
    y_dtype, *types = format_of(dtype, outputs[0], x)
    return prepare_over_tokens("fovea_pooling", inputs, outputs, FLOATS, types, "pooling_args", x_dtype=dtype_of(x, "x"),
                               y_dtype=y_dtype, **fields)


def prepare_over_tokens(function, inputs, outputs, dtypes, types, name, **fields):
    """A call that makes one row of the tokens of an entry."""
    x, lengths = as_array(inputs[0], "x"), inputs[1]
    rows = Rows(name, tokens_of(x).shape, **fields)
    rows.read("x", inputs[0], dtypes, form=tokens_of)
    rows.vector("lengths", lengths, np.uint32, (rows.batch,))
    rows.write("y", outputs[0], (*x.shape[:-2], x.shape[-1]), *types, form=lambda out, name: tokens_of(out[..., np.newaxis, :], name))
    return Prepared(function, rows.args, rows.inputs, rows.outputs)


def embedding(indices, table, *, out=None, target="best"):
    """The rows of a table, [rows][dim], that indices name, widened to float32. The table is an array, or Weights: so
    that it may be in any format, and be that of the last layer."""
    table = table if isinstance(table, Weights) else Weights(table)

    def prepare_embedding(inputs, outputs, target):
        wanted = numbers(inputs[0], np.uint32, "indices")
        shape = *wanted.shape, table.in_dim
        y = np.empty(shape, np.float32) if outputs[0] is None else dense(outputs[0], "out", ("float32",), shape, writes=True)
        args = c.structure("embedding_args", tokens=wanted.size, dim=table.in_dim, rows=table.out_dim, y=y,
                           y_stride=table.in_dim, indices=wanted, table=table.c, target=target)
        return Prepared("fovea_embedding", args, (("indices", inputs[0]),), (("y", y),))

    return table.calls.call(prepare_embedding, (indices,), (out,), {"target": target})[0]


def argmax(x):
    """The index of the largest element of each row, of float32 or int8: of equal ones the lowest. A NaN counts as less
    than -inf. Codes of one scale are in the order of the numbers that they stand for."""
    return top_k(x, 1)[..., 0]


def top_k(x, k):
    """The indices of the k largest elements of each row, the largest first."""
    are_codes = getattr(x, "dtype", None) == np.int8
    x = numbers(x, np.int8 if are_codes else np.float32, "x")
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"x has the shape {x.shape}: it must have rows")
    k = c.number(k, c.c_uint32, "k")
    if k > x.shape[-1]:
        raise ValueError(f"k is {k}: a row of x has {x.shape[-1]} elements")
    indices = np.empty((*x.shape[:-1], k), np.uint32)
    count, function = x.shape[-1], c.function("fovea_integer_top_k" if are_codes else "fovea_top_k")
    at, found = c.data_of(x), c.data_of(indices)
    for row in range(x.size // count):
        c.check(function(at + x.itemsize * row * count, count, k, found + 4 * row * k))
    return indices
