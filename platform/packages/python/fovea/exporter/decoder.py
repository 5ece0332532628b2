# SPDX-License-Identifier: Apache-2.0
"""The step of a decoder: one token, which attends to the keys and values that caches have of those before it.

The model is read twice, with all tokens and with one. The two graphs have the same nodes. A constant that they share is
a weight; one of which the second has the first row belongs to positions: the step takes the row of its position.
"""
import math

import numpy as np

from . import views
from .attention_patterns import shared_heads
from .calls import Pointed, given
from .graph import Moving, NotServed
from .lower import Lowering, array
from .lower_multihead import layers, multihead_desc, rows
from .masks import meaning


def pair(whole, step):
    """Gives the graph of one token the constants of the graph of all. Returns the most tokens."""
    kinds = [[node.op for node in graph.nodes] for graph in (whole, step)]
    if kinds[0] != kinds[1] or len(whole.inputs) != 1:
        raise NotServed("a step of this model", "", "a model of one input, which does the same for any number of tokens")
    tokens = whole.inputs[0].shape[-1]
    if whole.inputs[0].shape != (1, tokens) or step.inputs[0].shape != (1, 1):
        raise NotServed("a step of several sequences", "", "token numbers of the shape [1, tokens]")
    for one, other in zip(whole.nodes, step.nodes):
        for role, tensor in one.inputs.items():
            if role == "mask":
                other.inputs[role] = None
            elif tensor is not None and tensor.is_constant:
                other.inputs[role] = shared(tensor, other.inputs[role], one, role)
        if one.op in ("attention", "multihead") and not is_causal(one):
            raise NotServed("a step of attention that is not causal", one.line, "is_causal, or a causal mask")
        other.attrs = {**other.attrs, "causal": False}
    step._names = whole._names
    return tokens


def is_causal(node):
    mask = node.mask
    return bool(node.causal) or mask is not None and mask.is_constant and str(meaning(mask)).startswith("FOVEA_CAUSAL")


def shared(tensor, single, node, role):
    """The constant of the graph of all tokens, in the place of that of one."""
    if role in ("cos", "sin"):
        return tensor
    if tensor.shape == single.shape and np.array_equal(tensor.data, single.data):
        return tensor
    axes = [axis for axis, (many, one) in enumerate(zip(tensor.shape, single.shape)) if many != one]
    first = tensor.slice(axes[0], 0, 1) if len(axes) == 1 else None
    if first is not None and first.shape == single.shape and np.array_equal(first.data, single.data):
        loops = views.merged(tensor.dims[axes[0]])
        if not loops or loops[0][1] == 0:
            return first
        if len(loops) == 1:
            return Moving(first.buffer, first.dims, first.offset, loops[0][1])
    if not any(stride for dim in tensor.dims for _, stride in dim):
        return single  # one number for all elements
    raise NotServed("a constant that depends on the number of tokens", node.line, "one that depends on positions alone")


class StepLowering(Lowering):
    """Calls of a step. Attention appends to a cache, then attends to it."""

    def __init__(self, graph, weights, tokens):
        super().__init__(graph, weights)
        self.tokens, self.caches, self.prefix = tokens, [], "step_"

    def cache(self, kv_heads, head_dim, value_dim, node):
        """The C expression of the layer's cache."""
        fields = given(batch=1, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim, max_tokens=self.tokens)
        if self.caches and fields != self.caches[0]:
            raise NotServed("caches of several sizes", node.line, "layers with the same heads")
        self.caches.append(fields)
        return f"&caches[{len(self.caches) - 1}]"

    def outputs(self):
        self.graph._names.pop("out", None)  # parameters of another function may have the same names
        super().outputs()

    def rope(self, node):
        super().rope(node)
        self.calls[-1].fields["position_offset"] = "position"

    def multihead(self, node):
        if node.keys or node.outputs.get("weights"):
            raise NotServed("a step of attention to another sequence", node.line, "attention of a sequence to itself")
        cache = self.cache(node.kv_heads, node.head_dim, node.head_dim, node)
        weights, reads, form, compute = layers(self, node)
        desc = multihead_desc(node, form, compute, 1, self.tokens, 0)
        desc["max_new_tokens"] = 1
        rope = node.cos and Pointed(
            "rope_args",
            given(layout=f"FOVEA_ROPE_{node.layout}", cos=node.cos, sin=node.sin, table_stride=node.cos.shape[1],
                  table_positions=node.cos.shape[0], first_positions="&position"))
        fields = given(batch=1, q_tokens=1, y=rows(node.y), x=rows(node.x), weights=weights, rope=rope)
        plan = self.plan("multihead", desc)
        counts = f"{node.x.shape[2]}, {node.heads}, {node.kv_heads}, {node.head_dim}, 1, 1"
        size = (f"FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES({counts})"
                if compute else f"FOVEA_MULTIHEAD_WORKSPACE_BYTES({counts}, {form or 'FOVEA_F32'})")
        reads = [node.x, *reads, node.cos, node.sin, node.sinks]
        append = {key: value for key, value in fields.items() if key != "y"}
        self.call("fovea_multihead_append", "multihead", {**append, "attention": {}}, reads, [], node.name, plan=plan,
                  workspace=size, cache=cache)
        self.call("fovea_multihead", "multihead", {**fields, "cache": cache, "attention": given(sinks=node.sinks)}, reads,
                  [node.y], node.name, plan=plan, workspace=size)

    def attention(self, node):
        k, v, kv_heads = shared_heads(node.k, node.v)
        heads, dim, value_dim = node.q.shape[1], k.shape[3], v.shape[3]
        cache = self.cache(kv_heads, dim, value_dim, node)
        self.call("fovea_kv_append", "kv_append", given(batch=1, tokens=1, keys=array(k), values=array(v)), [k, v], [],
                  node.name, cache=cache)
        scale = 0 if math.isclose(node.scale, 1 / math.sqrt(dim), rel_tol=1e-7) else node.scale
        desc = given(q_heads=heads, kv_heads=kv_heads, head_dim=dim, value_dim=value_dim, max_batch=1, max_q_tokens=1,
                     max_kv_tokens=self.tokens, scale=scale, softcap=node.softcap)
        self.call("fovea_attention", "attention", given(q_tokens=1, q=array(node.q), out=array(node.y), sinks=node.sinks),
                  [node.q, node.sinks], [node.y], node.name, plan=self.plan("attention", desc), cache=cache,
                  workspace=f"FOVEA_ATTENTION_WORKSPACE_BYTES_FOR({dim}, {value_dim}, {heads // kv_heads})")
