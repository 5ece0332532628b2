# SPDX-License-Identifier: Apache-2.0
"""fovea on NumPy arrays: attention with plans, caches and streams, linear attention, the layers around them in floats and on
int8 tensors, and how much memory a board needs for attention.

    out = fovea.attention(q, k, v, causal="bottom_right")        # arrays [batch][heads][tokens][dim]

    plan = fovea.Plan(q_heads=8, kv_heads=2, head_dim=64, value_dim=64, max_kv_tokens=512)
    cache = fovea.Cache(kv_heads=2, head_dim=64, value_dim=64, max_tokens=512)
    cache.append(keys, values); out = plan(q, cache)

    fovea.workspace_bytes(plan, "cortex-m4f")                    # of the same plan on that processor

Fields have the names of fovea.h, which is installed next to this file and is the manual. fovea.c has all of the C
interface. Arrays are compared with the plan: those that C cannot read or write raise TypeError or ValueError; a call
that the library refuses raises Error.
"""
from . import c
from .c import Error
from .delta import DeltaState
from .integer_layers import (activation_table, integer_activation, integer_add, integer_hard_swish, integer_mean,
                             integer_multiplier, integer_multiply, integer_norm)
from .layers import activation, add, argmax, embedding, multiply, norm, pooling, top_k
from .linear_layers import linear
from .multihead import MultiheadAttention
from .plans import Cache, Call, KeyCenter, Plan, Stream, attention, attention_desc
from .published import selftest
from .quantize import Range, from_i8, to_i8
from .rotations import hadamard, rope
from .rows import bind_softmax, log_softmax, softmax
from .weights import Weights, quantize_rows, rows_to_i8

__all__ = [
    "Cache", "Call", "DeltaState", "Error", "KeyCenter", "MultiheadAttention", "PROCESSORS", "Plan", "Range", "Stream",
    "Weights", "activation", "activation_table", "add", "argmax", "attention", "attention_desc", "bind_softmax", "c",
    "embedding", "from_i8", "hadamard", "integer_activation", "integer_add", "integer_hard_swish", "integer_mean",
    "integer_multiplier", "integer_multiply", "integer_norm", "linear", "log_softmax", "multiply", "norm", "pooling",
    "quantize_rows", "rope", "rows_to_i8", "selftest", "softmax", "targets", "to_i8", "top_k", "workspace_bytes"
]

__version__ = c.HEADER.version.replace("-rc.", "rc")  # as Python's packages spell it

# Processors and the target that toolchains/ builds for them. The name of a target is accepted, too.
PROCESSORS = {
    "cortex-m0plus": "scalar", "cortex-m3": "scalar", "cortex-m4": "scalar", "cortex-m4f": "scalar",
    "cortex-m7": "scalar",
    "cortex-m33": "scalar", "cortex-m55": "helium", "cortex-m85": "helium", "cortex-a7": "neon", "cortex-a15": "neon",
    "cortex-a53": "neon", "cortex-a55": "neon", "cortex-a72": "neon", "cortex-a76": "neon", "esp32": "scalar",
    "esp32-s3": "scalar",
    "esp32-c3": "scalar", "rp2040": "scalar", "rv32": "scalar", "rv64": "scalar", "wasm32": "wasm",
}


def target_number(name):
    number = c.call("fovea_target_from_name", PROCESSORS.get(name, name).encode())
    if number == 0x7fffffff:
        raise ValueError(f"there is no target or processor {name!r}: there are {', '.join(PROCESSORS)}")
    return number


def targets():
    """The targets that this machine runs, best first."""
    numbers = [c.call("fovea_target_at", index) for index in range(c.call("fovea_target_count"))]
    return [c.call("fovea_target_name", number).decode() for number in numbers]


def workspace_bytes(desc, processor="best"):
    """Bytes of workspace that a call needs on a processor or target; "best": the largest of all targets.

    desc is a Plan, or a description by attention_desc. The size is for a library compiled for speed, with all features.
    """
    desc = desc.desc if isinstance(desc, Plan) else desc
    return c.size("fovea_attention_workspace_bytes_for", desc, target_number(processor))


def __getattr__(name):
    """fovea.export, when it is first used."""
    if name == "export":
        import importlib
        return importlib.import_module(".export", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
