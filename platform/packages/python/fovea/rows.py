# SPDX-License-Identifier: Apache-2.0
"""Softmax and log-softmax along one axis."""
import functools
import math
import operator

import numpy as np

from . import c
from .arrays import dense, is_array, numbers
from .prepared import Pool, Prepared

_calls = Pool()


def softmax_args(x, axis, scale, out, target):
    """A fovea_softmax_args of contiguous arrays of float32."""
    is_array(x, "x")
    x = dense(x, "x", ("float32",), x.shape)
    dense(out, "out", ("float32",), x.shape, writes=True)
    axis = operator.index(axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis is {axis}: x has {x.ndim} dimensions")
    axis %= x.ndim
    inner, outer = math.prod(x.shape[axis + 1:]), math.prod(x.shape[:axis])
    inner, outer = (inner, outer) if inner else (1, 0)  # C refuses an inner of 0
    strides = {f"{array}_{stride}_stride": count for array in ("x", "y")
               for stride, count in (("outer", x.shape[axis] * inner), ("axis", inner))}
    return c.structure("softmax_args", x=x, y=out, outer=outer, axis=x.shape[axis], inner=inner, scale=scale,
                       target=target, **strides)


def bind_softmax(x, axis=-1, scale=1.0, out=None, logarithm=False, target="best"):
    """A function, and out. Each call of it computes the softmax of x, a contiguous array of float32, and returns the
    status."""
    is_array(x, "x")
    out = np.empty_like(x) if out is None else out
    args = softmax_args(x, axis, scale, out, target)
    return functools.partial(c.function("fovea_log_softmax" if logarithm else "fovea_softmax"), *c.pointers(args)), out


def prepare_softmax(inputs, outputs, name, axis, scale, target):
    x = numbers(inputs[0], np.float32, "x")
    out = np.empty_like(x) if outputs[0] is None else outputs[0]
    return Prepared(name, softmax_args(x, axis, scale, out, target), (("x", inputs[0]),), (("y", out),))


def softmax(x, axis=-1, scale=1.0, out=None, target="best"):
    """exp(scale * x), divided by its sum along the axis. x is converted to float32."""
    return _calls.call(prepare_softmax, (x,), (out,), {"name": "fovea_softmax", "axis": axis, "scale": scale, "target": target})[0]


def log_softmax(x, axis=-1, scale=1.0, out=None, target="best"):
    """The logarithm of the softmax."""
    return _calls.call(prepare_softmax, (x,), (out,), {"name": "fovea_log_softmax", "axis": axis, "scale": scale, "target": target})[0]
