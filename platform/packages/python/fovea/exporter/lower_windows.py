# SPDX-License-Identifier: Apache-2.0
"""Calls of convolutions: the windows of a linear layer, and depthwise ones by fovea_conv1d."""
from . import views
from .calls import given
from .graph import Tensor

TAPS = 8  # FOVEA_CONV1D_MAX_KERNEL_SIZE
PARTS = 16  # of windows that are copied: each is a copy and a call


def parts(lowering, x, y):
    """The rows x of a linear layer and its outputs y, in parts: one, unless rows are windows that overlap. Windows that are
    rows of one stride are read where they are; others are copied, a part of them at a time."""
    if x.is_constant or x.count <= x.buffer.count:
        return [(x, y)]
    pieces, adjacent = [(x, y)], views.merged(x.dims[-1]) in ([], [(x.shape[-1], 1)])
    for axis in range(len(x.shape) - 1):
        if adjacent and len(views.joint(pieces[0][:1], last=1)) < 2:
            break
        size = x.shape[axis]
        step = 1 if axis == 0 or adjacent and size * len(pieces) <= PARTS else -(-size // max(1, PARTS // len(pieces)))
        cut = [[one and one.slice(axis, start, start + step) for one in piece] for piece in pieces
               for start in range(0, size, step)]
        if any(one is None for piece in cut for one in piece):
            break
        pieces = [tuple(piece) for piece in cut]
        if len(pieces) > 1 and (not adjacent or len(pieces) > PARTS // 2):
            break
    return pieces


def depthwise(lowering, node):
    """A row of an image after another, and at most eight taps at a time: each call is a causal convolution, whose first
    outputs are not used; their sum is the answer."""
    (height, width), (down, right), (gap, wide) = node.kernel, node.stride, node.dilation
    x, weight = node.x, node.weight if node.weight.is_dense() else lowering.dense(node.weight)
    batch, rows, columns, channels = node.y.shape
    _, _, line, _ = x.shape
    taps = 1 if wide > 1 else min(width, TAPS)
    result = None
    steps = [(i, j) for i in range(height) for j in range(0, width, taps)]
    for i, j in steps:
        count = min(taps, width - j)
        tokens = (columns - 1) * right + count
        made = lowering.graph.arena(f"{node.name}_taps", views.dense_dims([batch, rows, tokens, channels]))
        bias = node.bias if (i, j) == (0, 0) else None
        for entry in range(batch):
            at = Tensor(x.buffer, (((rows, down * line * channels),), ((tokens, channels),), ((channels, 1),)),
                        x.offset + ((entry * x.shape[1] + i * gap) * line + j * wide) * channels)
            to = made.select(0, entry)
            kernel = Tensor(weight.buffer, (((channels, height * width),), ((count, 1),)), weight.offset + i * width + j)
            fields = given(batch=rows, tokens=tokens, channels=channels, kernel_size=count, y=to, y_batch_stride=tokens * channels,
                           y_token_stride=channels, y_channel_stride=1, x=at, x_batch_stride=down * line * channels,
                           x_token_stride=channels, x_channel_stride=1, weight=kernel, weight_stride=height * width, bias=bias)
            lowering.call("fovea_conv1d", "conv1d", fields, [at, kernel, bias], [to], made.name,
                          macs=rows * tokens * channels * count)
        used = made.slice(2, count - 1, tokens, right)
        if result is None:
            result = used
            continue
        y = node.y if (i, j) == steps[-1] else lowering.graph.arena(f"{node.name}_sum", views.dense_dims(node.y.shape))
        counts, dim, arrays, ready = lowering.elements(y, result, used)
        lowering.call("fovea_add", "binary", given(**counts, dim=dim, **dict(zip("yab", arrays))), ready[1:], ready[:1], y.name)
        result = y
    if len(steps) == 1:
        lowering.moved(result, node.y)
