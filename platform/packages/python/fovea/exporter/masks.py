# SPDX-License-Identifier: Apache-2.0
"""Masks of attention: a constant one that says what fovea has a field for becomes that field."""
import itertools

import numpy as np

from . import arena, views
from .calls import given
from .graph import Buffer, Hiding, Node, NotServed, Tensor, dense

LOWEST = np.finfo(np.float32).min / 2  # a number as low hides a key


def lower_mask(lowering, mask, causal):
    """causal, the fields of a call's arguments that hide keys, and the tensors that they read."""
    causal = "FOVEA_CAUSAL_TOP_LEFT" if causal else 0
    if mask is None:
        return causal, {}, []
    if lowering.graph.lengths and mask not in lowering.other:
        lowering.other[mask] = lengths_of(lowering, mask)
    found = lowering.other.get(mask)
    if found:
        return found[0] or causal, {"kv_lengths": found[1]}, [found[1]]
    if mask.is_constant:
        said = meaning(mask)
        if said == "all":
            return causal, {}, []
        if said is not None and not causal:
            return said, {}, []
    if mask.buffer.dtype not in (np.float32, np.uint8):
        raise NotServed("a mask of whole numbers", lowering.line, "a mask of booleans, or of float32")
    finite = mask.low > -np.inf if isinstance(mask, Hiding) else mask.buffer.dtype == np.float32 and not mask.is_constant
    loops = [views.merged(dim) for dim in mask.dims]
    if any(len(one) > 1 for one in loops) or (loops[3] and loops[3][0][1] != 1):
        smallest = [1 if one and all(stride == 0 for _, stride in one) and axis < 3 else size
                    for axis, (one, size) in enumerate(zip(loops, mask.shape))]
        part = mask
        for axis in range(3):
            part = part.slice(axis, 0, smallest[axis]) if smallest[axis] == 1 else part
        mask = lowering.dense(part).expand(mask.shape)
        loops = [views.merged(dim) for dim in mask.dims]
    strides = [one[0][1] if one else 0 for one in loops]
    if finite:
        check(lowering, mask, strides, bool(causal))
    kind = "FOVEA_MASK_F32" if mask.buffer.dtype == np.float32 else "FOVEA_MASK_BYTE"
    fields = given(kind=kind, data=mask, batch_stride=strides[0], head_stride=strides[1], q_stride=strides[2])
    return causal, {"mask": fields}, [mask]


def check(lowering, mask, strides, causal):
    """A call that refuses a computed mask which hides all keys from a query by finite numbers: PyTorch then sees all alike."""
    suffix = "_floats" if mask.buffer.dtype == np.float32 else "_bytes"
    fields = {"mask": mask, "strides": strides[:3], "causal": causal, "suffix": suffix}
    lowering.call("check", "", fields, [mask], [], mask.name)


def meaning(mask):
    """What a constant mask says: "all" keys are seen, one of fovea_causal, or None for anything else."""
    data = mask.data
    if mask.buffer.dtype == np.float32:
        hidden = data <= LOWEST
        if not np.all((data == 0) | hidden) or (hidden.all(-1) & np.isfinite(data).any(-1)).any():
            return None  # the keys of a row that are all as low are seen alike
        data = data == 0
    data = data.astype(bool)
    queries, keys = data.shape[-2:]
    if data.all():
        return "all"
    if (data == np.tri(queries, keys, dtype=bool)).all():
        return "FOVEA_CAUSAL_TOP_LEFT"
    if (data == np.tri(queries, keys, keys - queries, dtype=bool)).all():
        return "FOVEA_CAUSAL_BOTTOM_RIGHT"
    return None


def by_lengths(graph, names, example):
    """Puts an input of lengths, [batch], in the place of each of these inputs: masks [batch][tokens] that have one value for first
    tokens, and the other for the rest. Returns a function that does so with the arrays of all inputs."""
    titles = [one.name for one in graph.inputs]
    if not set(names) <= set(titles):
        raise ValueError(f"lengths, {', '.join(names)}, names no input of the model: its inputs are {', '.join(titles)}")
    shows = {place: np.ravel(example[place])[0] for place, title in enumerate(titles) if title in names}

    def counted(place, mask):
        shown = mask == shows[place]
        counts = shown.sum(-1)
        first = np.arange(mask.shape[-1]) < counts[..., None]
        if mask.ndim not in (1, 2) or not np.isin(mask, (0, 1)).all() or (shown != first).any():
            raise ValueError(f"{titles[place]} is no mask of lengths: [batch][tokens], in each row {shows[place]:.0f} first, then the other")
        return counts

    def given_lengths(arrays):
        return [counted(place, np.asarray(one)) if place in shows else one for place, one in enumerate(arrays)]

    given_lengths(example)
    for place in shows:
        mask = y = graph.inputs[place]
        mask.buffer.kind = "arena"
        count, name = mask.count // mask.shape[-1], graph.unique(f"{mask.name}_lengths")
        x = graph.inputs[place] = dense(Buffer(name, "input", count, np.dtype(np.uint32)), mask.shape[:-1])
        graph.lengths[name] = mask.name, mask.shape[-1], int(shows[place])
        if mask.buffer.dtype != np.uint8:
            y = graph.arena(f"{mask.name}_bytes", mask.dims, np.uint8)
            kind = "float" if mask.buffer.dtype == np.float32 else "whole"
            graph.nodes.insert(0, Node("loop", mask.name, {"a": y}, {"y": mask}, {"kind": kind}))
        graph.nodes.insert(0, Node("lengths", y.name, {"x": x}, {"y": y}, {"shows": shows[place]}))
    return given_lengths


def lengths_of(lowering, mask):
    """Of a computed mask that shows each entry's keys below its length, an input, and to each query those up to its own where
    it is causal: whether it is, and the input. None for any other mask: it is computed from lengths that are tried."""
    needed, calls = {mask.buffer}, []
    for call in reversed(lowering.calls):
        if any(one.buffer in needed for one in call.writes):
            calls.insert(0, call)
            needed.update(one.buffer for one in call.reads)
    inputs = [one for one in lowering.graph.inputs if one.buffer in needed]
    _, tokens, _ = lowering.graph.lengths.get(inputs[0].name if len(inputs) == 1 else "", ("", 0, 0))
    if tokens != mask.shape[-1] or inputs[0].count != mask.shape[0] or any(call.plan for call in calls):
        return None
    from .run import Runner
    runner = Runner(calls, [], arena.place(arena.lifetimes(calls)), inputs)
    once = Tensor(mask.buffer, [dim if axis in (0, 3) or any(stride for _, stride in dim) else () for axis, dim in enumerate(mask.dims)],
                  mask.offset)
    kinds = {0: True, "FOVEA_CAUSAL_TOP_LEFT": np.tri(mask.shape[2], tokens, dtype=bool)}
    for counts in tried(inputs[0].count, tokens):
        runner.run([counts])
        found, shown = runner.tensor(once), np.arange(tokens) < counts[:, None, None, None]
        bytes_ = found.dtype != np.float32
        kinds = {kind: limit for kind, limit in kinds.items() if ((found != 0 if bytes_ else found == 0) == (shown & limit)).all()
                 and (bytes_ or ((found == 0) | (found <= LOWEST)).all())}
        if not kinds:
            return None
    return next(iter(kinds)), inputs[0]


def tried(batch, tokens):
    """Lengths of entries: drawn; each for all; and those of one entry, some of many, next to the least or the most of the others."""
    yield from np.random.default_rng(1).integers(1, tokens + 1, (64, batch))
    yield from np.arange(1, tokens + 1)[:, None].repeat(batch, 1)
    for entry, length, rest in itertools.product(range(batch if batch > 1 else 0), range(tokens, 0, -batch * tokens // 512), (1, tokens)):
        yield np.where(np.arange(batch) == entry, length, rest)
