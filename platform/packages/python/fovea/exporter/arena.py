# SPDX-License-Identifier: Apache-2.0
"""Where each tensor of the arena is. Tensors share memory where no call needs both."""

ALIGNMENT = 16  # bytes, of each tensor


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
    return max((sum(aligned(buffer.bytes) for buffer, (first, last) in lives.items() if first <= at <= last)
                for at in ends), default=0)


def place(lives):
    """Gives each buffer an offset, the largest first, each at the lowest place that is free while it lives. Returns the
    bytes of all."""
    placed, total = [], 0
    for buffer, (first, last) in sorted(lives.items(), key=lambda one: (-one[0].bytes, one[1][0])):
        offset = 0
        for begin, end, starts, ends in sorted(placed, key=lambda one: one[0]):
            if starts <= last and first <= ends:  # it lives at the same time
                if offset + aligned(buffer.bytes) <= begin:
                    break
                offset = max(offset, end)
        buffer.offset = offset
        placed.append((offset, offset + aligned(buffer.bytes), first, last))
        total = max(total, offset + aligned(buffer.bytes))
    return total


def in_place(calls):
    return calls
