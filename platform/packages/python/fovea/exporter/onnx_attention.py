# SPDX-License-Identifier: Apache-2.0
"""Attention in ONNX: its own operators, and those of com.microsoft, which ONNX Runtime's optimizer writes."""
import numpy as np

from . import loops, torch_elements, torch_masks, torch_ops, torch_shapes
from .graph import Hiding
from .onnx_ops import ATEN, constant, microsoft, op, transposed


def heads_of(reader, x, heads):
    """[batch, tokens, heads * dim] as [batch, heads, tokens, dim]."""
    return torch_shapes.reshape(reader, x, [*x.shape[:2], heads, x.shape[2] // heads]).transpose(1, 2)


def attend(reader, q, k, v, mask, causal, before, **options):
    """Of [batch, heads, tokens, dim]. causal: a query sees no key after it, where `before` keys come before the first."""
    if k.shape[1] != q.shape[1]:  # groups of query heads share a key head
        times = q.shape[1] // k.shape[1]
        k, v = (one.unsqueeze(2).expand([*one.shape[:2], times, *one.shape[2:]]).reshape([one.shape[0], q.shape[1], *one.shape[2:]])
                for one in (k, v))
    if causal and before:
        shown = np.tri(q.shape[2], k.shape[2], before, dtype=bool)
        if mask is None:
            mask = shown
        elif loops.dtype_of(reader, mask) == loops.BOOL or isinstance(mask, Hiding):
            mask = torch_masks.both(reader, mask, shown) if reader.is_live(mask) else np.asarray(mask) & shown
        else:
            mask = ATEN["aten.add"](reader, mask, np.where(shown, np.float32(0), np.float32(-np.inf)))
        causal = False
    return torch_ops.attention(reader, q, k, v, mask, 0.0, bool(causal), **options)


def shown_below(reader, lengths, keys):
    """A mask [batch, 1, 1, keys] of the keys below each entry's length."""
    return loops.node(reader, "lt", [np.arange(keys), lengths.reshape([lengths.count, 1, 1, 1])])


@op("Attention", 23, 24, 25)
def attention(reader, q, k, v, mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None, *, is_causal, scale=None,
              q_num_heads=None, kv_num_heads=None, softmax_precision=None, softcap=0.0):
    if softmax_precision not in (None, 1):  # 1 is float32
        reader.refuse(f"with softmax_precision {softmax_precision}", "a softmax in float32")
    flat = len(q.shape) == 3
    if flat:
        q, k, v = (heads_of(reader, one, heads) for one, heads in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    before = 0
    if past_key is not None:
        before = past_key.shape[2]
        k, v = torch_shapes.cat(reader, [past_key, k], 2), torch_shapes.cat(reader, [past_value, v], 2)
    if mask is not None and mask.shape[-1] != k.shape[2]:
        reader.refuse("with a mask that is shorter than the keys", "a mask of all keys")
    if nonpad_kv_seqlen is not None:
        if is_causal or mask is not None and loops.dtype_of(reader, mask) != loops.BOOL:
            reader.refuse("with nonpad_kv_seqlen and another limit", "a mask of booleans")
        below = shown_below(reader, nonpad_kv_seqlen, k.shape[2])
        mask = below if mask is None else torch_masks.both(reader, below, mask)
    y = attend(reader, q, k, v, mask, is_causal, before, scale=scale, softcap=softcap)
    y = y.transpose(1, 2).reshape([y.shape[0], y.shape[2], -1]) if flat else y
    return [y, k, v] if len(reader.node.output) > 1 else y


def turned(reader, x, cos, sin, interleaved, rotary_dim):
    """x [batch, heads, tokens, dim] by tables [tokens, pairs]."""
    y = reader.graph.arena(reader.name("rope"), torch_shapes.views.like(x, [x.shape[3]], 3))
    more = {"rotary_dim": rotary_dim} if rotary_dim not in (0, x.shape[3]) else {}
    return reader.graph.add("rope", y.name, {"x": x, "cos": reader.tensor(cos, "cos"), "sin": reader.tensor(sin, "sin")}, y,
                            reader.line, layout="INTERLEAVED" if interleaved else "HALF_SPLIT", **more)


def rows_of_tables(reader, tables, places, tokens):
    """Tables for the tokens of an entry: the same for all entries."""
    tables = [np.asarray(constant(reader, one, "tables")) for one in tables]
    if places is not None:
        places = np.asarray(constant(reader, places, "positions"))
        places = np.arange(tokens)[None] + places if places.size == 1 else places
        if ((places < 0) | (places >= len(tables[0]))).any():
            reader.refuse(f"of the positions {places.min()} to {places.max()}", f"positions below {len(tables[0])}, the rows of its tables")
        tables = [one[places] for one in tables]
    if tables[0].ndim == 3:
        if any((one != one[:1]).any() for one in tables):
            reader.refuse("with other positions for each entry", "the same positions for all")
        tables = [one[0] for one in tables]
    return [np.ascontiguousarray(one) for one in tables]


@op("RotaryEmbedding", 23)
def rotary(reader, x, cos_cache, sin_cache, position_ids=None, *, interleaved, num_heads=0, rotary_embedding_dim):
    flat = len(x.shape) == 3
    rows = heads_of(reader, x, num_heads) if flat else x
    tables = rows_of_tables(reader, (cos_cache, sin_cache), position_ids, rows.shape[2])
    y = turned(reader, rows, *tables, interleaved, rotary_embedding_dim)
    return torch_shapes.reshape(reader, y.transpose(1, 2), x.shape) if flat else y


# ------------------------------------------------------------------------------------------------------ com.microsoft


@microsoft("RotaryEmbedding")
def microsoft_rotary(reader, x, position_ids, cos_cache, sin_cache, *, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    heads = num_heads or x.shape[-1] // (2 * np.shape(cos_cache)[1])
    return rotary(reader, x, cos_cache, sin_cache, position_ids, interleaved=interleaved, num_heads=heads,
                  rotary_embedding_dim=rotary_embedding_dim)


@microsoft("MultiHeadAttention")
def multihead(reader, q, k=None, v=None, bias=None, key_padding_mask=None, attention_bias=None, *, num_heads,
              mask_filter_value=-10000.0, scale=None, unidirectional=0):
    if k is None or v is None or any(len(one.shape) != 3 for one in (q, k, v)):
        reader.refuse("of packed queries, keys and values", "three tensors [batch, tokens, heads * dim]")
    if bias is not None:
        parts = np.split(np.asarray(constant(reader, bias, "biases")), np.cumsum([q.shape[2], k.shape[2]]))
        q, k, v = (ATEN["aten.add"](reader, one, part) for one, part in zip((q, k, v), parts))
    q, k, v = (heads_of(reader, one, num_heads) for one in (q, k, v))
    mask = attention_bias
    if key_padding_mask is not None:
        if key_padding_mask.shape not in ((q.shape[0],), (q.shape[0], k.shape[2])):
            reader.refuse("with this key_padding_mask", "one of [batch] or [batch, keys]")
        if not mask_filter_value <= -1e4:
            reader.refuse(f"with mask_filter_value {mask_filter_value}", "a number as low as hides a key, as -10000")
        shown = shown_below(reader, key_padding_mask, k.shape[2]) if len(key_padding_mask.shape) == 1 else (
            loops.node(reader, "gt", [key_padding_mask, np.int64(0)]).unsqueeze(1).unsqueeze(1))
        hiding = Hiding(shown.buffer, shown.dims, shown.offset, mask_filter_value)
        mask = hiding if mask is None else loops.node(reader, "add", [hiding, mask])
    y = attend(reader, q, k, v, mask, unidirectional, 0, scale=scale or None)
    return torch_shapes.reshape(reader, y.transpose(1, 2), [y.shape[0], y.shape[2], -1])


@microsoft("GroupQueryAttention")
def group_query(reader, q, k, v, past_key=None, past_value=None, seqlens_k=None, total_sequence_length=None, cos_cache=None,
                sin_cache=None, position_ids=None, attention_bias=None, head_sink=None, *, num_heads, kv_num_heads, scale=None,
                softcap=0.0, do_rotary=0, rotary_interleaved=0, smooth_softmax=0):
    if k is None or v is None:
        reader.refuse("with packed queries", "queries, keys and values of their own")
    if position_ids is not None or attention_bias is not None:
        reader.refuse("with position_ids or attention_bias", "the positions and the mask of a causal sequence")
    sinks = np.zeros(num_heads, np.float32) if smooth_softmax == 1 else None  # a logit of 0 in each sum
    sinks = sinks if head_sink is None else np.asarray(constant(reader, head_sink, "sinks"))
    before = past_key.shape[2] if past_key is not None else 0
    if (np.asarray(constant(reader, seqlens_k, "lengths")) != before + q.shape[1] - 1).any():
        reader.refuse("of padded sequences", "sequences of one length, which with a past are all of it and the new tokens")
    q, k, v = (heads_of(reader, one, heads) for one, heads in ((q, num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    if do_rotary:
        tables = rows_of_tables(reader, (cos_cache, sin_cache), np.full(1, before), q.shape[2])
        q, k = (turned(reader, one, *tables, rotary_interleaved, 2 * tables[0].shape[1]) for one in (q, k))
    if before:
        k, v = torch_shapes.cat(reader, [past_key, k], 2), torch_shapes.cat(reader, [past_value, v], 2)
    y = attend(reader, q, k, v, None, True, before, scale=scale or None, softcap=softcap,
               sinks=None if sinks is None else reader.tensor(sinks, "sinks"))
    y = torch_shapes.reshape(reader, y.transpose(1, 2), [y.shape[0], y.shape[2], -1])
    return [y, k, v] if len(reader.node.output) > 1 else y


def skip_norm(kind):

    def node(reader, x, skip, gamma, beta=None, bias=None, *, epsilon=1e-12):
        if kind == "RMS":
            beta, bias = None, beta  # that of RMS has no shift
        total = ATEN["aten.add"](reader, x, skip)
        total = total if bias is None else ATEN["aten.add"](reader, total, bias)
        weights = {"weight": gamma, **({"bias": beta} if kind == "LAYER" else {})}
        y = torch_ops.norm_node(reader, total, total.shape[-1], **weights, kind=kind, epsilon=epsilon)
        return [y, None, None, total] if len(reader.node.output) > 1 else y

    return node


microsoft("SkipLayerNormalization")(skip_norm("LAYER"))
microsoft("SkipSimplifiedLayerNormalization")(skip_norm("RMS"))


@microsoft("QuickGelu")
def quick_gelu(reader, x, *, alpha=1.702):
    if alpha == 0:
        reader.refuse("with alpha 0", "a product with 0.5")
    return torch_elements.activation("SILU", 0 if alpha == 1 else alpha)(reader, x)


@microsoft("FusedMatMul")
def fused_matmul(reader, a, b, *, alpha=1.0, transA=0, transB=0):
    a, b = (one if not turn else one.transpose(-1, -2) if reader.is_live(one) else np.swapaxes(one, -1, -2)
            for one, turn in ((a, transA), (b, transB)))
    if reader.is_live(a) and not reader.is_live(b) and np.ndim(b) == 2:
        y = torch_ops.linear_node(reader, a, reader.tensor(transposed(reader, b)), None)
    else:
        y = torch_ops.matmul(reader, reader.tensor(a), reader.tensor(b))
    return y if alpha == 1 else ATEN["aten.mul"](reader, y, alpha)


@microsoft("MatMulNBits")
def matmul_bits(reader, x, codes, scales, zeros=None, *, K, N, bits, block_size, accuracy_level=0):
    """Weights of 4 or 8 bits with a scale for each block: Q4_0 or Q8_0, where that has the same numbers, or else float32."""
    if bits not in (4, 8):
        reader.refuse(f"of {bits} bits", "4 or 8 bits")
    codes, scales = (np.asarray(constant(reader, one, "weights")) for one in (codes, scales))
    blocks, middle = -(-K // block_size), 1 << bits - 1

    def numbers(packed, count):
        packed = np.asarray(packed, np.uint8).reshape(N, -1)
        return packed[:, :count] if bits == 8 else np.stack([packed & 15, packed >> 4], -1).reshape(N, -1)[:, :count]

    if zeros is not None:
        zeros = constant(reader, zeros, "zeros")
        middle = (zeros.reshape(N, blocks) if zeros.dtype.kind == "f" else numbers(zeros, blocks)).astype(np.float32).repeat(
            block_size, 1)
    codes, scales = numbers(codes, blocks * block_size), np.asarray(scales, np.float32).reshape(N, blocks)
    rows = ((codes.astype(np.float32) - np.float32(middle)) * scales.repeat(block_size, 1))[:, :K]
    weight = reader.tensor(np.ascontiguousarray(rows), "weight")
    weight.buffer.own = ()
    if block_size % 32 == 0 and np.all(middle == 1 << bits - 1):
        weight.buffer.own = groups(codes[:, :-(-K // 32) * 32], scales.repeat(block_size // 32, 1), bits, K) or ()
    return torch_ops.linear_node(reader, x, weight, None)


def groups(codes, scales, bits, count):
    """The format, bytes and scales of rows of groups with 32 codes of these bits each; None where a scale is no normal number of
    f16, or a code has no opposite."""
    codes = codes.reshape(len(codes), -1, 32).copy()
    codes.reshape(len(codes), -1)[:, count:] = 1 << bits - 1
    scales = scales[:, :codes.shape[1], None]
    with np.errstate(over="ignore"):
        halves = scales.astype(np.float16)
    if not ((halves == scales) & ((halves == 0) | (np.abs(halves) >= 2**-14)) & np.isfinite(halves)).all() or bits == 8 and not codes.all():
        return None
    stored = codes[..., :16] | codes[..., 16:] << 4 if bits == 4 else codes ^ 128
    return "q4_0" if bits == 4 else "q8_0", np.concatenate([halves.view(np.uint8), stored], -1).reshape(len(codes), -1), None


microsoft("BiasGelu")(lambda reader, x, bias: torch_elements.gelu(reader, ATEN["aten.add"](reader, x, bias)))
microsoft("FastGelu")(lambda reader, x, bias=None: torch_elements.gelu(
    reader, x if bias is None else ATEN["aten.add"](reader, x, bias), approximate="tanh"))
microsoft("Gelu")(lambda reader, x: torch_elements.gelu(reader, x))
