# SPDX-License-Identifier: Apache-2.0
"""Puts fovea's operators on int8 tensors into a graph that PT2E quantised.

There an operator on floats is between dequantize and quantize nodes. quantize_per_tensor(operator(dequantize_per_tensor))
becomes an operator on the codes, and so does what only moves elements. Quantised are activations of int8 with one scale
and one zero point, and weights of linear layers of int8 with a scale for each output, or one.
"""
import math

import torch
from torch.export.graph_signature import InputKind

from . import operators, rewrite
from .rewrite import argument, aten, is_call, same, swapped, value, without_copies

_q = torch.ops.quantized_decomposed
MOVES = rewrite._COPIES + rewrite._VIEWS + rewrite._EXPANDS + (
    aten.transpose.int, aten.permute.default, aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims,
    aten.select.int, aten.slice.Tensor, aten.flatten.using_ints, aten.unflatten.int, aten.t.default)


def multiplier(real, least, most):
    """Two integers of which a number is multiplier * 2^(shift - 31); None where the shift is out of range."""
    if not 0 < real < math.inf:
        return None
    fraction, shift = math.frexp(real)
    number = round(fraction * 2**31)
    if number == 2**31:
        number, shift = 2**30, shift + 1
    return (number, shift) if least <= shift <= most else None


class Codes:
    """An int8 tensor of the graph, with its scale and zero point."""

    def __init__(self, node, parameters):
        self.node, (self.scale, self.zero) = node, parameters


def parameters_of(node):
    """Scale and zero point of a node that makes int8 of floats, or floats of int8."""
    scale, zero, least, most, dtype = node.args[1:6]
    is_ours = dtype == torch.int8 and -128 <= least <= zero <= most <= 127 and 0 < scale < math.inf
    return (scale, zero) if is_ours else None


def codes_of(node):
    """The codes of which the node's floats are made; None if they are not."""
    if not isinstance(node, torch.fx.Node) or not is_call(node, _q.dequantize_per_tensor.default):
        return None
    found = parameters_of(node)
    is_float = value(node).dtype == torch.float32 and value(node.args[0]).dtype == torch.int8
    return Codes(node.args[0], found) if found and is_float else None


class Quantized:
    """Replaces operators in a program, which also has the numbers of weights and gets new constants."""

    def __init__(self, program, kinds):
        self.program, self.kinds, self.graph = program, kinds, program.graph_module.graph
        self.count = 0

    # ------------------------------------------------------------------------------------------------------- constants

    def constant(self, node):
        """The numbers of a weight or bias, as floats where it is stored as codes; None if they are not known here."""
        from executorch.backends.transforms.utils import get_param_tensor, is_param_node
        if is_call(node, _q.dequantize_per_tensor.default, _q.dequantize_per_channel.default):
            codes, *numbers = [self.constant(x) if isinstance(x, torch.fx.Node) else x for x in node.args[:4]]
            if any(x is None for x in (codes, *numbers)):
                return None
            return node.target(codes, *numbers, *node.args[4:], **node.kwargs)
        return get_param_tensor(self.program, node).detach() if is_param_node(self.program, node) else None

    def add_constant(self, data):
        from executorch.backends.transforms.utils import create_constant_placeholder
        users = self.program.graph_signature.user_inputs
        places = [node for node in self.graph.nodes if node.op != "placeholder" or node.name in users]
        self.count += 1
        with self.graph.inserting_before(places[0]):
            return create_constant_placeholder(self.program, self.graph, f"fovea_constant_{self.count}",
                                               InputKind.CONSTANT_TENSOR, data.contiguous())

    # ------------------------------------------------------------------------------------------------------- operators

    def attention(self, node, out):
        query, key, values = map(codes_of, node.args[:3])
        mask, scale = argument(node, 3, "attn_mask"), node.kwargs.get("scale")
        found = rewrite.attention(node)
        if not (query and key and values) or mask is not None or found is None:
            return None
        scale = 1 / math.sqrt(value(query.node).shape[3]) if scale is None else scale
        score = multiplier(query.scale * key.scale * scale * math.log2(math.e), -31, 31)
        factor = multiplier(values.scale / out.scale, -31, 31)
        if score is None or factor is None:
            return None
        tokens_first, inputs = 0, []
        nodes = [query.node, *self.fewer_heads(key.node, values.node)]
        for x, bit in zip(nodes, (operators.QUERY, operators.KEY, operators.VALUE)):
            before = swapped(without_copies(x))
            tokens_first |= 0 if before is None else bit
            inputs.append(x if before is None else before)
        return (*inputs, argument(node, 5, "is_causal", False), query.zero, values.zero, out.zero, *score, *factor, tokens_first)

    @staticmethod
    def fewer_heads(key, values):
        before = rewrite.fewer_heads(key), rewrite.fewer_heads(values)
        return before if same(value(before[0]).shape[:3], value(before[1]).shape[:3]) else (key, values)

    def linear_activation(self, node, out, activation="none"):
        x, weight, bias = codes_of(node.args[0]), node.args[1], argument(node, 2, "bias")
        scales, codes = self.weight_scales(weight)
        if x is None or scales is None or not 2**-126 < out.scale < 2**126:
            return None
        if bias is not None:
            bias = self.float_bias(bias)
            if bias is None:
                return None
        return (x.node, codes, scales, bias, x.scale, x.zero, out.scale, out.zero, activation)

    def weight_scales(self, weight):
        """Nodes with the scale of each output and the codes of the weights."""
        of_tensor = is_call(weight, _q.dequantize_per_tensor.default)
        if not of_tensor and not is_call(weight, _q.dequantize_per_channel.default):
            return None, None
        codes, scales, zeros = weight.args[:3]
        if value(codes).dtype != torch.int8:
            return None, None
        if of_tensor:
            scales, zeros = torch.full(value(codes).shape[:1], scales), torch.tensor(zeros)
        else:
            scales, zeros = self.constant(scales), self.constant(zeros)
            if scales is None or zeros is None or weight.args[3] != 0:
                return None, None
        return (None, None) if zeros.any() else (self.add_constant(scales.float()), codes)

    def float_bias(self, bias):
        if is_call(bias, _q.dequantize_per_tensor.default, _q.dequantize_per_channel.default):
            numbers = self.constant(bias)
            return None if numbers is None else self.add_constant(numbers.float())
        return bias if rewrite.is_f32(bias) else None

    def layer_norm(self, node, out):
        bias = argument(node, 3, "bias")
        found = self.norm(node, out, argument(node, 4, "eps", 1e-5))
        if found is None or bias is None:
            return found and (*found[:2], None, *found[2:])
        numbers = self.constant(bias)
        numbers = None if numbers is None else (numbers.double() * (128 / out.scale)).round()
        if numbers is None or numbers.abs().max() > 32767:
            return None
        return (*found[:2], self.add_constant(numbers.to(torch.int16)), *found[2:])

    def rms_norm(self, node, out):
        epsilon = argument(node, 3, "eps")
        return self.norm(node, out, torch.finfo(torch.float32).eps if epsilon is None else epsilon)

    def norm(self, node, out, epsilon):
        x, shape, weight = codes_of(node.args[0]), node.args[1], argument(node, 2, "weight")
        if x is None or len(shape) != 1 or not isinstance(shape[0], int) or shape[0] > 16384:
            return None
        numbers = torch.ones(shape[0]) if weight is None else self.constant(weight)
        if numbers is None:
            return None
        scale = max(numbers.abs().max().item() / 32767, out.scale * 2**-31)
        factor = multiplier(scale / out.scale, -31, -8)
        real = epsilon / x.scale**2
        epsilons = (0, 0) if real < 2**-31 else multiplier(real, -31, 15)
        if factor is None or epsilons is None:
            return None
        codes = (numbers.double() / scale).round().clamp(-32767, 32767).to(torch.int16)
        return (x.node, self.add_constant(codes), x.zero, out.zero, *factor, *epsilons)

    def activation(self, node, out):
        x, name = codes_of(node.args[0]), rewrite.activation_of(node)
        if x is None or name is None:
            return None
        codes = torch.arange(256, dtype=torch.uint8).view(torch.int8).double()
        y = operators.ACTIVATIONS[name](x.scale * (codes - x.zero))
        return (x.node, self.add_constant(operators.to_codes(y / out.scale, out.zero)))

    def softmax(self, node, out):
        x = codes_of(node.args[0])
        if x is None or rewrite.softmax(node) is None:
            return None
        return (x.node, node.args[1], x.scale, out.scale, out.zero)

    # ----------------------------------------------------------------------------------------------------------- graph

    def replacement(self, quantize):
        """The operator's kind and its arguments, or None."""
        y, found = quantize.args[0], parameters_of(quantize)
        if found is None or len(y.users) != 1 or getattr(y, "op", None) != "call_function":
            return None
        out = Codes(quantize, found)
        name = rewrite.activation_of(y)
        if name is not None and is_call(y.args[0], aten.linear.default) and len(y.args[0].users) == 1:
            return "linear_activation", self.linear_activation(y.args[0], out, name)
        kind = rewrite.kind_of(y)
        return None if kind is None or kind not in self.kinds else (kind, getattr(self, kind)(y, out))

    def moved(self, quantize):
        """A node that moves codes, in place of one that moves the floats made of them; None if there is no such."""
        y, found = quantize.args[0], parameters_of(quantize)
        codes = codes_of(y)
        if codes is not None and found == (codes.scale, codes.zero):
            return codes.node
        if found is None or not is_call(y, *MOVES):
            return None
        codes = codes_of(y.args[0])
        if codes is None or found != (codes.scale, codes.zero):
            return None
        if y.kwargs.get("memory_format") not in (None, torch.contiguous_format):
            return None
        with self.graph.inserting_before(quantize):
            new = self.graph.call_function(y.target, (codes.node, *y.args[1:]), dict(y.kwargs))
        new.meta = {**quantize.meta, "val": value(y).to(torch.int8)}
        return new

    def run(self):
        for step in self.moved, self.replaced:
            for node in list(self.graph.nodes):
                new = step(node) if is_call(node, _q.quantize_per_tensor.default) else None
                if new is not None:
                    node.replace_all_uses_with(new)
                    self.program.graph_signature.replace_all_uses(node.name, new.name)
                    self.graph.erase_node(node)
        self.graph.eliminate_dead_code()
        self.program.graph_module.recompile()

    def replaced(self, node):
        found = self.replacement(node)
        if found is None or found[1] is None or found[0] not in self.kinds:
            return None
        kind, arguments = found
        with self.graph.inserting_before(node):
            new = self.graph.call_function(rewrite.target_of(_NAMES.get(kind, f"quantized_{kind}"), False), arguments)
        new.meta = {key: node.meta[key] for key in ("val", "stack_trace") if key in node.meta}
        return new


_NAMES = {"linear_activation": "quantized_linear"}
