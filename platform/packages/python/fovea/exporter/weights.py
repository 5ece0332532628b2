# SPDX-License-Identifier: Apache-2.0
"""The constants of a model in the formats that they are stored in. Rows are converted by the library itself."""
import numpy as np

from ..weights import quantize_rows
from .calls import given

FORMATS = {form: f"FOVEA_{form.upper()}"
           for form in ("f32", "f16", "i8", "i4", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl")}


def title(layer):
    """A layer's name as Graph.unique has it."""
    name = layer.replace(".", "_")
    return name if name[:1].isalpha() else "t" + name


def own_of(weight):
    """The format, codes and scales that a file has of these rows; None where it has none."""
    own = weight.buffer.own
    return own if own and weight.count == weight.buffer.count and weight.is_dense() and len(own[1]) == weight.shape[0] else None


class Weights:
    """format: of the weights of linear layers and embeddings. keep: a layer's name -> its format. integer_products:
    with FOVEA_COMPUTE_I8 where the format allows it. exact: names of layers that stay in f32."""

    def __init__(self, graph, format_, keep, integer_products, exact=()):
        self.graph, self.format, self.keep, self.integer_products, self.exact = graph, format_, keep, integer_products, set(exact)
        self.stored, self.kept = {}, set()

    def linear(self, weight, bias, name, compute=True, form=None):
        """The fields of fovea_linear_weights, the constants that they name, and what `compute` is."""
        form = form or self.format_of(name, weight)
        data, scales, stride = self.rows(weight, form)
        if bias is not None and not bias.is_dense():
            bias = self.graph.constant(bias.name, np.ascontiguousarray(bias.data, np.float32))
        fields = given(dtype=FORMATS[form] if form != "f32" else None, data=data, row_stride=stride, scales=scales, bias=bias)
        integer = compute and self.integer_products and form not in ("f32", "f16")
        return fields, [one for one in (data, scales, bias) if one is not None], integer and "FOVEA_COMPUTE_I8"

    def format_of(self, name, *weights):
        """Of the weights of a layer: that of the model's own codes, where they have the numbers in f32 exactly."""
        if not all(one.is_constant for one in weights):
            return "f32"
        own = {(own_of(one) or [None])[0] for one in weights}
        form = own.pop() if len(own) == 1 else None
        return self.kept_as(name, weights[0].name) or (form if form and self.format in ("f32", form) else self.format)

    def kept_as(self, name, weight):
        """The format that keep has for a layer of this name, or of weights of this name; else None."""
        for layer, form in self.keep.items():
            if name in (layer, title(layer)) or weight == layer or weight.startswith(title(layer) + "_"):
                self.kept.add(layer)
                return form
        return "f32" if name in self.exact else None

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
                own = own_of(weight)
                data, scales = own[1:] if own and own[0] == form else (
                    one.view(np.uint16) if one is not None and one.dtype == np.float16 else one
                    for one in quantize_rows(weight.data, form))
                self.stored[key] = (self.graph.constant(f"{weight.name}_{form}", data),
                                    scales is not None and self.graph.constant(weight.name + "_scales", scales) or None,
                                    data.shape[1])
        return self.stored[key]
