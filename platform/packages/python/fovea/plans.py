# SPDX-License-Identifier: Apache-2.0
"""Plans, calls, streams and caches."""
import contextlib
import ctypes
import functools
import itertools

import numpy as np

from . import c
from .arguments import ENDS, OFFSETS, OPTIONS, Arguments, shape_of
from .arrays import Held, Shown, as_array, dense, dtype_of, memory, numbers, take
from .prepared import Pool, Prepared
from .rotations import turns_of
from .signatures import takes

_numbers = itertools.count()
DERIVED = ("q_heads", "kv_heads", "head_dim", "value_dim", "max_batch", "max_q_tokens", "max_kv_tokens", "q_dtype",
           "key_dtype", "value_dtype")  # from the arrays, unless given
CACHE_FIELDS = [*c.HEADER.structures["kv_cache_desc"].kinds][1:]
DESC_FIELDS = {name for name, *_ in c.HEADER.structures["attention_desc"]._fields_} - {"struct_bytes"}


@takes("attention_desc", max_batch=1, max_q_tokens=1)
def attention_desc(**fields):
    """A fovea_attention_desc; fields are those of fovea.h. max_batch and max_q_tokens are 1 unless given, and
    processor_features those of this machine."""
    features = {"processor_features": c.PROCESSOR_FEATURES}
    return c.structure("attention_desc", **{"max_batch": 1, "max_q_tokens": 1, **features, **fields})


class Call(Held):
    """A call with bound arrays: each time it is called it computes from what the arrays hold then. It returns out.

    out, lse and scores are the arrays that it writes; lse and scores are None unless asked for. raw is the same, but
    returns the status and checks neither it nor other threads: for loops where nanoseconds count. Both keep alive all
    that C reads and writes. Over a Cache it is for the tokens that the cache had when it was made (ERR_LENGTH after an
    append).
    """

    def __init__(self, name, plan, arguments, outputs, state=None):
        super().__init__()
        self.out, self.lse, self.scores = outputs
        self._plan, self._cache = plan, contextlib.nullcontext() if arguments.cache is None else arguments.cache
        pointers = [plan.c, arguments.c] if state is None else [plan.c, state, arguments.c]
        self.raw = functools.partial(c.function(name), *c.pointers(*pointers, plan._workspace), plan._workspace.size)
        self.raw.keep = pointers, plan, self._cache

    def __call__(self):
        with self._plan, self._cache:
            status = self.raw()
        c.check(status)
        return self.out

    def _shown(self):
        return [("plan", self._plan), ("out", self.out.shape)]


class Plan(Held):
    """Plan(q_heads=8, kv_heads=2, head_dim=64, value_dim=64, max_kv_tokens=512, causal="bottom_right"): fields of
    fovea_attention_desc, or such a description. The plan has a workspace: one thread uses it at a time."""

    @takes("attention_desc", max_batch=1, max_q_tokens=1)
    def __init__(self, desc=None, **fields):
        super().__init__()
        if desc is None:
            desc = attention_desc()
        elif not isinstance(desc, c.HEADER.structures["attention_desc"]):
            raise TypeError(f"desc is of {type(desc).__name__}: it must be made by attention_desc")
        made = c.structure("attention_plan")
        c.call("fovea_attention_plan_init", made, c.assign(type(desc).from_buffer_copy(desc), **fields))
        self._c, self._desc = c.frozen(made), c.copy_at("attention_desc", c.call("fovea_attention_plan_desc", made))
        self._workspace = memory(c.size("fovea_attention_workspace_bytes", made))
        self._calls, self._number = Pool(), next(_numbers)

    @property
    def c(self):
        """The fovea_attention_plan, for reading."""
        return self._c

    @property
    def desc(self):
        """The fovea_attention_desc, for reading, with what the library chose."""
        return self._desc

    def _shown(self):
        return c.numbers_of(self.desc)

    @property
    def workspace_bytes(self):
        return self._workspace.size

    def describe(self, q_tokens=None, kv_tokens=None):
        """A line of text: what the plan does for these counts. The default is the capacities."""
        counts = (self.desc.max_q_tokens if q_tokens is None else q_tokens, self.desc.max_kv_tokens if kv_tokens is None else kv_tokens)
        text = ctypes.create_string_buffer(c.call("fovea_attention_plan_describe", self.c, *counts, None, 0) + 1)
        c.call("fovea_attention_plan_describe", self.c, *counts, text, len(text))
        return text.value.decode()

    @takes(**dict.fromkeys(sorted(OPTIONS)))
    def __call__(self, q, keys, values=None, out=None, lse=False, *, mask=None, **options):
        """The output of the queries over keys and values, or over a Cache, with as many dimensions as q; with lse=True,
        output and log-sum-exp. Options are those of bind. Inputs that C cannot read in place, as those in another byte
        order, are copied."""
        outputs, options = (out,) if lse is False else (out, None), {"lse": lse, **options}
        with self:
            if isinstance(keys, Cache):
                if values is not None:
                    raise TypeError("values are given beside a Cache, which has its own")
                results = self._over_cache(q, keys, outputs, {"mask": mask, **options})
            else:
                results = self._calls.call(self._prepare, (q, keys, values, mask), outputs, options)
        return results[0] if lse is False else tuple(results)

    def _prepare(self, inputs, outputs, lse, **options):
        """A Prepared of arrays."""
        q, keys, values, mask = inputs
        arguments = Arguments(self.desc, {**options, "mask": mask}, copies=True)
        arguments.add_queries(q)
        arguments.add_keys(keys, values)
        return self._prepared(arguments, (("q.data", q), ("kv.keys.data", keys), ("kv.values.data", values),
                                          ("mask.data", mask)), outputs, lse)

    def _over_cache(self, q, cache, outputs, options):
        """A call over a cache. The cache keeps what is prepared, which is of no use without it."""

        def prepare_over_cache(inputs, outputs, plan, lse, **options):
            arguments = Arguments(self.desc, options, copies=True)
            arguments.add_queries(q)
            arguments.add_keys(cache, None)
            return self._prepared(arguments, (("q.data", q),), outputs, lse,
                                  (c.function("fovea_kv_attach"), *c.pointers(cache.c, arguments.c)))

        with cache:
            return cache._calls.call(prepare_over_cache, (q,), outputs, {"plan": self._number, **options})

    def _prepared(self, arguments, inputs, outputs, lse, before=None):
        out, lse, _ = arguments.add_outputs(outputs[0], lse, None)
        arguments.add_options()
        return Prepared("fovea_attention", arguments.c, inputs, [("out.data", out),
                                                                 ("lse.data", lse)][:len(outputs)], self._workspace,
                        [*c.pointers(self.c, arguments.c, self._workspace), self._workspace.size], before)

    @takes(**dict.fromkeys(sorted(OPTIONS)))
    def bind(self, q, keys, values=None, out=None, lse=False, scores=None, **options):
        """A Call of these arrays, which it reads each time it is called. lse=True asks for the log-sum-exp,
        scores="softmax" for scores at this stage. Options are fields of fovea_attention_args: mask, kv_lengths,
        first_positions, alibi_slopes, sinks, key_scales, ..., as arrays."""
        arguments = Arguments(self.desc, options)
        arguments.add_queries(q)
        arguments.add_keys(keys, values)
        outputs = arguments.add_outputs(out, lse, scores)
        return Call("fovea_attention", self, arguments.add_options(), outputs)

    def stream(self, q, first_key=0):
        return Stream(self, q, first_key)

_calls = Pool()


@takes("attention_desc", **dict.fromkeys(DERIVED, ...), **dict.fromkeys(sorted(OPTIONS)))
def attention(q, keys, values, out=None, lse=False, *, mask=None, **fields):
    """Attention of the queries over keys and values, arrays [batch][heads][tokens][dim] or the last two or three of
    these dimensions. The output has as many dimensions as q; lse=True: output and log-sum-exp.

    mask: of bool, where True shows a key, or of floats, which are added to scores; it is broadcast. Other fields are
    those of a plan, and options of Plan.bind, as kv_lengths=[7, 4]. Plans are kept for arrays of the same shapes.
    """
    results = _calls.call(prepare_attention, (q, keys, values, mask), (out,) if lse is False else (out, None), {"lse": lse, **fields})
    return results[0] if lse is False else tuple(results)


def prepare_attention(inputs, outputs, lse, **fields):
    """Makes a plan for these arrays."""
    q, keys, values, mask = inputs
    c.check_names(fields, DESC_FIELDS | OPTIONS, "option of this call")
    desc = {name: fields.pop(name) for name in list(fields) if name in DESC_FIELDS}
    arrays = {}
    for name, field, array in (("q", "q_dtype", q), ("keys", "key_dtype", keys), ("values", "value_dtype", values)):
        array = arrays[name] = as_array(array, name)
        if array.ndim < 2:
            raise ValueError(f"{name} has the shape {array.shape}: it must be [batch][heads][tokens][dim], or the last of these")
        if field not in desc:
            desc[field] = dtype_of(array, name)
    q, keys, values = arrays.values()
    heads = [array.shape[-3] if array.ndim > 2 else 1 for array in (q, keys)]
    entries = [np.size(fields[name]) - 1 for name in OFFSETS if fields.get(name) is not None]
    plan = Plan(**{"q_heads": heads[0], "kv_heads": heads[1], "head_dim": q.shape[-1], "value_dim": values.shape[-1],
                   "max_batch": max(1, *(entries or q.shape[:-3]), 1), "max_q_tokens": q.shape[-2],
                   "max_kv_tokens": keys.shape[-2], **desc})
    return plan._prepare((q, keys, values, mask), outputs, lse, **fields)


class Stream(Held):
    """Attention of queries over keys that come in pieces: plan.stream(q), push(keys, values), ..., end(). It has a copy
    of q."""

    def __init__(self, plan, q, first_key=0):
        super().__init__()
        self._plan, self._q = plan, np.array(as_array(q, "q"), order="C")
        arguments = self._arguments({}, ())
        counts = arguments.c.batch, arguments.c.q_tokens
        self._state = memory(c.size("fovea_stream_state_bytes", plan.c, *counts))
        c.call("fovea_stream_begin", plan.c, self._state, self._state.size, *counts, first_key)

    def _shown(self):
        return [("plan", self._plan), ("q", self._q.shape)]

    def _arguments(self, options, allowed):
        arguments = Arguments(self._plan.desc, options, allowed, copies=True)
        arguments.add_queries(self._q)
        return arguments

    def _call(self, name, arguments, outputs=(None, None, None)):
        call = Call(name, self._plan, arguments.add_options(), outputs, self._state)
        with self:
            call()

    @takes(**dict.fromkeys(sorted(OPTIONS - ENDS - {*OFFSETS, "key_mass"})))
    def push(self, keys, values=None, **options):
        """Adds keys and values, or those of a Cache, which are not needed afterwards. Options are those of Plan.bind,
        except key_mass, q_offsets, kv_offsets, sinks and value_channel_scales."""
        arguments = self._arguments(options, OPTIONS - ENDS - {*OFFSETS, "key_mass"})
        arguments.add_keys(keys, values)
        self._call("fovea_stream_push", arguments)

    @takes(**dict.fromkeys((*sorted(ENDS), "executor")))
    def end(self, out=None, lse=False, **options):
        """The output over all keys so far; with lse=True, output and log-sum-exp. More keys may be pushed. Options:
        sinks, value_channel_scales, executor."""
        arguments = self._arguments(options, ENDS | {"executor"})
        outputs = arguments.add_outputs(out, lse, None)
        self._call("fovea_stream_end", arguments, outputs)
        return outputs[:2] if lse else outputs[0]

    def merge(self, other):
        """Adds the keys of another stream of the same queries."""
        if not isinstance(other, Stream):
            raise TypeError(f"other is of {type(other).__name__}: it must be a Stream")
        with self, other if other is not self else contextlib.nullcontext():
            c.call("fovea_stream_merge", self._plan.c, self._state, other._state)

    def to_bytes(self):
        """The state's image, the same on every machine."""
        image = np.empty(self._state.size, np.uint8)
        with self:
            c.call("fovea_stream_export", self._state, image, image.size)
        return image.tobytes()

    def from_bytes(self, image):
        """Replaces the state by an image from another stream with the same counts."""
        image = np.frombuffer(image, np.uint8)
        state = memory(self._state.size)
        c.call("fovea_stream_import", state, state.size, image, image.size)
        header = c.HEADER.structures["stream_state"]
        given, wanted = (header.from_buffer_copy(one) for one in (state, self._state))
        for name in ("batch", "q_heads", "kv_heads", "q_tokens", "value_dim"):
            if getattr(given, name) != getattr(wanted, name):
                raise ValueError(f"the image has a {name} of {getattr(given, name)}: the stream has {getattr(wanted, name)}")
        with self:
            self._state[:] = state


class KeyCenter(Shown):
    """The mean of the keys of each head, for the key_center of a Cache: add(keys) for some prompts, then Cache(...,
    key_center=it.center)."""

    def __init__(self, kv_heads, head_dim):
        self._center, self._count = np.zeros((kv_heads, head_dim), np.float32), ctypes.c_uint64()

    @property
    def center(self):
        """A copy of the mean: [kv_heads][head_dim]."""
        return self._center.copy()

    def _shown(self):
        return [*zip(("kv_heads", "head_dim"), self._center.shape), ("count", self.count)]

    @property
    def count(self):
        """Tokens that the mean is of."""
        return self._count.value

    def add(self, keys):
        """Adds tokens: float32 [batch][kv_heads][tokens][head_dim], turned and rotated already, if the Cache does so."""
        sizes = dict(zip(("kv_heads", "head_dim"), self._center.shape))
        keys = take("in", keys, "keys", ("float32",), "batch kv_heads tokens head_dim", sizes, copies=True)
        c.call("fovea_kv_center", self._center, ctypes.byref(self._count), ctypes.byref(keys), sizes["batch"],
               sizes["kv_heads"], sizes["tokens"], sizes["head_dim"])
        return self


class Prefix(Held):
    """Tokens that come before those of a Cache: plan(q, cache, prefix=cache.prefix(image)), or a list of one, or None, for each
    entry. The plan has their number, cache.plan(max_prefix_tokens=64, ...), and the first token that is appended the position
    after them. tokens: how many there are. It keeps the image."""

    def __init__(self, cache, image, tokens, position, fingerprint):
        super().__init__()
        self.tokens = int.from_bytes(image[8:12].tobytes(), "little") if tokens is None else tokens
        args = c.structure("kv_image_args", tokens=self.tokens, position=position, fingerprint=fingerprint)
        self.c, self.shape, self.center, self._image = c.structure("kv_prefix"), shape_of(cache.desc), cache.center, image
        c.call("fovea_kv_image_prefix", cache.c, args, image, image.size, self.c)

    def _shown(self):
        return [("tokens", self.tokens)]


class Cache(Held):
    """Keys and values of tokens so far: Cache(kv_heads=2, head_dim=64, value_dim=64, max_tokens=512, key_dtype="i8",
    value_dtype="i8"). Fields are those of fovea_kv_cache_desc; value_dim is head_dim unless given; key_center is
    copied. It allocates its memory."""

    @takes("kv_cache_desc", CACHE_FIELDS, batch=1, key_center=None, value_dim=...)
    def __init__(self, **fields):
        super().__init__()
        c.check_names(fields, CACHE_FIELDS, "field of a Cache")
        center, self.center = fields.pop("key_center", None), None
        desc = c.structure("kv_cache_desc", **{"batch": 1, "value_dim": fields.get("head_dim", 0), **fields})
        if center is not None:
            center = numbers(center, np.float32, "key_center").copy()
            self.center = center.tobytes()
            desc.key_center = dense(center, "key_center", ("float32",), (desc.kv_heads, desc.head_dim))
        self._memory, self._desc, self._c = memory(c.size("fovea_kv_cache_bytes", desc)), c.frozen(desc), c.structure("kv_cache")
        c.call("fovea_kv_cache_init", self._c, desc, self._memory, self._memory.size)
        self._arrays, self._calls = c.copy_at("kv_arrays", c.call("fovea_kv_cache_arrays", c.frozen(self._c))), Pool()

    @property
    def c(self):
        """The fovea_kv_cache, for functions of C."""
        return self._c

    @property
    def desc(self):
        """The fovea_kv_cache_desc, for reading."""
        return self._desc

    def _shown(self):
        return c.numbers_of(self.desc)

    def append(self, keys, values=None, entry=0):
        """Adds tokens, [batch][kv_heads][tokens][dim], to `batch` entries from this one on. With values_in_keys there
        are no values."""
        if (values is None) != bool(self.desc.values_in_keys):
            raise TypeError("values are given beside values_in_keys" if self.desc.values_in_keys else "values are missing")
        keys = as_array(keys, "keys")
        dtype = dtype_of(keys, "keys")
        sizes = {name: getattr(self.desc, name) for name in ("kv_heads", "head_dim", "value_dim")}
        args = c.structure("kv_append_args", entry=entry, dtype=dtype)
        args.keys = take("in", keys, "keys", (keys.dtype.name,), "batch kv_heads tokens head_dim", sizes, copies=True)
        if values is not None:
            args.values = take("in", values, "values", (keys.dtype.name,), "batch kv_heads tokens value_dim", sizes, copies=True)
        room = memory(4 * self.desc.kv_heads * max(self.desc.head_dim, self.desc.value_dim) * min(sizes["tokens"], 64))
        c.assign(args, batch=sizes["batch"], tokens=sizes["tokens"], workspace=room, workspace_bytes=room.size)
        with self:
            c.call("fovea_kv_append", self.c, args)

    def _table(self, at, shape):
        begin = at - self._memory.ctypes.data if at else 0
        return self._memory[begin:begin + 4 * int(np.prod(shape))].view(np.uint32).reshape(shape)

    @property
    def lengths(self):
        """Tokens of each entry."""
        return self._table(self._arrays.lengths, (self.desc.batch,)).tolist()

    @property
    def page_table(self):
        """The page table of a cache, which the caller fills: [batch][pages of an entry], each a page of the pool."""
        if not self._arrays.page_table:
            raise TypeError("the Cache is not in pages")
        return self._table(self._arrays.page_table, (self.desc.batch, -(-self.desc.max_tokens // self.desc.page_tokens)))

    def truncate(self, length, entry=0):
        with self:
            c.call("fovea_kv_truncate", self.c, entry, length)

    def compact(self, kept, entry=0):
        """Keeps only the tokens whose numbers `kept` has, in increasing order."""
        kept = as_array(kept, "kept")
        if kept.size and kept.dtype.kind not in "iu":
            raise TypeError(f"kept has elements of {kept.dtype}: they must be integers")
        if kept.ndim != 1 or kept.size and (kept.min() < 0 or kept.max() > 0xffffffff):
            raise ValueError("kept must be a list of numbers of tokens")
        kept = np.ascontiguousarray(kept, np.uint32)
        with self:
            c.call("fovea_kv_compact", self.c, entry, kept, kept.size)

    def reset(self, entry=0):
        with self:
            c.call("fovea_kv_reset", self.c, entry)

    def _count(self, tokens, entry, first):
        """`tokens`, or how many the entry has from `first` on."""
        entry, first = (c.number(value, ctypes.c_uint32, name) for value, name in ((entry, "entry"), (first, "first")))
        length = self.lengths[entry] if entry < self.desc.batch else 0  # which the call refuses
        return max(length - first, 0) if tokens is None else tokens

    def shift(self, difference, layout, *, first=0, tokens=None, entry=0, rotary_dim=0, base=10000.0, position_scale=1.0,
              inverse=False, target="best"):
        """Turns keys that were turned by rope() with these arguments to positions that are greater by `difference`: those of
        `tokens` tokens of an entry from `first` on, or of all."""
        dim = self.desc.head_dim - (self.desc.value_dim if self.desc.values_in_keys else 0)
        rotary_dim = c.number(rotary_dim, ctypes.c_uint32, "rotary_dim") or dim
        if rotary_dim > dim or rotary_dim % 2 or not rotary_dim:
            raise ValueError(f"rotary_dim is {rotary_dim}: it must be even, and at most {dim}")
        turns = turns_of(rotary_dim, *(c.number(value, c.c_double, name) for value, name in ((base, "base"), (position_scale, "position_scale"))))
        rope = c.structure("rope_args", layout=layout, rotary_dim=rotary_dim, turns=turns, inverse=inverse)
        room = memory(4 * 64 * self.desc.head_dim)
        with self:
            args = c.structure("kv_shift_args", target=target, entry=entry, first=first, tokens=self._count(tokens, entry, first),
                               rope=rope, workspace=room, workspace_bytes=room.size, difference=difference)
            c.call("fovea_kv_shift", self.c, args)

    def to_bytes(self, entry=0, first=0, tokens=None, *, position=None, fingerprint=0):
        """An image of `tokens` tokens of an entry from `first` on, or of all, the same on every machine. position: for which
        the first key was turned, `first` unless given. fingerprint: any number that says of which weights they are."""
        with self:
            args = c.structure("kv_image_args", entry=entry, first=first, tokens=self._count(tokens, entry, first),
                               position=first if position is None else position, fingerprint=fingerprint)
            image = np.empty(c.size("fovea_kv_image_bytes", self.c, args.tokens), np.uint8)
            c.call("fovea_kv_export", self.c, args, image, image.size)
        return image.tobytes()

    def from_bytes(self, image, entry=0, tokens=None, *, position=None, fingerprint=0):
        """Appends the tokens of an image to an entry, or its first ones. The image must have this fingerprint and position,
        which is the entry's length unless given; the cache, of any kind, has the formats and sizes of that which wrote it."""
        image = np.frombuffer(image, np.uint8)
        with self:
            held = int.from_bytes(image[8:12].tobytes(), "little")
            length = self._count(None, entry, 0)
            args = c.structure("kv_image_args", entry=entry, first=length, tokens=held if tokens is None else tokens,
                               position=length if position is None else position, fingerprint=fingerprint)
            c.call("fovea_kv_import", self.c, args, image, image.size)

    def prefix(self, image, tokens=None, *, position=0, fingerprint=0):
        """A Prefix of an image, or of its first tokens: calls read it where it is, before an entry's own tokens."""
        return Prefix(self, np.frombuffer(image, np.uint8), tokens, position, fingerprint)

    @takes("attention_desc")
    def plan(self, **fields):
        """A plan over this cache. Fields: those that the cache does not know, q_heads at least."""
        desc = attention_desc()
        c.call("fovea_kv_describe", self.c, desc)
        return Plan(desc, **fields)

    def _attach(self, args):
        c.call("fovea_kv_attach", self.c, args)
