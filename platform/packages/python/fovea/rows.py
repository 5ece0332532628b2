# SPDX-License-Identifier: Apache-2.0
"""Softmax and log-softmax along one axis."""
import ctypes
import math

import numpy as np

from . import c


def bind_softmax(x, axis=-1, scale=1.0, out=None, logarithm=False, target="best"):
    """A function that computes the softmax of what x, whose memory is contiguous, then holds, and answers the status; and out."""
    x = np.asarray(x)
    if x.dtype != np.float32 or not x.flags.c_contiguous:
        raise TypeError("softmax is of contiguous arrays of float32")
    out = np.empty_like(x) if out is None else out
    if out.dtype != np.float32 or not out.flags.c_contiguous or out.shape != x.shape:
        raise TypeError("out is not a contiguous array of float32 of the same shape")
    axis = range(x.ndim)[axis]
    inner, outer = math.prod(x.shape[axis + 1:]), math.prod(x.shape[:axis])
    strides = {f"{array}_{stride}_stride": count for array in ("in", "out")
               for stride, count in (("outer", x.shape[axis] * inner), ("axis", inner))}
    args = c.structure("softmax_args", **{"in": x.ctypes.data}, out=out.ctypes.data, outer=outer, axis=x.shape[axis], inner=inner,
                       scale=scale, target=target, **strides)
    function = c.function("fovea_log_softmax_f32" if logarithm else "fovea_softmax_f32")

    def call(function=function, args=ctypes.c_void_p(ctypes.addressof(args)), keep=(args, x, out)):
        return function(args)

    return call, out


def softmax(x, axis=-1, scale=1.0, out=None, target="best"):
    """exp(scale * x), divided by its sum along the axis."""
    call, out = bind_softmax(np.ascontiguousarray(x, np.float32), axis, scale, out, False, target)
    c.check(call())
    return out


def log_softmax(x, axis=-1, scale=1.0, out=None, target="best"):
    """The logarithm of the softmax."""
    call, out = bind_softmax(np.ascontiguousarray(x, np.float32), axis, scale, out, True, target)
    c.check(call())
    return out
