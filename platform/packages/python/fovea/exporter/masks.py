# SPDX-License-Identifier: Apache-2.0
"""Masks of attention: a constant one that says what fovea has a field for becomes that field."""
import numpy as np

from . import views
from .calls import given
from .graph import Hiding, NotServed

LOWEST = np.finfo(np.float32).min / 2  # a number as low hides a key


def lower_mask(lowering, mask, causal):
    """causal, the fields of fovea_mask, and the tensors that they read."""
    causal = "FOVEA_CAUSAL_TOP_LEFT" if causal else 0
    if mask is None:
        return causal, {}, []
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
    return causal, given(kind=kind, data=mask, batch_stride=strides[0], head_stride=strides[1], q_stride=strides[2]), [mask]


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
