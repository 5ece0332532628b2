# SPDX-License-Identifier: Apache-2.0
"""What each operator of ONNX becomes. Most become what the same operation of PyTorch does: torch_ops.py."""
import math

import numpy as np

from . import loops, torch_elements, torch_masks, torch_ops, torch_shapes, torch_windows

OPS = {}  # operator -> the first opset of a version of it -> the function that serves this version
REPLACEMENTS = {"LSTM": "attention", "GRU": "attention", "BatchNormalization": "its scale and shift in the layer before"}
FROM_BYTES = set(  # operators that take bytes or token numbers as they are; all others compute in float32
    "Add And Attention Cast CastLike Concat Dropout Expand Flatten Gather Identity Not Reshape Shape Slice Split Squeeze "
    "Transpose Unsqueeze Where".split())
ATEN = torch_shapes.OPS


def op(name, *versions):
    """Registers a function for versions of an operator. Its parameters are the inputs and attributes that it honours, by
    their names in ONNX; what was an attribute and became an input has one parameter for both."""
    return lambda function: [OPS.setdefault(name, {}).__setitem__(one, function) for one in versions] and function


def constant(reader, value, what):
    """The value, which must not depend on an input."""
    if reader.is_live(value):
        reader.refuse(f"with computed {what}", f"constant {what}")
    return value


# ------------------------------------------------------------------------------------------------------------ views


@op("Reshape", 5, 13, 14, 19, 21, 23, 24, 25)
def reshape(reader, x, shape, *, allowzero=0):
    shape = [int(size) for size in constant(reader, shape, "sizes")]
    if allowzero and 0 in shape:
        reader.refuse("to a tensor without elements", "sizes above 0")
    return torch_shapes.reshape(reader, x, [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)])


@op("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(reader, x, *, axis):
    return torch_shapes.reshape(reader, x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


@op("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(reader, x, *, perm=None):
    return x.permute(perm or range(len(x.shape))[::-1])


@op("Unsqueeze", 1, 11, 13, 21, 23, 24, 25)
def unsqueeze(reader, x, axes):
    rank = len(x.shape) + len(constant(reader, axes, "axes"))
    for axis in sorted(int(axis) % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@op("Squeeze", 1, 11, 13, 21, 23, 24, 25)
def squeeze(reader, x, axes=None):
    return x.squeeze(None if axes is None else [int(axis) for axis in constant(reader, axes, "axes")])


@op("Expand", 8, 13)
def expand(reader, x, shape):
    shape = [int(size) for size in constant(reader, shape, "sizes")]
    return x.expand(np.broadcast_shapes(x.shape, shape))


@op("Slice", 1, 10, 11, 13)
def slice_(reader, x, starts, ends, axes=None, steps=None):
    starts, ends, axes, steps = (constant(reader, one, "places") for one in (starts, ends, axes, steps))
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step < 1:
            reader.refuse("backwards", "a slice forwards")
        x = torch_shapes.slice_(reader, x, int(axis), int(start), int(end), int(step))
    return x


@op("Split", 2, 11, 13, 18)
def split_(reader, x, split=None, *, axis, num_outputs=None):
    count = num_outputs or len(reader.node.output)
    sizes = -(-x.shape[axis] // count) if split is None else [int(one) for one in constant(reader, split, "sizes")]
    return torch_shapes.split(reader, x, sizes, axis)


@op("Concat", 4, 11, 13)
def concat(reader, *pieces, axis):
    return torch_shapes.cat(reader, pieces, axis)


@op("Gather", 1, 11, 13)
def gather(reader, x, indices, *, axis):
    if reader.is_live(indices):
        if reader.is_live(x) or axis != 0 or np.ndim(x) != 2:
            reader.refuse("by computed numbers", "rows of a constant table")
        return torch_ops.embedding(reader, x, indices)
    indices = np.where(indices < 0, indices + x.shape[axis], indices)
    if np.ndim(indices) == 0:
        return x.select(axis, int(indices))
    steps = np.diff(np.ravel(indices))
    if np.ndim(indices) != 1 or (steps != steps[:1]).any() or (steps[:1] < 1).any():
        reader.refuse("of these places", "a slice")
    first, last = int(indices[0]), int(indices[-1])
    return torch_shapes.slice_(reader, x, axis, first, last + 1, int(steps[0]) if len(steps) else 1)


@op("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def same(reader, x):
    return x


@op("Shape", 1, 13, 15, 19, 21, 23, 24, 25)
def shape_(reader, x, *, start=0, end=None):
    return np.array(x.shape[start:end], np.int64)


@op("Dropout", 7, 10, 12, 13, 22)
def dropout(reader, x, ratio=None, training_mode=None, *, seed=None):
    if training_mode is not None and np.any(constant(reader, training_mode, "mode")):
        reader.refuse("in training", "the model for inference")
    return x


@op("Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(reader, x, *, to):
    """Of token numbers to another width, of a mask that is an input to booleans, or of nothing."""
    from onnx import TensorProto
    integers = TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64
    if to == TensorProto.BOOL and x.buffer.dtype == np.uint32:
        return torch_shapes.as_bytes(reader, x)
    if to not in {np.float32: (TensorProto.FLOAT,), np.uint8: (TensorProto.BOOL,), np.uint32: integers}[x.buffer.dtype.type]:
        what = {np.float32: "float32", np.uint8: "booleans", np.uint32: "whole numbers"}[x.buffer.dtype.type]
        reader.refuse(f"of {what} to {TensorProto.DataType.Name(to).lower()}",
                      "a model of float32 throughout, and masks of booleans that go to Attention")
    return x


@op("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(reader, x, like):
    from onnx import helper
    if reader.is_live(like):
        like = np.zeros(0, {np.uint8: np.bool_, np.uint32: np.int64}.get(like.buffer.dtype.type, np.float32))
    return cast(reader, x, to=helper.np_dtype_to_tensor_dtype(like.dtype))


# ----------------------------------------------------------------------------------------------------------- layers


@op("MatMul", 1, 9, 13)
def matmul(reader, a, b):
    if reader.is_live(a) and not reader.is_live(b) and np.ndim(b) == 2:
        return torch_ops.linear_node(reader, a, reader.tensor(transposed(reader, b)), None)
    return torch_ops.matmul(reader, reader.tensor(a), reader.tensor(b))


def transposed(reader, weight):
    """The weights with a row for each output. They keep their name."""
    made = np.ascontiguousarray(weight.T)
    if id(weight) in reader.titles:
        reader.titles[id(made)] = reader.titles[id(weight)]
        reader.values[f"the transpose of {reader.titles[id(weight)]}"] = made
    return made


@op("Gemm", 7, 9, 11, 13)
def gemm(reader, a, b, c=None, *, alpha, beta, transB):
    if reader.is_live(b) or reader.is_live(c) or (c is not None and np.ndim(c) > 1 and c.shape[0] > 1):
        reader.refuse("of computed matrices", "weights and a bias that are constant")
    weight = b if transB else transposed(reader, b)
    weight = weight if alpha == 1 else weight * np.float32(alpha)
    bias = None if c is None else np.broadcast_to(c, (1, len(weight)))[0] * np.float32(beta)
    return torch_ops.linear_node(reader, a, reader.tensor(weight), None if bias is None else reader.tensor(bias, "bias"))


@op("Conv", 1, 11, 22)
def conv(reader, x, weight, bias=None, *, strides=None, pads=None, dilations=None, group, auto_pad, kernel_shape=None):
    if auto_pad not in ("NOTSET", "VALID"):
        reader.refuse(f"with auto_pad {auto_pad}", "patches: a stride as large as the kernel, without padding")
    rank = np.ndim(weight) - 2
    return torch_windows.conv(reader, x, weight, bias, strides or [1] * rank, pads or [0] * rank, dilations or [1] * rank, group)


@op("LayerNormalization", 17)
def layer_norm(reader, x, weight, bias=None, *, axis, epsilon):
    if axis not in (-1, len(x.shape) - 1):
        reader.refuse(f"with axis {axis}", "a normalisation of the last dimension")
    return torch_ops.norm_node(reader, x, x.shape[-1], weight=weight, bias=bias, kind="LAYER", epsilon=epsilon)


@op("RMSNormalization", 23)
def rms_norm(reader, x, weight, *, axis, epsilon):
    if axis not in (-1, len(x.shape) - 1):
        reader.refuse(f"with axis {axis}", "a normalisation of the last dimension")
    return torch_ops.norm_node(reader, x, x.shape[-1], weight=weight, kind="RMS", epsilon=epsilon)


@op("Attention", 23, 24, 25)
def attention(reader, q, k, v, mask=None, *, is_causal, scale=None, q_num_heads=None, kv_num_heads=None, softmax_precision=None):
    if softmax_precision not in (None, 1):  # 1 is float32
        reader.refuse(f"with softmax_precision {softmax_precision}", "a softmax in float32")
    if mask is not None and mask.shape[-1] != k.shape[-2 if len(k.shape) == 4 else 1]:
        reader.refuse("with a mask that is shorter than the keys", "a mask of all keys")
    flat = len(q.shape) == 3
    if flat:
        q, k, v = (torch_shapes.reshape(reader, one, [*one.shape[:2], heads, one.shape[2] // heads]).transpose(1, 2)
                   for one, heads in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    if k.shape[1] != q.shape[1]:  # groups of query heads share a key head
        times = q.shape[1] // k.shape[1]
        k, v = (one.unsqueeze(2).expand([*one.shape[:2], times, *one.shape[2:]]).reshape([one.shape[0], q.shape[1], *one.shape[2:]])
                for one in (k, v))
    y = torch_ops.attention(reader, q, k, v, mask, 0.0, bool(is_causal), scale=scale)
    return y.transpose(1, 2).reshape([y.shape[0], y.shape[2], -1]) if flat else y


@op("Softmax", 1, 11)
def softmax_of_rows(reader, x, *, axis):
    """All dimensions from the axis on are one row."""
    axis %= len(x.shape)
    if axis == len(x.shape) - 1:
        return softmax(reader, x, axis=axis)
    rows = torch_shapes.reshape(reader, x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])
    return torch_ops.softmax(reader, rows, 1).reshape(x.shape)


@op("Softmax", 13)
def softmax(reader, x, *, axis):
    return torch_ops.softmax(reader, x, axis)


@op("ReduceMean", 1, 11, 13, 18)
def mean(reader, x, axes=None, *, keepdims, noop_with_empty_axes=0):
    axes = [] if axes is None else [int(axis) for axis in constant(reader, axes, "axes")]
    return x if noop_with_empty_axes and not axes else torch_ops.mean(reader, x, axes or None, bool(keepdims))


@op("GlobalAveragePool", 1, 22)
def global_mean(reader, x):
    return torch_ops.mean(reader, x, list(range(2, len(x.shape))), True)


# --------------------------------------------------------------------------------------------- element by element

for name, versions, function in [
    ("Add", (7, 13, 14), ATEN["aten.add"]),
    ("And", (7,), torch_masks.both),
    ("Erf", (9, 13), torch_elements.unary("erf")),
    ("HardSwish", (14, 22), ATEN["aten.hardswish"]),
    ("IsNaN", (9, 13, 20), torch_elements.unary("isnan")),
    ("Mul", (7, 13, 14), ATEN["aten.mul"]),
    ("Neg", (6, 13), ATEN["aten.neg"]),
    ("Not", (1,), torch_masks.inverted),
    ("Relu", (6, 13, 14), ATEN["aten.relu"]),
    ("Sigmoid", (6, 13), ATEN["aten.sigmoid"]),
    ("Sqrt", (6, 13), torch_elements.unary("sqrt")),
    ("Sub", (7, 13, 14), ATEN["aten.sub"]),
    ("Tanh", (6, 13), ATEN["aten.tanh"]),
]:
    op(name, *versions)(function)


@op("Gelu", 20)
def gelu(reader, x, *, approximate):
    return torch_elements.gelu(reader, x, approximate=approximate)


@op("Swish", 24)
def swish(reader, x, *, alpha):
    if alpha == 0:
        reader.refuse("with alpha 0", "a product with 0.5")
    return torch_elements.activation("SILU", 0 if alpha == 1 else alpha)(reader, x)


@op("Clip", 6, 11, 12, 13)
def clip(reader, x, min=None, max=None):
    numbers = (None if one is None else float(np.ravel(constant(reader, one, "limits"))[0]) for one in (min, max))
    largest = np.finfo(np.float32).max
    return torch_elements.clamp(reader, x, *(None if one is None or abs(one) >= largest else one for one in numbers))


@op("Reciprocal", 6, 13)
def reciprocal(reader, x):
    return torch_elements.reciprocal(reader, x)


@op("Div", 7, 13, 14)
def div(reader, a, b):
    if loops.common(reader, (a, b)) != loops.FLOAT:
        reader.refuse("of whole numbers", "a division of float32")
    return torch_elements.div(reader, a, b)


@op("Pow", 7, 12, 13, 15)
def power(reader, x, exponent):
    if np.size(constant(reader, exponent, "exponents")) != 1 or np.ndim(exponent) > len(x.shape):
        reader.refuse("to several exponents", "one exponent")
    return torch_elements.power(reader, x, float(np.ravel(exponent)[0]))


@op("Where", 9, 16)
def where(reader, condition, a, b):
    """In addition to masks: 0 in the place of NaN after a softmax, which has none here."""
    test = reader.graph.writer(condition) if reader.is_live(condition) else None
    if test is not None and test.op == "isnan" and test.x == b and not np.any(a):
        reader.graph.nodes.remove(test)
        return b
    return torch_masks.where(reader, condition, a, b)
