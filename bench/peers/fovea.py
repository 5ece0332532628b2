# SPDX-License-Identifier: Apache-2.0
"""The C interface of fovea by ctypes: as much of it as the comparison needs. The structures are those of fovea.h."""
import ctypes
from ctypes import c_float, c_int32, c_size_t, c_ssize_t, c_uint32, c_void_p

CAUSAL_NONE, CAUSAL_BOTTOM_RIGHT = 0, 2
WORKSPACE_ALIGNMENT = 64
PLAN_BYTES = 1024  # more than sizeof(fovea_plan)


class Desc(ctypes.Structure):
    _fields_ = [("struct_bytes", c_uint32), ("q_heads", c_uint32), ("kv_heads", c_uint32), ("head_dim", c_uint32),
                ("value_dim", c_uint32), ("max_batch", c_uint32), ("max_q_tokens", c_uint32), ("max_kv_tokens", c_uint32),
                ("scale", c_float), ("softcap", c_float), ("causal", c_int32), ("window_left", c_uint32),
                ("window_right", c_uint32), ("q_dtype", c_int32), ("key_dtype", c_int32), ("value_dtype", c_int32),
                ("out_dtype", c_int32), ("kv_kind", c_int32), ("target", c_int32), ("portable_bits", c_uint32),
                ("workspace_budget_bytes", c_size_t)]


class Array(ctypes.Structure):
    """fovea_in and fovea_out."""
    _fields_ = [("data", c_void_p), ("batch_stride", c_ssize_t), ("head_stride", c_ssize_t), ("token_stride", c_ssize_t)]

    @classmethod
    def of(cls, array):
        """A NumPy array [batch][heads][tokens][dim] of floats, the last dimension contiguous."""
        assert array.dtype.name == "float32" and array.strides[3] == 4
        return cls(array.ctypes.data, *(stride // 4 for stride in array.strides[:3]))


class Mask(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("kv_tokens", c_uint32), ("data", c_void_p), ("batch_stride", c_ssize_t),
                ("head_stride", c_ssize_t), ("q_stride", c_ssize_t)]


class Args(ctypes.Structure):
    _fields_ = [("struct_bytes", c_uint32), ("batch", c_uint32), ("q_tokens", c_uint32), ("kv_tokens", c_uint32),
                ("out", Array), ("lse", Array), ("scores", Array), ("scores_stage", c_int32), ("q", Array),
                ("keys", Array), ("values", Array), ("kv_lengths", c_void_p), ("positions", c_void_p), ("mask", Mask),
                ("alibi_slopes", c_void_p), ("sinks", c_void_p)]


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.fovea_status_string.restype = ctypes.c_char_p
        self.c.fovea_target_name.restype = ctypes.c_char_p
        self.c.fovea_target_from_name.argtypes = [ctypes.c_char_p]
        self.c.fovea_workspace_bytes.restype = c_size_t
        self.c.fovea_plan_describe.restype = c_size_t

    def version(self):
        number = self.c.fovea_version()
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def best_target(self):
        return self.target_name(self.c.fovea_target_at(0))

    def target_name(self, target):
        return self.c.fovea_target_name(target).decode()

    def check(self, status):
        if status != 0:
            raise RuntimeError("fovea: " + self.c.fovea_status_string(status).decode())

    def attention(self, out, q, keys, values, causal=False, target="best"):
        """Plans for these arrays; answers a function that runs the plan, and the bytes of workspace that it has."""
        batch, q_heads, q_tokens, head_dim = q.shape
        desc = Desc(struct_bytes=ctypes.sizeof(Desc), q_heads=q_heads, kv_heads=keys.shape[1], head_dim=head_dim,
                    value_dim=values.shape[3], max_batch=batch, max_q_tokens=q_tokens, max_kv_tokens=keys.shape[2],
                    causal=CAUSAL_BOTTOM_RIGHT if causal else CAUSAL_NONE,
                    target=self.c.fovea_target_from_name(target.encode()))
        plan = ctypes.create_string_buffer(PLAN_BYTES)
        self.check(self.c.fovea_plan_init(plan, ctypes.byref(desc)))
        workspace_bytes = self.c.fovea_workspace_bytes(plan)
        workspace = ctypes.create_string_buffer(workspace_bytes + WORKSPACE_ALIGNMENT)
        address = -(-ctypes.addressof(workspace) // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
        args = Args(struct_bytes=ctypes.sizeof(Args), batch=batch, q_tokens=q_tokens, kv_tokens=keys.shape[2],
                    out=Array.of(out), q=Array.of(q), keys=Array.of(keys), values=Array.of(values))
        function = self.c.fovea_attention
        arguments = c_void_p(ctypes.addressof(plan)), c_void_p(ctypes.addressof(args)), c_void_p(address), c_size_t(workspace_bytes)

        def call(function=function, a=arguments[0], b=arguments[1], c=arguments[2], d=arguments[3],
                 keep=(plan, args, workspace, out, q, keys, values)):
            return function(a, b, c, d)

        self.check(call())
        return call, workspace_bytes
