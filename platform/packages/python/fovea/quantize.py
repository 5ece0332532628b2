# SPDX-License-Identifier: Apache-2.0
"""Chooses scales and zero points of int8 tensors from the numbers of some runs; converts to codes and back."""
import ctypes

import numpy as np

from . import c
from .arrays import Shown, numbers


class Range(Shown):
    """The range of a tensor's numbers: observe(x) after each run, then choose()."""

    def __init__(self):
        self.c = c.frozen(c.structure("quantize_range"))

    def _shown(self):
        return c.numbers_of(self.c)

    def observe(self, x):
        x = numbers(x, np.float32, "x")
        c.call("fovea_quantize_observe", self.c, x, x.size)
        return self

    def choose(self, fraction=1.0, asymmetric=False):
        """Scale and zero point. fraction is the share of the numbers whose codes must not saturate."""
        scale, zero_point = ctypes.c_float(), ctypes.c_int32()
        c.call("fovea_quantize_choose", self.c, fraction, asymmetric, ctypes.byref(scale), ctypes.byref(zero_point))
        return scale.value, zero_point.value


def to_i8(x, scale, zero_point=0):
    """Codes of int8: x / scale + zero_point, rounded and saturated."""
    x = numbers(x, np.float32, "x")
    codes = np.empty(x.shape, np.int8)
    c.call("fovea_quantize_to_i8", x, x.size, scale, zero_point, codes)
    return codes


def from_i8(codes, scale, zero_point=0):
    """scale * (codes - zero_point)."""
    codes = numbers(codes, np.int8, "codes")
    x = np.empty(codes.shape, np.float32)
    c.call("fovea_quantize_from_i8", codes, codes.size, scale, zero_point, x)
    return x
