# SPDX-License-Identifier: Apache-2.0
"""The operators of the namespace fovea, as PyTorch knows them: what the runtime's kernels compute, in PyTorch's own.

Each has a functional form, which graphs have, and a form with `out`, which ExecuTorch calls. Those on int8 tensors,
quantized_..., are computed here in f64: the kernels, some of which compute in integers alone, may differ by a code.
"""
import math

import torch
from torch.nn import functional

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": functional.relu,
    "silu": functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "hardswish": functional.hardswish,
    "relu6": functional.relu6,
}
QUERY, KEY, VALUE, OUT = 1, 2, 4, 8  # bits of tokens_first: the tensor is [batch][tokens][heads][dim]


def attention(query, key, value, mask, is_causal, scale, tokens_first):
    query, key, value = (x.transpose(1, 2) if tokens_first & bit else x for x, bit in ((query, QUERY), (key, KEY), (value, VALUE)))
    out = functional.scaled_dot_product_attention(query, key, value, mask, 0.0, is_causal, scale=scale,
                                                  enable_gqa=query.shape[1] != key.shape[1])
    return (out.transpose(1, 2) if tokens_first & OUT else out).contiguous()


def attention_shape(query, key, value, mask, is_causal, scale, tokens_first):
    batch, *two, _ = query.shape
    if bool(tokens_first & QUERY) != bool(tokens_first & OUT):
        two.reverse()
    return query.new_empty((batch, *two, value.shape[3]))


def linear(x, weight, bias, activation):
    return ACTIVATIONS[activation](functional.linear(x, weight, bias))


def linear_shape(x, weight, bias, activation):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def layer_norm(x, weight, bias, epsilon):
    return functional.layer_norm(x, x.shape[-1:], weight, bias, epsilon)


def rms_norm(x, weight, epsilon):
    return functional.rms_norm(x, x.shape[-1:], weight, epsilon)


def activation(x, factor, activation):
    y = ACTIVATIONS[activation](x)
    return y.clone() if factor is None else y * factor


def softmax(x, dim):
    return functional.softmax(x, dim)


def to_codes(x, zero):
    """Numbers in units of the scale, as int8."""
    return (x.double().round() + zero).clamp(-128, 127).to(torch.int8)


def number(multiplier, shift):
    return multiplier * 2.0**(shift - 31)


def quantized_attention(query, key, value, is_causal, query_zero_point, value_zero_point, out_zero_point, score_multiplier, score_shift,
                        out_multiplier, out_shift, tokens_first):
    query, key, value = query.double() - query_zero_point, key.double(), value.double() - value_zero_point
    scale = number(score_multiplier, score_shift) / math.log2(math.e)
    out = attention(query, key, value, None, is_causal, scale, tokens_first)
    return to_codes(out * number(out_multiplier, out_shift), out_zero_point)


def quantized_attention_shape(query, key, value, is_causal, *numbers):
    return attention_shape(query, key, value, None, is_causal, None, numbers[-1])


def quantized_linear(x, weight, weight_scales, bias, x_scale, x_zero_point, y_scale, y_zero_point, activation):
    y = functional.linear(x.double() - x_zero_point, weight.double()) * (weight_scales.double() * x_scale)
    return to_codes(ACTIVATIONS[activation](y if bias is None else y + bias) / y_scale, y_zero_point)


def quantized_linear_shape(x, weight, weight_scales, bias, x_scale, x_zero_point, y_scale, y_zero_point, activation):
    return linear_shape(x, weight, bias, activation)


def quantized_layer_norm(x, weight, bias, x_zero_point, y_zero_point, weight_multiplier, weight_shift, epsilon_multiplier, epsilon_shift):
    y = layer_norm(x.double() - x_zero_point, None, None, number(epsilon_multiplier, epsilon_shift))
    y = y * weight * number(weight_multiplier, weight_shift)
    return to_codes(y if bias is None else y + bias / 128, y_zero_point)


def quantized_rms_norm(x, weight, x_zero_point, y_zero_point, weight_multiplier, weight_shift, epsilon_multiplier, epsilon_shift):
    y = rms_norm(x.double() - x_zero_point, None, number(epsilon_multiplier, epsilon_shift))
    return to_codes(y * weight * number(weight_multiplier, weight_shift), y_zero_point)


def quantized_activation(x, table):
    return table[x.view(torch.uint8).long()]


def quantized_softmax(x, dim, x_scale, y_scale, y_zero_point):
    return to_codes(functional.softmax(x.double() * x_scale, dim) / y_scale, y_zero_point)


def like_first(x, *_):
    return x.new_empty(x.shape)


# Name: arguments, what it computes, the shape of its result.
_OPERATORS = {
    "attention": ("Tensor query, Tensor key, Tensor value, Tensor? mask, bool is_causal, float? scale, "
                  "int tokens_first", attention, attention_shape),
    "linear_activation": ("Tensor x, Tensor weight, Tensor? bias, str activation", linear, linear_shape),
    "layer_norm": ("Tensor x, Tensor? weight, Tensor? bias, float epsilon", layer_norm, like_first),
    "rms_norm": ("Tensor x, Tensor? weight, float epsilon", rms_norm, like_first),
    "activation": ("Tensor x, Tensor? factor, str activation", activation, like_first),
    "softmax": ("Tensor x, int dim", softmax, like_first),
    "quantized_attention":
        ("Tensor query, Tensor key, Tensor value, bool is_causal, int query_zero_point, int value_zero_point, int out_zero_point, "
         "int score_multiplier, int score_shift, int out_multiplier, int out_shift, int tokens_first",
         quantized_attention, quantized_attention_shape),
    "quantized_linear": ("Tensor x, Tensor weight, Tensor weight_scales, Tensor? bias, float x_scale, int x_zero_point, "
                         "float y_scale, int y_zero_point, str activation", quantized_linear, quantized_linear_shape),
    "quantized_layer_norm":
        ("Tensor x, Tensor weight, Tensor? bias, int x_zero_point, int y_zero_point, int weight_multiplier, int weight_shift, "
         "int epsilon_multiplier, int epsilon_shift", quantized_layer_norm, like_first),
    "quantized_rms_norm":
        ("Tensor x, Tensor weight, int x_zero_point, int y_zero_point, int weight_multiplier, int weight_shift, "
         "int epsilon_multiplier, int epsilon_shift", quantized_rms_norm, like_first),
    "quantized_activation": ("Tensor x, Tensor table", quantized_activation, like_first),
    "quantized_softmax": ("Tensor x, int dim, float x_scale, float y_scale, int y_zero_point", quantized_softmax,
                          like_first),
}
NAMES = frozenset(_OPERATORS)
_library = torch.library.Library("fovea", "FRAGMENT")


def _define(name, arguments, compute, shape):

    def compute_out(*args, out):
        result = compute(*args)
        out.resize_(result.shape).copy_(result)
        return out

    _library.define(f"{name}({arguments}) -> Tensor")
    _library.define(f"{name}.out({arguments}, *, Tensor(a!) out) -> Tensor(a!)")
    _library.impl(name, compute, "CompositeExplicitAutograd")
    _library.impl(f"{name}.out", compute_out, "CompositeExplicitAutograd")
    torch.library.register_fake(f"fovea::{name}", shape, lib=_library)


for _name, _operator in _OPERATORS.items():
    _define(_name, *_operator)
