# SPDX-License-Identifier: Apache-2.0
"""Operations of each element, and of all elements along some dimensions: functions of fovea, or else loops."""
import math

import numpy as np

from . import loops, views
from .loops import FLOAT
from .torch_ops import axes_of, mean
from .torch_shapes import OPS, converted, op, slice_


def activation(kind, alpha=0):

    def node(reader, x):
        y = reader.graph.arena(reader.name(kind.lower()), views.like(x, [], len(x.shape)))
        return reader.graph.add("activation", y.name, {"x": x, "factor": None}, y, reader.line, kind=kind, alpha=alpha)

    return node


for name, kind in (("relu", "RELU"), ("silu", "SILU"), ("sigmoid", "SIGMOID"), ("tanh", "TANH"), ("relu6", "RELU6"),
                   ("hardswish", "HARD_SWISH")):
    OPS["aten." + name] = OPS[f"aten.{name}_"] = activation(kind)


@op("gelu")
def gelu(reader, x, *, approximate="none"):
    return activation("GELU" if approximate == "none" else "GELU_TANH")(reader, x)


def pair(kind):
    """Of float32. A constant is b, as both are symmetric."""

    def node(reader, a, b):
        a, b = (reader.tensor(one if reader.is_live(one) else reader.floats(one), kind) for one in (a, b))
        if a.is_constant:
            a, b = b, a
        rank = max(len(a.shape), len(b.shape))
        shape = np.broadcast_shapes(a.shape, b.shape)
        a, b = a.expand(shape), b.expand(shape)
        first = a if all(stride for dim in a.dims for _, stride in dim) or b.is_constant else b
        y = reader.graph.arena(reader.name(kind), views.like(first, [], rank))
        return reader.graph.add(kind, y.name, {"a": a, "b": b}, y, reader.line)

    return node


def arithmetic(kind, floats, booleans):
    """floats: of float32. Whole numbers and booleans take loops."""

    def node(reader, a, b, *, alpha=1):
        if alpha != 1:
            b = OPS["aten.mul"](reader, b, alpha) if reader.is_live(b) else b * alpha
        dtype = loops.common(reader, (a, b))
        if dtype != FLOAT:
            return loops.node(reader, booleans if dtype == loops.BOOL else kind, [a, b])
        return floats(reader, *(loops.cast(reader, one, FLOAT) if reader.is_live(one) else one for one in (a, b)))

    return node


def difference(reader, a, b):
    return OPS["aten.add"](reader, a, OPS["aten.mul"](reader, b, -1.0) if reader.is_live(b) else -reader.floats(b))


OPS["aten.add"] = OPS["aten.add_"] = arithmetic("add", pair("add"), "logical_or")
OPS["aten.mul"] = OPS["aten.mul_"] = multiply = arithmetic("mul", pair("mul"), "logical_and")
OPS["aten.sub"] = OPS["aten.sub_"] = sub = arithmetic("sub", difference, "logical_xor")


@op("neg")
def neg(reader, x):
    return multiply(reader, x, -1 if x.buffer.dtype != np.float32 else -1.0)


@op("div", "div_")
def div(reader, a, b, *, rounding_mode=None):
    if rounding_mode is not None:
        reader.refuse(f"with rounding_mode {rounding_mode}", "a division of float32")
    if reader.is_live(b) or (np.abs(np.frexp(b)[0]) != 0.5).any() and loops.is_rounded(reader):
        return loops.node(reader, "div", [loops.cast(reader, one, FLOAT) for one in (a, b)])
    return multiply(reader, a, 1 / reader.floats(b))


@op("pow", "pow_")
def power(reader, x, exponent):
    if reader.is_live(x) and not reader.is_live(exponent) and np.ndim(exponent) == 0:
        known = {2: lambda: multiply(reader, x, x), 3: lambda: multiply(reader, multiply(reader, x, x), x), 1: lambda: x,
                 0.5: lambda: unary("sqrt")(reader, x), -0.5: lambda: unary("rsqrt")(reader, x), -1: lambda: reciprocal(reader, x)}
        if float(exponent) in known:
            return known[float(exponent)]()
    return loops.node(reader, "pow", [loops.cast(reader, one, FLOAT) for one in (x, exponent)])


def unary(kind):
    """Of float32: a node of its own, which patterns.py may find, or else a loop."""

    def node(reader, x):
        x = loops.cast(reader, x, FLOAT)
        y = reader.graph.arena(reader.name(kind), loops.order_of([x], x.shape), loops.LOOPS[kind].result)
        return reader.graph.add(kind, y.name, {"x": x}, y, reader.line)

    return node


def loop(kind, *constants):
    """The loop of this kind, of PyTorch's arguments. constants: defaults of those that are left out."""

    def node(reader, *values, inplace=False):
        return loops.node(reader, kind, [*values, *constants[len(constants) - len(loops_of(kind)) + len(values):]])

    return node


def loops_of(kind):
    """The operands of a loop."""
    return [role for role in loops.ROLES if f"{{{role}}}" in loops.LOOPS[kind].text]


for kind in ("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "erf", "floor", "ceil", "round"):
    OPS["aten." + kind] = unary(kind)
for kind in ("sign", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_xor"):
    OPS["aten." + kind] = loop(kind)


@op("reciprocal")
def reciprocal(reader, x):
    return loops.node(reader, "div", [np.float32(1), x])


@op("logical_or", "bitwise_or", "__or__")
def either(reader, a, b):
    if loops.common(reader, (a, b)) != loops.BOOL:
        reader.refuse("of numbers", "masks of booleans")
    return loops.node(reader, "logical_or", [a, b])


@op("leaky_relu")
def leaky_relu(reader, x, slope=0.01):
    return loops.node(reader, "leaky_relu", [x, np.float32(slope)])


@op("prelu", "_prelu_kernel")
def prelu(reader, x, weight):
    if not reader.is_live(weight) and weight.dim() == 1 and len(x.shape) > 1:
        weight = weight.reshape([-1] + [1] * (len(x.shape) - 2))
    return loops.node(reader, "leaky_relu", [x, weight])


@op("elu")
def elu(reader, x, alpha=1.0, scale=1.0, input_scale=1.0):
    x = x if input_scale == 1 else multiply(reader, x, float(input_scale))
    if input_scale != 1:  # above 0 the answer is x * scale
        scale, alpha = scale / input_scale, alpha * input_scale
    y = loops.node(reader, "elu", [x, np.float32(alpha)])
    return y if scale == 1 else multiply(reader, y, float(scale))


@op("celu")
def celu(reader, x, alpha=1.0):
    return elu(reader, x, alpha, 1.0, 1.0 / alpha)


@op("softplus")
def softplus(reader, x, beta=1.0, threshold=20.0):
    return loops.node(reader, "softplus", [x, np.float32(beta), np.float32(threshold)])


@op("log_sigmoid", "log_sigmoid_forward")
def log_sigmoid(reader, x):
    y = neg(reader, softplus(reader, neg(reader, x)))
    return [y, None] if "forward" in str(reader.node.target) else y


@op("glu")
def glu(reader, x, axis=-1):
    half = x.shape[axis] // 2
    return multiply(reader, slice_(reader, x, axis, 0, half),
                    activation("SIGMOID")(reader, slice_(reader, x, axis, half, 2 * half)))


@op("clamp", "clamp_min", "clamp_max", "hardtanh", "clamp_", "hardtanh_")
def clamp(reader, x, least=None, most=None):
    name = str(getattr(reader.node, "target", ""))
    if "clamp_max" in name:
        least, most = None, least
    if "hardtanh" in name:
        least, most = -1.0 if least is None else least, 1.0 if most is None else most
    if x.buffer.dtype == np.float32 and not any(reader.is_live(one) or np.ndim(one) for one in (least, most)) and least == 0:
        if most in (None, 6):
            return activation("RELU" if most is None else "RELU6")(reader, x)
    for kind, one in (("maximum", least), ("minimum", most)):
        if one is not None:
            x = loops.node(reader, kind, [x, np.float32(one) if x.buffer.dtype == np.float32 and not reader.is_live(one) else one])
    return x


# ------------------------------------------------------------------------------------------------ along dimensions


@op("sum")
def total(reader, x, axes=None, keep=False, *, dtype=None):
    """Of float32: the mean times how many there are. Whole numbers, and sums that are rounded, are added one by one."""
    if x.buffer.dtype != np.float32 and (dtype is None or not dtype.is_floating_point):
        return loops.reduced(reader, "add", loops.cast(reader, x, loops.WHOLE), axes, keep)
    if loops.is_whole(reader, x) or loops.is_rounded(reader):
        return loops.reduced(reader, "add", loops.cast(reader, x, loops.FLOAT), axes, keep)
    count = math.prod(x.shape[axis] for axis in axes_of(x, axes))
    y = mean(reader, x, axes, keep, dtype=dtype)
    return y if count == 1 else multiply(reader, y, float(count))


@op("var")
def var(reader, x, axes=None, unbiased=None, keep=False, *, correction=None, keepdim=False):
    return var_mean(reader, x, axes, unbiased, keep, correction=correction, keepdim=keepdim)[0]


@op("var_mean")
def var_mean(reader, x, axes=None, unbiased=None, keep=False, *, correction=None, keepdim=False):
    if isinstance(axes, bool):
        axes, unbiased = None, axes
    taken = 1 if correction is None else correction
    taken = taken if unbiased is None else int(unbiased)
    axes, keep = axes_of(x, axes), keep or keepdim
    count = math.prod(x.shape[axis] for axis in axes)
    if count <= taken:
        reader.refuse("of one element", "more elements, or unbiased=False")
    middle = mean(reader, x, axes, True)
    away = sub(reader, x, middle)
    y = mean(reader, multiply(reader, away, away), axes, keep)
    y = y if taken == 0 else multiply(reader, y, count / (count - taken))
    return [y, middle if keep else middle.squeeze(axes)]


@op("linalg_vector_norm", "norm")
def norm(reader, x, order=2, axes=None, keep=False, *, dtype=None):
    if dtype and dtype != reader.torch.float32:
        reader.refuse(f"in {dtype}", "a norm in float32")
    order = 2 if order is None else float(order)
    if order not in (1, 2, math.inf):
        reader.refuse(f"of order {order}", "the orders 1, 2 and infinity")
    if order == 2:
        return unary("sqrt")(reader, total(reader, multiply(reader, x, x), axes, keep))
    x = loops.node(reader, "abs", [x])
    return total(reader, x, axes, keep) if order == 1 else loops.reduced(reader, "maximum", x, axes, keep)


def extreme(kind):

    def node(reader, x, other=None, keep=False):
        if reader.is_live(other) or getattr(other, "shape", None) is not None:
            return loops.node(reader, kind, [x, other])
        y = loops.reduced(reader, kind, x, other, keep)
        return [y, None] if isinstance(other, int) and "amax" not in str(reader.node) and "amin" not in str(reader.node) else y

    return node


OPS["aten.max"], OPS["aten.min"] = extreme("maximum"), extreme("minimum")


def along(kind, dtype=None):

    def node(reader, x, axes=None, keep=False):
        return loops.reduced(reader, kind, x if dtype is None else loops.cast(reader, x, dtype), axes, keep)

    return node


OPS["aten.amax"], OPS["aten.amin"] = along("maximum"), along("minimum")
OPS["aten.any"], OPS["aten.all"] = along("logical_or", loops.BOOL), along("logical_and", loops.BOOL)


@op("prod")
def prod(reader, x, axes=None, keep=False, *, dtype=None):
    x = converted(reader, x, dtype=dtype)
    return loops.reduced(reader, "mul", x if x.buffer.dtype == np.float32 else loops.cast(reader, x, loops.WHOLE), axes, keep)


@op("cumsum")
def cumsum(reader, x, axis, *, dtype=None):
    x = converted(reader, x, dtype=dtype)
    return loops.cumulative(reader, x if x.buffer.dtype == np.float32 else loops.cast(reader, x, loops.WHOLE), axis % len(x.shape))


@op("logsumexp")
def logsumexp(reader, x, axes, keep=False):
    most = float(np.finfo(np.float32).max)  # a difference from infinity would be NaN
    largest = clamp(reader, loops.reduced(reader, "maximum", x, axes, True), -most, most)
    y = unary("log")(reader, total(reader, unary("exp")(reader, sub(reader, x, largest)), axes, True))
    y = OPS["aten.add"](reader, y, largest)
    return y if keep else y.squeeze(axes_of(x, axes))


for names, function in {
    "rsub": lambda reader, a, b, alpha=1: sub(reader, b, a, alpha=alpha),
    "abs": lambda reader, x:
        loops.node(reader, "abs", [x]) if x.buffer.dtype == np.float32 else loops.node(reader, "maximum", [x, neg(reader, x)]),
    "isnan": lambda reader, x: unary("isnan")(reader, x),
    "square": lambda reader, x: multiply(reader, x, x),
    "selu": lambda reader, x: elu(reader, x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946),
    "mish": lambda reader, x: multiply(reader, x, activation("TANH")(reader, softplus(reader, x))),
    "softsign": lambda reader, x: div(reader, x, OPS["aten.add"](reader, loops.node(reader, "abs", [x]), 1.0)),
    "hardsigmoid": lambda reader, x: multiply(reader, activation("RELU6")(reader, OPS["aten.add"](reader, x, 3.0)), 1 / 6),
    "std": lambda reader, x, *args, **kwargs: unary("sqrt")(reader, var(reader, x, *args, **kwargs)),
}.items():
    op(*names.split())(function)
