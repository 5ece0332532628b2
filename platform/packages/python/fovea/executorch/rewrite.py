# SPDX-License-Identifier: Apache-2.0
"""Finds in a graph what fovea's operators compute, and puts them there.

A graph is one of torch.export, or of ExecuTorch's edge dialect, whose operators are those of PyTorch under other names.
Each function of _REPLACEMENTS takes a node and returns the operator's name and its arguments, or None where the node
stays. What became unused, as a transposition that an operator does itself, is removed at the end.
"""
import operator

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.fx.passes.infra.pass_base import PassBase, PassResult

import executorch.exir.passes.dim_order_ops_registry  # noqa: F401  defines what _COPIES names

from . import operators

aten = torch.ops.aten
KINDS = frozenset({"attention", "linear_activation", "layer_norm", "rms_norm", "activation", "softmax"})
_FLOATS = torch.float32, torch.float16, torch.bfloat16


def aten_of(node):
    """The operator that a node calls, whatever the graph's dialect; None for others."""
    if getattr(node, "op", None) != "call_function":
        return None
    return node.target._op if is_edge(node) else node.target


def is_edge(node):
    return hasattr(node.target, "_op") and not isinstance(node.target, torch._ops.OpOverload)


def is_call(node, *targets):
    return aten_of(node) in targets


def value(node):
    return node.meta["val"]


def same(a, b):
    """Two sizes, or shapes, that are the same for all values of symbols."""
    if isinstance(a, (tuple, list, torch.Size)):
        return len(a) == len(b) and all(map(same, a, b))
    return statically_known_true(a == b)


def argument(node, index, name, default=None):
    return node.args[index] if len(node.args) > index else node.kwargs.get(name, default)


def is_f32(*nodes):
    return all(node is None or value(node).dtype == torch.float32 for node in nodes)


def is_last_dim(dims, node):
    return [dim % value(node).dim() for dim in ([dims] if isinstance(dims, int) else dims)] == [value(node).dim() - 1]


# ----------------------------------------------------------------------------------------------------------- attention

_COPIES = (aten.clone.default, aten.contiguous.default, aten.alias.default, aten.alias_copy.default,
           torch.ops.dim_order_ops._clone_dim_order.default)
_VIEWS = aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.view_copy.default
_EXPANDS = aten.expand.default, aten.expand_copy.default


def swapped(node):
    """The node of [batch][tokens][heads][dim] that this one has as [batch][heads][tokens][dim], or None."""
    if is_call(node, aten.transpose.int, aten.transpose_copy.int):
        if {dim % 4 for dim in node.args[1:3]} == {1, 2}:
            return node.args[0]
    if is_call(node, aten.permute.default, aten.permute_copy.default) and [d % 4 for d in node.args[1]] == [0, 2, 1, 3]:
        return node.args[0]
    return None


def without_copies(node):
    while is_call(node, *_COPIES):
        node = node.args[0]
    return node


def fewer_heads(node):
    """Keys or values before each of their heads was repeated for the query heads that share it."""
    node = without_copies(node)
    if is_call(node, aten.repeat_interleave.self_int) and isinstance(node.args[1], int):
        return fewer_heads(node.args[0]) if argument(node, 2, "dim") in (1, -3) else node
    if not is_call(node, *_VIEWS):
        return node
    expand = without_copies(node.args[0])
    if not is_call(expand, *_EXPANDS) or value(expand).dim() != 5:
        return node
    batch, heads, group, tokens, dim = value(expand).shape
    if not isinstance(group, int) or not same(value(node).shape, (batch, heads * group, tokens, dim)):
        return node
    single = without_copies(expand.args[0])
    if not same(value(single).shape, (batch, heads, 1, tokens, dim)):
        return node
    if is_call(single, aten.unsqueeze.default, aten.unsqueeze_copy.default) and single.args[1] in (2, -3):
        return fewer_heads(single.args[0])
    return node


def attention(node):
    query, key, values = node.args[:3]
    mask, scale = argument(node, 3, "attn_mask"), node.kwargs.get("scale")
    if argument(node, 4, "dropout_p", 0.0) != 0 or any(value(x).dim() != 4 for x in (query, key, values)):
        return None
    if value(query).dtype not in _FLOATS or not same(value(query).shape[0], value(key).shape[0]):
        return None
    if not same(value(key).shape[:3], value(values).shape[:3]):
        return None
    key_heads, query_heads = value(key).shape[1], value(query).shape[1]
    if not same(query_heads, key_heads) and not node.kwargs.get("enable_gqa", False):
        return None
    if mask is not None:
        mask = as_mask(mask, (*value(query).shape[:3], value(key).shape[2]))
        if mask is None:
            return None
    key_before, values_before = fewer_heads(key), fewer_heads(values)
    if same(value(key_before).shape[:3], value(values_before).shape[:3]):
        key, values = key_before, values_before
    tokens_first, inputs = 0, []
    for x, bit in (query, operators.QUERY), (key, operators.KEY), (values, operators.VALUE):
        before = swapped(without_copies(x))
        tokens_first |= 0 if before is None else bit
        inputs.append(x if before is None else before)
    return "attention", (*inputs, mask, argument(node, 5, "is_causal", False), scale, tokens_first)


def as_mask(mask, shape):
    """The mask before it was expanded; None if it is none that the operator takes."""
    if value(mask).dtype not in (torch.bool, *_FLOATS) or value(mask).dim() > 4:
        return None
    mask = without_copies(mask)
    while is_call(mask, *_EXPANDS) and value(mask).dim() == value(mask.args[0]).dim():
        mask = without_copies(mask.args[0])
    sizes = value(mask).shape
    fits = all(same(a, b) or same(a, 1) for a, b in zip(sizes, shape[4 - len(sizes):]))
    return mask if fits else None


# ---------------------------------------------------------------------------------------------------- the other layers


def is_quantized(weight):
    """Floats that are made of codes in each call: another's kernel may take the codes."""
    return "dequantize" in str(aten_of(weight))  # of PT2E, or of torchao's quantize_


def linear(node):
    x, weight = node.args[:2]
    bias = argument(node, 2, "bias")
    if not is_f32(x, weight, bias) or is_quantized(weight):
        return None
    return "linear_activation", (x, weight, bias, "none")


def transposed(node):
    if is_call(node, aten.t.default, aten.t_copy.default):
        return node.args[0]
    if is_call(node, aten.permute.default, aten.permute_copy.default) and list(node.args[1]) == [1, 0]:
        return node.args[0]
    return None


def matrix_product(node):
    """A linear layer as the edge dialect has it: addmm(bias, x, weight^T), or mm(x, weight^T)."""
    bias, x, weight = node.args if is_call(node, aten.addmm.default) else (None, *node.args)
    weight = transposed(weight)
    if weight is None or node.kwargs or not is_f32(x, weight, bias) or is_quantized(weight):
        return None
    if bias is not None and value(bias).dim() != 1:
        return None
    return "linear_activation", (x, weight, bias, "none")


def layer_norm(node):
    x, shape = node.args[:2]
    weight, bias = argument(node, 2, "weight"), argument(node, 3, "bias")
    epsilon = argument(node, 4, "eps", 1e-5)
    if len(shape) != 1 or value(x).dtype not in _FLOATS or not is_f32(weight, bias):
        return None
    return "layer_norm", (x, weight, bias, epsilon)


def first_of_layer_norm(node):
    """The edge dialect has an operator of three results, of which models use the first."""
    whole = node.args[0]
    return layer_norm(whole) if is_call(whole, aten.native_layer_norm.default) and node.args[1] == 0 else None


def rms_norm(node):
    x, shape = node.args[:2]
    weight, epsilon = argument(node, 2, "weight"), argument(node, 3, "eps")
    if len(shape) != 1 or value(x).dtype not in _FLOATS or not is_f32(weight):
        return None
    return "rms_norm", (x, weight, torch.finfo(value(x).dtype).eps if epsilon is None else epsilon)


def mean_of_squares(node):
    """x and epsilon of rsqrt(mean(x^2) + epsilon), or None."""
    if not is_call(node, aten.rsqrt.default) or not is_call(node.args[0], aten.add.Tensor, aten.add.Scalar):
        return None
    mean, epsilon = node.args[0].args[:2]
    if not is_call(mean, aten.mean.dim) or not isinstance(epsilon, float) or not argument(mean, 2, "keepdim", False):
        return None
    square = mean.args[0]
    if is_call(square, aten.pow.Tensor_Scalar) and square.args[1] == 2:
        x = square.args[0]
    elif is_call(square, aten.mul.Tensor) and square.args[0] is square.args[1]:
        x = square.args[0]
    else:
        return None
    return (x, epsilon) if is_last_dim(mean.args[1], x) and is_f32(x) else None


def product(node):
    """x * rsqrt(mean(x^2) + epsilon), its product with a weight, or the product of an activation and a factor."""
    for x, other in node.args[:2], node.args[1::-1]:
        if not isinstance(x, torch.fx.Node) or not isinstance(other, torch.fx.Node):
            return None
        found = mean_of_squares(other)
        if found and found[0] is x:
            return "rms_norm", (x, None, found[1])
        if is_fovea(x, "rms_norm") and x.args[1] is None and value(other).dim() == 1 and is_f32(other):
            if same(value(other).shape[0], value(x).shape[-1]) and len(x.users) == 1:
                return "rms_norm", (x.args[0], other, x.args[2])
        if is_gate(x, other):
            return "activation", (x.args[0], other, activation_of(x))
    return None


def is_fovea(node, name):
    return aten_of(node) is getattr(torch.ops.fovea, name).default


def activation_of(node):
    """The name of the activation that a node is, or None."""
    name = _ACTIVATIONS.get(aten_of(node))
    if name == "gelu" and node.kwargs.get("approximate", "none") == "tanh":
        return "gelu_tanh"
    if is_call(node, aten.hardtanh.default) and tuple(node.args[1:3]) == (0, 6):
        return "relu6"
    return name


def is_gate(node, other):
    return (activation_of(node) is not None and len(node.users) == 1 and value(node).dtype in _FLOATS and
            value(node).dtype == value(other).dtype and same(value(node).shape, value(other).shape))


def activation(node):
    x, name = node.args[0], activation_of(node)
    if name is None or value(x).dtype not in _FLOATS:
        return None
    users = list(node.users)
    if len(users) == 1 and is_call(users[0], aten.mul.Tensor):
        other = [y for y in users[0].args if y is not node]
        if len(other) == 1 and isinstance(other[0], torch.fx.Node) and is_gate(node, other[0]):
            return None  # product() takes both
    if is_fovea(x, "linear_activation") and x.args[3] == "none" and len(x.users) == 1:
        return "linear_activation", (*x.args[:3], name)
    return "activation", (x, None, name)


def softmax(node):
    x, dim = node.args[:2]
    wanted = argument(node, 2, "dtype") or value(x).dtype
    return ("softmax", (x, dim)) if is_f32(x) and wanted in (torch.float32, False) else None


_ACTIVATIONS = {aten.relu.default: "relu", aten.silu.default: "silu", aten.sigmoid.default: "sigmoid", aten.tanh.default: "tanh",
                aten.gelu.default: "gelu", aten.hardswish.default: "hardswish", aten.relu6.default: "relu6"}
_REPLACEMENTS = {
    aten.scaled_dot_product_attention.default: attention,
    aten.linear.default: linear, aten.addmm.default: matrix_product, aten.mm.default: matrix_product,
    aten.layer_norm.default: layer_norm, operator.getitem: first_of_layer_norm,
    aten.rms_norm.default: rms_norm, aten.mul.Tensor: product,
    aten.hardtanh.default: activation, **dict.fromkeys(_ACTIVATIONS, activation),
    aten.softmax.int: softmax, aten._softmax.default: softmax,
}  # yapf: disable

_WHOLE = {aten.scaled_dot_product_attention.default: "attention", aten.linear.default: "linear_activation",
          aten.layer_norm.default: "layer_norm", aten.rms_norm.default: "rms_norm", aten.softmax.int: "softmax"}


def kind_of(node):
    """The kind of an operator that is whole, as torch.export leaves it; None for others."""
    return "activation" if activation_of(node) is not None else _WHOLE.get(aten_of(node))


# --------------------------------------------------------------------------------------------------------------- graph


def target_of(name, edge):
    if edge:
        from executorch.exir.dialects._ops import ops as dialects
        return getattr(dialects.edge.fovea, name).default
    return getattr(torch.ops.fovea, name).default


def check_kinds(kinds):
    unknown = set(kinds) - KINDS
    if unknown:
        raise ValueError(f"{sorted(unknown)} are no kinds of operators: there are {sorted(KINDS)}")
    return kinds


class ToFovea(PassBase):
    """The pass by itself, for the transform_passes of to_edge_transform_and_lower, or EdgeProgramManager.transform."""

    def __init__(self, kinds=KINDS, renamed=None):
        self.kinds, self.renamed, self.replaced = check_kinds(kinds), renamed or (lambda old, new: None), {}

    def call(self, graph_module):
        graph = graph_module.graph
        edge = any(is_edge(node) for node in graph.nodes if node.op == "call_function")
        for node in list(graph.nodes):
            replacement = _REPLACEMENTS.get(aten_of(node), lambda _: None)(node)
            if replacement is None or replacement[0] not in self.kinds:
                continue
            name, arguments = replacement
            with graph.inserting_before(node):
                new = graph.call_function(target_of(name, edge), arguments)
            new.meta = {key: node.meta[key] for key in ("val", "stack_trace") if key in node.meta}
            node.replace_all_uses_with(new)
            self.renamed(node.name, new.name)
            graph.erase_node(node)
        for node in list(graph.nodes):
            if is_fovea(node, "attention") or is_fovea(node, "quantized_attention"):
                self._swap_result(node)
        for node in graph.nodes:
            # Results have other strides now, which may need a copy.
            if not edge and is_call(node, aten.view.default):
                node.target = aten.reshape.default
        graph.eliminate_dead_code()
        graph_module.recompile()
        for node in graph.nodes:
            for name in operators.NAMES:
                if is_fovea(node, name):
                    self.replaced[name] = self.replaced.get(name, 0) + 1
        return PassResult(graph_module, bool(self.replaced))

    def _swap_result(self, node):
        """Attention whose result is transposed by all users gives it in that order."""
        users = list(node.users)
        if not users or not all(swapped(user) is node for user in users):
            return
        node.args = (*node.args[:-1], node.args[-1] | operators.OUT)
        node.meta["val"] = value(users[0])
        for user in users:
            user.replace_all_uses_with(node)
            self.renamed(user.name, node.name)
