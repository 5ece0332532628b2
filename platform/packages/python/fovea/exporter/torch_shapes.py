# SPDX-License-Identifier: Apache-2.0
"""Operations that move elements: views where strides can say it, else copies."""
import math

import numpy as np

from . import loops, views
from .graph import Hiding

OPS = {}


def op(*names):
    """Registers a function for these operations of PyTorch. It gets the reader and PyTorch's arguments."""
    return lambda function: [OPS.__setitem__("aten." + name, function) for name in names] and function


@op("view", "_unsafe_view", "reshape")
def reshape(reader, x, shape):
    y = x.reshape(shape)
    return reader.copied(x).reshape(shape) if y is None else y


@op("flatten")
def flatten(reader, x, start=0, end=-1):
    start, end = start % len(x.shape), end % len(x.shape)
    return reshape(reader, x, [*x.shape[:start], math.prod(x.shape[start:end + 1]), *x.shape[end + 1:]])


@op("dropout")
def dropout(reader, x, p, train):
    if train and p:
        reader.refuse("in training", "a function of dropout that is given training=self.training")
    return x


def as_bytes(reader, x):
    """A mask of whole numbers as booleans: where it is an input that nothing else reads, the caller gives bytes."""
    if x.buffer.kind != "input" or x.buffer.dtype != loops.WHOLE or not loops.is_alone(reader, x):
        return loops.cast(reader, x, loops.BOOL)
    x.buffer.dtype = loops.BOOL
    return x


@op("_to_copy", "to")
def converted(reader, x, *_, dtype=None, **__):
    if dtype is None or isinstance(x, Hiding) and dtype == reader.torch.float32:
        return x
    x = loops.unhidden(reader, "", x, ())
    if dtype in (reader.torch.float16, reader.torch.bfloat16, reader.torch.float64):
        reader.refuse(f"to {dtype}", "a model of float32 throughout")
    if dtype == reader.torch.bool:
        return as_bytes(reader, x)
    if not dtype.is_floating_point and dtype not in (reader.torch.int32, reader.torch.int64):
        reader.refuse(f"to {dtype}", "whole numbers of int32 or int64")
    return loops.cast(reader, x, loops.FLOAT if dtype.is_floating_point else loops.WHOLE)


@op("slice")
def slice_(reader, x, axis=0, start=None, stop=None, step=1):
    y = x.slice(axis, start, stop, step)
    return reader.copied(x).slice(axis, start, stop, step) if y is None else y


@op("split", "split_with_sizes")
def split(reader, x, sizes, axis=0):
    whole = x.shape[axis]
    if isinstance(sizes, int):
        sizes = [min(sizes, whole - start) for start in range(0, whole, sizes)]
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [slice_(reader, x, axis, start, start + size) for start, size in zip(starts, sizes)]


def getitem(reader, values, index):
    if values[index] is None:
        reader.node = reader.node.args[0]
        reader.refuse(f"with output {index + 1}", "its first output alone")
    return values[index]


OPS["getitem"] = getitem


@op("stack")
def stack(reader, pieces, axis=0):
    axis %= len(pieces[0].shape) + 1
    return cat(reader, [one.unsqueeze(axis) for one in pieces], axis)


@op("repeat", "tile")
def repeat(reader, x, times):
    times = [1] * (len(x.shape) - len(times)) + list(times)
    shape = [1] * (len(times) - len(x.shape)) + list(x.shape)
    parts = [size for pair in zip([1] * len(shape), shape) for size in pair]
    parts = x._with([dim for size, dim in zip(shape, [()] * (len(shape) - len(x.dims)) + list(x.dims)) for dim in ((), dim)])
    whole = parts.expand([size for pair in zip(times, shape) for size in pair])
    return reshape(reader, whole, [count * size for count, size in zip(times, shape)])


@op("repeat_interleave")
def repeat_interleave(reader, x, times, axis=None, *, output_size=None):
    if not isinstance(times, int):
        reader.refuse("of several counts", "one count")
    x, axis = (reshape(reader, x, [x.count]), 0) if axis is None else (x, axis % len(x.shape))
    shape = list(x.shape)
    return reshape(reader,
                   x.unsqueeze(axis + 1).expand([*shape[:axis + 1], times, *shape[axis + 1:]]),
                   [*shape[:axis], shape[axis] * times, *shape[axis + 1:]])


@op("flip")
def flip(reader, x, axes):
    for axis in axes:
        x = taken(reader, x, axis % len(x.shape), np.arange(x.shape[axis])[::-1])
    return x


@op("roll")
def roll(reader, x, shifts, axes=None):
    if not axes:
        reader.refuse("of all elements", "dims, a dimension for each shift")
    for shift, axis in zip(shifts, axes):
        size = x.shape[axis]
        x = taken(reader, x, axis % len(x.shape), (np.arange(size) - shift) % size)
    return x


@op("unfold")
def unfold(reader, x, axis, size, step):
    """Windows that may overlap: a view, whose last dimension is a window."""
    if not x.shape:
        reader.refuse("of a number", "a dimension")
    axis %= len(x.shape)
    x = x if len(views.merged(x.dims[axis])) < 2 else reader.copied(x)
    return windows(x, [axis], [size], [step], [1])


def windows(x, axes, sizes, steps, dilations=None):
    """A view of windows along some dimensions, of one loop each: their elements are new dimensions at the end."""
    dims, last = list(x.dims), []
    for axis, size, step, dilation in zip(axes, sizes, steps, dilations or [1] * len(axes)):
        stride = next((stride for _, stride in views.merged(x.dims[axis])), 0)
        count = (x.shape[axis] - (size - 1) * dilation - 1) // step + 1
        dims[axis] = ((count, stride * step),) if count > 1 else ()
        last.append(((size, stride * dilation),) if size > 1 else ())
    return x._with([*dims, *last])


@op("pad", "constant_pad_nd")
def pad(reader, x, sizes, mode="constant", value=None):
    """sizes: elements before and after the last dimension, then of that before it; below 0 they are cut away."""
    x, rank = reader.tensor(x), len(x.shape)
    pairs = [(0, 0)] * (rank - len(sizes) // 2) + [tuple(sizes[place:place + 2]) for place in range(0, len(sizes), 2)][::-1]
    if mode != "constant":
        for axis, (before, after) in enumerate(pairs):
            places = np.pad(np.arange(x.shape[axis]), (before, after), {"replicate": "edge", "circular": "wrap"}.get(mode, mode))
            x = taken(reader, x, axis, places)
        return x
    for axis, (before, after) in enumerate(pairs):
        if min(before, after) < 0:
            x = slice_(reader, x, axis, max(0, -before), x.shape[axis] - max(0, -after))
    return padded(reader, x, [tuple(max(0, one) for one in pair) for pair in pairs], value or 0)


def padded(reader, x, pairs, value=0.0, order=None):
    """A copy of x in the middle of one number. order: of its dimensions in memory, the outermost first."""
    if not any(map(any, pairs)):
        return x
    shape = [before + size + after for size, (before, after) in zip(x.shape, pairs)]
    order = order or sorted(range(len(shape)), key=lambda axis: -max([0, *(stride for _, stride in x.dims[axis])]))
    dims = views.dense_dims([shape[axis] for axis in order])
    y = reader.graph.arena(reader.name("pad"), tuple(dims[order.index(axis)] for axis in range(len(shape))), x.buffer.dtype)
    number = loops.cast(reader,
                        np.asarray(value, np.float32) if x.buffer.dtype == np.float32 else np.asarray(value), x.buffer.dtype)
    middle = y
    for axis, ((before, after), size) in enumerate(zip(pairs, x.shape)):
        for start, count in ((0, before), (before + size, after)):
            border = middle.slice(axis, start, start + count)
            if count:
                reader.graph.add("copy", y.name, {"x": number.expand(border.shape)}, border, reader.line)
        middle = middle.slice(axis, before, before + size)
    reader.graph.add("copy", y.name, {"x": x}, middle, reader.line)
    return y


def taken(reader, x, axis, places):
    """The elements at constant places along one dimension: slices of the runs among them, or else rows of a table."""
    places = np.asarray(places, np.int64)
    shape, places = places.shape, places.reshape(-1)
    places = np.where(places < 0, places + x.shape[axis], places)
    if places.size and not (0 <= places.min() and places.max() < x.shape[axis]):
        reader.refuse("outside of its dimension", "places inside")
    runs, start = [], 0
    while start < len(places):
        stop, step = start + 1, 1
        if stop < len(places) and places[stop] > places[start]:
            step = int(places[stop] - places[start])
            while stop < len(places) and places[stop] - places[stop - 1] == step:
                stop += 1
        runs.append((int(places[start]), stop - start, step if stop - start > 1 else 1))
        start = stop
    if len(runs) <= 4 or x.buffer.dtype != np.float32 and len(runs) <= 64:
        parts = [slice_(reader, x, axis, first, first + (count - 1) * step + 1, step) for first, count, step in runs]
        y = parts[0] if len(parts) == 1 else cat(reader, parts, axis)
    else:
        order = [axis, *(other for other in range(len(x.shape)) if other != axis)]
        y = rows_at(reader, x.permute(order), reader.tensor(places))
        y = y.permute(np.argsort(order).tolist())
    return reshape(reader, y, [*x.shape[:axis], *shape, *x.shape[axis + 1:]])


def rows_at(reader, x, places):
    """The rows x[place], by fovea_embedding. places: token numbers."""
    if x.buffer.dtype != np.float32 or places.buffer.dtype != np.uint32:
        reader.refuse("of booleans or whole numbers by other numbers than a slice has", "rows of float32")
    rest = x.shape[1:]
    table = x if x.is_dense() else reader.copied(x)
    table = table.reshape([x.shape[0], math.prod(rest)])
    y = reader.graph.arena(reader.name("rows"), views.dense_dims([*places.shape, table.shape[1]]))
    y = reader.graph.add("embedding", y.name, {"ids": places, "table": table}, y, reader.line)
    return y.reshape([*places.shape, *rest])


@op("gather")
def gather(reader, x, axis, places, *, sparse_grad=False):
    """By constant numbers, as rows of one element."""
    if reader.is_live(places):
        if not reader.is_live(x) and len(np.unique(x)) == 1:  # wherever they are
            return reader.tensor(x.reshape(-1)[:1]).expand(places.shape)
        reader.refuse("by computed numbers", "numbers that are constant")
    axis %= len(x.shape)
    grid = np.indices(tuple(places.shape))
    grid[axis] = np.asarray(places)
    flat = np.ravel_multi_index(tuple(grid), x.shape)
    return taken(reader, reshape(reader, x, [x.count]), 0, flat)


@op("index")
def index(reader, x, indices):
    """By numbers along one dimension, or along some that follow one another. Constant ones that count along one dimension
    of the result each, as transformers' masks have them, give a view."""
    axes = [axis for axis, one in enumerate(indices) if one is not None]
    live = [one for one in indices if one is not None and reader.is_live(one)]
    if not live and reader.is_live(x):
        indices = [one if one is None else np.asarray(one) for one in indices]
        if any(one is not None and one.dtype == bool for one in indices):
            reader.refuse("by booleans", "places")
        view = counted(x, indices) if len(axes) == len(x.shape) else None
        if view is not None:
            return view
        if axes == list(range(axes[0], axes[-1] + 1)):
            shape = [x.shape[axis] for axis in axes]
            places = np.broadcast_arrays(*(np.where(one < 0, one + size, one)
                                           for one, size in zip((indices[axis] for axis in axes), shape)))
            flat = np.ravel_multi_index(places, shape)
            x = reshape(reader, x, [*x.shape[:axes[0]], math.prod(shape), *x.shape[axes[-1] + 1:]])
            return taken(reader, x, axes[0], flat)
    if axes == [0] and live and live[0].buffer.dtype == np.uint32:
        return rows_at(reader, reader.tensor(x), live[0])
    reader.refuse("by these numbers", "numbers of one dimension, or a slice")


def counted(x, indices):
    """The view of numbers that count along one dimension of the result each; None where others are among them."""
    shape = np.broadcast_shapes(*(one.shape for one in indices))
    dims, offset = [()] * len(shape), 0
    for axis, numbers in enumerate(indices):
        numbers = np.broadcast_to(numbers, shape)
        moving = [place for place in range(len(shape))
                  if shape[place] > 1 and (np.take(numbers, 0, place) != np.take(numbers, 1, place)).any()]
        line = numbers.reshape(-1)[:1] if not moving else np.moveaxis(numbers, moving[0], -1).reshape(-1, shape[moving[0]])[0]
        step = int(line[1] - line[0]) if len(line) > 1 else 1
        part = x.slice(axis, int(line[0]), int(line[-1]) + 1, step) if step > 0 and 0 <= line[0] else None
        if len(moving) > 1 or part is None or (np.diff(line) != step).any() or (moving and dims[moving[0]]):
            return None
        if moving and (np.moveaxis(numbers, moving[0], -1) != line).any() or not moving and (numbers != line[0]).any():
            return None
        offset += part.offset - x.offset
        if moving:
            dims[moving[0]] = part.dims[axis]
    return x._with([dim or (((size, 0),) if size > 1 else ()) for dim, size in zip(dims, shape)], offset)


@op("cat")
def cat(reader, pieces, axis=0):
    dtype = loops.common(reader, pieces)
    pieces = [loops.cast(reader, one, dtype) for one in pieces if math.prod(one.shape)]
    shape = list(pieces[0].shape)
    axis %= len(shape)
    shape[axis] = sum(one.shape[axis] for one in pieces)
    y = reader.graph.arena(reader.name("cat"), views.dense_dims(shape), dtype)
    start = 0
    for piece in pieces:
        part = y.slice(axis, start, start + piece.shape[axis])
        reader.graph.add("copy", y.name, {"x": piece}, part, reader.line)
        start += piece.shape[axis]
    return y


for names, function in {
    "clone contiguous alias detach lift_fresh_copy": lambda reader, x, *, memory_format=None: x,
    "type_as": lambda reader, x, y:
        loops.cast(reader, x, loops.dtype_of(reader, y)) if reader.is_live(y) else converted(reader, x, dtype=y.dtype),
    "transpose": lambda reader, x, a, b: x.transpose(a, b),
    "t": lambda reader, x: x.transpose(0, 1) if len(x.shape) > 1 else x,
    "permute": lambda reader, x, order: x.permute(order),
    "unsqueeze": lambda reader, x, axis: x.unsqueeze(axis),
    "squeeze": lambda reader, x, axes=None: x.squeeze([axes] if isinstance(axes, int) else axes),
    "expand": lambda reader, x, shape, **_: x.expand(shape),
    "select": lambda reader, x, axis, index: x.select(axis, index),
    "chunk": lambda reader, x, count, axis=0: split(reader, x, -(-x.shape[axis] // count), axis),
    "unbind": lambda reader, x, axis=0: [x.select(axis, index) for index in range(x.shape[axis])],
    "index_select": lambda reader, x, axis, places: index(reader, x, [None] * (axis % len(x.shape)) + [places]),
}.items():
    op(*names.split())(function)
