# SPDX-License-Identifier: Apache-2.0
"""More operators of ONNX: of each element, along dimensions, and of windows. They become what torch_*.py make of the same."""
import numpy as np

from . import loops, torch_elements, torch_ops, torch_shapes, torch_windows
from .onnx_ops import ATEN, REPLACEMENTS, conv_pads, constant, op

for name, versions, kind in [("Abs", (6, 13), "abs"), ("Ceil", (6, 13), "ceil"), ("Cos", (7, 22), "cos"), ("Exp", (6, 13), "exp"),
                             ("Floor", (6, 13), "floor"), ("Log", (6, 13), "log"), ("Mish", (18, 22), "mish"),
                             ("Round", (11, 22), "round"), ("Sin", (7, 22), "sin"),
                             ("Softplus", (1, 22), "softplus"), ("Softsign", (1, 22), "softsign"),
                             ("Equal", (7, 11, 13, 19), "eq"), ("Greater", (7, 9, 13), "gt"), ("GreaterOrEqual", (12, 16), "ge"),
                             ("Less", (7, 9, 13), "lt"), ("LessOrEqual", (12, 16), "le"), ("Or", (7, ), "logical_or"),
                             ("Xor", (7, ), "logical_xor")]:
    op(name, *versions)(lambda reader, *values, kind=kind: ATEN["aten." + kind](reader, *values))
REPLACEMENTS["ConvTranspose"] = "an upsampling by repetition, and a convolution"


@op("HardSigmoid", 6, 22)
def hard_sigmoid(reader, x, *, alpha, beta):
    x = ATEN["aten.add"](reader, ATEN["aten.mul"](reader, x, alpha), beta)
    return torch_elements.clamp(reader, x, 0.0, 1.0)


def several(kind):

    def node(reader, *values):
        y = values[0]
        for one in values[1:]:
            y = ATEN["aten." + kind](reader, y, one)
        return y

    return node


op("Max", 8, 12, 13)(several("maximum"))
op("Min", 8, 12, 13)(several("minimum"))
op("Sum", 8, 13)(several("add"))
op("Sign", 9, 13)(lambda reader, x: loops.node(reader, "sign_or_nan", [x]))


# ------------------------------------------------------------------------------------------------ along dimensions


def reduction(function):

    def node(reader, x, axes=None, *, keepdims, noop_with_empty_axes=0):
        axes = [] if axes is None else [int(axis) for axis in constant(reader, axes, "axes")]
        return x if noop_with_empty_axes and not axes else function(reader, x, axes or None, bool(keepdims))

    return node


def of_squares(function):
    return lambda reader, x, axes, keep: function(reader, torch_elements.multiply(reader, x, x), axes, keep)


for name, versions, function in [
    ("ReduceSum", (1, 11, 13), torch_elements.total), ("ReduceMax", (1, 11, 12, 13, 18, 20), ATEN["aten.amax"]),
    ("ReduceMin", (1, 11, 12, 13, 18, 20), ATEN["aten.amin"]), ("ReduceProd", (1, 11, 13, 18), torch_elements.prod),
    ("ReduceSumSquare", (1, 11, 13, 18), of_squares(torch_elements.total)),
    ("ReduceL1", (1, 11, 13, 18), lambda reader, x, axes, keep: torch_elements.norm(reader, x, 1, axes, keep)),
    ("ReduceL2", (1, 11, 13, 18), lambda reader, x, axes, keep: torch_elements.norm(reader, x, 2, axes, keep)),
    ("ReduceLogSumExp", (1, 11, 13, 18), torch_elements.logsumexp),
]:
    op(name, *versions)(reduction(function))


# ----------------------------------------------------------------------------------------------------- normalisation


@op("BatchNormalization", 7, 9, 14, 15)
def batch_norm(reader, x, scale, bias, mean, variance, *, epsilon):
    for one in (scale, bias, mean, variance):
        constant(reader, one, "numbers")
    return torch_ops.batch_norm(reader, x, scale, bias, mean, variance, 0.0, epsilon)[0]


@op("InstanceNormalization", 6, 22)
def instance_norm(reader, x, scale, bias, *, epsilon):
    return torch_ops.group_norm(reader, x, x.shape[1], constant(reader, scale, "numbers"), constant(reader, bias, "numbers"),
                                epsilon)


@op("GroupNormalization", 21)
def group_norm(reader, x, scale, bias, *, epsilon, num_groups):
    return torch_ops.group_norm(reader, x, num_groups, constant(reader, scale, "numbers"), constant(reader, bias, "numbers"),
                                epsilon)


# ------------------------------------------------------------------------------------------------ shapes and windows


@op("Pad", 2, 11, 13, 18, 19, 21, 23, 24, 25)
def pad(reader, x, pads, value=None, axes=None, *, mode):
    axes = range(len(x.shape)) if axes is None else [int(axis) % len(x.shape) for axis in constant(reader, axes, "axes")]
    pads, sizes = [int(one) for one in constant(reader, pads, "sizes")], [0] * (2 * len(x.shape))
    for place, axis in enumerate(axes):
        last = 2 * (len(x.shape) - 1 - axis)
        sizes[last:last + 2] = pads[place], pads[place + len(axes)]
    modes = {"edge": "replicate", "wrap": "circular"}
    number = 0 if value is None else np.ravel(constant(reader, value, "numbers"))[0]
    return torch_shapes.pad(reader, x, sizes, modes.get(mode, mode), number)


@op("GatherElements", 11, 13)
def gather_elements(reader, x, indices, *, axis):
    indices = constant(reader, indices, "places")
    return torch_shapes.gather(reader, x, axis, np.where(indices < 0, indices + x.shape[axis], indices))


def pool(function, *fixed):

    def node(reader, x, *, kernel_shape, strides=None, pads=None, auto_pad, ceil_mode=0, dilations=None, count_include_pad=1,
             storage_order=0):
        rank = len(kernel_shape)
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        pairs = conv_pads(reader, x, kernel_shape, strides, pads, dilations, auto_pad)
        if any(before != after for before, after in pairs):
            reader.refuse("with another padding at the ends", "the same padding before and after")
        padding = [before for before, _ in pairs]
        if function is torch_windows.largest:
            return torch_windows.largest(rank, 1)(reader, x, kernel_shape, strides, padding, dilations, bool(ceil_mode))
        if any(one != 1 for one in dilations):
            reader.refuse("with dilations", "a mean of neighbours")
        return torch_windows.average(rank)(reader, x, kernel_shape, strides, padding, bool(ceil_mode), bool(count_include_pad))

    return node


op("MaxPool", 1, 8, 10, 11, 12, 22)(pool(torch_windows.largest))
op("AveragePool", 7, 10, 11, 19, 22)(pool(torch_windows.average))


for name, versions, function in [
    ("Elu", (6, 22), lambda reader, x, *, alpha: torch_elements.elu(reader, x, alpha)),
    ("Selu", (6, 22), lambda reader, x, *, alpha, gamma: torch_elements.elu(reader, x, alpha, gamma)),
    ("Celu", (12,), lambda reader, x, *, alpha: torch_elements.celu(reader, x, alpha)),
    ("LeakyRelu", (6, 16), lambda reader, x, *, alpha: torch_elements.leaky_relu(reader, x, alpha)),
    ("PRelu", (7, 9, 16), lambda reader, x, slope: loops.node(reader, "leaky_relu", [x, slope])),
    ("CumSum", (11, 14), lambda reader, x, axis:
        torch_elements.cumsum(reader, x, int(np.ravel(constant(reader, axis, "axis"))[0]))),
    ("LogSoftmax", (13,), lambda reader, x, *, axis: torch_ops.softmax_node(reader, x, axis, log=True)),
    ("Tile", (6, 13), lambda reader, x, repeats:
        torch_shapes.repeat(reader, x, [int(one) for one in constant(reader, repeats, "counts")])),
    ("GlobalMaxPool", (1, 22), lambda reader, x: loops.reduced(reader, "maximum", x, list(range(2, len(x.shape))), True)),
    ("DepthToSpace", (1, 11, 13), lambda reader, x, *, blocksize, mode="DCR":
        torch_windows.blocks_to_space(reader, x, blocksize, mode == "CRD")),
    ("SpaceToDepth", (1, 13), lambda reader, x, *, blocksize: torch_windows.space_to_blocks(reader, x, blocksize, False)),
    ("Einsum", (12,), lambda reader, *operands, equation: torch_ops.einsum(reader, equation, operands)),
]:
    op(name, *versions)(function)
