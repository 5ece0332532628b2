# SPDX-License-Identifier: Apache-2.0
"""What each operation of torch.export becomes: a view, or nodes. A function gets the reader and PyTorch's arguments."""
import math

import numpy as np

from . import loops, views
from .torch_shapes import OPS, op, reshape

REPLACEMENTS = {
    "aten.native_dropout": "torch.nn.Dropout, or a function of dropout that is given training=self.training",
    **dict.fromkeys(("aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu"),
                    "attention, or a gated delta rule, which fovea_delta computes: a recurrence of fovea's own"),
    **dict.fromkeys(("aten.conv_transpose1d", "aten.conv_transpose2d"), "an upsampling by repetition, and a convolution")}
SKIPPED = {"aten._assert_tensor_metadata", "aten.sym_size"}


# ----------------------------------------------------------------------------------------------------------- layers


def linear_node(reader, x, weight, bias):
    """x has any layout of its rows; the answer has their order."""
    graph, out = reader.graph, weight.shape[0]
    y = graph.arena(reader.name("linear"), views.like(x, [out], len(x.shape) - 1))
    return graph.add("linear", y.name, {"x": x, "weight": weight, "bias": bias}, y, reader.line)


@op("linear")
def linear(reader, x, weight, bias=None):
    if reader.is_live(weight) or reader.is_live(bias):
        reader.refuse("with weights that are computed", "weights that are parameters")
    return linear_node(reader, x, reader.tensor(weight), None if bias is None else reader.tensor(bias))


@op("addmm")
def addmm(reader, bias, x, weight, *, beta=1, alpha=1):
    if reader.is_live(weight) or reader.is_live(bias) or bias.dim() != 1:
        reader.refuse("with weights that are computed", "weights that are parameters")
    return linear(reader, x, weight.t() * alpha, bias * beta)


@op("mm", "matmul", "bmm")
def matmul(reader, a, b):
    if reader.is_live(a) and not reader.is_live(b) and b.dim() == 2:
        return linear(reader, a, b.t())
    a, b = reader.tensor(a), reader.tensor(b)
    rank = max(len(a.shape), len(b.shape))
    if min(len(a.shape), len(b.shape)) < 2:
        reader.refuse("of a vector", "matrices")
    outer = [max(pair) for pair in zip(*([1] * (rank - len(one.shape)) + list(one.shape[:-2]) for one in (a, b)))]
    a, b = a.expand([*outer, *a.shape[-2:]]), b.expand([*outer, *b.shape[-2:]])
    dims = views.dense_dims([*outer, a.shape[-2], b.shape[-1]])
    softmax = reader.graph.writer(a)
    if softmax is not None and softmax.op == "softmax" and outer:  # attention: the heads of a token follow one another
        loops = views.merged(b.dims[-3]) if len(views.merged(b.dims[-3])) == 2 else [(1, 0), (outer[-1], 0)]
        sizes = [*outer[:-1], loops[0][0], loops[1][0], a.shape[-2], b.shape[-1]]
        memory = views.dense_dims([*sizes[:-3], sizes[-2], sizes[-3], sizes[-1]])
        dims = [*memory[:len(outer) - 1], (*memory[-4], *memory[-2]), memory[-3], memory[-1]]
    y = reader.graph.arena(reader.name("matmul"), tuple(dims))
    return reader.graph.add("matmul", y.name, {"a": a, "b": b}, y, reader.line)


@op("baddbmm")
def baddbmm(reader, c, a, b, *, beta=1, alpha=1):
    if alpha != 1 or beta != 1:
        reader.refuse("with factors", "factors of 1")
    return OPS["aten.add"](reader, matmul(reader, a, b), c)


@op("einsum")
def einsum(reader, equation, operands, *, path=None):
    """Of two tensors, as one product of matrices: letters of both are a batch, or are summed over."""
    left, _, out = equation.replace(" ", "").partition("->")
    names = left.split(",")
    if len(names) != 2 or not out or "." in equation or any(len(set(one)) < len(one) for one in (*names, out)):
        reader.refuse(f"of {equation}", "products of two tensors, whose letters are all named once")
    operands = [reader.tensor(one) for one in operands]
    for index, one in enumerate(names):
        alone = [axis for axis, letter in enumerate(one) if letter not in out and letter not in names[1 - index]]
        if alone:
            operands[index] = OPS["aten.sum"](reader, operands[index], alone)
            names[index] = "".join(letter for letter in one if letter in out or letter in names[1 - index])
    batch, inner = ([letter for letter in names[0] if letter in names[1] and (letter in out) == kept] for kept in (True, False))
    rest = [[letter for letter in one if letter not in batch + inner] for one in names]
    size = {letter: size for one, tensor in zip(names, operands) for letter, size in zip(one, tensor.shape)}
    count = [math.prod(size[letter] for letter in letters) for letters in (batch, rest[0], inner, rest[1])]
    a, b = (reshape(reader, tensor.permute([one.index(letter) for letter in order]), shape)
            for one, tensor, order, shape in zip(names, operands, (batch + rest[0] + inner,
                                                                   batch + inner + rest[1]), (count[:3], [count[0], *count[2:]])))
    a, b = (a, b) if batch else (a.squeeze([0]), b.squeeze([0]))
    found = batch + rest[0] + rest[1]
    y = reshape(reader, matmul(reader, a, b), [size[letter] for letter in found])
    return y.permute([found.index(letter) for letter in out])


@op("embedding")
def embedding(reader, weight, ids, *_, **__):
    table = reader.tensor(weight)
    if ids.buffer.dtype != np.uint32:
        reader.refuse("of a mask", "token numbers")
    y = reader.graph.arena(reader.name("embedding"), views.dense_dims([*ids.shape, table.shape[1]]))
    return reader.graph.add("embedding", y.name, {"ids": ids, "table": table}, y, reader.line)


def norm_node(reader, x, dim, **inputs):
    attrs = {key: inputs.pop(key) for key in ("kind", "epsilon")}
    y = reader.graph.arena(reader.name("norm"), views.like(x, [dim], len(x.shape) - 1))
    inputs = {role: one if one is None else reader.tensor(one, role) for role, one in inputs.items()}
    if any(one is not None and (one.count != dim or not one.is_dense()) for one in inputs.values()):
        reader.refuse("with weights of another shape", "a weight for each element of a row")
    return reader.graph.add("norm", y.name, {"x": x, **inputs}, y, reader.line, **attrs)


def last_norm(reader, x, count, weights, **attrs):
    """Of the last `count` dimensions, which become one."""
    rows = x if count == 1 else reshape(reader, x, [*x.shape[:-count], math.prod(x.shape[-count:])])
    weights = {role: one if one is None or count == 1 or reader.is_live(one) else one.reshape(-1) for role, one in weights.items()}
    return norm_node(reader, rows, rows.shape[-1], **weights, **attrs).reshape(x.shape)


@op("rms_norm")
def rms_norm(reader, x, shape, weight=None, epsilon=None):
    epsilon = float(np.finfo(np.float32).eps) if epsilon is None else epsilon
    return last_norm(reader, x, len(shape), {"weight": weight}, kind="RMS", epsilon=epsilon)


def by_channel(reader, x, scale, shift):
    """x * scale + shift, with a number of each for a channel: patterns.py takes them into a linear layer where there is one."""
    for kind, one in (("mul", scale), ("add", shift)):
        if one is not None:
            x = OPS["aten." + kind](reader, x, one.reshape([-1] + [1] * (len(x.shape) - 2)))
    return x


@op("_native_batch_norm_legit_no_training", "batch_norm")
def batch_norm(reader, x, weight, bias, mean, variance, *rest):
    """rest ends with the momentum and epsilon, and has whether it is in training before and whether CUDNN serves after them."""
    if len(rest) == 4 and rest[0] or any(reader.is_live(one) for one in (weight, bias, mean, variance)) or mean is None:
        reader.refuse("in training", "module.eval(), with numbers that are kept")
    epsilon = rest[-1] if len(rest) == 2 else rest[2]
    mean, variance = (np.asarray(one, np.float64) for one in (mean, variance))
    scale = (1.0 if weight is None else np.asarray(weight, np.float64)) / np.sqrt(variance + epsilon)
    shift = (0.0 if bias is None else np.asarray(bias, np.float64)) - mean * scale
    y = by_channel(reader, x, scale.astype(np.float32), shift.astype(np.float32))
    return [y, None, None] if len(rest) == 2 else y


@op("group_norm")
def group_norm(reader, x, groups, weight=None, bias=None, epsilon=1e-5, *_):
    if any(reader.is_live(one) for one in (weight, bias)):
        reader.refuse("with weights that are computed", "weights that are parameters")
    rows = reshape(reader, x, [x.shape[0], groups, -1])
    y = norm_node(reader, rows, rows.shape[-1], weight=None, bias=None, kind="LAYER", epsilon=epsilon)
    return by_channel(reader, reshape(reader, y, x.shape), weight, bias)


@op("instance_norm")
def instance_norm(reader, x, weight, bias, mean, variance, own, momentum, epsilon, *_):
    if not own:
        reader.refuse("with numbers that are kept", "track_running_stats=False")
    return group_norm(reader, x, x.shape[1], weight, bias, epsilon)


@op("scaled_dot_product_attention")
def attention(reader, q, k, v, mask=None, dropout=0.0, causal=False, *, scale=None, enable_gqa=False, softcap=0.0,
              sinks=None):
    if dropout:
        reader.refuse("with dropout", "dropout_p=self.dropout if self.training else 0")
    q, k, v = (reader.tensor(one) for one in (q, k, v))
    rank = len(q.shape)
    if rank < 4:
        q, k, v = (one._with([()] * (4 - rank) + list(one.dims)) for one in (q, k, v))
    batch, heads, tokens, _ = q.shape
    if rank > 4:
        reader.refuse(f"of {rank} dimensions", "[batch, heads, tokens, dim]")
    if mask is not None:
        mask = reader.tensor(mask)
        mask = mask.expand([batch, heads, tokens, k.shape[2]])
    memory = views.dense_dims([batch, tokens, heads, v.shape[3]])
    y = reader.graph.arena(reader.name("attention"), memory).transpose(1, 2)
    reader.graph.add("attention", y.name, {"q": q, "k": k, "v": v, "mask": mask, "sinks": sinks}, y, reader.line, causal=causal,
                     softcap=softcap, scale=1 / math.sqrt(q.shape[3]) if scale is None else scale)
    return y if rank == 4 else y.reshape([*y.shape[4 - rank:]])


def softmax_node(reader, x, axis, dtype=None, log=False):
    if dtype and dtype != reader.torch.float32:
        reader.refuse(f"in {dtype}", "a softmax in float32")
    y = reader.graph.arena(reader.name("softmax"), views.dense_dims(x.shape))
    return reader.graph.add("log_softmax" if log else "softmax", y.name, {"x": x}, y, reader.line, axis=axis % len(x.shape))


@op("softmax", "_softmax", "_safe_softmax")
def softmax(reader, x, axis, dtype=None):
    return softmax_node(reader, x, axis, dtype or None)


def axes_of(x, axes):
    axes = [axes] if isinstance(axes, int) else axes
    return list(range(len(x.shape))) if axes is None or not len(axes) else sorted(axis % len(x.shape) for axis in axes)


@op("mean")
def mean(reader, x, axes=None, keep=False, *, dtype=None):
    if dtype and dtype != reader.torch.float32:
        reader.refuse(f"in {dtype}", "a mean in float32")
    x, axes = loops.cast(reader, x, loops.FLOAT), axes_of(x, axes)
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    size = math.prod(x.shape[axis] for axis in axes)
    rows = x.permute([*kept, *axes]).reshape([*(x.shape[axis] for axis in kept), size])
    if rows is None:
        rows = reader.copied(x.permute([*kept, *axes])).reshape([*(x.shape[axis] for axis in kept), size])
    y = reader.graph.arena(reader.name("mean"), views.dense_dims(rows.shape[:-1]))
    reader.graph.add("mean", y.name, {"x": rows}, y, reader.line, axes=axes)
    return y.reshape([1 if axis in axes else size for axis, size in enumerate(x.shape)]) if keep else y


for names, function in {
    "layer_norm": lambda reader, x, shape, weight=None, bias=None, epsilon=1e-5, *_:
        last_norm(reader, x, len(shape), {"weight": weight, "bias": bias}, kind="LAYER", epsilon=epsilon),
    "native_group_norm": lambda reader, x, weight, bias, batch, channels, rest, groups, epsilon:
        [group_norm(reader, x, groups, weight, bias, epsilon), None, None],
    "log_softmax _log_softmax": lambda reader, x, axis, dtype=None: softmax_node(reader, x, axis, dtype or None, True),
}.items():
    op(*names.split())(function)
