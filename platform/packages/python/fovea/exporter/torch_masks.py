# SPDX-License-Identifier: Apache-2.0
"""Masks of attention that depend on an input: what they become. They are bytes: 0 hides a key."""
import numpy as np

from . import views
from .masks import LOWEST
from .torch_ops import OPS, op

FROM_BYTES = {  # operations that take bytes or token numbers as they are; all others compute in float32
    "getitem", *(f"aten.{name}" for name in (
        "add view _unsafe_view reshape flatten clone contiguous alias detach lift_fresh_copy _to_copy to type_as "
        "transpose t permute unsqueeze squeeze expand select slice split split_with_sizes chunk unbind index cat "
        "embedding __and__ logical_and bitwise_and logical_not bitwise_not masked_fill where zeros_like ones_like "
        "full_like scaled_dot_product_attention").split())
}


@op("__and__", "logical_and", "bitwise_and")
def both(reader, a, b):
    """Of a mask and a constant."""
    if not reader.is_live(a):
        a, b = b, a
    if reader.is_live(b):
        reader.refuse("of two computed masks", "is_causal, and one mask")
    a = a.expand(np.broadcast_shapes(a.shape, b.shape))
    if b.all():
        return a
    y = reader.graph.arena(reader.name("mask"), views.dense_dims(a.shape), np.uint8)
    return reader.graph.add("and", y.name, {"a": a, "b": reader.tensor(b, "mask").expand(a.shape)}, y, reader.line)


@op("logical_not", "bitwise_not")
def inverted(reader, x):
    """The mask that shows what another hides."""
    if x.buffer.dtype != np.uint8:
        reader.refuse("of numbers", "a mask of booleans")
    x = x if x.is_dense() else reader.copied(x)
    y = reader.graph.arena(reader.name("mask"), views.dense_dims(x.shape), np.uint8)
    return reader.graph.add("invert", y.name, {"x": x}, y, reader.line)


@op("masked_fill")
def filled(reader, x, mask, value):
    return where(reader, mask, value, x)


@op("where")
def where(reader, mask, a, b):
    """Zeros or scores where keys are seen, and elsewhere numbers that hide them: the same as if these were added. Numbers
    that are low, but finite, are not the same where a row has nothing else: it sees all its keys alike."""
    for x, hidden, is_shown in ((a, b, True), (b, a, False)):
        if reader.is_live(hidden) or not (np.asarray(hidden) <= LOWEST).all():
            continue
        finite = np.isfinite(np.asarray(hidden)).any()
        if not reader.is_live(mask):
            shown = np.asarray(mask) == is_shown
            whole = np.broadcast_to(shown, np.broadcast_shapes(shown.shape, x.shape))
            if reader.is_live(x) and not (finite and (~whole).all(-1).any()):
                return added(reader, x, np.where(shown, np.float32(0), np.asarray(hidden, np.float32)))
        elif mask.buffer.dtype == np.uint8 and not finite:
            if reader.is_live(x) and x.buffer.dtype == np.float32:
                return added(reader, x, mask if is_shown else inverted(reader, mask))
            if not reader.is_live(x) and not np.asarray(x).any():
                shape = np.broadcast_shapes(mask.shape, np.shape(a), np.shape(b))
                return (mask if is_shown else inverted(reader, mask)).expand(shape)
    reader.refuse("of other numbers than a mask of 0 and -inf has", "a mask of booleans that goes to attention")


def added(reader, a, b, *, alpha=1):
    """Of a mask of bytes and a constant one that attention would add to its scores; of any other tensors a sum."""
    if any(reader.is_live(one) and one.buffer.dtype == np.uint32 for one in (a, b)):
        reader.refuse("of whole numbers", "a model of float32, but for token numbers and masks")
    if reader.is_live(b) and b.buffer.dtype == np.uint8:
        a, b = b, a
    if not reader.is_live(a) or a.buffer.dtype != np.uint8:
        return SUM(reader, a, b, alpha=alpha)
    if reader.is_live(b) and b.buffer.dtype == np.float32 and alpha == 1:  # scores: a pattern finds their attention
        return SUM(reader, b, a)
    shown = None if reader.is_live(b) else np.asarray(b) == 0
    if shown is None or alpha != 1 or not (shown | (np.asarray(b) == -np.inf)).all():
        reader.refuse("of a mask of booleans", "is_causal, and one mask")
    return both(reader, a, shown)


SUM, OPS["aten.add"] = OPS["aten.add"], added


def like(number):

    def node(reader, x, value=number, *, dtype=None, **_):
        own = {np.uint8: reader.torch.bool, np.uint32: reader.torch.int64}.get(x.buffer.dtype.type, reader.torch.float32)
        return reader.torch.full(x.shape, value, dtype=dtype or own)

    return node


OPS["aten.zeros_like"], OPS["aten.ones_like"], OPS["aten.full_like"] = like(0.0), like(1.0), like(0.0)
