# SPDX-License-Identifier: Apache-2.0
"""A call of fovea_multihead: attention with its linear layers."""
import math

from . import views
from .calls import Pointed, given
from .masks import lower_mask


def multihead(lowering, node):
    x, y = node.x, node.y
    keys = node.keys or x
    values = node.values or keys
    batch, tokens, d_model = x.shape
    heads, kv_heads, dim, kv_tokens = node.heads, node.kv_heads, node.head_dim, keys.shape[1]
    weights, reads, form, compute = layers(lowering, node)
    causal, hiding, mask_reads = lower_mask(lowering, node.mask, bool(node.causal))
    desc = multihead_desc(node, form, compute, batch, kv_tokens, causal)
    written = node.outputs.get("weights")
    rope = node.cos and Pointed(
        "rope_args",
        given(layout=f"FOVEA_ROPE_{node.layout}", cos=node.cos, sin=node.sin, table_stride=node.cos.shape[1],
              table_positions=node.cos.shape[0]))
    fields = given(batch=batch, q_tokens=tokens, kv_tokens=kv_tokens if node.keys else 0, y=rows(y), x=rows(x),
                   keys=node.keys and rows(keys), values=node.values and rows(values), weights=weights, rope=rope)
    fields["attention"] = given(**hiding, sinks=node.sinks, scores=written and scores(written), scores_stage=written and "FOVEA_SCORES_SOFTMAX")
    model = max(d_model, keys.shape[2], values.shape[2])
    counts = f"{model}, {heads}, {kv_heads}, {dim}, {batch * tokens}, {batch * kv_tokens}"
    size = (f"FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES({counts})"
            if compute else f"FOVEA_MULTIHEAD_WORKSPACE_BYTES({counts}, {form or 'FOVEA_F32'})")
    linears = batch * dim * (tokens * heads * (d_model + d_model) + kv_tokens * kv_heads * (keys.shape[2] + values.shape[2]))
    products = 2 * batch * heads * tokens * kv_tokens * dim // (2 if causal else 1)
    lowering.call("fovea_multihead", "multihead", fields,
                  [x, node.keys, node.values, *reads, *mask_reads, node.cos, node.sin, node.sinks],
                  [y] + [written] * (written is not None), node.name, plan=lowering.plan("multihead", desc),
                  workspace=size, macs=linears + products)


def multihead_desc(node, form, compute, batch, kv_tokens, causal):
    """The fields of fovea_multihead_desc."""
    x = node.x
    keys = node.keys or x
    values = node.values or keys
    d_model, dim = x.shape[2], node.head_dim
    scale = 0 if math.isclose(node.scale, 1 / math.sqrt(dim), rel_tol=1e-7) else node.scale
    attention = given(q_heads=node.heads, kv_heads=node.kv_heads, head_dim=dim, value_dim=dim, max_batch=batch,
                      max_q_tokens=x.shape[1], max_kv_tokens=kv_tokens, scale=scale, causal=causal, softcap=node.softcap)
    return given(d_model=d_model if d_model != node.heads * dim else 0, key_model=keys.shape[2] if keys.shape[2] != d_model else 0,
                 value_model=values.shape[2] if values.shape[2] != keys.shape[2] else 0, weight_dtype=form, linear_compute=compute,
                 attention=attention)


def layers(lowering, node):
    """The fields of fovea_multihead_weights, what they read, and their format and arithmetic: one for all."""
    roles = ["qkv", "out"] if node.qkv else ["q", "k", "v", "out"]
    form = lowering.weights.format_of(node.name, *(getattr(node, role) for role in roles))
    weights, reads, compute = {}, [], None
    for role in roles:
        weights[role], read, compute = lowering.weights.linear(getattr(node, role), getattr(node, role + "_bias"), node.name, form=form)
        reads += read
    return weights, reads, weights["out"].get("dtype"), compute


def rows(x):
    """A fovea_in or fovea_out of [batch, tokens, dim]."""
    loops = [views.merged(dim) for dim in x.dims]
    return given(data=x, batch_stride=loops[0][0][1] if loops[0] else 0, token_stride=loops[1][0][1] if loops[1] else 0)


def scores(x):
    """A fovea_out of [batch, heads, tokens, keys]."""
    strides = [loops[0][1] if loops else 0 for loops in (views.merged(dim) for dim in x.dims)]
    return given(data=x, batch_stride=strides[0], head_stride=strides[1], token_stride=strides[2])
