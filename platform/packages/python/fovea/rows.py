# SPDX-License-Identifier: Apache-2.0
"""Softmax and log-softmax along one axis."""
import functools
import math
import operator

import numpy as np

from . import c
from .arrays import dense, is_array, numbers


def bind_softmax(x, axis=-1, scale=1.0, out=None, logarithm=False, target="best"):
    """A function, and out. Each call of it computes the softmax of x, a contiguous array of float32, and returns the
    status."""
    is_array(x, "x")
    x = dense(x, "x", ("float32",), x.shape)
    out = np.empty_like(x) if out is None else out
    dense(out, "out", ("float32",), x.shape, writes=True)
    axis = operator.index(axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis is {axis}: x has {x.ndim} dimensions")
    axis %= x.ndim
    inner, outer = math.prod(x.shape[axis + 1:]), math.prod(x.shape[:axis])
    strides = {f"{array}_{stride}_stride": count for array in ("in", "out")
               for stride, count in (("outer", x.shape[axis] * inner), ("axis", inner))}
    args = c.structure("softmax_args", **{"in": x}, out=out, outer=outer, axis=x.shape[axis], inner=inner, scale=scale,
                       target=target,
                       **strides)
    return functools.partial(c.function("fovea_log_softmax_f32" if logarithm else "fovea_softmax_f32"),
                             *c.pointers(args)), out


def softmax(x, axis=-1, scale=1.0, out=None, target="best"):
    """exp(scale * x), divided by its sum along the axis. x is converted to float32."""
    call, out = bind_softmax(numbers(x, np.float32, "x"), axis, scale, out, False, target)
    c.check(call())
    return out


def log_softmax(x, axis=-1, scale=1.0, out=None, target="best"):
    """The logarithm of the softmax."""
    call, out = bind_softmax(numbers(x, np.float32, "x"), axis, scale, out, True, target)
    c.check(call())
    return out
