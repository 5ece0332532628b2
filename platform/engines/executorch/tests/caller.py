# SPDX-License-Identifier: Apache-2.0
"""Calls operators of ExecuTorch's registry on tensors, and puts fovea's in the place of ExecuTorch's in PyTorch."""
import ctypes
import os

import torch
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  defines the operators, registers ExecuTorch's

LIBRARIES = os.environ["FOVEA_EXECUTORCH_LIBRARIES"]  # the folder of libfovea_executorch and libcaller
ctypes.CDLL(os.path.join(LIBRARIES, "libfovea_executorch.so"))
_caller = ctypes.CDLL(os.path.join(LIBRARIES, "libcaller.so"))

DTYPES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
          torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15}


class Value(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("dtype", ctypes.c_int32), ("dims", ctypes.c_int32),
                ("is_result", ctypes.c_int32), ("sizes", ctypes.c_int32 * 8), ("integer", ctypes.c_int64),
                ("number", ctypes.c_double), ("data", ctypes.c_void_p)]


_caller.caller_call.argtypes = [ctypes.c_char_p, ctypes.POINTER(Value), ctypes.c_int, ctypes.c_int, ctypes.c_int,
                                ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_uint64)]


def _value(x, is_result=False):
    if x is None:
        return Value(kind=0)
    if isinstance(x, bool):
        return Value(kind=3, integer=x)
    if isinstance(x, int):
        return Value(kind=1, integer=x)
    if isinstance(x, float):
        return Value(kind=2, number=x)
    if isinstance(x, bytes):
        return Value(kind=5, integer=len(x), data=ctypes.cast(x, ctypes.c_void_p))
    assert x.is_contiguous()
    return Value(kind=4, dtype=DTYPES[x.dtype], dims=x.dim(), is_result=is_result, sizes=(ctypes.c_int32 * 8)(*x.shape), data=x.data_ptr())


class Failed(RuntimeError):
    """The operator ended with an error of the runtime."""


class Call:
    """An operator with its arguments: `name` without its namespace; own=True asks for ExecuTorch's own kernel."""

    def __init__(self, name, inputs, outputs, own=False, namespace="llama"):
        self.name, self.with_keys = f"{namespace}::{name}.out".encode(), not own
        inputs = [x.encode() if isinstance(x, str) else x for x in inputs]
        self.kept = [x.contiguous() if isinstance(x, torch.Tensor) else x for x in inputs], outputs
        values = [_value(x) for x in self.kept[0]] + [_value(x, True) for x in outputs]
        self.values, self.count = (Value * len(values))(*values), len(values)
        self.bytes = 0

    def run(self, repeats=1):
        """Seconds of one call."""
        seconds, used = ctypes.c_double(), ctypes.c_uint64()
        error = _caller.caller_call(self.name, self.values, self.count, self.with_keys, repeats, ctypes.byref(seconds), ctypes.byref(used))
        self.bytes = used.value
        if error:
            raise Failed(f"{self.name.decode()}: error {error}")
        return seconds.value


def call(name, inputs, outputs, own=False):
    Call(name, inputs, outputs, own).run()
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _custom_sdpa(q, k, v, start_pos, attn_mask=None, drpout_p=0.0, is_causal=False, scale=None):
    inputs = [q, k, v, start_pos, attn_mask, float(drpout_p), is_causal, scale]
    return call("custom_sdpa", inputs, [torch.empty_like(q)])


def _sdpa_with_kv_cache(q, k, v, k_cache, v_cache, start_pos, seq_len, attn_mask=None, drpout_p=0.0, is_causal=False, scale=None):
    inputs = [q, k, v, k_cache, v_cache, start_pos, seq_len, attn_mask, float(drpout_p), is_causal, scale]
    assert k_cache.is_contiguous() and v_cache.is_contiguous()  # else copies would be written
    return call("sdpa_with_kv_cache", inputs, [torch.empty_like(q)])


def _custom_quantized_sdpa(q, k, v, start_pos, attn_mask=None, drpout_p=0.0, is_causal=False, scale=None, q_zero_points=None, q_scales=None,
                           k_zero_points=None, k_scales=None, v_zero_points=None, v_scales=None, is_seq_at_dim_2=False):
    inputs = [q, k, v, start_pos, attn_mask, float(drpout_p), is_causal, scale, q_zero_points, q_scales, k_zero_points,
              k_scales, v_zero_points, v_scales, is_seq_at_dim_2]
    return call("custom_quantized_sdpa", inputs, [torch.empty(q.shape)])


def _update_cache(value, cache, start_pos):
    return call("update_cache", [value, cache, start_pos], [torch.empty(1, dtype=value.dtype)])


def _update_cache_with_indices(value, cache, start_pos, indices):
    return call("update_cache_with_indices", [value, cache, start_pos, indices], [torch.empty(1, dtype=value.dtype)])


def _gated_delta_rule_out(name):
    def run(query, key, value, decay, beta, initial_state, *, out, final_state_out):
        begin, end = initial_state.data_ptr(), initial_state.data_ptr() + initial_state.nbytes
        other = final_state_out.data_ptr()
        if other < end and begin < other + final_state_out.nbytes:  # PyTorch's side says so before the kernel runs
            raise RuntimeError("gated_delta_rule final_state_out must not alias initial_state.")
        call(name, [query, key, value, decay, beta, initial_state], [out, final_state_out])
        return out, final_state_out
    return run


def _gated_delta_rule(name):
    def run(query, key, value, decay, beta, initial_state):
        out = query.new_empty(*query.shape[:3], value.shape[3])
        return _gated_delta_rule_out(name)(query, key, value, decay, beta, initial_state, out=out,
                                           final_state_out=torch.empty_like(initial_state).contiguous())
    return run


def instead():
    """From now on torch.ops.llama calls fovea's kernels. Returns what must be kept for as long."""
    library = torch.library.Library("llama", "IMPL")
    for name, function in [("custom_sdpa", _custom_sdpa), ("sdpa_with_kv_cache", _sdpa_with_kv_cache),
                           ("custom_quantized_sdpa", _custom_quantized_sdpa), ("update_cache", _update_cache),
                           ("update_cache_with_indices", _update_cache_with_indices),
                           ("gated_delta_rule", _gated_delta_rule("gated_delta_rule")),
                           ("gated_delta_rule.out", _gated_delta_rule_out("gated_delta_rule")),
                           ("channelwise_gated_delta_rule", _gated_delta_rule("channelwise_gated_delta_rule")),
                           ("channelwise_gated_delta_rule.out", _gated_delta_rule_out("channelwise_gated_delta_rule"))]:
        library.impl(name, function, "CPU")
    return library


def kernels(name, namespace="llama"):
    """How many kernels the operator has, ExecuTorch's own among them."""
    return _caller.caller_count(f"{namespace}::{name}.out".encode())
