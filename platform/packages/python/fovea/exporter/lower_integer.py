# SPDX-License-Identifier: Apache-2.0
"""Calls on int8 tensors from end to end. Each tensor has a scale and a zero point, by its numbers in some runs.

A tensor of the arena has a twin that holds its codes. What has no integer form is computed in f32 between conversions.
"""
import ctypes
import math

import numpy as np

from .. import c
from . import lower_windows, views
from .attention_patterns import shared_heads
from .calls import Literal, given
from .graph import Buffer, Hiding, Node, NotServed, Tensor
from .lower import Lowering, array, is_array
from .masks import lower_mask


class IntegerLowering(Lowering):
    """scales: name of a tensor -> (scale, zero point). means: name of a linear layer -> its mean input. wide: names of tensors that
    stay in f32; layers write them so, and what else reads or writes them is computed in f32."""

    def __init__(self, graph, weights, scales, means=None, wide=()):
        super().__init__(graph, weights)
        self.scales, self.means, self.wide = dict(scales), means or {}, set(wide)
        self.twins, self.in_f32 = {}, {one.buffer for one in graph.inputs}
        self.counted = {one.buffer for one in graph.inputs if one.name in graph.lengths}  # and what is computed of lengths alone
        for node in graph.nodes:  # a copy of all of a tensor has its scale
            read = {one.buffer for one in node.inputs.values() if one is not None and not one.is_constant}
            self.counted.update(one.buffer for one in node.outputs.values() if read and read <= self.counted)
            if node.op == "copy" and node.y.count == node.y.buffer.count and node.x.buffer.source in self.scales:
                self.scales[node.y.buffer.source] = self.scales[node.x.buffer.source]
        written = [(one.buffer, self.integer_form(node) and not self.is_wide(one))
                   for node in graph.nodes for one in node.outputs.values()]
        for node in list(graph.nodes):  # parts of a tensor that are computed in f32, where others are codes
            y = node.outputs.get("y")
            if y and not self.integer_form(node) and y.buffer.dtype == np.float32 and any(
                    buffer is y.buffer and form for buffer, form in written):
                node.outputs["y"] = graph.arena(y.name + "_part", views.like(y, [], len(y.dims)))
                node.y.buffer.source = y.buffer.source
                graph.nodes.insert(graph.nodes.index(node) + 1, Node("copy", node.y.name, {"x": node.y}, {"y": y}, {}, node.line))

    def integer_form(self, node):
        """The function that computes a node by its codes; None where it is computed in f32."""
        kept = self.weights.kept_as(node.name, node.weight.name if node.weight else "")
        wide = node.op not in ("linear", "attention") and any(map(self.is_wide, [*node.inputs.values(), *node.outputs.values()]))
        wide = wide or any(one is not None and not one.is_constant for one in (node.weight, node.bias))  # of a norm, computed
        wide = wide or any(one.buffer in self.counted for one in node.outputs.values())  # such a mask may have no scale
        return None if wide or kept == "f32" or isinstance(node.b, Hiding) else getattr(self, "integer_" + node.op, None)

    def is_wide(self, tensor):
        return tensor is not None and tensor.buffer.source in self.wide

    def lower(self, node):
        function = self.integer_form(node)
        if function:
            function(node)
            return
        for role, tensor in node.inputs.items():
            if tensor is not None and not tensor.is_constant and tensor.buffer.dtype == np.float32:
                node.inputs[role] = self.floats(tensor)
        super().lower(node)
        self.in_f32.update(one.buffer for one in node.outputs.values())

    def scale(self, tensor):
        return self.scales[tensor.buffer.source]

    def scale_above(self, tensor, least):
        """The scale and zero point of a result. Its numbers may be so small that the factors of its operands have no
        form as an integer: then its codes are coarser than they could be."""
        scale, zero = self.scale(tensor)
        self.scales[tensor.buffer.source] = max(scale, 1.001 * least), zero
        return self.scale(tensor)

    def twin(self, tensor):
        """The tensor of codes in the place of one of f32."""
        if tensor.buffer not in self.twins:
            name = self.graph.unique(tensor.name + "_i8")
            self.twins[tensor.buffer] = Buffer(name, "arena", tensor.buffer.count, np.dtype(np.int8))
            self.twins[tensor.buffer].source = tensor.buffer.source
        return Tensor(self.twins[tensor.buffer], tensor.dims, tensor.offset)

    def codes(self, tensor, scale=None):
        """The codes of a tensor, (codes, scale, zero). A constant gets a scale of its own, or this one."""
        if tensor.is_constant:
            return self.constant_codes(tensor, scale)
        known = tensor.buffer in self.twins
        codes = self.twin(tensor)
        if not known:
            whole = Tensor(tensor.buffer, (((tensor.buffer.count, 1),),))
            to = Tensor(codes.buffer, whole.dims)
            step, zero = self.scale(tensor)
            self.call("fovea_quantize_to_i8", "", {"x": whole, "count": whole.count, "scale": step, "zero": zero, "codes": to}, [whole],
                      [to], codes.name)
        return (codes, *self.scale(tensor))

    def constant_codes(self, tensor, scale):
        data = tensor.buffer.data.astype(np.float32)
        step, zero = scale or (max(float(np.abs(data).max()), 1e-20) / 127, 0)
        key = tensor.buffer, step, zero
        if key not in self.other:
            codes = np.clip(np.rint(data / np.float32(step)) + zero, -128, 127).astype(np.int8)
            self.other[key] = self.graph.constant(tensor.name + "_i8", codes).buffer
        return Tensor(self.other[key], tensor.dims, tensor.offset), step, zero

    def floats(self, tensor):
        """The tensor in f32."""
        if tensor.buffer not in self.in_f32 and not tensor.is_constant:
            codes, step, zero = self.codes(tensor)
            of = Tensor(codes.buffer, (((codes.buffer.count, 1),),))
            whole = Tensor(tensor.buffer, of.dims)
            self.call("fovea_quantize_from_i8", "", {"codes": of, "count": of.count, "scale": step, "zero": zero, "x": whole}, [of],
                      [whole], tensor.name)
            self.in_f32.add(tensor.buffer)
        return tensor

    def outputs(self):
        self.graph.outputs = [self.floats(one) for one in self.graph.outputs]
        super().outputs()

    def integer_linear(self, node):
        codes, *scale = self.codes(node.x)
        for x, y in lower_windows.parts(self, codes, node.y if self.is_wide(node.y) else self.twin(node.y)):
            self.codes_of_linear(node, x, *scale, y)
        self.in_f32.update({node.y.buffer} if self.is_wide(node.y) else ())

    def codes_of_linear(self, node, x, x_scale, x_zero_point, y):
        x, tokens, x_stride = self.one_stride(x)
        of_y = {} if self.is_wide(node.y) else dict(zip(("y_dtype", "y_scale", "y_zero_point"), ("FOVEA_I8", *self.scale(node.y))))
        out, dim = node.weight.shape
        y, y_stride = self.rows_like(y, x)
        weights, reads, _ = self.weights.linear(node.weight, node.bias, node.name)
        if (x_zero_point or node.name in self.means) and weights["dtype"] == "FOVEA_I8":
            weights, x_zero_point = self.biased(weights, x_scale * x_zero_point, node), 0
            reads = [weights[key] for key in ("data", "scales", "bias")]
        fields = given(tokens=tokens, in_dim=dim, out_dim=out, compute="FOVEA_COMPUTE_I8", x_dtype="FOVEA_I8", x=x, x_stride=x_stride,
                       x_scales=Literal(np.float32([x_scale])), x_zero_point=x_zero_point, y=y, y_stride=y_stride, **of_y,
                       weights=weights, activation=node.activation and f"FOVEA_ACTIVATION_{node.activation}")
        self.call("fovea_linear", "linear", fields, [x, *reads], [y], node.name, macs=tokens * dim * out,
                  workspace=f"FOVEA_LINEAR_I8_WORKSPACE_BYTES({dim})")

    def biased(self, weights, zero, node):
        """The weights of a layer, whose bias has the zero point of its input, else each run adds up rows of weights; and the mean
        error of the weights' codes."""
        rows, scales, bias = (weights.get(key) for key in ("data", "scales", "bias"))
        mean, dim = self.means.get(node.name), node.weight.shape[1]
        key = rows.buffer, bias and bias.buffer, zero, mean is not None and node.name
        if key not in self.other:
            stored = rows.data[:, :dim] * scales.data.astype(np.float64).reshape(-1, 1)
            numbers = (0 if bias is None else np.ravel(bias.data)) - zero * stored.sum(1)
            numbers = numbers if mean is None else numbers - (stored - node.weight.data) @ mean
            self.other[key] = self.graph.constant(bias.name if bias else rows.name + "_bias", numbers.astype(np.float32))
        return {**weights, "bias": self.other[key]}

    def integer_attention(self, node):
        if node.softcap:
            raise NotServed("softcap of integer attention", node.line, "--arithmetic i8")
        if node.outputs.get("weights") or node.sinks:
            raise NotServed(f"{'sinks' if node.sinks else 'weights'} of integer attention", node.line, "--arithmetic i8")
        k, v, kv_heads = shared_heads(node.k, node.v)
        (q, q_scale, q_zero_point), (k, k_scale, _), (v, v_scale, v_zero_point) = (self.codes(one) for one in (node.q, k, v))
        q, k, v = (one if is_array(one) else self.dense(one) for one in (q, k, v))
        y, (y_scale, y_zero_point) = self.twin(node.y), self.scale(node.y)
        y = y if is_array(y) else self.computed(y)
        causal, hiding, reads = lower_mask(self, node.mask, bool(node.causal))
        if "mask" in hiding:
            raise NotServed("a mask of integer attention", node.line, "is_causal, --lengths for a mask of first tokens, or --arithmetic i8")
        batch, heads, tokens, dim = q.shape
        keys, value_dim = k.shape[2], v.shape[3]
        fields = given(batch=batch, q_heads=heads, kv_heads=kv_heads, q_tokens=tokens, kv_tokens=keys, head_dim=dim,
                       value_dim=value_dim, out=array(y), q=array(q), keys=array(k), values=array(v), q_zero_point=q_zero_point,
                       value_zero_point=v_zero_point, out_zero_point=y_zero_point, causal=causal, **hiding,
                       **multiplier("score", q_scale * k_scale * node.scale * math.log2(math.e)),
                       **multiplier("out", v_scale / y_scale))
        self.call("fovea_integer_attention", "integer_attention", fields, [q, k, v, *reads], [y], node.name,
                  workspace=f"FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES({dim}, {value_dim}, {tokens * heads // kv_heads})",
                  macs=batch * heads * tokens * keys * (dim + value_dim) // (2 if causal else 1))

    def integer_norm(self, node):
        if node.weight_offset:
            raise NotServed("an offset of weights", node.line, "weights that include it")
        x, x_scale, x_zero_point = self.codes(node.x)
        counts, dim, (y, x_fields), ready = self.rows([self.twin(node.y)], [x])
        weight = np.ones(dim, np.float32) if node.weight is None else np.ravel(node.weight.data)
        step = max(float(np.abs(weight).max()), 1e-20) / 32767
        y_scale, y_zero_point = self.scale_above(node.y, step * 2**8)
        weight = self.graph.constant(node.name + "_weight_i16", np.rint(weight / step).astype(np.int16))
        bias = None
        if node.bias is not None:
            codes = np.clip(np.rint(128 * np.ravel(node.bias.data) / y_scale), -32768, 32767)
            bias = self.graph.constant(node.name + "_bias_i16", codes.astype(np.int16))
        fields = given(norm=f"FOVEA_NORM_{node.kind}", **counts, dim=dim, y=y, x=x_fields, weight=weight, bias=bias,
                       x_zero_point=x_zero_point, y_zero_point=y_zero_point, **multiplier("weight", step / y_scale),
                       **multiplier("epsilon", min(node.epsilon / x_scale**2, 2**15 - 1)))
        self.call("fovea_integer_norm", "integer_norm", fields, [ready[1], weight, bias], [ready[0]], node.name)

    def pair_of_codes(self, node, function):
        (a, a_scale, a_zero_point), (b, b_scale, b_zero_point) = (self.codes(one) for one in (node.a, node.b))
        b_scale = a_scale if node.b.is_constant and not node.b.data.any() else b_scale  # zeros have any scale
        largest = max(a_scale, b_scale) if function == "fovea_integer_add" else a_scale * b_scale
        y, (y_scale, y_zero_point) = self.twin(node.y), self.scale_above(node.y, largest / 2**5)
        counts, dim, arrays, ready = self.elements(y, a, b)
        ratios = {**multiplier("a", a_scale / y_scale), **multiplier("b", b_scale / y_scale)
                  } if (function == "fovea_integer_add") else multiplier("a", a_scale * b_scale / y_scale)
        fields = given(**counts, dim=dim, **dict(zip(("y", "a", "b"), arrays)), a_zero_point=a_zero_point, b_zero_point=b_zero_point, y_zero_point=y_zero_point, **ratios)
        self.call(function, "integer_binary", fields, ready[1:], ready[:1], node.name)

    def integer_add(self, node):
        self.pair_of_codes(node, "fovea_integer_add")

    def integer_mul(self, node):
        self.pair_of_codes(node, "fovea_integer_multiply")

    def integer_activation(self, node):
        x, x_scale, x_zero_point = self.codes(node.x)
        y, (y_scale, y_zero_point) = self.twin(node.y), self.scale(node.y)
        table = np.empty(256, np.int8)
        c.call("fovea_integer_activation_table", c.CONSTANTS[f"ACTIVATION_{node.kind}"], node.alpha or 0.0, x_scale,
               x_zero_point, y_scale, y_zero_point, table)
        table = self.graph.constant(node.name + "_table", table)
        counts, dim, (y_fields, x_fields), ready = self.elements(y, x)
        self.call("fovea_integer_activation", "integer_activation",
                  given(**counts, dim=dim, y=y_fields, x=x_fields, table=table), [*ready[1:], table], ready[:1], node.name)

    def integer_mean(self, node):
        x, x_scale, x_zero_point = self.codes(node.x)
        y, (y_scale, y_zero_point) = self.twin(node.y), self.scale_above(node.y, x_scale / 2**5)
        fields, x = self.pooled(node, x, y)
        self.call("fovea_integer_mean", "integer_mean", given(**fields, x_zero_point=x_zero_point, y_zero_point=y_zero_point, **multiplier("", x_scale / y_scale)),
                  [x], [y], node.name)

    def integer_copy(self, node):
        if node.y.buffer.dtype != np.float32:
            self.copy(node)
            return
        y, scale = self.twin(node.y), self.scale(node.y)
        x, *own = self.codes(node.x, scale)
        if tuple(own) == tuple(scale):
            self.moved(x, y)
            return
        counts, dim, (y_fields, x_fields), ready = self.elements(y, x)
        fields = given(**counts, dim=dim, y=y_fields, a=x_fields, a_zero_point=own[1], y_zero_point=scale[1],
                       **multiplier("a", own[0] / scale[0]))
        self.call("fovea_integer_add", "integer_binary", fields, ready[1:], ready[:1], node.name)


def multiplier(name, real):
    """The two fields of fovea_integer_multiplier."""
    number, shift = ctypes.c_int32(), ctypes.c_int32()
    if real >= 2**-31:
        c.call("fovea_integer_multiplier", real, ctypes.byref(number), ctypes.byref(shift))
    prefix = name and name + "_"
    return {f"{prefix}multiplier": number.value, f"{prefix}shift": shift.value}
