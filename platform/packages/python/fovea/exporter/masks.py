# SPDX-License-Identifier: Apache-2.0
"""Masks of attention: a constant one that says what fovea has a field for becomes that field."""
import numpy as np

from . import arena, views
from .calls import given, replaced
from .graph import Buffer, Hiding, Node, NotServed, Tensor, dense

LOWEST = np.finfo(np.float32).min / 2  # a number as low hides a key


def lower_mask(lowering, mask, causal):
    """causal, the fields of a call's arguments that hide keys, and the tensors that they read."""
    causal = "FOVEA_CAUSAL_TOP_LEFT" if causal else 0
    if mask is None:
        return causal, {}, []
    found = lengths_of(lowering, mask) if lowering.graph.lengths else None
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
        smallest = [
            1 if one and all(stride == 0 for _, stride in one) and axis < 3 else size
            for axis, (one, size) in enumerate(zip(loops, mask.shape))
        ]
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
    """Puts an input of lengths, [batch], in the place of each of these inputs, which are masks [batch][tokens]. Returns a function
    that does so with the arrays of all inputs."""
    titles, first = [one.name for one in graph.inputs], {}
    for name in names:
        if name not in titles:
            raise ValueError(f"lengths names no input of the model: {name}. Its inputs: {', '.join(titles)}")
        first[titles.index(name)] = np.ravel(example[titles.index(name)])[0]

    def counted(name, mask, shows):
        shown = mask == shows
        counts = shown.sum(-1)
        if mask.ndim not in (1, 2) or not np.isin(mask, (0, 1)).all() or (shown != (np.arange(mask.shape[-1]) < counts[..., None])).any():
            raise ValueError(f"lengths, {name}: a row of it is no mask [batch][tokens] of 0 and 1 that shows the first tokens, one or more, "
                             f"by {int(shows)}")
        return counts

    def given_lengths(arrays):
        return [counted(titles[place], np.asarray(one), first[place]) if place in first else one for place, one in enumerate(arrays)]

    given_lengths(example)
    for place, shows in first.items():
        mask = graph.inputs[place]
        count = mask.count // mask.shape[-1]
        x = graph.inputs[place] = dense(Buffer(graph.unique(f"{mask.name}_lengths"), "input", count, np.dtype(np.uint32)), mask.shape[:-1])
        graph.lengths[x.name] = mask.name, mask.shape[-1]
        y = graph.arena(f"{mask.name}_shown", mask.dims, np.uint8)
        nodes = [Node("lengths", y.name, {"x": x}, {"y": y}, {"shows": shows})]
        if mask.buffer.dtype != np.uint8:
            z = graph.arena(y.name, mask.dims, mask.buffer.dtype)
            nodes.append(Node("loop", z.name, {"a": y}, {"y": z}, {"kind": "float" if z.buffer.dtype == np.float32 else "whole"}))
        for node in graph.nodes:
            node.inputs = {role: replaced(one, mask.buffer, nodes[-1].y.buffer) for role, one in node.inputs.items()}
        graph.outputs = [replaced(one, mask.buffer, nodes[-1].y.buffer) for one in graph.outputs]
        graph.nodes[:0] = nodes
    return given_lengths


def lengths_of(lowering, mask):
    """Of a computed mask that shows each entry's keys below its length, an input, and to each query those up to its own where
    it is causal: whether it is, and the input. None for any other mask: it is computed from each length."""
    needed, calls = {mask.buffer}, []
    for call in reversed(lowering.calls):
        if any(one.buffer in needed for one in call.writes):
            calls.insert(0, call)
            needed.update(one.buffer for one in call.reads)
    inputs = [one for one in lowering.graph.inputs if one.buffer in needed]
    _, tokens = lowering.graph.lengths.get(inputs[0].name, ("", 0)) if len(inputs) == 1 else ("", 0)
    if tokens != mask.shape[-1] or inputs[0].count != mask.shape[0] or any(call.plan for call in calls):
        return None
    from .run import Runner
    runner = Runner(calls, [], arena.place(arena.lifetimes(calls)), inputs)
    once = Tensor(mask.buffer, [dim if axis in (0, 3) or any(stride for _, stride in dim) else () for axis, dim in enumerate(mask.dims)],
                  mask.offset)
    kinds = {0: True, "FOVEA_CAUSAL_TOP_LEFT": np.tri(mask.shape[2], tokens, dtype=bool)}
    for first in range(tokens):
        counts = (first + np.arange(inputs[0].count)) % tokens + 1
        runner.run([counts])
        seen, shown = runner.tensor(once), np.arange(tokens) < counts[:, None, None, None]
        if seen.dtype == np.float32:
            kinds = kinds if ((seen == 0) | (seen <= LOWEST)).all() else {}
        seen = seen == 0 if seen.dtype == np.float32 else seen != 0
        kinds = {kind: limit for kind, limit in kinds.items() if (seen == (shown & limit)).all()}
    return next(((kind, inputs[0]) for kind in kinds), None)
