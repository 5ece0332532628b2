# SPDX-License-Identifier: Apache-2.0
"""The constants of a model in the formats that they are stored in. Rows are converted by the library itself."""
import ctypes

import numpy as np

from .. import c
from .calls import given
from .run import Aligned

FORMATS = {"f32": "FOVEA_F32", "f16": "FOVEA_F16", "i8": "FOVEA_I8", "i4": "FOVEA_I4", "q8_0": "FOVEA_Q8_0", "q4_0": "FOVEA_Q4_0"}


class Weights:
    """format: of the weights of linear layers and embeddings. keep: a layer's name -> its format. integer_products:
    with FOVEA_COMPUTE_I8 where the format allows it."""

    def __init__(self, graph, format_, keep, integer_products):
        self.graph, self.format, self.keep, self.integer_products = graph, format_, keep, integer_products
        self.stored, self.kept = {}, set()

    def linear(self, weight, bias, name, compute=True, form=None):
        """The fields of fovea_linear_weights, the constants that they name, and what `compute` is."""
        form = form or self.format_of(name, weight.name)
        data, scales, stride = self.rows(weight, form)
        if bias is not None and not bias.is_dense():
            bias = self.graph.constant(bias.name, np.ascontiguousarray(bias.data, np.float32))
        fields = given(dtype=FORMATS[form] if form != "f32" else None, data=data, row_stride=stride, scales=scales, bias=bias)
        integer = compute and self.integer_products and form not in ("f32", "f16")
        return fields, [one for one in (data, scales, bias) if one is not None], integer and "FOVEA_COMPUTE_I8"

    def format_of(self, name, weight):
        for layer, form in self.keep.items():
            title = layer.replace(".", "_")
            title = title if title[:1].isalpha() else "t" + title  # as Graph.unique has it
            if layer in (name, weight) or weight.startswith(title + "_"):
                self.kept.add(layer)
                return form
        return self.format

    def check(self):
        """Every layer of keep is one of the model's."""
        unknown = [layer for layer in self.keep if layer not in self.kept]
        if unknown:
            raise ValueError(f"keep names no layer of the model: {', '.join(unknown)}")

    def rows(self, weight, form):
        """A constant [rows][dim] in a format: its bytes, its scales, and its stride."""
        key = weight.buffer, weight.offset, weight.dims, form
        if key not in self.stored:
            rows, dim = weight.shape
            if form == "f32":
                data = weight if weight.is_dense() else self.graph.constant(weight.name, weight.data)
                self.stored[key] = data, None, dim
            else:
                data, scales, stride = narrowed(np.ascontiguousarray(weight.data), form)
                self.stored[key] = (self.graph.constant(f"{weight.name}_{form}", data),
                                    scales is not None and self.graph.constant(weight.name + "_scales", scales) or None, stride)
        return self.stored[key]


def narrowed(rows, form):
    """Rows of f32 in another format: their numbers, their scales or None, and the stride of the numbers. A cache of
    keys is what converts rows in the library."""
    count, dim = rows.shape
    cache, desc = c.structure("kv_cache"), c.structure("kv_cache_desc", key_dtype=form, value_dtype=form, batch=1, kv_heads=1,
                                                       head_dim=dim, value_dim=1, max_tokens=count, values_in_keys=1)
    memory = Aligned(c.size("fovea_kv_cache_bytes", desc)).array
    c.call("fovea_kv_cache_init", cache, desc, memory, memory.size)
    source = c.copy_at("kv_arrays", c.call("fovea_kv_cache_arrays", cache)).source
    keys = c.structure("in", data=rows, token_stride=dim)
    c.call("fovea_kv_append", cache, c.structure("kv_append_args", batch=1, tokens=count, keys=keys))
    dtype = {"f16": np.uint16, "i8": np.int8}.get(form, np.uint8)
    data = rows_at(source.keys, count, dtype)
    scales = None
    if form == "i8":
        scales = rows_at(source.key_scales, count, np.float32, 1).reshape(-1)
    elif form == "i4":
        scales = rows_at(source.key_scales, count, np.uint16)
    return data, scales, data.shape[1]


def rows_at(array, count, dtype, width=None):
    """A copy of the rows of a fovea_in; they follow one another."""
    width = width or array.token_stride
    size = count * width * np.dtype(dtype).itemsize
    return np.frombuffer(ctypes.string_at(array.data, size), dtype).reshape(count, width)
