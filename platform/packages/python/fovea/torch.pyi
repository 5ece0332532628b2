# SPDX-License-Identifier: Apache-2.0
import torch
from torch import Tensor

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor: ...

class MultiheadAttention(torch.nn.Module):
    module: torch.nn.MultiheadAttention
    def __init__(self, module: torch.nn.MultiheadAttention) -> None: ...
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                 need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                 is_causal: bool = False) -> tuple[Tensor, Tensor | None]: ...
