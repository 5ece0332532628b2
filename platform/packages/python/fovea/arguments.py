# SPDX-License-Identifier: Apache-2.0
"""Makes the arguments of a call of arrays, which it checks against the plan."""
import ctypes

import numpy as np

from . import c
from .arrays import (HELD_IN, dense, format_name, groups, is_array, is_of, mask, numbers, row_elements, strides_of, take, view)

# Arguments of a call in addition to queries, keys and values.
VECTORS = {  # type and dimensions
    "kv_lengths": ("uint32", "batch"), "first_positions": ("int64", "batch"), "alibi_slopes": ("float32", "q_heads"),
    "sinks": ("float32", "q_heads"), "score_vector": ("float32", "kv_heads head_dim"),
    "value_channel_scales": ("float32", "kv_heads value_dim")}
STRIDE_OF = {"score_vector": "score_vector_stride", "value_channel_scales": "value_channel_stride"}
OFFSETS = "q_offsets", "kv_offsets"
KV_SCALES = "key_scales", "value_scales"
STRUCTURES = "executor", "modifier"
OPTIONS = {*VECTORS, *OFFSETS, *KV_SCALES, *STRUCTURES, "block_map", "dropout_seed", "key_mass", "mask", "prefix", "q_scales"}
ENDS = {"sinks", "value_channel_scales"}  # applied to rows at the end
# A cache and the plan of a call must agree on these.
CACHE_FIELDS = ("kv_heads", "head_dim", "value_dim", "key_dtype", "value_dtype", "kv_kind", "ring_tokens",
                "pinned_tokens", "page_tokens", "hadamard", "hadamard_seed")


def shape_of(desc):
    """What rows of a Cache with this description have in common with its image."""
    fields = ["key_dtype", "value_dtype", "kv_heads", "head_dim", "value_dim", "hadamard", *["hadamard_seed"] * bool(desc.hadamard)]
    return [getattr(desc, field) for field in fields]


class Arguments:
    """c: a fovea_attention_args, which keeps alive what it points to. Each call reads the arrays in place: those that C
    cannot read in place are refused. With copies=True, for arguments of one call, they are copied."""

    def __init__(self, desc, options, allowed=OPTIONS, copies=False):
        self.desc, self.copies, self.cache = desc, copies, None
        self.options = {name: value for name, value in options.items() if value is not None}
        c.check_names(self.options, allowed, "option of this call")
        self.c = c.structure("attention_args")
        self.key_format, self.value_format = format_name(desc.key_dtype), format_name(desc.value_dtype)
        self.sizes = {name: getattr(desc, name) for name in ("q_heads", "kv_heads", "head_dim", "value_dim")}
        self.sizes.update(entries=1, key_row=row_elements(self.key_format, desc.head_dim),
                          value_row=row_elements(self.value_format, desc.value_dim))
        self.offsets = {name: self.offsets_of(name) for name in OFFSETS if name in self.options}
        self.q_batch, self.kv_batch = ("entries" if name in self.offsets else "batch" for name in OFFSETS)

    def offsets_of(self, name):
        """Stores the offsets as they are now, because the shapes of arrays depend on them."""
        offsets = numbers(self.options[name], np.uint32, name)
        if offsets.ndim != 1 or offsets.size != self.sizes.get("batch", offsets.size - 1) + 1 or offsets.size == 0:
            raise ValueError(f"{name} has the shape {offsets.shape}: it must be [batch + 1]")
        self.sizes["batch"] = offsets.size - 1
        setattr(self.c, name, offsets.copy())
        return offsets

    def longest(self, name, tokens):
        """The most tokens of an entry."""
        return int(np.diff(self.offsets[name].astype(np.int64)).max(initial=0)) if name in self.offsets else tokens

    def take(self, kind, array, name, dtypes, dims):
        return take(kind, array, name, dtypes, dims, self.sizes, self.copies)

    def add_queries(self, q):
        name = format_name(self.desc.q_dtype)
        self.rank = np.ndim(q)
        self.c.q = self.take("in", q, "q", HELD_IN[name], f"{self.q_batch} q_heads q_tokens head_dim")
        self.c.batch, self.c.q_tokens = self.sizes.setdefault("batch", 1), self.sizes["q_tokens"]

    def add_keys(self, keys, values):
        """The keys and values of arrays, or those of a cache."""
        attach = getattr(keys, "_attach", None)
        if attach is not None:
            if values is not None:
                raise TypeError("values are given beside a Cache, which has its own")
            self.cache = keys
            self.check_cache(keys)
            attach(self.c)
            self.sizes["kv_tokens"] = self.c.kv_tokens
            return
        if self.desc.kv_kind != 0:
            raise TypeError(f"keys are of {type(keys).__name__}: a plan for keys in a ring or in pages takes a Cache")
        if values is None:
            raise TypeError("values are missing beside an array of keys")
        for name, array, form, row in (("keys", keys, self.key_format, "key_row"), ("values", values, self.value_format, "value_row")):
            setattr(self.c.kv, name, self.take("in", array, name, HELD_IN[form], f"{self.kv_batch} kv_heads kv_tokens {row}"))
        self.c.kv_tokens = self.sizes["kv_tokens"]

    def check_cache(self, cache):
        if cache.desc.batch != self.sizes["batch"]:
            raise ValueError(f"q has {self.sizes['batch']} batch entries: the Cache has {cache.desc.batch}")
        known = c.structure("attention_desc")
        c.call("fovea_kv_describe", cache.c, known)
        for field in CACHE_FIELDS:
            has, wants = getattr(known, field), getattr(self.desc, field)
            if has != wants:
                raise ValueError(f"the Cache has a {field} of {has}: the plan has {wants}")
        for name in ("kv_lengths", "kv_offsets", *KV_SCALES):
            if name in self.options:
                raise TypeError(f"{name} is given beside a Cache, which has its own")

    def add_outputs(self, out, lse, scores):
        """Allocates those outputs that are wanted and not given, with as many dimensions as q."""
        dtypes, dims = HELD_IN[format_name(self.desc.out_dtype)], f"{self.q_batch} q_heads q_tokens value_dim"
        rows = tuple(self.sizes[dim] for dim in dims.split()[:3])
        given = rows[4 - self.rank:]  # those of q's dimensions that were given
        if out is None:
            out = np.empty((*given, self.desc.value_dim), dtypes[-1])
        self.c.out = self.take("out", out, "out", dtypes, dims)
        if not isinstance(lse, (bool, np.bool_)):
            raise TypeError(f"lse is of {type(lse).__name__}: it must be True or False")
        lse = np.empty(given, np.float32) if lse else None
        if lse is not None:
            self.c.lse = view("out", lse.reshape(rows))
        if scores is not None:
            c.assign(self.c, scores_stage=scores)
            scores = np.empty((*given, self.kv_tokens), np.float32)
            self.c.scores = view("out", scores.reshape(*rows, self.kv_tokens))
        return out, lse, scores

    def add_options(self):
        for name, value in self.options.items():
            if name in VECTORS:
                self.add_vector(name, value)
            elif name in STRUCTURES:
                if not isinstance(value, c.HEADER.structures[name]):
                    raise TypeError(f"{name} is of {type(value).__name__}: "
                                    f'it must be made by fovea.c.structure("{name}")')
                setattr(self.c, name, value)
            elif name == "mask":
                self.c.mask = mask(value, self.mask_shape(), self.copies)
            elif name == "block_map":
                if not isinstance(value, dict):
                    raise TypeError(f"block_map is of {type(value).__name__}: it must be a dict of q_block, kv_block, offsets, blocks")
                self.c.block_map = self.block_map(**value)
            elif name == "key_mass":
                self.c.key_mass = self.key_mass(value)
            elif name == "prefix":
                self.add_prefixes(value)
            elif name == "q_scales":
                self.c.q_scales = self.take("in", value, name, ("float32",), f"{self.q_batch} q_heads q_tokens")
            elif name in KV_SCALES:
                self.add_scales(name, value)
            elif name not in OFFSETS:
                c.assign(self.c, **{name: value})
        return self

    @property
    def kv_tokens(self):
        """With those of a prefix."""
        return self.c.kv_tokens + (self.desc.max_prefix_tokens if "prefix" in self.options else 0)

    def add_prefixes(self, given):
        """The Prefix of all entries, or a list of one, or None, for each."""
        entries = given if isinstance(given, (list, tuple)) else [given] * self.sizes["batch"]
        if len(entries) != self.sizes["batch"] or any(one is not None and not hasattr(one, "tokens") for one in entries):
            raise TypeError(f"prefix must be made by Cache.prefix, or be a list of {self.sizes['batch']} of these or None")
        wanted = shape_of(self.desc), getattr(self.cache, "center", None)
        if any(one is not None and (one.shape, one.center) != wanted for one in entries):
            raise ValueError("the prefix is of a Cache whose formats, sizes or key_center are not those of the keys")
        addresses = np.array([0 if one is None else ctypes.addressof(one.c) for one in entries], np.uintp)
        self.c.kv.prefixes = addresses.ctypes.data
        self.c.__dict__.setdefault("kept", {})[c.offset(type(self.c), "kv.prefixes")] = addresses, entries

    def mask_shape(self):
        return (self.sizes["batch"], self.desc.q_heads, self.longest("q_offsets", self.c.q_tokens),
                self.longest("kv_offsets", self.kv_tokens))

    def key_mass(self, array):
        """An array to which the call adds: over a Cache with room for as many tokens as the cache has."""
        is_array(array, "key_mass")
        if self.cache is not None and self.desc.kv_kind == 1:
            raise TypeError("key_mass is given beside a ring, in which an entry may have any number of tokens")
        tokens = self.kv_tokens if self.cache is None else self.cache.desc.max_tokens + self.kv_tokens - self.c.kv_tokens
        wanted = 1 if self.kv_batch == "entries" else self.sizes["batch"], self.desc.kv_heads, tokens
        rows = array[(np.newaxis,) * (3 - array.ndim)]
        if rows.shape != wanted:
            raise ValueError(f"key_mass has the shape {array.shape}: it must be {wanted}")
        is_of(array, "key_mass", ("float32",))
        return view("out", rows[:, :, np.newaxis], "key_mass")

    def add_vector(self, name, value):
        """Each call reads an array in place; a list of numbers is converted once."""
        dtype, dims = VECTORS[name]
        shape = tuple(self.sizes[dim] for dim in dims.split())
        if isinstance(value, np.ndarray) and not self.copies:
            array = dense(value, name, (dtype,), shape)
        else:
            array = numbers(value, dtype, name)
            try:
                array = np.require(np.broadcast_to(array, shape), requirements="C")
            except ValueError:
                raise ValueError(f"{name} has the shape {array.shape}: it must be {shape}") from None
        setattr(self.c, name, array)
        if name in STRIDE_OF:
            setattr(self.c, STRIDE_OF[name], shape[1])

    def add_scales(self, name, value):
        form, dim = (self.key_format, "head_dim") if name == "key_scales" else (self.value_format, "value_dim")
        rows = f"{self.kv_batch} kv_heads kv_tokens"
        if form == "i8":
            made = self.take("in", value, name, ("float32",), rows)
        elif form == "i4":
            self.sizes["groups"] = groups(self.sizes[dim])
            made = self.take("in", value, name, ("float16", "uint16"), f"{rows} groups")
        else:
            raise TypeError(f"{name} is given: {form} has no scales in an array")
        setattr(self.c.kv, name, made)

    def block_map(self, q_block, kv_block, offsets, blocks):
        """A fovea_block_map: offsets [batch or 1][kv_heads or 1][blocks of queries + 1] and blocks of uint32."""
        made = c.structure("block_map", q_block=q_block, kv_block=kv_block)
        if self.copies:
            offsets = numbers(offsets, np.uint32, "block_map's offsets")
            blocks = numbers(blocks, np.uint32, "block_map's blocks")
        offsets = dense(offsets, "block_map's offsets", ("uint32",), np.shape(offsets))
        blocks = dense(blocks, "block_map's blocks", ("uint32",), (np.size(blocks),))
        wanted = self.sizes["batch"], self.desc.kv_heads, -(-self.mask_shape()[2] // max(made.q_block, 1)) + 1
        if offsets.shape[-1:] != wanted[-1:] or any(count not in (1, most) for count, most in zip(offsets.shape[-2::-1], wanted[-2::-1])):
            raise ValueError(f"block_map's offsets have the shape {offsets.shape}: they must broadcast to {wanted}")
        strides = strides_of(np.broadcast_to(offsets, wanted))
        return c.assign(made, offsets=offsets, batch_stride=strides[0], head_stride=strides[1], blocks=blocks, block_count=blocks.size)
