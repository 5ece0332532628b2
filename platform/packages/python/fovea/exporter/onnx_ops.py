# SPDX-License-Identifier: Apache-2.0
"""What each operator of ONNX becomes. Most become what the same operation of PyTorch does: torch_ops.py."""
import math

import numpy as np

from . import loops, torch_elements, torch_masks, torch_ops, torch_shapes, torch_windows
from .graph import Hiding

OPS = {}  # operator -> the first opset of a version of it -> the function that serves this version
REPLACEMENTS = dict.fromkeys(("LSTM", "GRU", "RNN"), torch_ops.REPLACEMENTS["aten.gru"])
FROM_BYTES = set(  # operators that take booleans or whole numbers, too; all others take float32 alone
    "Abs Add And Attention Cast CastLike Clip Concat CumSum Div Dropout Equal Expand Flatten Gather GatherElements Greater "
    "GreaterOrEqual Identity Less LessOrEqual Max Min Mul Neg Not Or Pad ReduceMax ReduceMin ReduceProd ReduceSum Reshape Shape Sign "
    "Slice Split Squeeze Sub Tile Transpose Unsqueeze Where Xor com.microsoft.GroupQueryAttention "
    "com.microsoft.MultiHeadAttention".split())
OF_HIDING = set(
    "Add Attention Cast CastLike Dropout Expand Identity Reshape Slice Split Squeeze Transpose Unsqueeze Where".split())
ATEN = torch_shapes.OPS


def op(name, *versions):
    """Registers a function for versions of an operator. Its parameters are the inputs and attributes that it honours, by
    their names in ONNX; what was an attribute and became an input has one parameter for both."""
    return lambda function: [OPS.setdefault(name, {}).__setitem__(one, function) for one in versions] and function


def microsoft(name):
    """The same of an operator of com.microsoft, which has one version. Its defaults are those of the function."""
    return op(f"com.microsoft.{name}", 1)


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


@op("Unsqueeze", 1, 11, 13, 21, 23, 24, 25)
def unsqueeze(reader, x, axes):
    rank = len(x.shape) + len(constant(reader, axes, "axes"))
    for axis in sorted(int(axis) % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


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
        places = np.arange(x.shape[axis])[int(start):int(end):int(step)]
        x = torch_shapes.slice_(reader, x, int(axis), int(start), int(end), int(step)) if step > 0 else (
            torch_shapes.taken(reader, x, int(axis) % len(x.shape), places))
    return x


@op("Split", 2, 11, 13, 18)
def split_(reader, x, split=None, *, axis, num_outputs=None):
    count = num_outputs or len(reader.node.output)
    sizes = -(-x.shape[axis] // count) if split is None else [int(one) for one in constant(reader, split, "sizes")]
    return torch_shapes.split(reader, x, sizes, axis)


@op("Gather", 1, 11, 13)
def gather(reader, x, indices, *, axis):
    if reader.is_live(indices):
        if axis != 0 or np.ndim(x) != 2 and not reader.is_live(x):
            reader.refuse("by computed numbers", "rows of a table")
        return torch_ops.embedding(reader, x, indices) if not reader.is_live(x) else torch_shapes.rows_at(reader, x, indices)
    return x.select(axis, int(indices)) if np.ndim(indices) == 0 else torch_shapes.taken(reader, x, axis % len(x.shape), indices)


@op("Dropout", 7, 10, 12, 13, 22)
def dropout(reader, x, ratio=None, training_mode=None, *, seed=None):
    if training_mode is not None and np.any(constant(reader, training_mode, "mode")):
        reader.refuse("in training", "the model for inference")
    return x


@op("Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(reader, x, *, to):
    """A mask of whole numbers that is an input becomes bytes."""
    from onnx import TensorProto
    integers = TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64
    if isinstance(x, Hiding) and to == TensorProto.FLOAT:
        return x
    x = loops.unhidden(reader, "", x, ())
    if to == TensorProto.BOOL:
        return torch_shapes.as_bytes(reader, x)
    if to != TensorProto.FLOAT and to not in integers:
        reader.refuse(f"to {TensorProto.DataType.Name(to).lower()}", "a model of float32 throughout")
    return loops.cast(reader, x, loops.FLOAT if to == TensorProto.FLOAT else loops.WHOLE)


@op("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(reader, x, like):
    from onnx import helper
    if reader.is_live(like):
        like = np.zeros(0, {np.uint8: np.bool_, np.uint32: np.int64}.get(loops.dtype_of(reader, like).type, np.float32))
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
    reader.scales[id(made)] = made, reader.scales.get(id(weight), (None, None))[1]
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
    rank = len(weight.shape) - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pairs = conv_pads(reader, x, weight.shape[2:], strides, pads, dilations, auto_pad)
    return torch_windows.conv(reader, x, weight, bias, strides, pairs, dilations, group)


def conv_pads(reader, x, kernel, strides, pads, dilations, auto_pad):
    """Pairs of elements before and after each side."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", "VALID"):
        pads = pads if pads and auto_pad == "NOTSET" else [0] * (2 * rank)
        return list(zip(pads[:rank], pads[rank:]))
    pairs = []
    for side, size, step, gap in zip(x.shape[2:], kernel, strides, dilations):
        missing = max(0, (-(-side // step) - 1) * step + (size - 1) * gap + 1 - side)
        pairs.append((missing // 2, missing - missing // 2) if auto_pad == "SAME_UPPER" else (missing - missing // 2, missing // 2))
    return pairs


@op("LayerNormalization", 17)
def layer_norm(reader, x, weight, bias=None, *, axis, epsilon):
    count = len(x.shape) - axis % len(x.shape)
    return torch_ops.last_norm(reader, x, count, {"weight": weight, "bias": bias}, kind="LAYER", epsilon=epsilon)


@op("RMSNormalization", 23)
def rms_norm(reader, x, weight, *, axis, epsilon):
    count = len(x.shape) - axis % len(x.shape)
    return torch_ops.last_norm(reader, x, count, {"weight": weight}, kind="RMS", epsilon=epsilon)


def simplified_norm(reader, x, weight, *, axis=-1, epsilon=1e-5):
    return rms_norm(reader, x, weight, axis=axis, epsilon=epsilon)


OPS["SimplifiedLayerNormalization"] = {1: simplified_norm}  # of ONNX Runtime, in the domain of ONNX


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


# --------------------------------------------------------------------------------------------- element by element

for name, versions, function in [
    ("Add", (7, 13, 14), ATEN["aten.add"]), ("And", (7,), torch_masks.both),
    ("Concat", (4, 11, 13), lambda reader, *pieces, axis: torch_shapes.cat(reader, pieces, axis)),
    ("Erf", (9, 13), torch_elements.unary("erf")),
    ("Flatten", (1, 9, 11, 13, 21, 23, 24, 25), lambda reader, x, *, axis:
        torch_shapes.reshape(reader, x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])),
    ("Gelu", (20,), lambda reader, x, *, approximate: torch_elements.gelu(reader, x, approximate=approximate)),
    ("GlobalAveragePool", (1, 22), lambda reader, x: torch_ops.mean(reader, x, list(range(2, len(x.shape))), True)),
    ("HardSwish", (14, 22), ATEN["aten.hardswish"]), ("Identity", (1, 13, 14, 16, 19, 21, 23, 24, 25), lambda reader, x: x),
    ("IsNaN", (9, 13, 20), torch_elements.unary("isnan")), ("Mul", (7, 13, 14), ATEN["aten.mul"]),
    ("Neg", (6, 13), ATEN["aten.neg"]), ("Not", (1,), torch_masks.inverted),
    ("Reciprocal", (6, 13), lambda reader, x: torch_elements.reciprocal(reader, x)), ("Relu", (6, 13, 14), ATEN["aten.relu"]),
    ("Shape", (1, 13, 15, 19, 21, 23, 24, 25), lambda reader, x, *, start=0, end=None: np.array(x.shape[start:end], np.int64)),
    ("Sigmoid", (6, 13), ATEN["aten.sigmoid"]), ("Sqrt", (6, 13), torch_elements.unary("sqrt")),
    ("Squeeze", (1, 11, 13, 21, 23, 24, 25), lambda reader, x, axes=None:
        x.squeeze(None if axes is None else [int(axis) for axis in constant(reader, axes, "axes")])),
    ("Sub", (7, 13, 14), ATEN["aten.sub"]), ("Tanh", (6, 13), ATEN["aten.tanh"]),
    ("Transpose", (1, 13, 21, 23, 24, 25), lambda reader, x, *, perm=None: x.permute(perm or range(len(x.shape))[::-1])),
]:
    op(name, *versions)(function)


@op("Swish", 24)
def swish(reader, x, *, alpha):
    if alpha == 0:
        reader.refuse("with alpha 0", "a product with 0.5")
    return torch_elements.activation("SILU", 0 if alpha == 1 else alpha)(reader, x)


@op("Clip", 6, 11, 12, 13)
def clip(reader, x, min=None, max=None):
    numbers = (None if one is None else float(np.ravel(constant(reader, one, "limits"))[0]) for one in (min, max))
    return torch_elements.clamp(reader, x, *(None if one is None or math.isinf(one) else one for one in numbers))


@op("Div", 7, 13, 14)
def div(reader, a, b):
    if loops.common(reader, (a, b)) != loops.FLOAT:
        reader.refuse("of whole numbers", "a division of float32")
    return torch_elements.div(reader, a, b)


@op("Pow", 7, 12, 13, 15)
def power(reader, x, exponent):
    one = not reader.is_live(exponent) and np.size(exponent) == 1 and np.ndim(exponent) <= len(x.shape)
    return torch_elements.power(reader, x, float(np.ravel(exponent)[0]) if one else exponent)


@op("Where", 9, 16)
def where(reader, condition, a, b):
    """In addition to masks: 0 in the place of NaN after a softmax, which has none here."""
    test = reader.graph.writer(condition) if reader.is_live(condition) else None
    if test is not None and test.op == "isnan" and test.x == b and not np.any(a):
        made = reader.graph.writer(b)
        if made is not None and made.op == "softmax":
            return b
    return torch_masks.where(reader, condition, a, b)
