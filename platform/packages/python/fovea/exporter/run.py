# SPDX-License-Identifier: Apache-2.0
"""Makes the calls of the generated code from Python, with the library that the package has."""
import ctypes

import numpy as np

from .. import c
from . import loops
from .calls import DIRECT, Literal, Pointed
from .graph import Tensor
from .masks import LOWEST


class Runner:
    """Makes calls whose buffers have a place in the arena. inputs: the tensors of the model's inputs.
    caches: of a decoder's step, their fields."""

    def __init__(self, calls, plans, arena_bytes, inputs, caches=()):
        self.calls, self.inputs = calls, inputs
        self.arena = Aligned(arena_bytes)
        self.held, self.plans = {}, {}
        for plan in plans:
            self.plans[plan] = self.planned(plan)
        self.position, self.caches = 0, {}
        for index, fields in enumerate(caches):
            name, made, desc = f"&caches[{index}]", c.structure("kv_cache"), c.structure("kv_cache_desc", **fields)
            memory = Aligned(c.size("fovea_kv_cache_bytes", desc)).array
            c.call("fovea_kv_cache_init", made, desc, memory, memory.size)
            self.caches[name], self.held[name] = made, memory
        self.args = [self.structure(call) for call in calls]
        self.workspace = Aligned(max([self.workspace_bytes(*pair) for pair in zip(calls, self.args)], default=0))

    def planned(self, plan):
        name = f"{plan.struct}_plan"
        made = c.structure(name)
        c.call(f"fovea_{name}_init", made, self.description(plan))
        return made

    def description(self, plan):
        made = self.filled(f"{plan.struct}_desc", plan.fields)
        if plan.struct == "multihead":
            made.attention.struct_bytes = ctypes.sizeof(made.attention)
        return made

    def filled(self, name, fields):
        """A structure of fovea.h with these fields, and the structures in it."""
        made = c.structure(name)
        for key, value in fields.items():
            if isinstance(value, dict):
                inner = type(made).__dict__["kinds"][key]
                value = self.filled(inner.__name__.replace("fovea_", "", 1), value)
            elif isinstance(value, Pointed):
                value = self.filled(value.struct, value.fields)
            elif isinstance(value, Literal):
                value = value.data
            elif isinstance(value, Tensor):
                value = self.address(value)
            elif value == "position":
                value = self.position
            elif value == "&position":
                value = np.array([self.position], np.int64)
            elif isinstance(value, str) and value.startswith("&caches"):
                value = self.caches[value]
            elif isinstance(value, str):
                value = c.CONSTANTS[value.replace("FOVEA_", "", 1)]
            setattr(made, key, value)
        return made

    def structure(self, call):
        made = self.filled(f"{call.struct}_args", call.fields) if call.struct and not call.helper else None
        if call.struct == "multihead":
            made.attention.struct_bytes = ctypes.sizeof(made.attention)
        return made

    def address(self, tensor):
        offset = tensor.offset + getattr(tensor, "step", 0) * self.position
        return self.memory(tensor.buffer).ctypes.data + offset * tensor.buffer.dtype.itemsize

    def memory(self, buffer):
        """The buffer's elements, as an array."""
        if buffer.kind == "arena":
            return self.arena.array[buffer.offset:buffer.offset + buffer.bytes].view(buffer.dtype)
        if buffer.kind == "constant":
            return buffer.data.reshape(-1)
        if buffer not in self.held:
            self.held[buffer] = np.zeros(buffer.count, buffer.dtype)
        return self.held[buffer]

    def tensor(self, tensor):
        """A tensor's numbers, as they are now."""
        buffer = tensor.buffer
        loops = [loop for dim in tensor.dims for loop in dim]
        return np.lib.stride_tricks.as_strided(self.memory(buffer)[tensor.offset:], [size for size, _ in loops],
                                               [stride * buffer.dtype.itemsize for _, stride in loops]).reshape(tensor.shape)

    def workspace_bytes(self, call, args):
        if call.plan is not None:
            return c.size(f"fovea_{call.plan.struct}_workspace_bytes", self.plans[call.plan])
        return c.size(f"{call.function}_workspace_bytes", args) if call.workspace else 0

    def run(self, inputs, before=None, observe=None):
        """Makes the calls. inputs: arrays. before and observe get the index of a call and the call."""
        for tensor, value in zip(self.inputs, inputs):
            value = np.asarray(value).reshape(-1)
            if tensor.buffer.dtype == loops.WHOLE and not ((value >= -2**31) & (value < 2**31)).all():
                raise ValueError(f"{tensor.name} has a number beyond 32 bits: whole numbers have 32 bits and a sign")
            self.memory(tensor.buffer)[:] = value != 0 if tensor.buffer.dtype == np.uint8 else value
        for index, (call, args) in enumerate(zip(self.calls, self.args)):
            if before:
                before(index, call)
            HELPERS[call.helper](self, call) if call.helper else self.make(call, args)
            if observe:
                observe(index, call)

    def step(self, inputs):
        """A step of a decoder."""
        self.args = [self.structure(call) for call in self.calls]
        self.run(inputs)
        self.position += 1

    def make(self, call, args):
        if call.function in DIRECT:
            values = (call.fields[key] for key in DIRECT[call.function])
            c.call(call.function, *(self.address(one) if isinstance(one, Tensor) else one for one in values))
            return
        before = [self.plans[call.plan]] if call.plan else []
        if call.cache and call.function == "fovea_attention":
            c.call("fovea_kv_attach", self.caches[call.cache], args)
        elif call.cache:
            before.append(self.caches[call.cache])
        after = [self.workspace.array, self.workspace.array.size] if call.workspace or call.plan else []
        try:
            c.call(call.function, *before, args, *after)
        except c.Error as error:
            raise RuntimeError(f"{call.name}, {call.function}: {error}") from None


def copy(runner, call):
    """The helper of model.c of this name."""
    y, x = (call.fields[key] for key in "yx")
    sizes = [size for size, _ in call.fields["loops"]]
    item = y.buffer.dtype.itemsize
    to, of = (np.lib.stride_tricks.as_strided(runner.memory(one.buffer)[one.offset:], sizes, [
        strides[index] * item for _, strides in call.fields["loops"]], writeable=index == 0) for index, one in enumerate((y, x)))
    to[...] = of


def invert(runner, call):
    """The helper of model.c of this name."""
    runner.memory(call.fields["y"].buffer)[:] = runner.tensor(call.fields["x"]).reshape(-1) == 0


def check(runner, call):
    """The helper of model.c of this name."""
    if "lengths" in call.fields:
        counts, most = runner.tensor(call.fields["lengths"]), call.fields["most"]
        if ((counts < 1) | (counts > most)).any():
            raise ValueError(f"{call.fields['lengths'].name} has a length that is none of 1 to {most}")
        return
    seen = runner.tensor(call.fields["mask"])
    seen = seen > LOWEST if seen.dtype == np.float32 else seen != 0
    if call.fields["causal"]:
        seen = seen & np.tri(*seen.shape[-2:], dtype=bool)
    if not seen.any(-1).all():
        raise ValueError(f"the mask of {call.name} hides all keys from a query, by numbers that are finite: give other inputs")


HELPERS = {"copy": copy, "invert": invert, "check": check, "loop": loops.run}


class Aligned:
    """Memory at a multiple of 64 bytes."""

    def __init__(self, count):
        self.owner = np.zeros(count + 64, np.uint8)
        first = -self.owner.ctypes.data % 64
        self.array = self.owner[first:][:count]  # an empty slice has the address of what it is a slice of


def bytes_for(call, target):
    """Bytes of workspace that a call needs on another machine's target."""
    number = c.call("fovea_target_from_name", target.encode())
    runner = object.__new__(Runner)  # without memory
    if call.plan is not None:
        return c.size(f"fovea_{call.plan.struct}_workspace_bytes_for", runner.description(call.plan), number)
    if not call.workspace:
        return 0
    if call.function == "fovea_integer_attention":
        return integer_attention_bytes(*(call.fields[key] for key in ("head_dim", "value_dim", "q_tokens", "q_heads", "kv_heads")))
    fields = {key: value for key, value in call.fields.items() if not isinstance(value, Tensor)}
    fields["weights"] = {key: value for key, value in call.fields["weights"].items() if not isinstance(value, Tensor)}
    args = runner.filled(f"{call.struct}_args", {**fields, "target": number})
    if "scales" in call.fields["weights"]:
        args.weights.scales = 64
    return c.size(f"{call.function}_workspace_bytes", args)


def integer_attention_bytes(head_dim, value_dim, tokens, heads, kv_heads):
    """FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES of workspace.h on Cortex-M4F and M55, in whose compilers' macros it is written."""
    rows = min(32, -(-(tokens * heads // kv_heads) // 4) * 4)
    head_dim, value_dim = (-(-dim // 16) * 16 for dim in (head_dim, value_dim))
    brought = max(16 * head_dim * 2, 64 * 8 * 8, (64 + 12) * value_dim + 64 * 4)
    return sum(-(-part // 64) * 64 for part in (rows * 40, head_dim * 2 * rows, 64 * 4 * rows, 64 * 2 * rows,
                                                value_dim * 4 * rows, brought))
