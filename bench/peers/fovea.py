# SPDX-License-Identifier: Apache-2.0
"""The C interface of fovea by ctypes: its structures and constants as fovea.h has them, and what the comparison calls."""
import ctypes
import math
import pathlib
import re
from ctypes import c_float, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p

HEADER = pathlib.Path(__file__).resolve().parents[2] / "lib" / "include" / "fovea" / "fovea.h"
WORKSPACE_ALIGNMENT = 64
SCALARS = {"float": c_float, "int": c_int, "int32_t": c_int32, "int64_t": c_int64, "ptrdiff_t": c_ssize_t,
           "size_t": c_size_t, "uint32_t": c_uint32, "uint64_t": c_uint64}


def declared(header):
    """The structures and the enumerators of a header that is written like fovea.h, each by its name without fovea_."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    structures, constants, types = {}, {}, dict(SCALARS)
    numbers = {name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)u?$", text, flags=re.M)}
    for kind, body, name in re.findall(r"typedef (enum|struct) \w+ (?:FOVEA_ENUM_TYPE_\(\w+\) )?\{(.*?)\n\} (\w+);", text, flags=re.S):
        if kind == "enum":
            types[name] = c_int32
            for key, value in re.findall(r"\bFOVEA_(\w+) = (\w+)", body):  # a number, or an enumerator before it
                constants[key] = constants[value[6:]] if value.startswith("FOVEA_") else int(value, 0)
            continue
        fields = []
        for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
            function = re.match(r"[^(]*\(\*(\w+)\)\(", declaration)
            if function:
                fields.append((function[1], c_void_p))
                continue
            of, declarators = re.fullmatch(r"(?:const )?(\w+)\b(.*)", declaration).groups()
            for declarator in declarators.split(","):
                pointer, field, count = re.fullmatch(r" ?(\*?) ?(\w+)(?:\[(\w+)\])?", declarator).groups()
                one = c_void_p if pointer else types[of]
                fields.append((field, one * (numbers[count] if count in numbers else int(count)) if count else one))
        types[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
        structures[name.replace("fovea_", "", 1)] = types[name]
    return structures, constants


STRUCTURES, CONSTANTS = declared(HEADER.read_text())


def structure(name, **fields):
    """A structure of fovea.h, all 0 but these fields, and struct_bytes where it has that."""
    of = STRUCTURES[name]
    if of._fields_[0][0] == "struct_bytes":
        fields["struct_bytes"] = ctypes.sizeof(of)
    return of(**fields)


def array(kind, floats):
    """A fovea_in or fovea_out of floats [batch][heads][tokens][dim], the last dimension contiguous: of NumPy or ctypes."""
    view = memoryview(floats)
    assert view.format in ("f", "<f") and view.ndim == 4 and view.strides[3] == 4
    address = floats.ctypes.data if hasattr(floats, "ctypes") else ctypes.addressof(floats)
    strides = [stride // 4 for stride in view.strides]
    return structure(kind, data=address, batch_stride=strides[0], head_stride=strides[1], token_stride=strides[2])


def aligned(count):
    """The address of as many bytes as a workspace lies, and what keeps them."""
    memory = ctypes.create_string_buffer(count + WORKSPACE_ALIGNMENT)
    return c_void_p(-(-ctypes.addressof(memory) // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT), memory


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.fovea_status_string.restype = ctypes.c_char_p
        self.c.fovea_target_name.restype = ctypes.c_char_p
        self.c.fovea_target_from_name.argtypes = [ctypes.c_char_p]
        self.c.fovea_workspace_bytes.restype = c_size_t
        self.c.fovea_kv_cache_bytes.restype = c_size_t
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

    def int8_scale(self, arrays, fraction=1.0, asymmetric=False):
        """Scale and zero point of an int8 tensor that holds the numbers of these arrays of f32."""
        observed, scale, zero = structure("quantize_range"), c_float(), c_int32()
        for numbers in arrays:
            view = memoryview(numbers)
            assert view.contiguous and view.itemsize == 4
            address = numbers.ctypes.data if hasattr(numbers, "ctypes") else ctypes.addressof(numbers)
            self.check(self.c.fovea_quantize_observe(ctypes.byref(observed), c_void_p(address), c_size_t(view.nbytes // 4)))
        self.check(self.c.fovea_quantize_choose(ctypes.byref(observed), c_float(fraction), c_uint32(asymmetric),
                                                ctypes.byref(scale), ctypes.byref(zero)))
        return scale.value, zero.value

    def cache(self, keys, values, kv):
        """A cache of this type that holds the tokens, and its memory. args.kv of a call is its source."""
        batch, kv_heads, tokens, head_dim = memoryview(keys).shape
        cache = structure("kv_cache", key_dtype=CONSTANTS[kv.upper()], value_dtype=CONSTANTS[kv.upper()], batch=batch,
                          kv_heads=kv_heads, head_dim=head_dim, value_dim=memoryview(values).shape[3], max_tokens=tokens)
        cache_bytes = self.c.fovea_kv_cache_bytes(ctypes.byref(cache))
        address, memory = aligned(cache_bytes)
        self.check(self.c.fovea_kv_cache_init(ctypes.byref(cache), address, c_size_t(cache_bytes)))
        new = structure("kv_append_args", batch=batch, tokens=tokens, keys=array("in", keys), values=array("in", values))
        self.check(self.c.fovea_kv_append(ctypes.byref(cache), ctypes.byref(new)))
        return cache, memory

    def softmax(self, out, x, axis, logarithm=False, target="best"):
        """Softmax along this axis of arrays whose memory is contiguous; answers a function that computes."""
        shape = memoryview(x).shape
        inner, outer = math.prod(shape[axis + 1:]), math.prod(shape[:axis])
        strides = {f"{array}_{stride}_stride": count for array in ("in", "out")
                   for stride, count in (("outer", shape[axis] * inner), ("axis", inner))}
        args = structure("softmax_args", **{"in": x.ctypes.data}, out=out.ctypes.data, outer=outer, axis=shape[axis], inner=inner,
                         target=self.c.fovea_target_from_name(target.encode()), **strides)
        function = self.c.fovea_log_softmax_f32 if logarithm else self.c.fovea_softmax_f32

        def call(function=function, a=c_void_p(ctypes.addressof(args)), keep=(args, out, x)):
            return function(a)

        self.check(call())
        return call

    def attention(self, out, q, keys, values, causal=False, target="best", kv="f32", compute="f32"):
        """Plans for these arrays, whose keys and values are first stored as rows of the type kv; answers a function that
        runs the plan, and the bytes of workspace that it has."""
        batch, q_heads, q_tokens, head_dim = memoryview(q).shape
        _, kv_heads, kv_tokens, value_dim = memoryview(values).shape
        desc = structure("attention_desc", q_heads=q_heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim,
                         max_batch=batch, max_q_tokens=q_tokens, max_kv_tokens=kv_tokens,
                         causal=CONSTANTS["CAUSAL_BOTTOM_RIGHT" if causal else "CAUSAL_NONE"],
                         key_dtype=CONSTANTS[kv.upper()], value_dtype=CONSTANTS[kv.upper()],
                         compute=CONSTANTS["COMPUTE_" + compute.upper()],
                         target=self.c.fovea_target_from_name(target.encode()))
        plan = structure("plan")
        self.check(self.c.fovea_plan_init(ctypes.byref(plan), ctypes.byref(desc)))
        workspace_bytes = self.c.fovea_workspace_bytes(ctypes.byref(plan))
        address, workspace = aligned(workspace_bytes)
        args = structure("attention_args", batch=batch, q_tokens=q_tokens, kv_tokens=kv_tokens, out=array("out", out),
                         q=array("in", q), kv=structure("kv_source", keys=array("in", keys), values=array("in", values)))
        cache = None if kv == "f32" else self.cache(keys, values, kv)
        if cache:
            args.kv = cache[0].source
        function = self.c.fovea_attention
        arguments = c_void_p(ctypes.addressof(plan)), c_void_p(ctypes.addressof(args)), address, c_size_t(workspace_bytes)

        def call(function=function, a=arguments[0], b=arguments[1], c=arguments[2], d=arguments[3],
                 keep=(plan, args, workspace, out, q, keys, values, cache)):
            return function(a, b, c, d)

        self.check(call())
        return call, workspace_bytes
