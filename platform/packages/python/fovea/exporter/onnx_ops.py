# SPDX-License-Identifier: Apache-2.0
"""What each operator of ONNX becomes. Most become what the same operation of PyTorch does: torch_ops.py."""
import math

import numpy as np

from . import torch_ops, views

OPS = {}
REPLACEMENTS = {
    "LSTM": "attention", "GRU": "attention", "BatchNormalization": "its scale and shift in the layer before"
}
ATEN = torch_ops.OPS


def op(*names):
    return lambda function: [OPS.__setitem__(name, function) for name in names] and function


def constant(reader, value, what):
    """The value, which must not depend on an input."""
    if reader.is_live(value):
        reader.refuse(f"with computed {what}", f"constant {what}")
    return value


# ------------------------------------------------------------------------------------------------------------ views


@op("Reshape")
def reshape(reader, x, shape, allowzero=0):
    shape = [int(size) for size in constant(reader, shape, "sizes")]
    return torch_ops.reshape(reader, x, [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)])


@op("Flatten")
def flatten(reader, x, axis=1):
    return torch_ops.reshape(reader, x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


@op("Transpose")
def transpose(reader, x, perm=None):
    return x.permute(perm or range(len(x.shape))[::-1])


@op("Unsqueeze")
def unsqueeze(reader, x, axes):
    rank = len(x.shape) + len(axes)
    for axis in sorted(int(axis) % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@op("Squeeze")
def squeeze(reader, x, axes=None):
    return x.squeeze(None if axes is None else [int(axis) for axis in axes])


@op("Expand")
def expand(reader, x, shape):
    shape = [int(size) for size in constant(reader, shape, "sizes")]
    return x.expand(np.broadcast_shapes(x.shape, shape))


@op("Slice")
def slice_(reader, x, starts, ends, axes=None, steps=None):
    starts, ends = (constant(reader, one, "places") for one in (starts, ends))
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step < 1:
            reader.refuse("backwards", "a slice forwards")
        x = torch_ops.slice_(reader, x, int(axis), int(start), int(end), int(step))
    return x


@op("Split")
def split(reader, x, sizes=None, axis=0, num_outputs=None):
    count = num_outputs or len(reader.node.output)
    sizes = -(-x.shape[axis] // count) if sizes is None else [int(one) for one in sizes]
    return torch_ops.split(reader, x, sizes, axis)


@op("Concat")
def concat(reader, *pieces, axis):
    return torch_ops.cat(reader, pieces, axis)


@op("Gather")
def gather(reader, x, indices, axis=0):
    if reader.is_live(indices):
        if reader.is_live(x) or axis != 0 or np.ndim(x) != 2:
            reader.refuse("by computed numbers", "rows of a constant table")
        return torch_ops.embedding(reader, x, indices)
    if np.ndim(indices) == 0:
        return x.select(axis, int(indices))
    steps = np.diff(np.ravel(indices))
    if np.ndim(indices) != 1 or (steps != steps[:1]).any() or (steps[:1] < 1).any():
        reader.refuse("of these places", "a slice")
    first, last = int(indices[0]), int(indices[-1])
    return torch_ops.slice_(reader, x, axis, first, last + 1, int(steps[0]) if len(steps) else 1)


@op("Identity", "Dropout")
def same(reader, x, *_, **__):
    return x


@op("Cast", "CastLike")
def cast(reader, x, *_, to=1, **__):
    if to != 1 and x.buffer.dtype == np.float32:
        reader.refuse("from float32", "a model of float32 throughout")
    return x


# ----------------------------------------------------------------------------------------------------------- layers


@op("MatMul")
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


@op("Gemm")
def gemm(reader, a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    if transA or reader.is_live(b) or reader.is_live(c) or (c is not None and np.ndim(c) > 1 and c.shape[0] > 1):
        reader.refuse("of computed matrices", "weights and a bias that are constant")
    weight = b if transB else transposed(reader, b)
    weight = weight if alpha == 1 else weight * np.float32(alpha)
    bias = None if c is None else np.broadcast_to(c, (1, len(weight)))[0] * np.float32(beta)
    return torch_ops.linear_node(reader, a, reader.tensor(weight),
                                 None if bias is None else reader.tensor(bias, "bias"))


@op("Conv")
def conv(reader, x, weight, bias=None, strides=None, pads=None, dilations=None, group=1, auto_pad="NOTSET",
         kernel_shape=None):
    if auto_pad not in ("NOTSET", "VALID"):
        reader.refuse("with padding", "patches: a stride as large as the kernel, without padding")
    rank = np.ndim(weight) - 2
    return torch_ops.conv2d(reader, x, weight, bias, strides or [1] * rank, pads or [0] * rank, dilations or [1] * rank,
                            group)


@op("LayerNormalization")
def layer_norm(reader, x, weight, bias=None, axis=-1, epsilon=1e-5, stash_type=1):
    if axis not in (-1, len(x.shape) - 1):
        reader.refuse("of several dimensions", "a normalisation of the last dimension")
    return torch_ops.norm_node(reader, x, x.shape[-1], weight=weight, bias=bias, kind="LAYER", epsilon=epsilon)


@op("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(reader, x, weight, axis=-1, epsilon=1e-5, stash_type=1):
    return torch_ops.norm_node(reader, x, x.shape[-1], weight=weight, kind="RMS", epsilon=epsilon)


@op("Attention")
def attention(reader, q, k, v, mask=None, past_key=None, past_value=None, is_causal=0, scale=None, softcap=0.0,
              q_num_heads=None, kv_num_heads=None, softmax_precision=None, qk_matmul_output_mode=0):
    if past_key is not None or softcap:
        reader.refuse("with a past, or softcap", "attention without it")
    flat = len(q.shape) == 3
    if flat:
        q, k, v = (one.reshape([*one.shape[:2], heads, one.shape[2] // heads]).transpose(1, 2)
                   for one, heads in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    if k.shape[1] != q.shape[1]:  # groups of query heads share a key head
        times = q.shape[1] // k.shape[1]
        k, v = (one.unsqueeze(2).expand([*one.shape[:2], times,
                                         *one.shape[2:]]).reshape([one.shape[0], q.shape[1], *one.shape[2:]])
                for one in (k, v))
    y = torch_ops.attention(reader, q, k, v, mask, 0.0, bool(is_causal), scale=scale)
    return y.transpose(1, 2).reshape([y.shape[0], y.shape[2], -1]) if flat else y


@op("Softmax")
def softmax(reader, x, axis=-1):
    return torch_ops.softmax(reader, x, axis)


@op("ReduceMean")
def mean(reader, x, axes=None, keepdims=1, noop_with_empty_axes=0):
    return torch_ops.mean(reader, x, None if axes is None else [int(axis) for axis in axes], bool(keepdims))


@op("GlobalAveragePool")
def global_mean(reader, x):
    return torch_ops.mean(reader, x, list(range(2, len(x.shape))), True)


# --------------------------------------------------------------------------------------------- element by element

for name in ("Relu", "Sigmoid", "Tanh", "Neg"):
    OPS[name] = ATEN["aten." + name.lower()]
OPS["Add"], OPS["Mul"], OPS["HardSwish"] = ATEN["aten.add"], ATEN["aten.mul"], ATEN["aten.hardswish"]
OPS["Erf"], OPS["Sqrt"] = torch_ops.pattern_only("erf"), torch_ops.pattern_only("sqrt")


@op("Gelu")
def gelu(reader, x, approximate="none"):
    return torch_ops.gelu(reader, x, approximate=approximate)


@op("Swish")
def swish(reader, x, alpha=1.0):
    return torch_ops.activation("SILU", 0 if alpha == 1 else alpha)(reader, x)


@op("Clip")
def clip(reader, x, least=None, most=None):
    return torch_ops.hardtanh(reader, x, *(None if one is None else float(one) for one in (least, most)))


@op("Sub")
def sub(reader, a, b):
    b = ATEN["aten.neg"](reader, b) if reader.is_live(b) else -b
    return ATEN["aten.add"](reader, a, b)


@op("Reciprocal")
def reciprocal(reader, x):
    """Of a root: a part of RMS normalisation."""
    root = reader.graph.writer(x)
    if root is None or root.op != "sqrt":
        reader.refuse("of a computed tensor", "a normalisation or a softmax of fovea, where it is one")
    root.op = "rsqrt"
    return x


@op("Div")
def div(reader, a, b):
    if reader.is_live(b):
        return ATEN["aten.mul"](reader, a, reciprocal(reader, b))
    return ATEN["aten.mul"](reader, a, np.float32(1) / b)


@op("Pow")
def power(reader, x, exponent):
    return torch_ops.power(reader, x, float(constant(reader, exponent, "exponents")))


OPS["IsNaN"] = torch_ops.pattern_only("isnan")


@op("Where")
def where(reader, condition, a, b):
    """Of a constant: what it hides becomes the least number. And 0 in the place of NaN after a softmax, which has none
    here."""
    test = reader.graph.writer(condition) if reader.is_live(condition) else None
    if test is not None and test.op == "isnan" and test.x == b and not np.any(a):
        reader.graph.nodes.remove(test)
        return b
    if reader.is_live(condition) or reader.is_live(b) or np.ndim(b) or b > -1e4:
        reader.refuse("of computed conditions", "a mask that is added to scores")
    return ATEN["aten.add"](reader, a, np.where(condition, np.float32(0), np.float32(b)))
