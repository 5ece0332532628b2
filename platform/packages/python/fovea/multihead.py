# SPDX-License-Identifier: Apache-2.0
"""Multi-head layers: multihead.h has formulas and errors."""
import numpy as np

from . import c
from .arguments import KV_SCALES, OFFSETS, OPTIONS, Arguments
from .arrays import HELD_IN, Shown, as_array, is_array, is_of, memory, view
from .plans import DESC_FIELDS
from .prepared import Pool, Prepared
from .signatures import takes
from .weights import Weights

OF_A_CALL = OPTIONS - {*OFFSETS, *KV_SCALES, "q_scales"}
OF_A_LAYER = {"weight_dtype", "linear_compute", "x_dtype", "y_dtype", "x_scale", "y_scale", "x_zero_point", "y_zero_point"}


class MultiheadAttention(Shown):
    """Attention with its linear layers: MultiheadAttention(q_heads=8, qkv=Weights(w, b), out=Weights(w_out, b_out)).

    Weights are Weights or arrays: qkv, whose rows are those of q, k and v after one another, or q, k and v; and out.
    What is left out is the identity. kv_heads is q_heads unless given; head_dim and value_dim follow from the weights.
    Other fields are those of attention and of a layer in fovea.h, as causal="bottom_right", linear_compute="i8".
    Several threads may call a layer.
    """

    @takes("attention_desc", value_dim=..., head_dim=..., max_batch=..., max_q_tokens=..., max_kv_tokens=...)
    def __init__(self, q_heads, *, qkv=None, q=None, k=None, v=None, out=None, kv_heads=None, **fields):
        given = {"q": q, "k": k, "v": v, "out": out, "qkv": qkv}
        self.weights = {name: one if isinstance(one, Weights) else Weights(one) for name, one in given.items() if one is not None}
        if not self.weights:
            raise TypeError("a layer needs weights: qkv, or q, k and v, or out")
        c.check_names(fields, DESC_FIELDS | OF_A_LAYER, "field of a layer")
        formats = {one.dtype for one in self.weights.values()}
        if len(formats) > 1:
            raise TypeError(f"weights are of {' and '.join(sorted(formats))}: all must have one format")
        q_heads = c.number(q_heads, c.c_uint32, "q_heads")
        kv_heads = q_heads if kv_heads is None else c.number(kv_heads, c.c_uint32, "kv_heads")
        self.desc = c.structure("multihead_desc", weight_dtype=formats.pop())
        attention = c.structure("attention_desc", q_heads=q_heads, kv_heads=kv_heads)
        for name, value in {**self.dims(q_heads, kv_heads, fields), **fields}.items():
            c.assign(attention if name in DESC_FIELDS else self.desc, **{name: value})
        self.desc.attention = attention
        self.c = c.structure("multihead_weights", **{name: one.c for name, one in self.weights.items()})
        self.check_weights()
        self._calls = Pool()

    def _shown(self):
        return [*c.numbers_of(self.desc.attention), *c.numbers_of(self.desc), *self.weights.items()]

    def dims(self, q_heads, kv_heads, fields):
        """What the shapes of the weights say."""
        rows = {name: one.out_dim for name, one in self.weights.items()}
        inputs = {name: one.in_dim for name, one in self.weights.items()}
        dims = {"d_model": rows.get("out", inputs.get("qkv", inputs.get("q", 0))), "key_model": inputs.get("k", 0),
                "value_model": inputs.get("v", 0)}
        dims = {name: dim for name, dim in dims.items() if dim}
        if q_heads and kv_heads:
            dims["head_dim"] = rows["qkv"] // (q_heads + 2 * kv_heads) if "qkv" in rows else (
                rows["q"] // q_heads if "q" in rows else rows["k"] // kv_heads if "k" in rows else
                dims.get("d_model", 0) // q_heads)
            dims["value_dim"] = rows["v"] // kv_heads if "v" in rows else (
                inputs["out"] // q_heads if "out" in inputs else fields.get("head_dim", dims["head_dim"]))
        return dims

    def check_weights(self):
        """C takes the shapes of weights from the description."""
        desc, heads = self.desc, self.desc.attention
        model = desc.d_model or heads.q_heads * heads.head_dim
        keys = desc.key_model or model
        q, k, v = heads.q_heads * heads.head_dim, heads.kv_heads * heads.head_dim, heads.kv_heads * heads.value_dim
        wanted = {"q": (q, model), "k": (k, keys), "v": (v, desc.value_model or keys),
                  "out": (model, heads.q_heads * heads.value_dim), "qkv": (q + k + v, model)}
        for name, one in self.weights.items():
            if (one.out_dim, one.in_dim) != wanted[name]:
                raise ValueError(f"{name} has the shape {(one.out_dim, one.in_dim)}: it must be {wanted[name]}")

    @takes(**dict.fromkeys(sorted(OF_A_CALL)))
    def __call__(self, x, keys=None, values=None, out=None, *, lse=False, scores=None, mask=None, **options):
        """The output of x, [batch][tokens][d_model] or without batch. keys: those of another sequence, or x; values: or
        keys. lse=True, scores="softmax": these, too, [batch][heads][tokens] and [batch][heads][tokens][keys]."""
        if not isinstance(lse, (bool, np.bool_)):
            raise TypeError(f"lse is of {type(lse).__name__}: it must be True or False")
        outputs = [out, *[None] * (bool(lse) + (scores is not None))]
        results = self._calls.call(self._prepare, (x, keys, values, mask), outputs, {"lse": bool(lse), "scores": scores, **options})
        return results[0] if len(outputs) == 1 else tuple(results)

    def _prepare(self, inputs, outputs, lse, scores, **options):
        x, keys, values, mask = inputs
        types = [HELD_IN["i8" if dtype else "f32"] for dtype in (self.desc.x_dtype, self.desc.y_dtype)]
        model = self.desc.d_model or self.desc.attention.q_heads * self.desc.attention.head_dim
        key_model = self.desc.key_model or model
        args = c.structure("multihead_args", weights=self.c)
        sizes = {"d_model": model, "key_model": key_model, "value_model": self.desc.value_model or key_model}
        for name, array, dims in (("x", x, "q_tokens d_model"), ("keys", keys, "kv_tokens key_model"),
                                  ("values", values, "kv_tokens value_model")):
            if array is not None or name == "x":
                setattr(args, name, tokens("in", array, name, types[0], dims, sizes))
        if values is not None and keys is None:
            raise TypeError("values are given without keys")
        sizes.setdefault("kv_tokens", sizes["q_tokens"])
        batch, q_tokens, kv_tokens = (args.batch, args.q_tokens, args.kv_tokens) = (sizes["batch"], sizes["q_tokens"], sizes["kv_tokens"])
        shape = np.shape(x)
        out = np.empty((*shape[:-1], model), types[1][0]) if outputs[0] is None else outputs[0]
        args.y = tokens("out", out, "out", types[1], "q_tokens d_model", dict(sizes))
        desc = type(self.desc).from_buffer_copy(self.desc)
        counts = {"max_batch": max(batch, 1), "max_q_tokens": q_tokens, "max_kv_tokens": kv_tokens}
        c.assign(desc.attention, **counts)
        arguments = Arguments(desc.attention, {**options, "mask": mask}, OF_A_CALL, copies=True)
        arguments.sizes.update(sizes)
        c.assign(arguments.c, batch=batch, q_tokens=q_tokens, kv_tokens=kv_tokens)
        arguments.add_options()
        results, rows = [("y.data", out)], (batch, desc.attention.q_heads, q_tokens)
        if lse:
            results.append(("attention.lse.data", np.empty(rows[3 - len(shape):], np.float32)))
            arguments.c.lse = view("out", results[-1][1].reshape(rows))
        if scores is not None:
            results.append(("attention.scores.data", np.empty((*rows, kv_tokens)[3 - len(shape):], np.float32)))
            c.assign(arguments.c, scores_stage=scores, scores=view("out", results[-1][1].reshape(*rows, kv_tokens)))
        args.attention = arguments.c
        plan = c.structure("multihead_plan")
        c.call("fovea_multihead_plan_init", plan, desc)
        workspace = memory(c.size("fovea_multihead_workspace_bytes", plan))
        return Prepared("fovea_multihead", args, (("x.data", x), ("keys.data", keys), ("values.data", values),
                                                  ("attention.mask.data", mask)), results, workspace,
                        [*c.pointers(plan, args, workspace), workspace.size])


def tokens(kind, array, name, dtypes, dims, sizes):
    """A fovea_in or fovea_out of [batch][tokens][model]."""
    if kind == "out":
        is_array(array, name)
    array = as_array(array, name)
    is_of(array, name, dtypes)
    dims = ["batch", *dims.split()]
    wide = array[np.newaxis] if array.ndim == 2 else array
    if wide.ndim != 3 or any(sizes.get(dim, count) != count for dim, count in zip(dims, wide.shape)):
        wanted = "".join(f"[{dim} {sizes[dim]}]" if dim in sizes else f"[{dim}]" for dim in dims)
        raise ValueError(f"{name} has the shape {array.shape}: it must be {wanted}")
    sizes.update(zip(dims, wide.shape))
    return view(kind, wide[:, np.newaxis], name, copies=kind == "in")
