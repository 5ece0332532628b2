# SPDX-License-Identifier: Apache-2.0
"""Masks of attention that depend on an input: what they become. They are bytes: 0 hides a key."""
import numpy as np

from . import loops, views
from .graph import Hiding
from .masks import LOWEST
from .torch_elements import pair
from .torch_shapes import OPS, op

FROM_BYTES = {  # operations that take booleans or whole numbers, too; all others take float32 alone
    "getitem", *(f"aten.{name}" for name in (
        "add add_ mul mul_ sub sub_ rsub div div_ neg pow eq ne lt le gt ge maximum minimum abs sign clamp clamp_min clamp_max "
        "sum mean any all prod cumsum max min amax amin logical_or bitwise_or __or__ logical_xor where view _unsafe_view reshape "
        "flatten clone contiguous alias detach lift_fresh_copy _to_copy to type_as transpose t permute unsqueeze squeeze expand "
        "select slice split split_with_sizes chunk unbind index index_select gather cat stack repeat tile flip roll unfold pad "
        "constant_pad_nd embedding __and__ logical_and bitwise_and logical_not bitwise_not masked_fill zeros_like ones_like "
        "full_like new_zeros new_ones new_full scaled_dot_product_attention exp log sqrt rsqrt isnan").split())
}
VIEWS = ("view _unsafe_view reshape flatten clone contiguous alias detach lift_fresh_copy _to_copy to type_as transpose t permute "
         "unsqueeze squeeze expand select slice split split_with_sizes chunk unbind").split()
OF_HIDING = {
    "getitem", *(f"aten.{name}" for name in [*VIEWS, "add", "add_", "where", "masked_fill", "scaled_dot_product_attention"])
}


@op("__and__", "logical_and", "bitwise_and")
def both(reader, a, b):
    """Of two masks. Of a computed and a constant one it is a node of its own: attention may take it apart."""
    if any(loops.dtype_of(reader, one) != loops.BOOL and not isinstance(one, Hiding) for one in (a, b)):
        reader.refuse("of numbers", "masks of booleans")
    if not reader.is_live(a):
        a, b = b, a
    if reader.is_live(b):
        low = max(one.low for one in (a, b)) if isinstance(a, Hiding) else None
        y = loops.node(reader, "logical_and", [one.shown() if isinstance(one, Hiding) else one for one in (a, b)])
        return y if low is None else Hiding(y.buffer, y.dims, y.offset, low)
    a, b = a.expand(np.broadcast_shapes(a.shape, b.shape)), np.asarray(b)
    if b.all():
        return a
    y = reader.graph.arena(reader.name("mask"), views.dense_dims(a.shape), np.uint8)
    reader.graph.add("and", y.name, {"a": a, "b": reader.tensor(b, "mask").expand(a.shape)}, y, reader.line)
    return Hiding(y.buffer, y.dims, y.offset, a.low) if isinstance(a, Hiding) else y


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
    """Zeros where keys are seen, and elsewhere a number that hides them, become a mask. Scores and such a number are a loop whose
    mask a pattern gives to attention. Numbers that are low, but finite, hide nothing from a row that has nothing else: it sees
    all its keys alike. model.c refuses such a row of a computed mask of attention."""
    for x, hidden, is_shown in ((a, b, True), (b, a, False)):
        if reader.is_live(hidden) or not (np.asarray(hidden) <= LOWEST).all() or len(np.unique(hidden)) != 1:
            continue
        low = float(np.ravel(hidden)[0])
        live = reader.is_live(mask)
        if live and mask.buffer.dtype != np.uint8 or not reader.is_live(x) and (not live or np.asarray(x).any()):
            continue
        shown = np.asarray(mask) == is_shown if not live else mask if is_shown else inverted(reader, mask)
        if reader.is_live(x):
            return loops.node(reader, "where", [shown, x.expand(np.broadcast_shapes(x.shape, np.shape(hidden))), np.float32(low)])
        hiding = Hiding(shown.buffer, shown.dims, shown.offset, low)
        return hiding.expand(np.broadcast_shapes(mask.shape, np.shape(a), np.shape(b)))
    return loops.node(reader, "where", [mask, a, b])


def added(reader, a, b, *, alpha=1):
    """Of masks that attention would add to its scores, and that hide by -inf: one mask. Of any other tensors a sum."""
    if isinstance(b, Hiding):
        a, b = b, a
    if not isinstance(a, Hiding) or alpha != 1:
        return SUM(reader, a, b, alpha=alpha)
    if isinstance(b, Hiding):
        return both(reader, a, b) if a.low == b.low == -np.inf else SUM(reader, a, b)
    if reader.is_live(b):  # scores: a pattern finds their attention
        return SUM_OF_FLOATS(reader, b, a) if b.buffer.dtype == np.float32 else SUM(reader, b, a)
    shown = np.asarray(b) == 0
    one = shown.all() or a.low == -np.inf and (shown | (np.asarray(b) == -np.inf)).all()
    return both(reader, a, shown) if one else SUM(reader, a, b)


SUM, SUM_OF_FLOATS = OPS["aten.add"], pair("add")
OPS["aten.add"] = OPS["aten.add_"] = added


def like(number):

    def node(reader, x, value=number, *, dtype=None, **_):
        own = {np.uint8: reader.torch.bool, np.uint32: reader.torch.int64}.get(x.buffer.dtype.type, reader.torch.float32)
        return reader.torch.full(x.shape, value, dtype=dtype or own)

    return node


OPS["aten.zeros_like"], OPS["aten.ones_like"], OPS["aten.full_like"] = like(0.0), like(1.0), like(0.0)


def new(number):

    def node(reader, x, shape, value=number, *, dtype=None, **_):
        return like(number)(reader, x, value, dtype=dtype).new_full(shape, value)

    return node


OPS["aten.new_zeros"], OPS["aten.new_ones"], OPS["aten.new_full"] = new(0.0), new(1.0), new(0.0)
