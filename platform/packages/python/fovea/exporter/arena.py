# SPDX-License-Identifier: Apache-2.0
"""Where each tensor of the arena is. Tensors share memory where no call needs both."""

from random import Random

from . import views

ALIGNMENT = 16  # bytes, of each tensor
TRIES = 100_000  # buffers that are placed in search of a smaller arena
# Outputs that may be written over an input of the same layout, by the names of their fields.
OVER = {
    "fovea_activation": [("y", "x"), ("y", "factor")], "fovea_add": [("y", "a"), ("y", "b")],
    "fovea_multiply": [("y", "a"), ("y", "b")], "fovea_norm": [("sum", "residual"), ("sum", "x"), ("y", "x")],
    "fovea_integer_norm": [("y", "x")], "fovea_integer_activation": [("y", "x")], "fovea_integer_add": [("y", "a"), ("y", "b")],
    "fovea_integer_multiply": [("y", "a"), ("y", "b")], "loop": [("y", "a"), ("y", "b"), ("y", "c")], "fovea_rope": [("y", "x")],
    "fovea_softmax": [("y", "x")]
}


def in_place(calls):
    """Outputs take the memory of inputs that nobody reads any more."""
    for index, call in enumerate(calls):
        for output, given in OVER.get(call.helper or call.function, []):
            y, x = (tensor_of(call.fields.get(key)) for key in (output, given))
            if y is None or x is None or y.buffer is x.buffer or x.buffer.kind != "arena" or not alike(y, x):
                continue
            rest = calls[index + 1:]
            others = [one for key, one in call.fields.items() if key != given and tensor_of(one) is not None]
            if any(one.buffer is x.buffer for later in rest for one in [*later.reads, *later.writes]) or any(
                    tensor_of(one).buffer is x.buffer for one in others):
                continue
            before = any(one.buffer is y.buffer for earlier in calls[:index] for one in [*earlier.reads, *earlier.writes])
            if before or y.buffer.kind not in ("arena", "output"):
                continue
            old, new = (x.buffer, y.buffer) if y.buffer.kind == "output" else (y.buffer, x.buffer)
            for other in calls:
                other.replace(old, new)


def tensor_of(value):
    return value.get("data") if isinstance(value, dict) else value if hasattr(value, "buffer") else None


def alike(y, x):
    """Both are all of their buffers, in the same layout."""
    return y.offset == x.offset == 0 and y.buffer.dtype == x.buffer.dtype and y.count == x.count == y.buffer.count == x.buffer.count and (
        views.joint([y, x]) is not None and all(a == b for _, (a, b) in views.joint([y, x])))


def aligned(bytes_):
    return -(-bytes_ // ALIGNMENT) * ALIGNMENT


def lifetimes(calls):
    """buffer -> (first, last): the calls between which it holds something."""
    lives = {}
    for index, call in enumerate(calls):
        for tensor in [*call.reads, *call.writes]:
            if tensor.buffer.kind == "arena":
                first, _ = lives.get(tensor.buffer, (index, index))
                lives[tensor.buffer] = first, index
    return lives


def bound(lives):
    """The largest sum of bytes that live at the same time: no layout can be smaller."""
    ends = sorted({first for first, _ in lives.values()})
    return max((sum(aligned(buffer.bytes) for buffer, (first, last) in lives.items() if first <= at <= last) for at in ends), default=0)


def place(lives):
    """Gives each buffer an offset. Returns the bytes of all. First fit by size is mostly best; where it is not, other
    orders are tried."""
    least = bound(lives)
    order, offsets, total = None, {}, None
    for other in orders(lives):
        tried, bytes_ = first_fit(lives, other)
        if total is None or bytes_ < total:
            order, offsets, total = other, tried, bytes_
    random = Random(1)  # the same choices each time
    for _ in range(TRIES // max(len(lives), 1) if total > least else 0):
        other = list(order)
        other.insert(random.randrange(len(order)), other.pop(random.randrange(len(order))))
        tried, bytes_ = first_fit(lives, other)
        if bytes_ <= total:
            order, offsets, total = other, tried, bytes_
        if total == least:
            break
    for buffer, offset in offsets.items():
        buffer.offset = offset
    return total


def orders(lives):
    """Orders of the buffers, the most promising first."""
    yield sorted(lives, key=lambda one: (-one.bytes, lives[one]))
    yield sorted(lives, key=lambda one: (-one.bytes * (lives[one][1] - lives[one][0] + 1), lives[one]))
    yield sorted(lives, key=lambda one: (lives[one][0] - lives[one][1], -one.bytes))
    yield sorted(lives, key=lambda one: (lives[one], -one.bytes))


def first_fit(lives, order):
    """Offsets: each buffer in this order at the lowest place that is free while it lives. And the bytes of all."""
    placed, offsets, total = [], {}, 0
    for buffer in order:
        first, last = lives[buffer]
        offset, size = 0, aligned(buffer.bytes)
        for begin, end, starts, ends in placed:  # by their places
            if starts <= last and first <= ends:  # it lives at the same time
                if offset + size <= begin:
                    break
                offset = max(offset, end)
        offsets[buffer] = offset
        placed.append((offset, offset + size, first, last))
        placed.sort()
        total = max(total, offset + size)
    return offsets, total


def workspaces(calls, lives):
    """Says of each call where its workspace begins: after the tensors that live then."""
    for index, call in enumerate(calls):
        live = [buffer.offset + buffer.bytes for buffer, (first, last) in lives.items() if first <= index <= last]
        call.top = -(-max(live, default=0) // 64) * 64
