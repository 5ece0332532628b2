# SPDX-License-Identifier: Apache-2.0
"""Linear attention and delta rules: delta.h has formulas and errors."""
import numpy as np

from . import c
from .arrays import FLOATS, Held, as_array, broadcast, dense_copy, dtype_of, is_of, memory, numbers, take
from .layers import format_of
from .prepared import Pool, Prepared

COUNTS = "batch", "v_heads", "head_dim", "value_dim", "decay_dim"
ALL_ENTRIES = 2 ** 32 - 1
ARRAYS = "q", "k", "v", "decay", "beta", "a", "b"


class DeltaState(Held):
    """DeltaState("gated_delta", v_heads=2, head_dim=64, value_dim=64): the matrices S of some sequences, and a call that
    adds tokens to them and reads from them.

        out = state(q, k, v, decay=decay, beta=beta)             # rules linear, gated, delta, gated_delta
        out = state(q, k, v, decay=decay, a=a, b=b, scale=1.0)   # general: RWKV-7

    decay_per_key=True: gated rules have a decay for each element of a key, as the general rule always has.
    """

    def __init__(self, rule, *, v_heads, head_dim, value_dim, batch=1, decay_per_key=False):
        super().__init__()
        if not isinstance(decay_per_key, (bool, np.bool_)):
            raise TypeError(f"decay_per_key is of {type(decay_per_key).__name__}: it must be True or False")
        rules = c.HEADER.enums["fovea_delta_rule"]
        if rule not in rules:
            raise ValueError(f"rule is {rule!r}: it must be one of {', '.join(rules)}")
        self.rule, self.decay_per_key = rule, bool(decay_per_key) or rule == "general"
        counts = [c.number(count, c.c_uint32, name) for name, count in (("batch", batch), ("v_heads", v_heads), ("head_dim", head_dim),
                                                                        ("value_dim", value_dim))]
        decays = c.number(2 * counts[2], c.c_uint32, "2 * head_dim") if rule == "general" else (counts[2] if decay_per_key else 1)
        self.counts = dict(zip(COUNTS, (*counts, decays)))
        self._state = memory(max(1, c.size("fovea_delta_state_bytes", *self.counts.values())))
        c.call("fovea_delta_begin", self._state, self._state.size, *self.counts.values())
        self._calls = Pool()

    def _shown(self):
        return [("rule", self.rule), *self.counts.items()]

    def __call__(self, q, k, v, *, decay=None, beta=None, a=None, b=None, entry=0, offsets=None, scale=0.0, dtype=None,
                 out=None, target="best"):
        """Adds tokens to `batch` entries from `entry` on. The output is [batch][heads][tokens][value_dim], with as many
        dimensions as q or v. Arrays: q [batch][q_heads][tokens][head_dim], k, a and b with k_heads, v
        [batch][v_heads][tokens][value_dim], decay [batch][v_heads][tokens][1 or head_dim], the logarithm of what
        multiplies S, and beta [batch][v_heads][tokens][1]; or the last three or two of these dimensions. decay and beta
        are of float32 and broadcast. offsets: uint32 [batch + 1], of ragged entries. scale 0 is 1 / sqrt(head_dim).
        dtype: the format of the output, by default that of q."""
        options = {"entry": entry, "scale": scale, "dtype": dtype, "target": target}
        with self:
            return self._calls.call(self._prepare, (q, k, v, decay, beta, a, b, offsets), (out,), options)[0]

    def _prepare(self, inputs, outputs, entry, scale, dtype, target):
        arrays, offsets = dict(zip(ARRAYS, inputs)), inputs[-1]
        self._check_rule(arrays)
        q, v, counts = as_array(arrays["q"], "q"), arrays["v"], self.counts
        is_of(q, "q", FLOATS)
        sizes = {"head_dim": counts["head_dim"], "value_dim": counts["value_dim"], "v_heads": counts["v_heads"]}
        args = c.structure("delta_args", rule=self.rule, entry=entry, scale=scale, target=target, dtype=dtype_of(q, "q"),
                           v_heads=counts["v_heads"], head_dim=counts["head_dim"], value_dim=counts["value_dim"],
                           decay_dim=counts["decay_dim"])
        if offsets is not None:
            offsets = numbers(offsets, np.uint32, "offsets").copy()
            if offsets.ndim != 1 or offsets.size == 0:
                raise ValueError(f"offsets has the shape {offsets.shape}: it must be [batch + 1]")
            args.offsets, sizes["batch"] = offsets, 1
        for name, heads, dim in (("q", "q_heads", "head_dim"), ("k", "k_heads", "head_dim"), ("v", "v_heads", "value_dim"),
                                 ("a", "k_heads", "head_dim"), ("b", "k_heads", "head_dim")):
            if arrays[name] is not None:
                setattr(args, name, take("in", arrays[name], name, (q.dtype.name,), f"batch {heads} tokens {dim}", sizes, copies=True))
        for name, dim in (("decay", counts["head_dim"] if self.decay_per_key else 1), ("beta", 1)):
            if arrays[name] is not None:
                setattr(args, name, self._numbers(arrays[name], name, (*(sizes[count] for count in ("batch", "v_heads", "tokens")), dim)))
        c.assign(args, q_heads=sizes["q_heads"], k_heads=sizes["k_heads"], tokens=sizes["tokens"],
                 batch=sizes["batch"] if offsets is None else offsets.size - 1)
        shape = sizes["batch"], max(sizes["q_heads"], sizes["v_heads"]), sizes["tokens"], sizes["value_dim"]
        out = self._add_output(args, q, outputs[0], shape, max(q.ndim, np.ndim(v)), dtype)
        workspace = memory(max(1, c.size("fovea_delta_workspace_bytes", args)))
        return Prepared("fovea_delta", args, [(f"{name}.data", arrays[name]) for name in ARRAYS] +
                        [("offsets", inputs[-1])], (("out.data", out),), workspace,
                        [*c.pointers(self._state, args, workspace), workspace.size])

    def _check_rule(self, arrays):
        """An array that the rule does not read is a mistake; one that is missing would be ERR_NULL."""
        read = {"q", "k", "v", *(("a", "b") if self.rule == "general" else ())}
        read |= {"decay"} if self.rule in ("gated", "gated_delta", "general") else set()
        read |= {"beta"} if self.rule in ("delta", "gated_delta") else set()
        for name, array in arrays.items():
            if (array is not None) != (name in read):
                raise TypeError(f"{name} is {'missing' if array is None else 'given'}: the rule {self.rule} reads "
                                f"{', '.join(one for one in ARRAYS if one in read)}")

    def _numbers(self, array, name, shape):
        """A fovea_in of an array of float32, broadcast to this shape."""
        array = as_array(array, name)
        is_of(array, name, ("float32",))
        return take("in", broadcast(array, shape, name), name, ("float32",), "batch heads tokens dim", {}, copies=True)

    def _add_output(self, args, q, out, shape, rank, dtype):
        name, types, fresh = format_of(dtype, out, q)
        out = np.empty(shape[4 - rank:], fresh) if out is None else out
        c.assign(args, out_dtype=name, out=take("out", out, "out", types, "batch heads tokens value_dim",
                                                dict(zip(("batch", "heads", "tokens", "value_dim"), shape))))
        return out

    def _entries(self, entry):
        """The entry's number, or that of all, and how many these are."""
        if entry is None:
            return ALL_ENTRIES, self.counts["batch"]
        if not 0 <= c.number(entry, c.c_uint32, "entry") < self.counts["batch"]:
            raise ValueError(f"entry is {entry}: the state has {self.counts['batch']}")
        return entry, 1

    def set(self, matrices=None, entry=None):
        """Begins all entries again, or one: S becomes [entries][v_heads][head_dim][value_dim], of float32, or 0."""
        number, count = self._entries(entry)
        if matrices is not None:
            matrices = as_array(matrices, "matrices")
            is_of(matrices, "matrices", ("float32",))
            shape = count, *(self.counts[name] for name in COUNTS[1:4])
            if matrices.shape not in (shape, shape[1:] if entry is not None else shape):
                raise ValueError(f"matrices has the shape {matrices.shape}: it must be {shape}")
            matrices = dense_copy(matrices).reshape(shape)
            strides = [stride // 4 for stride in matrices.strides]
            matrices = c.structure("in", data=matrices, batch_stride=strides[0], head_stride=strides[1], token_stride=strides[2])
        with self:
            c.call("fovea_delta_set", self._state, number, matrices)

    def matrices(self, entry=None, target="best"):
        """S of all entries, or of one: [entries][v_heads][head_dim][value_dim]."""
        number, count = self._entries(entry)
        made = np.empty((count, *(self.counts[name] for name in COUNTS[1:4])), np.float32)
        strides = [stride // 4 for stride in made.strides]
        out = c.structure("out", data=made, batch_stride=strides[0], head_stride=strides[1], token_stride=strides[2])
        target = c.structure("delta_args", target=target).target
        with self:
            c.call("fovea_delta_get", self._state, target, number, out)
        return made

    def pending(self, entry=None):
        """How many of the last tokens can be rolled back."""
        with self:
            return c.call("fovea_delta_pending", self._state, self._entries(entry)[0])

    def roll_back(self, tokens, entry=None):
        """Takes back the last tokens: S is the same to the bit as if it had not seen them."""
        with self:
            c.call("fovea_delta_roll_back", self._state, self._entries(entry)[0], tokens)

    def to_bytes(self):
        """The state's image, the same on every machine."""
        image = np.empty(self._state.size, np.uint8)
        with self:
            c.call("fovea_delta_export", self._state, image, image.size)
        return image.tobytes()

    def from_bytes(self, image):
        """Replaces the state by an image from a state of the same counts."""
        image = np.frombuffer(image, np.uint8)
        state = memory(max(self._state.size, image.size))
        c.call("fovea_delta_import", state, state.size, image, image.size)
        header = c.HEADER.structures["delta_state"].from_buffer_copy(state)
        for name in COUNTS:
            if getattr(header, name) != self.counts[name]:
                raise ValueError(f"the image has a {name} of {getattr(header, name)}: the state has {self.counts[name]}")
        with self:
            self._state[:] = state[:self._state.size]
