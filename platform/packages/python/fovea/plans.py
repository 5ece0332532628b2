# SPDX-License-Identifier: Apache-2.0
"""Plans, calls, streams and caches."""
import ctypes

import numpy as np

from . import c
from .arrays import dtype_of, four, mask, memory, of_type, pointer, view

DESC_FIELDS = {name for name, *_ in c.HEADER.structures["attention_desc"]._fields_}


def attention_desc(**fields):
    """A fovea_attention_desc; fields are those of fovea.h. Capacities that are not given are 1 batch entry and 1 query."""
    return c.structure("attention_desc", **{"max_batch": 1, "max_q_tokens": 1, **fields})


class Call:
    """The arguments of one call: calling it computes them again, from what the arrays hold then. It answers out.

    out, lse and scores are the arrays that it writes; lse and scores are None unless asked for. raw is the same without a
    check of the status, which it answers: for loops that count nanoseconds.
    """

    def __init__(self, name, plan, args, outputs, keep, state=None):
        self.out, self.lse, self.scores = outputs
        self.keep = plan, args, keep, state
        pointers = [ctypes.c_void_p(ctypes.addressof(one)) for one in (plan.c, args)]
        if state is not None:
            pointers.insert(1, pointer(state))
        arguments = *pointers, pointer(plan.workspace), ctypes.c_size_t(plan.workspace_bytes)
        function = c.function(name)

        def raw(function=function, arguments=arguments):
            return function(*arguments)

        self.raw = raw

    def __call__(self):
        c.check(self.raw())
        return self.out


class Plan:
    """Plan(q_heads=8, kv_heads=2, head_dim=64, value_dim=64, max_kv_tokens=512, causal="bottom_right"): fields of
    fovea_attention_desc, or such a description. The plan has a workspace: one thread uses it at a time."""

    def __init__(self, desc=None, **fields):
        desc = c.assign(desc, **fields) if desc is not None else attention_desc(**fields)
        self.c = c.structure("plan")
        c.call("fovea_plan_init", self.c, desc)
        self.desc = self.c.desc
        self.workspace_bytes = c.call("fovea_workspace_bytes", self.c)
        self.workspace = memory(self.workspace_bytes)

    def describe(self, q_tokens=None, kv_tokens=None):
        """A line of text: what the plan will do for these counts, which are the capacities if not given."""
        counts = (self.desc.max_q_tokens if q_tokens is None else q_tokens, self.desc.max_kv_tokens if kv_tokens is None else kv_tokens)
        text = ctypes.create_string_buffer(c.call("fovea_plan_describe", self.c, *counts, None, 0) + 1)
        c.call("fovea_plan_describe", self.c, *counts, text, len(text))
        return text.value.decode()

    def __call__(self, q, keys, values=None, **options):
        """The output [batch][heads][tokens][value_dim] of the queries over keys and values, or over a Cache."""
        return self.bind(q, keys, values, **options)()

    def bind(self, q, keys, values=None, out=None, lse=False, scores=None, **options):
        """A Call of these arrays. lse=True and scores="softmax", or another stage, ask for these outputs. Other options are
        fields of fovea_attention_args: mask, kv_lengths, positions, alibi_slopes, sinks, ..., as arrays."""
        q = four(q, "q")
        batch, heads, tokens, _ = q.shape
        args = c.structure("attention_args", batch=batch, q_tokens=tokens, q=view("in", q))
        keep = [q, self.add_keys(args, keys, values)]
        outputs = self.add_outputs(args, q.shape, out, lse, scores)
        keep.append(self.add_options(args, options))
        return Call("fovea_attention", self, args, outputs, keep)

    def stream(self, q, first_key=0):
        return Stream(self, q, first_key)

    def add_keys(self, args, keys, values):
        if isinstance(keys, Cache):
            c.call("fovea_kv_attach", keys.c, args)
            return keys
        keys, values = four(keys, "keys"), four(values, "values")
        if keys.shape[:3] != values.shape[:3]:
            raise ValueError(f"keys are {keys.shape}, but values {values.shape}")
        args.kv_tokens = keys.shape[2]
        args.kv.keys, args.kv.values = view("in", keys), view("in", values)
        return keys, values

    def add_outputs(self, args, shape, out, lse, scores):
        dtypes = {0: np.float32, 1: np.float16, 3: np.int8}
        if out is None:
            out = np.empty((*shape[:3], self.desc.value_dim), dtypes.get(self.desc.out_dtype, np.uint16))
        args.out = view("out", four(out, "out"))
        if lse:
            lse = np.empty(shape[:3], np.float32)
            args.lse = view("out", lse)
        if scores:
            c.assign(args, scores_stage=scores)
            scores = np.empty((*shape[:3], args.kv_tokens), np.float32)
            args.scores = view("out", scores)
        return out, lse if lse is not False else None, scores

    def add_options(self, args, options):
        batch, desc, keep = args.batch, self.desc, []
        dense = {"kv_lengths": (np.uint32, batch), "q_offsets": (np.uint32, batch + 1), "kv_offsets": (np.uint32, batch + 1),
                 "positions": (np.int64, batch), "alibi_slopes": (np.float32, desc.q_heads), "sinks": (np.float32, desc.q_heads),
                 "score_vector": (np.float32, (desc.kv_heads, desc.head_dim)),
                 "value_channel_scales": (np.float32, (desc.kv_heads, desc.value_dim))}
        for name, value in options.items():
            if name == "mask":
                args.mask, array = mask(value, batch, desc.q_heads, args.q_tokens, args.kv_tokens)
            elif name in dense:
                array = of_type(value, *dense[name])
                setattr(args, name, array.ctypes.data)
                if array.ndim == 2:
                    setattr(args, name.replace("_scales", "") + "_stride", array.shape[1])
            else:
                c.assign(args, **{name: value})
                continue
            keep.append(array)
        return keep


def attention(q, keys, values, **fields):
    """One call: a plan for these arrays, and its output. Fields are those of fovea_attention_desc, and options of Plan.bind."""
    q, keys, values = four(q, "q"), four(keys, "keys"), four(values, "values")
    desc = {name: fields.pop(name) for name in list(fields) if name in DESC_FIELDS}
    plan = Plan(**{"q_heads": q.shape[1], "kv_heads": keys.shape[1], "head_dim": q.shape[3], "value_dim": values.shape[3],
                   "max_batch": q.shape[0], "max_q_tokens": q.shape[2], "max_kv_tokens": keys.shape[2], "q_dtype": dtype_of(q),
                   "key_dtype": dtype_of(keys), "value_dtype": dtype_of(values), **desc})
    return plan(q, keys, values, **fields)


class Stream:
    """Attention of some queries over keys that come in pieces: plan.stream(q), push(keys, values), ..., end()."""

    def __init__(self, plan, q, first_key=0):
        self.plan, self.q = plan, four(q, "q")
        batch, _, tokens, _ = self.q.shape
        self.state = memory(c.call("fovea_state_bytes", plan.c, batch, tokens))
        c.call("fovea_stream_begin", plan.c, pointer(self.state), self.state.size, batch, tokens, first_key)

    def call(self, name, options, keys=None, values=None, out=None, lse=False):
        args = c.structure("attention_args", batch=self.q.shape[0], q_tokens=self.q.shape[2], q=view("in", self.q))
        keep = [self.plan.add_keys(args, keys, values)] if keys is not None else []
        outputs = self.plan.add_outputs(args, self.q.shape, out, lse, None) if name == "fovea_stream_end" else (None,) * 3
        keep.append(self.plan.add_options(args, options))
        made = Call(name, self.plan, args, outputs, keep, self.state)
        made()
        return made

    def push(self, keys, values=None, **options):
        """Takes in keys and values, or what a Cache holds; they may then be thrown away."""
        self.call("fovea_stream_push", options, keys, values)

    def end(self, out=None, lse=False, **options):
        """The output over all keys so far; with lse=True it and the log-sum-exp. More keys may be pushed."""
        made = self.call("fovea_stream_end", options, out=out, lse=lse)
        return (made.out, made.lse) if lse else made.out

    def merge(self, other):
        """Takes in what another stream of the same queries has seen."""
        c.call("fovea_stream_merge", self.plan.c, pointer(self.state), pointer(other.state))

    def to_bytes(self):
        """The state's image, the same on every machine."""
        image = np.empty(self.state.size, np.uint8)
        c.call("fovea_stream_export", pointer(self.state), pointer(image), image.size)
        return image.tobytes()

    def from_bytes(self, image):
        """Takes the state of another stream of the same counts."""
        image = np.frombuffer(image, np.uint8)
        c.call("fovea_stream_import", pointer(self.state), self.state.size, pointer(image), image.size)


class Cache:
    """Keys and values of tokens so far: Cache(kv_heads=2, head_dim=64, value_dim=64, max_tokens=512, key_dtype="i8",
    value_dtype="i8"). Fields are those of fovea_kv_cache; its memory is made here."""

    def __init__(self, **fields):
        self.c = c.structure("kv_cache", **{"batch": 1, **fields})
        self.memory = memory(c.call("fovea_kv_cache_bytes", self.c))
        c.call("fovea_kv_cache_init", self.c, pointer(self.memory), self.memory.size)

    def append(self, keys, values, entry=0):
        """Adds tokens, [batch][kv_heads][tokens][dim], to as many entries from this one on."""
        keys, values = four(keys, "keys"), four(values, "values")
        batch, heads, tokens, dim = keys.shape
        room = memory(4 * heads * max(dim, values.shape[3]) * min(tokens, 64))
        args = c.structure("kv_append_args", entry=entry, batch=batch, tokens=tokens, dtype=dtype_of(keys), keys=view("in", keys),
                           values=view("in", values), workspace=room.ctypes.data, workspace_bytes=room.size)
        c.call("fovea_kv_append", self.c, args)

    @property
    def lengths(self):
        """Tokens of each entry."""
        return [ctypes.cast(self.c.lengths, ctypes.POINTER(ctypes.c_uint32))[entry] for entry in range(self.c.batch)]

    def truncate(self, length, entry=0):
        c.call("fovea_kv_truncate", self.c, entry, length)

    def reset(self, entry=0):
        c.call("fovea_kv_reset", self.c, entry)

    def plan(self, **fields):
        """A plan over this cache: fields beside those that the cache knows, q_heads at least."""
        desc = attention_desc()
        c.call("fovea_kv_describe", self.c, desc)
        return Plan(desc, **fields)
