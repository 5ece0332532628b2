# SPDX-License-Identifier: Apache-2.0
"""Operations of windows: convolutions, pooling. A window is a view, whose elements may belong to other windows, too."""
import math

import numpy as np

from . import loops, torch_ops, views
from .torch_shapes import cat, op, padded, reshape, slice_, windows


@op("conv1d", "conv2d", "conv3d")
def conv(reader, x, weight, bias=None, stride=(1,), padding=(0,), dilation=(1,), groups=1):
    """A linear layer of windows, or a depthwise convolution."""
    if reader.is_live(weight) or reader.is_live(bias):
        reader.refuse("with weights that are computed", "weights that are parameters")
    (out, channels, *kernel), rank = weight.shape, len(weight.shape) - 2
    if not reader.is_live(x) or len(x.shape) != rank + 2:
        reader.refuse("without a batch", "an input [batch, channels, sides]")
    stride, dilation = ((list(one) * rank)[:rank] for one in (stride, dilation))
    reach = [(size - 1) * step for size, step in zip(kernel, dilation)]
    if isinstance(padding, str):
        pads = [(one // 2, one - one // 2) if padding == "same" else (0, 0) for one in reach]
    else:
        pads = [one if isinstance(one, tuple) else (one, one) for one in (list(padding) * rank)[:rank]]
    if any(before + after + side <= far for (before, after), side, far in zip(pads, x.shape[2:], reach)):
        reader.refuse("of windows that are larger than its input", "a smaller kernel")
    if groups == 1:
        return dense(reader, x, weight, bias, stride, pads, dilation)
    if channels == 1 and out == groups and rank < 3:
        return depthwise(reader, x, weight, bias, stride, pads, dilation)
    if groups > 64:
        reader.refuse(f"of {groups} groups", "at most 64 groups, or a group for each channel with one output")
    rows = out // groups
    return cat(reader, [
        dense(reader, slice_(reader, x, 1, group * channels, (group + 1) * channels), weight[group * rows:(group + 1) * rows],
              None if bias is None else bias[group * rows:(group + 1) * rows], stride, pads, dilation) for group in range(groups)
    ], 1)


def dense(reader, x, weight, bias, stride, pads, dilation):
    """A linear layer whose rows are windows. Where these overlap they are read from [batch][sides][channels]."""
    out, channels, *kernel = weight.shape
    rank, batch = len(kernel), x.shape[0]
    axes = list(range(2, rank + 2))
    overlap = any(map(any, pads)) or any(step < size or gap > 1
                                         for step, size, gap in zip(stride, kernel, dilation)) and max(kernel) > 1
    if overlap:
        pairs, order = [(0, 0), (0, 0), *pads], [0, *axes, 1]
        is_last = x.permute(order).is_dense() or channels == 1 and x.is_dense()
        x = padded(reader, x, pairs, 0.0, order) if any(map(any, pads)) or is_last else loops.ordered(reader, x, order)
    elif any(len(views.merged(x.dims[axis])) > 1 for axis in axes):
        x = reader.copied(x)
    windowed = windows(x, axes, kernel, stride, dilation)
    inner = list(range(rank + 2, 2 * rank + 2))
    counts = windowed.shape[2:rank + 2]
    last = [*inner, 1] if overlap else [1, *inner]  # the order of a window's elements
    rows = windowed.permute([0, *axes, *last])
    rows = rows.reshape([batch, *counts, channels * math.prod(kernel)])
    moved = np.transpose if isinstance(weight, np.ndarray) else reader.torch.permute
    weight = moved(weight, [0, *(axis - rank for axis in inner), 1]) if overlap else weight
    y = torch_ops.linear_node(reader, rows, reader.tensor(weight.reshape(out, -1)), None if bias is None else reader.tensor(bias))
    return y.permute([0, rank + 1, *range(1, rank + 1)])


def depthwise(reader, x, weight, bias, stride, pads, dilation):
    """Of one or two dimensions: the node has those of images."""
    rank = len(weight.shape) - 2
    if rank == 1:
        x, weight = x.unsqueeze(2), weight[:, :, None]
        stride, dilation, pads = [1, *stride], [1, *dilation], [(0, 0), *pads]
    order = [0, 2, 3, 1]
    x = padded(reader, x, [(0, 0), (0, 0), *pads], 0.0, order)
    x = x.permute(order)
    x = x if x.is_dense() else reader.copied(x)
    batch, *sides, channels = x.shape
    kernel = weight.shape[2:]
    counts = [(side - (size - 1) * gap - 1) // step + 1 for side, size, gap, step in zip(sides, kernel, dilation, stride)]
    y = reader.graph.arena(reader.name("conv"), views.dense_dims([batch, *counts, channels]))
    inputs = {"x": x, "weight": reader.tensor(weight.reshape(channels, -1)), "bias": None if bias is None else reader.tensor(bias)}
    reader.graph.add("depthwise", y.name, inputs, y, reader.line, kernel=kernel, stride=stride, dilation=dilation)
    y = y.permute([0, 3, 1, 2])
    return y.squeeze([2]) if rank == 1 else y


def pooled(reader, x, kernel, stride, pads, dilation, ceil_mode, value):
    """[batch, channels, sides] as windows [batch, channels, counts, kernel], with one number at the borders."""
    rank = len(kernel)
    if len(x.shape) not in (rank + 1, rank + 2):
        reader.refuse("of these dimensions", "an input [batch, channels, sides]")
    axes = list(range(len(x.shape) - rank, len(x.shape)))
    x = padded(reader, x, [(0, 0)] * (len(x.shape) - rank) + [(one, one) for one in pads], value)
    if any(len(views.merged(x.dims[axis])) > 1 for axis in axes):
        x = reader.copied(x)
    for axis, size, step, gap in zip(axes, kernel, stride, dilation):
        if ceil_mode and (x.shape[axis] - (size - 1) * gap - 1) % step:
            reader.refuse("with ceil_mode", "sides that windows fill")
    return windows(x, axes, kernel, stride, dilation)


def sizes(kernel, *others):
    """Each as a list of the kernel's dimensions."""
    return [(list(one) * len(kernel))[:len(kernel)] if isinstance(one, (list, tuple)) else [one] * len(kernel) for one in others]


def largest(rank, outputs):

    def node(reader, x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
        kernel = list(kernel) if len(kernel) == rank else list(kernel) * rank
        stride, padding, dilation = sizes(kernel, stride or kernel, padding, dilation)
        x = pooled(reader, x, kernel, stride, padding, dilation, ceil_mode, -np.inf)
        y = loops.reduced(reader, "maximum", x, list(range(len(x.shape) - rank, len(x.shape))), False)
        return [y, None] if outputs == 2 else y

    return node


def average(rank):

    def node(reader, x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        kernel = list(kernel) if len(kernel) == rank else list(kernel) * rank
        stride, padding = sizes(kernel, stride or kernel, padding)
        if divisor_override or any(padding) and not count_include_pad:
            reader.refuse("with another divisor than the kernel's size", "padding that counts, or none")
        x = pooled(reader, x, kernel, stride, padding, [1] * rank, ceil_mode, 0.0)
        return torch_ops.mean(reader, x, list(range(len(x.shape) - rank, len(x.shape))))

    return node


def adaptive(rank):

    def node(reader, x, outputs):
        outputs = [one or size for one, size in zip((list(outputs) * rank)[:rank], x.shape[-rank:])]
        if any(size % one for size, one in zip(x.shape[-rank:], outputs)):
            reader.refuse("to sizes that do not divide its input", "sizes that do")
        kernel = [size // one for size, one in zip(x.shape[-rank:], outputs)]
        shape = [*x.shape[:-rank], *(size for pair in zip(outputs, kernel) for size in pair)]
        lead = len(x.shape) - rank
        return torch_ops.mean(reader, reshape(reader, x, shape), [lead + 2 * axis + 1 for axis in range(rank)])

    return node


for rank in (1, 2, 3):
    op(f"max_pool{rank}d")(largest(rank, 1))
    op(f"max_pool{rank}d_with_indices")(largest(rank, 2))
    op(f"avg_pool{rank}d")(average(rank))
    op(f"adaptive_avg_pool{rank}d", f"_adaptive_avg_pool{rank}d")(adaptive(rank))


@op("im2col")
def columns(reader, x, kernel, dilation, padding, stride):
    """All windows of an image: [batch, channels * elements of a window, windows]."""
    x = pooled(reader, x, list(kernel), list(stride), list(padding), list(dilation), False, 0.0)
    batch, channels = x.shape[:2]
    return reshape(reader, x.permute([0, 1, 4, 5, 2, 3]), [batch, channels * math.prod(kernel), -1])


def blocks_to_space(reader, x, size, channels_first):
    """[batch, channels * size^2, height, width] -> [batch, channels, height * size, width * size]"""
    batch, channels, height, width = x.shape
    rest = channels // size**2
    sizes, order = ([rest, size, size], [0, 1, 4, 2, 5, 3]) if channels_first else ([size, size, rest], [0, 3, 4, 1, 5, 2])
    x = reshape(reader, x, [batch, *sizes, height, width]).permute(order)
    return reshape(reader, x, [batch, rest, height * size, width * size])


def space_to_blocks(reader, x, size, channels_first):
    """The way back."""
    batch, channels, height, width = x.shape
    x = reshape(reader, x, [batch, channels, height // size, size, width // size, size])
    return reshape(reader, x.permute([0, 1, 3, 5, 2, 4] if channels_first else [0, 3, 5, 1, 2, 4]),
                   [batch, -1, height // size, width // size])


op("pixel_shuffle")(lambda reader, x, size: blocks_to_space(reader, x, size, True))
op("pixel_unshuffle")(lambda reader, x, size: space_to_blocks(reader, x, size, True))
