# SPDX-License-Identifier: Apache-2.0
"""The operators of the namespace fovea, as PyTorch knows them: what the runtime's kernels compute, in PyTorch's own.

Each has a functional form, which graphs have, and a form with `out`, which ExecuTorch calls.
"""
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
    query, key, value = (x.transpose(1, 2) if tokens_first & bit else x
                         for x, bit in ((query, QUERY), (key, KEY), (value, VALUE)))
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
}
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
