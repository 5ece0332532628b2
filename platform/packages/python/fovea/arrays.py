# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as the library's arrays."""
import ctypes

import numpy as np

from . import c

# bfloat16 is ml_dtypes' name for it.
DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8"}


def dtype_of(array):
    """The name of an array's type in fovea.h."""
    if array.dtype.name not in DTYPES:
        raise TypeError(f"an array of {array.dtype}: it must be one of {', '.join(DTYPES)}")
    return DTYPES[array.dtype.name]


def four(array, name):
    """[batch][heads][tokens][dim]: missing dimensions come first, and the last is made contiguous."""
    array = np.asarray(array)
    if not 2 <= array.ndim <= 4:
        raise ValueError(f"{name} has {array.ndim} dimensions: it must have [batch][heads][tokens][dim], or the last of these")
    array = array[(np.newaxis,) * (4 - array.ndim)]
    return array if array.strides[3] == array.itemsize or array.shape[3] <= 1 else np.ascontiguousarray(array)


def view(kind, array):
    """A fovea_in or fovea_out of an array [batch][heads][tokens] or with more dimensions."""
    strides = [stride // array.itemsize for stride in array.strides]
    return c.structure(kind, data=array.ctypes.data, batch_stride=strides[0], head_stride=strides[1], token_stride=strides[2])


def memory(count):
    """Bytes that lie as a workspace lies."""
    alignment = c.NUMBERS["FOVEA_WORKSPACE_ALIGNMENT"]
    whole = np.zeros(count + alignment, np.uint8)
    begin = -whole.ctypes.data % alignment
    return whole[begin:begin + count]


def mask(array, batch, heads, q_tokens, kv_tokens):
    """A fovea_mask, and the array that it points to: of bool, True shows a key; of floats, it is added to scores."""
    array = np.asarray(array)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    kind = "byte" if array.dtype == np.uint8 else dtype_of(array)
    one_key = array.shape[-1] == 1 and kv_tokens != 1
    if array.strides[-1] != array.itemsize and not one_key:
        array = np.ascontiguousarray(array)
    wide = np.broadcast_to(array, (batch, heads, q_tokens, 1 if one_key else array.shape[-1]))
    strides = [stride // array.itemsize for stride in wide.strides]
    made = c.structure("mask", kind=kind, kv_tokens=0 if one_key else wide.shape[3], data=wide.ctypes.data, batch_stride=strides[0],
                       head_stride=strides[1], q_stride=strides[2], broadcast_keys=one_key)
    return made, wide


def of_type(array, dtype, shape):
    """An array of this type and shape, dense, for what the library takes as a pointer."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(array, dtype), shape))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)
