# SPDX-License-Identifier: Apache-2.0
"""fovea on PyTorch's tensors: scaled_dot_product_attention and MultiheadAttention, for inference on the CPU.

    import fovea.torch
    out = fovea.torch.scaled_dot_product_attention(q, k, v, is_causal=True)      # as torch.nn.functional has it
    layer = fovea.torch.MultiheadAttention(module)                               # of a torch.nn.MultiheadAttention

Tensors are read where they are, with their strides; only one whose last dimension has a step is copied first. There are
no gradients: tensors and weights that require them are refused, except under torch.no_grad(), and tangents always. The
operator fovea::scaled_dot_product_attention is what torch.compile, torch.export and tracers see.
"""
import math
from typing import Optional

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError("fovea.torch needs PyTorch: pip install torch") from error
from torch.autograd import forward_ad

import fovea
from fovea.plans import prepare_attention
from fovea.prepared import PLAIN, Pool

_calls = Pool()
FORMATS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


# The dispatcher's highest key in a thread in which no tracer, mode or transform of PyTorch is active: without inference mode, with it.
PLAIN_KEYS = torch._C.DispatchKey.ADInplaceOrView, torch._C.DispatchKey.BackendSelect


def is_plain():
    """Whether tensors are all that PyTorch sees of a call. Else it must see an operator."""
    return torch._C._dispatch_tls_local_include_set().highestPriorityTypeId() in PLAIN_KEYS


def refuse_tangent(tensor, name):
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None:
        raise RuntimeError(f"{name} has a tangent, and fovea computes none")


def view(tensor, name):
    """A NumPy array of the tensor's memory; of bfloat16 its bits."""
    if tensor.device.type != "cpu":
        raise ValueError(f"{name} is on {tensor.device}: it must be on the CPU")
    refuse_tangent(tensor, name)
    if tensor.requires_grad:
        if torch.is_grad_enabled():
            raise RuntimeError(f"{name} requires a gradient, and fovea computes none: call it under torch.no_grad()")
        tensor = tensor.detach()
    if tensor.numel() and not tensor.data_ptr():
        raise ValueError(f"{name} has no memory: it must be a tensor of numbers")
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def four(tensor):
    """[batch][heads][tokens][dim]: dimensions before these become one."""
    return tensor.reshape(math.prod(tensor.shape[:-3]), *tensor.shape[-3:]) if tensor.dim() > 4 else tensor


def shape_of_output(query, key, value, enable_gqa):
    """The shape of the output, after all tensors were compared."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dtype not in FORMATS:
            raise TypeError(f"{name} is of {tensor.dtype}: it must be of float32, float16 or bfloat16")
        if tensor.dtype != query.dtype:
            raise TypeError(f"{name} is of {tensor.dtype}: it must be of {query.dtype}, as query is")
        if tensor.dim() < 2:
            raise ValueError(f"{name} has the shape {tuple(tensor.shape)}: it must have at least 2 dimensions")
    if key.shape[-1] != query.shape[-1]:
        raise ValueError(f"key has rows of {key.shape[-1]} elements: those of query have {query.shape[-1]}")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key has {key.shape[-2]} tokens: value has {value.shape[-2]}")
    shapes = [tensor.shape[:-3] if enable_gqa else tensor.shape[:-2] for tensor in (query, key, value)]
    try:
        lead = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise ValueError(f"query, key and value have the shapes {tuple(query.shape)}, {tuple(key.shape)} and "
                         f"{tuple(value.shape)}: the dimensions before tokens must broadcast to one shape") from None
    if enable_gqa:
        if query.dim() < 3 or key.dim() < 3 or key.shape[-3] != value.shape[-3] or query.shape[-3] % max(key.shape[-3], 1):
            raise ValueError(f"query, key and value have the shapes {tuple(query.shape)}, {tuple(key.shape)} and "
                             f"{tuple(value.shape)}: with enable_gqa the heads of key and value must divide those of query")
        lead = *lead, query.shape[-3]
    return (*lead, query.shape[-2], value.shape[-1])


def attend(query, key, value, attn_mask, is_causal, scale, enable_gqa):
    """The output, by what was prepared for tensors of these types, shapes and strides, or else by new arguments."""
    tensors = [tensor for tensor in (query, key, value, attn_mask) if tensor is not None]
    known = type(scale), scale, type(is_causal), is_causal, type(enable_gqa), enable_gqa
    for tensor in tensors:
        known += tensor.dtype, tensor.shape, tensor.stride()
    prepared = _calls.take(known)
    if prepared is not None and forward_ad._current_level < 0:
        if all(tensor.is_cpu and not tensor.requires_grad and not tensor.is_neg() for tensor in tensors):
            out = query.new_empty(prepared.shape)
            at = [tensor.data_ptr() for tensor in (*tensors, out)]
            if 0 not in at and prepared.run(at):
                _calls.put(known, prepared)
                return out
    return attend_anew(query, key, value, attn_mask, is_causal, scale, enable_gqa, known)


def attend_anew(query, key, value, attn_mask, is_causal, scale, enable_gqa, known):
    shape = shape_of_output(query, key, value, enable_gqa)
    out = query.new_empty(shape)
    keys = (*shape[:-3], key.shape[-3]) if enable_gqa else shape[:-2]
    given = [("query", query, shape[:-2]), ("key", key, keys), ("value", value, keys)]
    arrays = [view(four(tensor.expand(*lead, *tensor.shape[-2:])), name) for name, tensor, lead in given]
    mask = None
    if attn_mask is not None:
        given.append(("attn_mask", attn_mask, ()))
        mask = attn_mask.float() if attn_mask.dtype == torch.bfloat16 else attn_mask
        mask = view(four(mask.expand(*shape[:-2], *mask.shape[-2:])) if len(shape) > 4 else mask, "attn_mask")
    if out.numel() == 0:
        return out
    dtype = FORMATS[query.dtype]
    options = {"q_dtype": dtype, "key_dtype": dtype, "value_dtype": dtype} if dtype == "bf16" else {}
    if scale is not None:
        options["scale"] = scale if scale else 2.0 ** -126  # 0 is fovea's default; this weights all keys alike, too
    prepared = prepare_attention((*arrays, mask), (view(four(out), "out"),), False, out_dtype=dtype,
                                 causal="top_left" if is_causal else "none", **options)
    prepared.first()
    at = [fovea.c.data_of(array) for array in (*arrays, mask) if array is not None]
    if at == [tensor.data_ptr() for _, tensor, _ in given] and prepared.in_place() and type(scale) in PLAIN:
        prepared.shape = shape
        _calls.put(known, prepared)
    return out


@torch.library.custom_op("fovea::scaled_dot_product_attention", mutates_args=(), device_types="cpu")
def operator(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Optional[torch.Tensor],
             is_causal: bool, scale: Optional[float], enable_gqa: bool) -> torch.Tensor:
    return attend(query, key, value, attn_mask, is_causal, scale, enable_gqa)


@operator.register_fake
def _(query, key, value, attn_mask, is_causal, scale, enable_gqa):
    return query.new_empty(shape_of_output(query, key, value, enable_gqa))


def below_autograd(keys, *inputs):
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.fovea.scaled_dot_product_attention.default.redispatch(keys & torch._C._after_autograd_keyset, *inputs)


class WithoutGradient(torch.autograd.Function):
    """The operator on tensors that require gradients: a graph may have it, and backward() raises."""

    @staticmethod
    def forward(context, *inputs):
        return below_autograd(*inputs)

    @staticmethod
    def backward(context, *gradients):
        raise RuntimeError("fovea computes no gradients: call it under torch.no_grad()")


def under_autograd(keys, *inputs):
    tensors = [tensor for tensor in inputs[:4] if tensor is not None]
    for name, tensor in zip(("query", "key", "value", "attn_mask"), tensors):
        refuse_tangent(tensor, name)
    is_wanted = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if is_wanted and torch._C._are_functorch_transforms_active():
        WithoutGradient.backward(None)
    return (WithoutGradient.apply if is_wanted else below_autograd)(keys, *inputs)


library = torch.library.Library("fovea", "IMPL")
library.impl("scaled_dot_product_attention", under_autograd, "AutogradCPU", with_keyset=True)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """As torch.nn.functional.scaled_dot_product_attention, for tensors of float32, float16 or bfloat16 on the CPU. The
    arithmetic is f32, and a row whose keys are all hidden gives zeros.

    attn_mask: of bool, where True shows a key, or of floats that are added to scores; -inf and the lowest number of its
    type hide a key. dropout_p must be 0. Copied are: tensors whose last dimension has a step, a mask of bfloat16, and
    those of more than 4 dimensions whose first ones do not follow one another. All else is read where it is.
    """
    if dropout_p != 0:
        raise ValueError(f"dropout_p is {dropout_p}: it must be 0, because fovea.torch is for inference")
    if is_causal and attn_mask is not None:
        raise ValueError("attn_mask is given beside is_causal: it must be None")
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is of {type(tensor).__name__}: it must be a torch.Tensor")
    if attn_mask is not None and not isinstance(attn_mask, torch.Tensor):
        raise TypeError(f"attn_mask is of {type(attn_mask).__name__}: it must be a torch.Tensor")
    own = type(query) in OWN and type(key) in OWN and type(value) in OWN and (attn_mask is None or type(attn_mask) in OWN)
    call = attend if own and not torch.compiler.is_compiling() and is_plain() else operator
    return call(query, key, value, attn_mask, is_causal, scale, enable_gqa)


OWN = {torch.Tensor, torch.nn.Parameter}  # tensors with memory; tracers have others


class NoTensor:
    """What nn.TransformerEncoder finds instead of weights, so that it calls the layer and makes no nested tensors of its own."""
    __torch_function__ = None


class MultiheadAttention(torch.nn.Module):
    """A torch.nn.MultiheadAttention by fovea, for inference: MultiheadAttention(module), also as the self_attn of an
    nn.TransformerEncoderLayer. It reads the module's weights, which are of float32, where they are, and takes and returns
    what the module does. A row whose keys are all hidden gives the bias of the output, where PyTorch has NaN."""

    # nn.TransformerEncoderLayer reads these; it computes attention by itself unless one of them forbids that.
    batch_first, out_proj = (property(lambda self, name=name: getattr(self.module, name)) for name in ("batch_first", "out_proj"))
    in_proj_weight, in_proj_bias, _qkv_same_embed_dim = NoTensor(), None, False

    def __init__(self, module):
        super().__init__()
        if not isinstance(module, torch.nn.MultiheadAttention):
            raise TypeError(f"module is of {type(module).__name__}: it must be a torch.nn.MultiheadAttention")
        for name, given in (("add_bias_kv", module.bias_k is not None), ("add_zero_attn", module.add_zero_attn)):
            if given:
                raise ValueError(f"the module has {name}, which fovea does not serve")
        self.module, self.layer, self.at = module, None, None

    def __getstate__(self):
        return {**self.__dict__, "layer": None, "at": None}  # a copy makes its own

    def weights(self):
        """The layer, made anew where the module got other weights."""
        arrays = {}
        for name, tensor in self.module.named_parameters():
            if tensor.dtype != torch.float32:
                raise TypeError(f"{name} is of {tensor.dtype}: it must be of float32")
            arrays[name] = view(tensor, name)
        at = [(fovea.c.data_of(array), array.shape, array.strides) for array in arrays.values()]
        if at != self.at:
            bias = arrays.get("in_proj_bias")
            if "in_proj_weight" in arrays:
                given = {"qkv": fovea.Weights(arrays["in_proj_weight"], bias)}
            else:
                given = {name: fovea.Weights(arrays[f"{name}_proj_weight"], part)
                         for name, part in zip("qkv", (None,) * 3 if bias is None else np.split(bias, 3))}
            given["out"] = fovea.Weights(arrays["out_proj.weight"], arrays.get("out_proj.bias"))
            self.layer, self.at = fovea.MultiheadAttention(self.module.num_heads, **given), at
        return self.layer

    @torch.compiler.disable
    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        """As the module's: is_causal says that attn_mask is causal, and hides nothing by itself."""
        if self.module.training and self.module.dropout > 0:
            raise RuntimeError("the module would drop weights: call eval(), because fovea.torch is for inference")
        if is_causal and attn_mask is None:
            raise ValueError("is_causal is given without attn_mask: it must be beside the mask that it describes")
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            if tensor.dtype != torch.float32:
                raise TypeError(f"{name} is of {tensor.dtype}: it must be of float32")
        tokens_first = query.dim() == 3 and not self.module.batch_first
        if not is_plain():
            raise RuntimeError("a tracer, mode or transform of PyTorch is active, which cannot see into fovea's MultiheadAttention")
        arrays = [
            None if tensor is before else self.batch(view(tensor, name), tokens_first)
            for name, tensor, before in (("query", query, None), ("key", key, query if value is query else None),
                                         ("value", value, key))
        ]
        out = query.new_empty(query.shape)
        mask = self.mask(attn_mask, key_padding_mask, arrays[0].ndim)
        weights = self.weights()(*arrays, self.batch(out.numpy(), tokens_first), mask=mask, scores="softmax" if need_weights else None)
        if not need_weights:
            return out, None
        weights = torch.from_numpy(weights[1])
        return out, weights.mean(-3) if average_attn_weights else weights

    def batch(self, array, tokens_first):
        return array.swapaxes(0, 1) if tokens_first else array

    def mask(self, attn_mask, key_padding_mask, dimensions):
        """The mask [batch][heads][queries][keys] of both, broadcast. The module's masks of bool hide where they are
        True."""
        masks = []
        if attn_mask is not None:
            mask = view(attn_mask, "attn_mask")
            masks.append(mask.reshape(-1, self.module.num_heads, *mask.shape[-2:]) if mask.ndim == 3 else mask)
        if key_padding_mask is not None:
            mask = view(key_padding_mask, "key_padding_mask")
            masks.append(mask[:, None, None] if dimensions == 3 else mask)
        if all(mask.dtype == bool for mask in masks):
            return ~np.logical_or(*masks) if len(masks) == 2 else ~masks[0] if masks else None
        return sum(np.where(mask, np.float32(-np.inf), np.float32(0)) if mask.dtype == bool else mask for mask in masks)
