# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX, in each version that the exporter reads: a line of CASES is
`operator versions: nodes ! words of a refusal`."""
import inspect
import pathlib
import re
from unittest import mock

import numpy as np

RANDOM = np.random.default_rng(1)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(*numbers):
    return np.array(numbers, np.int64)


INPUTS = {
    "x": floats(2, 3, 4, 8), "r": floats(5, 8), "image": floats(1, 3, 8, 8), "image_4": floats(1, 4, 8, 8),
    "signal": floats(2, 3, 16), "ids": whole([1, 4, 0]), "q": floats(1, 4, 6, 8), "k": floats(1, 4, 6, 8),
    "v": floats(1, 4, 6, 8), "k2": floats(1, 2, 9, 8), "flat": floats(1, 6, 32), "flat2": floats(1, 9, 16),
    "shown": (np.arange(36).reshape(1, 1, 6, 6) % 5 != 1), "numbers": np.tri(6, dtype=np.int64)[None, None], "lengths": whole(5),
    "past": floats(1, 4, 2, 8), "past16": floats(1, 2, 2, 16), "half_flat": floats(1, 6, 16), "past_one": floats(1, 1, 2, 16),
    "pair_q": floats(2, 6, 64), "pair_kv": floats(2, 6, 32), "next_q": floats(2, 1, 64), "next_kv": floats(2, 1, 32),
    "pair_past": floats(2, 2, 5, 16), "steps": floats(3, 1, 4), "token_mask": np.arange(6, dtype=np.int32)[None] // 4 ^ 1,
    "counts": np.array([4], np.int32), "signs": np.array([[1, -1, 1, 2, 0, 1]], np.int32),
    "endless": np.array([[np.inf, -np.inf, 1], [-np.inf] * 3], np.float32),
    "edges": np.float32([0.5, 0, -2, 300, 1, 256, 41, np.nan]), "tens": np.arange(400, dtype=np.float32),
    "numbers_of_8": np.array([200, 0, 7], np.uint8), "shown_of_32": np.array([2, 0, 256, 300], np.int32)
}
CONSTANTS = {
    "c": floats(8), "c3": floats(3), "c4": floats(4), "p3": np.abs(floats(3)) + 0.5, "p4": np.abs(floats(4)) + 0.5,
    "taps": floats(3, 1, 13), "pairs": floats(4, 2, 3, 3), "huge": floats(2, 3, 9, 9), "tgrid": floats(3, 4, 2, 2),
    "gru": floats(1, 6, 4), "recur": floats(1, 6, 2), "mixed": whole([3, 0, 1], [7, 7, 2]),
    "places": np.tile(whole(5, 0, 2), (2, 3, 4, 1)), "sides": whole(0, 1, 2, 0, 0, 1, 1, 3), "side": whole(2, 3),
    "twice": whole(2, 3), "positions": whole([0, 1, 2, 3, 4, 5]), "far": whole([3, 4, 5, 6, 7, 20]), "turn_c": floats(9, 4),
    "turn_s": floats(9, 4), "short_c": floats(9, 2), "bias_qkv": floats(96), "bias4": floats(1, 1, 6, 6), "c32": floats(32),
    "turn8_c": floats(9, 8), "few_c": floats(4, 8), "two_sinks": floats(2), "few_s": floats(4, 8), "turn8_s": floats(9, 8),
    "five": np.array([5], np.int32), "seven": np.array([7], np.int32), "eight_tokens": np.array([8], np.int32),
    "six_tokens": np.array([6], np.int32), "five_five": np.array([5, 5], np.int32),
    "nibbles": RANDOM.integers(0, 256, (3, 1, 8)).astype(np.uint8), "nibble_scales": np.abs(floats(3)),
    "nibble_halves": np.abs(floats(3)).astype(np.float16).astype(np.float32), "tiny_halves": np.float32([1e-6, 1, 1]),
    "nibbles32": RANDOM.integers(0, 256, (3, 1, 16)).astype(np.uint8),
    "nibbles64": RANDOM.integers(0, 256, (3, 1, 32)).astype(np.uint8),
    "bytes32": RANDOM.integers(1, 256, (3, 1, 32)).astype(np.uint8), "zero_bytes": np.zeros((3, 1, 32), np.uint8),
    "eights": np.full(3, 8, np.uint8), "nibble_zeros": RANDOM.integers(0, 16, (3, )).astype(np.uint8), "short_s": floats(9, 2),
    "w": floats(8, 6), "w_t": floats(6, 8), "c6": floats(6), "grid": floats(4, 3, 2, 2), "point": floats(4, 3, 1, 1),
    "line": floats(4, 3, 2), "wide": floats(4, 3, 3, 3), "halves": floats(4, 1, 2, 2), "bias": floats(6, 6),
    "table": floats(4, 8), "short": floats(6, 4), "lower": np.tri(4, 8, dtype=bool), "none": np.zeros((4, 8), bool),
    "causal": np.tri(6, dtype=bool), "many": np.float32(41), "hundred": np.uint8(100),
    "codes": RANDOM.integers(-127, 128, (8, 6)).astype(np.int8), "scales": np.abs(floats(6)), "zeros": np.zeros(6, np.int8),
    "square_codes": RANDOM.integers(-127, 128, (8, 8)).astype(np.int8), "low_codes": np.full((8, 6), -128, np.int8),
    "zero": np.float32(0), "half": np.float32(0.5), "one": np.float32(1), "two": np.float32(2), "three": np.float32(3),
    "six": np.float32(6), "root": np.float32(2**0.5), "tiny": np.float32(1e-5), "hidden": np.float32(-np.inf),
    "least": np.finfo(np.float32).min, "most": np.finfo(np.float32).max, "low": np.float32(-1e4), "true": np.bool_(True),
    "i0": whole(0), "i1": whole(1), "i2": whole(2), "i3": whole(3), "last": whole(-1), "one_place": np.int64(1),
    "odd": whole(1, 3), "eight": whole(8), "some": whole(2, 6), "two_six": whole(2, 5, 8), "flat_shape": whole(0, -1),
    "rows": whole(-1, 8), "nothing": np.zeros(0, np.int64)
}
MACROS = {"SCORES": "t = Transpose <perm=[0, 1, 3, 2]> (k) s = MatMul (q, t)", "WEIGHTS": "p = Softmax <axis=3> (a) y = MatMul (p, v)"}
CASES = """
Abs 6 13: y = Abs (x)
Add 7 13 14: y = Add (x, c)
Add 7 13 14: y = Add (c, x)
Add 7 13 14: a = Relu (x) y = Add (a, x)
Add 6: y = Add <axis=1, broadcast=1> (x, c3) ! Add of version 6
Add 13: y = Add (ids, ids) ! whole numbers
And 7: m = And (shown, causal) b = Where (m, zero, hidden) SCORES a = Add (s, b) WEIGHTS
Attention 23 24 25: y = Attention (q, k, v)
Attention 23 24 25: y = Attention <is_causal=1, scale=0.3> (q, k2, k2)
Attention 23 24 25: y = Attention <q_num_heads=4, kv_num_heads=2, softmax_precision=1> (flat, flat2, flat2)
Attention 23 24 25: y = Attention (q, k, v, shown)
Attention 23 24 25: y = Attention (q, k, v, bias)
Attention 23 24 25: y = Attention (q, k, v, short) ! shorter than the keys
Attention 23 24 25: y = Attention <softcap=2.0> (q, k, v)
Attention 23 24 25: y = Attention (q, k, v, "", past, past)
Attention 23 24 25: y = Attention <is_causal=1> (q, k, v, "", past, past)
Attention 23: y, pk, pv = Attention (q, k, v, "", past, past)
Attention 23 24 25: y, pk, pv, qk = Attention (q, k, v) ! with the output qk
Attention 24 25: y = Attention (q, k, v, "", "", "", lengths)
Attention 24: y = Attention <is_causal=1> (q, k, v, "", "", "", lengths) ! with nonpad_kv_seqlen and another limit
AveragePool 7 10 11 19 22: y = AveragePool <kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0], auto_pad="NOTSET"> (image)
AveragePool 7 11 19 22: y = AveragePool <kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1> (image)
AveragePool 10: y = AveragePool <kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1, ceil_mode=1> (image)
AveragePool 11 19 22: y = AveragePool <kernel_shape=[3, 3], pads=[1, 1, 1, 1], ceil_mode=0> (image) ! with another divisor
AveragePool 19 22: y = AveragePool <kernel_shape=[2, 2], dilations=[2, 2]> (image) ! with dilations
AveragePool 11: y = AveragePool <kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1> (image) ! with ceil_mode
BatchNormalization 7 9 14 15: y = BatchNormalization <epsilon=0.1> (image, c3, c3, c3, p3)
BatchNormalization 9: z = Conv (image, grid) d = Relu (z) y = BatchNormalization (d, c4, c4, c4, p4)
Cast 6 9 13 19 21 23 24 25: y = Cast <to=1> (x)
Cast 6 9 13 19 21 23 24 25: j = Cast <to=6> (ids) y = Gather (w, j)
Cast 6 9 13 19 21 23 24 25 28: y = Cast <to=1> (ids)
Cast 13: y = Cast <to=1> (shown)
Cast 13: b = Cast <to=9> (edges) f = Cast <to=1> (b) y = Mul (f, c)
Cast 13: b = Cast <to=9> (shown_of_32) y = Cast <to=1> (b)
Cast 13: b = Cast <to=9> (shown_of_32) f = Cast <to=1> (b) g = Cast <to=1> (shown_of_32) y = Add (f, g)
Add 13: a = Add (numbers_of_8, hundred) y = Cast <to=1> (a) ! Add of whole numbers of less than 32 bits
Sub 13: f = Reshape (numbers_of_8, last) a = Sub (f, numbers_of_8) y = Cast <to=1> (a) ! Sub of whole numbers of less than 32 bits
Div 13: d = Div (tens, many) y = Floor (d)
Where 9 16: n = IsNaN (edges) z = Where (n, zero, edges) y = Relu (z)
Where 9 16: n = IsNaN (edges) z = Where (n, zero, edges) f = Cast <to=1> (n) y = Add (z, f)
Where 9 16: b = Cast <to=9> (edges) z = Where (b, one, c) y = Relu (z)
Cast 13: j = Cast <to=6> (x) y = Cast <to=1> (j)
Cast 13: y = Cast <to=10> (x) ! Cast to float16
Ceil 6 13: y = Ceil (x)
Celu 12: y = Celu <alpha=0.7> (x)
Cast 28: y = Cast <to=1> (x)
Cast 23 24 25: j = Cast <to=9> (numbers) y = Attention (q, k, v, j)
CastLike 15 19 21 23 24 25: y = CastLike (x, c)
CastLike 15: y = CastLike (ids, x)
Clip 6: y = Clip <min=0.0> (x)
Clip 6: y = Clip <min=0.0, max=6.0> (x)
Clip 11 12 13: y = Clip (x, zero, six)
Clip 11 12 13: y = Clip (x, zero)
Clip 6: y = Clip <min=-0.5, max=0.5> (x)
Clip 6: y = Clip (endless)
Clip 11 12 13: y = Clip (endless, least, most)
Concat 4 11 13: a = Relu (x) y = Concat <axis=1> (x, a)
Conv 1 11 22: y = Conv <strides=[2, 2], kernel_shape=[2, 2], pads=[0, 0, 0, 0], dilations=[1, 1]> (image, grid)
Conv 1 11 22: y = Conv <strides=[4, 4], auto_pad="VALID"> (image, grid)
Conv 1 11 22: y = Conv (image, point)
Conv 1 11 22: y = Conv <strides=[2]> (signal, line)
Conv 1 11 22: y = Conv <strides=[2, 2]> (image, point)
Conv 11: y = Conv <strides=[3, 3]> (image, wide)
Conv 11: y = Conv (image, grid)
Conv 11: y = Conv <strides=[2, 2], pads=[1, 0, 2, 1]> (image, grid)
Conv 11: y = Conv <strides=[2, 2], auto_pad="SAME_UPPER"> (image, wide)
Conv 11: y = Conv <strides=[3, 3], auto_pad="SAME_LOWER"> (image, wide)
Conv 1 11 22: y = Conv <group=4, strides=[2, 2]> (image_4, halves)
Conv 11: y = Conv <group=4, pads=[1, 2, 0, 1], dilations=[2, 1]> (image_4, halves)
Conv 11: y = Conv <group=3, pads=[6, 6]> (signal, taps)
Conv 11: y = Conv <group=2> (image_4, pairs)
Conv 11: y = Conv <strides=[4, 4], dilations=[2, 2]> (image, grid)
Conv 11: y = Conv (image, huge) ! of windows that are larger
ConvTranspose 11: y = ConvTranspose (image, tgrid) ! ConvTranspose is not served
Cos 7 22: y = Cos (x)
CumSum 11 14: y = CumSum (x, one_place)
CumSum 14: y = CumSum <reverse=1> (x, one_place) ! with reverse 1
DepthToSpace 1: y = DepthToSpace <blocksize=2> (image_4)
DepthToSpace 11 13: y = DepthToSpace <blocksize=2, mode="CRD"> (image_4)
DepthToSpace 11 13: y = DepthToSpace <blocksize=2> (image_4)
DequantizeLinear 10: f = DequantizeLinear (codes, half) y = MatMul (x, f)
DequantizeLinear 13 19 21 23 25: f = DequantizeLinear <axis=1> (codes, scales, zeros) y = MatMul (x, f)
Div 7 13 14: y = Div (x, c)
Div 13: a = Sigmoid (x) y = Div (x, a)
Div 13: y = Div (ids, ids) ! of whole numbers
Dropout 7 10: y = Dropout <ratio=0.3> (x)
Dropout 12 13 22: y = Dropout <seed=3> (x, half)
Dropout 12 13 22: y = Dropout (x, half, true) ! in training
Dropout 7 10 12: y, z = Dropout (x) ! with the output z
Einsum 12: y = Einsum <equation="bhid,bhjd->bhij"> (q, k)
Einsum 12: y = Einsum <equation="bhii,bhij->bi"> (x, x) ! of bhii
Elu 6 22: y = Elu <alpha=0.7> (x)
Equal 7 11 13 19: e = Equal (ids, i1) y = Cast <to=1> (e)
Erf 9 13: u = Div (x, root) e = Erf (u) p = Add (e, one) z = Mul (x, p) y = Mul (z, half)
Erf 13: y = Erf (x)
Exp 6 13: y = Exp (x)
Expand 8 13: y = Expand (r, two_six)
Flatten 1 9 11 13 21 23 24 25: y = Flatten (x)
Flatten 1 9 11 13 21 23 24 25: y = Flatten <axis=3> (x)
Flatten 11 13 21 23 24 25: y = Flatten <axis=-1> (x)
Floor 6 13: y = Floor (x)
Gather 1 11 13: y = Gather (w, ids)
Gather 13: y = Gather <axis=3> (x, mixed)
Gather 13: y = Gather (r, ids)
Gather 13: y = Gather <axis=1> (w, ids) ! by computed numbers
GatherElements 11 13: y = GatherElements <axis=3> (x, places)
Gather 1 11 13: y = Gather <axis=2> (x, odd)
Gather 1 11 13: y = Gather <axis=3> (x, one_place)
Gather 11 13: y = Gather <axis=3> (x, last)
Gelu 20: y = Gelu (x)
Gelu 20: y = Gelu <approximate="tanh"> (x)
Gemm 7 9 11 13: y = Gemm (r, w, c6)
Gemm 7 9 11 13: y = Gemm <alpha=2.0, beta=0.5, transB=1> (r, w_t, c6)
Gemm 11 13: y = Gemm (r, w)
Gemm 7: y = Gemm <transA=1> (r, w, c6) ! with transA 1
GRU 7: y, h = GRU <hidden_size=2> (steps, gru, recur) ! Instead: attention, or a gated delta rule
GlobalAveragePool 1 22: y = GlobalAveragePool (x)
GlobalMaxPool 1 22: y = GlobalMaxPool (image)
Greater 7 9 13: e = Greater (x, half) y = Cast <to=1> (e)
Greater 13: e = Greater (x, half) y = Where (e, x, half)
GreaterOrEqual 12 16: e = GreaterOrEqual (x, half) y = Cast <to=1> (e)
GroupNormalization 21: y = GroupNormalization <num_groups=2, epsilon=0.1> (image_4, c4, c4)
HardSigmoid 6 22: y = HardSigmoid <alpha=0.3, beta=0.4> (x)
HardSwish 14 22: y = HardSwish (x)
Identity 1 13 14 16 19 21 23 24 25: y = Identity (x)
InstanceNormalization 6 22: y = InstanceNormalization <epsilon=0.1> (image, c3, c3)
IsNaN 13: n = IsNaN (x) y = Cast <to=1> (n)
IsNaN 9 13 20: s = Softmax <axis=3> (x) n = IsNaN (s) y = Where (n, zero, s)
LayerNormalization 17: y = LayerNormalization <axis=3, epsilon=0.1> (x, c, c)
LayerNormalization 17: y = LayerNormalization (x, c)
LayerNormalization 17: y = LayerNormalization <axis=2> (x, table)
LayerNormalization 17: y = LayerNormalization (x, two) ! weights of another shape
LayerNormalization 17: y = LayerNormalization <stash_type=11> (x, c) ! with stash_type 11
LeakyRelu 6 16: y = LeakyRelu <alpha=0.3> (x)
Less 7 9 13: e = Less (x, c) y = Cast <to=1> (e)
LessOrEqual 12 16: e = LessOrEqual (x, half) y = Cast <to=1> (e)
Log 6 13: a = Sigmoid (x) y = Log (a)
LogSoftmax 13: y = LogSoftmax <axis=3> (x)
LogSoftmax 13: y = LogSoftmax <axis=1> (x)
LogSoftmax 11: y = LogSoftmax (x) ! of version 11
MatMul 1 9 13: y = MatMul (x, w)
MatMul 1 9 13: SCORES a = Mul (s, half) WEIGHTS
Max 8 12 13: y = Max (x, c, half)
MaxPool 1 8 10 11 12 22: y = MaxPool <kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], auto_pad="NOTSET"> (image)
MaxPool 8 10 11 12 22: y = MaxPool <kernel_shape=[2, 2], auto_pad="VALID", storage_order=0> (image)
MaxPool 10 11 12 22: y = MaxPool <kernel_shape=[2, 2], dilations=[2, 2], ceil_mode=1> (image)
MaxPool 11: y = MaxPool <kernel_shape=[2, 2], auto_pad="SAME_UPPER"> (image) ! with another padding at the ends
Min 8 12 13: y = Min (x, c)
Mish 18 22: y = Mish (x)
Mul 7 13 14: y = Mul (x, c)
Mul 13: m = Cast <to=1> (numbers) i = Sub (one, m) b = Mul (i, least) SCORES a = Add (s, b) WEIGHTS
Mul 13: m = Mul (ids, i2) y = Cast <to=1> (m)
Neg 6 13: y = Neg (x)
Neg 13: n = Neg (ids) y = Cast <to=1> (n)
Not 1: m = Not (shown) b = Where (m, hidden, zero) SCORES a = Add (s, b) WEIGHTS
Or 7: m = Or (shown, causal) b = Where (m, zero, hidden) SCORES a = Add (s, b) WEIGHTS
PRelu 7 9 16: y = PRelu (x, c)
Pad 2: y = Pad <pads=[0, 1, 0, 0, 0, 0, 2, 1], mode="constant", value=0.5> (x)
Pad 11 13 18 19 21 23 24 25: y = Pad <mode="reflect"> (x, sides)
Pad 11 13: y = Pad (x, sides, half)
Pad 18 19 21 23 24 25: y = Pad <mode="edge"> (x, side, "", last)
Pow 7 12 13 15: y = Pow (x, two)
Pow 7 12 13 15: y = Pow (x, three)
Pow 13: a = Sigmoid (x) y = Pow (a, c)
RMSNormalization 23: y = RMSNormalization <axis=3, epsilon=0.1> (x, c)
RMSNormalization 23: y = RMSNormalization <axis=2> (x, table)
Reciprocal 6 13: s = Mul (x, x) m = ReduceMean <axes=[3]> (s) e = Add (m, tiny) d = Sqrt (e) i = Reciprocal (d) z = Mul (x, i) y = Mul (z,
    c)
Reciprocal 13: e = Exp (x) y = Reciprocal (e)
ReduceL1 1 11 13: y = ReduceL1 <axes=[3], keepdims=0> (x)
ReduceL1 18: y = ReduceL1 <keepdims=0, noop_with_empty_axes=0> (x, i1)
ReduceL2 1 11 13: y = ReduceL2 <axes=[1], keepdims=1> (x)
ReduceL2 18: y = ReduceL2 <noop_with_empty_axes=0, keepdims=0> (x, i3)
ReduceLogSumExp 1 11 13: y = ReduceLogSumExp <axes=[2, 3], keepdims=0> (x)
ReduceLogSumExp 18: y = ReduceLogSumExp <noop_with_empty_axes=0, keepdims=1> (x, i3)
ReduceMax 1 11 12 13: y = ReduceMax <axes=[1, 3], keepdims=0> (x)
ReduceMax 18 20: y = ReduceMax <noop_with_empty_axes=0, keepdims=1> (x, i3)
ReduceMin 1 11 12 13: y = ReduceMin <axes=[2], keepdims=0> (x)
ReduceMin 18 20: y = ReduceMin <noop_with_empty_axes=0, keepdims=1> (x, i3)
ReduceProd 1 11 13: y = ReduceProd <axes=[1, 2], keepdims=0> (x)
ReduceProd 18: y = ReduceProd <noop_with_empty_axes=0, keepdims=1> (x, i3)
ReduceSum 1 11: y = ReduceSum <axes=[1, 3], keepdims=0> (x)
ReduceSum 13: y = ReduceSum <noop_with_empty_axes=0, keepdims=1> (x, i3)
ReduceSum 13: s = ReduceSum (numbers, i3) y = Cast <to=1> (s)
ReduceSumSquare 1 11 13: y = ReduceSumSquare <axes=[3], keepdims=0> (x)
ReduceSumSquare 18: y = ReduceSumSquare <noop_with_empty_axes=0, keepdims=1> (x, i1)
ReduceMean 1 11 13: s = Mul (x, x) m = ReduceMean <axes=[3]> (s) e = Add (m, tiny) d = Sqrt (e) z = Div (x, d) y = Mul (z, c)
ReduceMean 18: s = Mul (x, x) m = ReduceMean (s, i3) e = Add (m, tiny) d = Sqrt (e) z = Div (x, d) y = Mul (z, c)
ReduceMean 1 11 13: y = ReduceMean <axes=[1], keepdims=0> (x)
ReduceMean 18: y = ReduceMean <keepdims=0> (x, i1)
ReduceMean 1 11 13 18: y = ReduceMean (x)
ReduceMean 18: y = ReduceMean (x, nothing)
ReduceMean 18: y = ReduceMean <noop_with_empty_axes=1> (x)
Relu 6 13 14: y = Relu (x)
Reshape 5 13 14 19 21 23 24 25: y = Reshape (x, flat_shape)
Reshape 14 19 21 23 24 25: y = Reshape <allowzero=1> (x, rows)
Reshape 14 19 21: y = Reshape <allowzero=1> (x, flat_shape) ! without elements
RotaryEmbedding 23: y = RotaryEmbedding <interleaved=1> (q, turn_c, turn_s, positions)
RotaryEmbedding 23: y = RotaryEmbedding <num_heads=4, rotary_embedding_dim=4> (flat, short_c, short_s, positions)
Round 11 22: y = Round (x)
Selu 6 22: y = Selu <alpha=1.5, gamma=0.9> (x)
Shape 1 13 15 19 21 23 24 25: s = Shape (x) f = Reshape (x, flat_shape) y = Reshape (f, s)
Shape 15 19 21 23 24 25: s = Shape <start=1, end=-2> (x) f = Concat <axis=0> (s, last) y = Reshape (x, f)
Sigmoid 6 13: y = Sigmoid (x)
Sign 9 13: y = Sign (x)
Sign 13: l = Log (x) s = Sign (l) n = IsNaN (s) y = Cast <to=1> (n)
Sin 7 22: y = Sin (x)
Slice 1: y = Slice <axes=[1, 3], ends=[2, 100], starts=[0, -3]> (x)
Slice 1: y = Slice <starts=[1], ends=[2]> (x)
Slice 10 11 13: y = Slice (x, i1, eight, i3, i2)
Slice 10 11 13: y = Slice (x, i1, i2)
Slice 10: y = Slice (x, eight, i1, i3, last)
Softmax 1 11 13: y = Softmax (x)
Softmax 1 11 13: y = Softmax <axis=2> (x)
Softmax 1 11 13: y = Softmax <axis=3> (x)
Softmax 11 13: y = Softmax <axis=-2> (x)
Softplus 1 22: y = Softplus (x)
Softsign 1 22: y = Softsign (x)
SpaceToDepth 1 13: y = SpaceToDepth <blocksize=2> (image)
Split 2 11: a, b = Split <axis=3, split=[2, 6]> (x) y = Concat <axis=3> (b, a)
Split 13 18: a, b = Split <axis=3> (x, some) y = Concat <axis=3> (b, a)
Split 2 11 13: a, b = Split (x) y = Add (a, b)
Split 18: a, b = Split <num_outputs=2, axis=3> (x) y = Add (a, b)
Split 18: a, b, d = Split <num_outputs=3, axis=3> (x) y = Concat <axis=3> (d, a)
Sqrt 6 13: s = Mul (x, x) m = ReduceMean <axes=[3]> (s) e = Add (m, tiny) d = Sqrt (e) i = Reciprocal (d) z = Mul (i, x) y = Mul (z, c)
Sqrt 13: a = Sigmoid (x) y = Sqrt (a)
Sqrt 13: s = Mul (x, x) m = ReduceMean <axes=[3]> (s) e = Add (m, tiny) d = Sqrt (e) z = Div (x, d) y = Mul (z, d)
Squeeze 1 11: u = Unsqueeze <axes=[0, 2]> (x) y = Squeeze <axes=[2]> (u)
Squeeze 1 11: u = Unsqueeze <axes=[0]> (x) y = Squeeze (u)
Squeeze 13 21 23 24 25: u = Unsqueeze (x, i2) y = Squeeze (u, i2)
Sub 7 13 14: y = Sub (x, c)
Sub 7 13 14: y = Sub (one, x)
Sub 7 13 14: a = Relu (x) y = Sub (a, x)
Sum 8 13: y = Sum (x, c, half)
Swish 24: y = Swish (x)
Swish 24: y = Swish <alpha=2.0> (x)
Swish 24: y = Swish <alpha=0.0> (x) ! with alpha 0
Tanh 6 13: SCORES a = Div (s, two) b = Tanh (a) d = Mul (b, two) e = Add (d, bias) p = Softmax <axis=3> (e) y = MatMul (p, v)
Tanh 6 13: y = Tanh (x)
Tile 6 13: y = Tile (r, twice)
Transpose 1 13 21 23 24 25: y = Transpose (x)
Transpose 1 13 21 23 24 25: y = Transpose <perm=[0, 2, 1, 3]> (x)
Unsqueeze 1 11: y = Unsqueeze <axes=[0, 2]> (x)
Unsqueeze 13 21 23 24 25: y = Unsqueeze (x, last)
Where 9 16: s = Where (lower, x, hidden) y = Softmax <axis=3> (s)
Where 9 16: s = Where (lower, x, least) y = Softmax <axis=3> (s)
Where 9 16: s = Where (lower, x, low) y = Softmax <axis=3> (s)
Where 9 16: s = Where (none, x, least) y = Softmax <axis=3> (s)
Where 9 16: SCORES b = Where (shown, zero, hidden) a = Add (s, b) WEIGHTS
Where 9 16: SCORES a = Where (shown, s, hidden) WEIGHTS
Where 9 16: SCORES a = Where (shown, s, least) WEIGHTS
Xor 7: m = Xor (shown, causal) y = Cast <to=1> (m)
"""
MICROSOFT = """
BiasGelu: y = com.microsoft.BiasGelu (x, c)
FastGelu: y = com.microsoft.FastGelu (x, c)
FastGelu: y = com.microsoft.FastGelu (x)
FusedMatMul: y = com.microsoft.FusedMatMul <alpha=0.5> (x, w)
FusedMatMul: y = com.microsoft.FusedMatMul <transB=1> (q, k)
FusedMatMul: y = com.microsoft.FusedMatMul <transBatchA=0, transBatchB=0> (x, w)
FusedMatMul: y = com.microsoft.FusedMatMul <transBatchA=1> (q, k) ! with transBatchA 1
Gelu: y = com.microsoft.Gelu (x)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=2, do_rotary=1>
    (flat, flat, flat, "", "", five, six_tokens, turn8_c, turn8_s)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=4, kv_num_heads=4>
    (flat, flat, flat, past, past, seven, eight_tokens)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=2, do_rotary=1>
    (flat, flat, flat, past16, past16, seven, eight_tokens, turn8_c, turn8_s)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=4, kv_num_heads=2, do_rotary=1, softcap=2.0>
    (pair_q, pair_kv, pair_kv, "", "", five_five, six_tokens, turn8_c, turn8_s)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=4, kv_num_heads=2, do_rotary=1, softcap=2.0>
    (next_q, next_kv, next_kv, pair_past, pair_past, five_five, six_tokens, turn8_c, turn8_s)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=1, local_window_size=-1, softcap=0.0,
    smooth_softmax=0, rotary_interleaved=0, scale=0.0> (flat, half_flat, half_flat, past_one, past_one, seven, eight_tokens)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=2, do_rotary=1>
    (flat, flat, flat, "", "", five, six_tokens, few_c, few_s) ! of the positions 0 to 5
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=1, smooth_softmax=1>
    (flat, half_flat, half_flat, past_one, past_one, seven, eight_tokens)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=2>
    (flat, flat, flat, "", "", five, six_tokens, "", "", "", "", two_sinks)
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=2>
    (flat, flat, flat, "", "", five, six_tokens, "", "", "", bias4) ! with position_ids or attention_bias
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=4, kv_num_heads=4>
    (flat, flat, flat, past, past, five, six_tokens) ! of padded sequences
GroupQueryAttention: y, pk, pv = com.microsoft.GroupQueryAttention <num_heads=4, kv_num_heads=4, local_window_size=2>
    (flat, flat, flat, "", "", five, six_tokens) ! with local_window_size 2
MatMulNBits: y = com.microsoft.MatMulNBits <K=8, N=3, bits=4, block_size=16> (x, nibbles, nibble_scales)
MatMulNBits: y = com.microsoft.MatMulNBits <K=8, N=3, bits=4, block_size=16> (x, nibbles, nibble_scales, nibble_zeros)
MultiHeadAttention: y = com.microsoft.MultiHeadAttention <num_heads=4> (flat, flat, flat)
MultiHeadAttention: y = com.microsoft.MultiHeadAttention <num_heads=4, scale=0.3> (flat, flat, flat, bias_qkv, token_mask, bias4)
MultiHeadAttention: y = com.microsoft.MultiHeadAttention <num_heads=4> (flat, flat, flat, "", signs)
MultiHeadAttention: y = com.microsoft.MultiHeadAttention <num_heads=4, mask_filter_value=-1.0>
    (flat, flat, flat, "", signs) ! with mask_filter_value -1
MultiHeadAttention: y = com.microsoft.MultiHeadAttention <num_heads=4, unidirectional=1> (flat, flat, flat, "", counts)
SimplifiedLayerNormalization: y = SimplifiedLayerNormalization <epsilon=0.1> (x, c)
ReduceLogSumExp 13: s = ReduceLogSumExp <axes=[1], keepdims=0> (endless) y = Clip (s, low, six)
QuickGelu: y = com.microsoft.QuickGelu <alpha=1.5> (x)
QuickGelu: y = com.microsoft.QuickGelu <alpha=0.0> (x) ! QuickGelu with alpha 0
RotaryEmbedding: y = com.microsoft.RotaryEmbedding (q, positions, turn_c, turn_s)
RotaryEmbedding: y = com.microsoft.RotaryEmbedding <scale=1.0, is_packed_batching=0> (q, positions, turn_c, turn_s)
RotaryEmbedding: y = com.microsoft.RotaryEmbedding (q, far, turn_c, turn_s) ! of the positions 3 to 20
SkipLayerNormalization: y = com.microsoft.SkipLayerNormalization <epsilon=0.1> (flat, flat, c32, c32, c32)
SkipLayerNormalization: a, "", "", s = com.microsoft.SkipLayerNormalization (flat, flat, c32, c32) y = Add (a, s)
SkipSimplifiedLayerNormalization: a, "", "", s = com.microsoft.SkipSimplifiedLayerNormalization (flat, flat, c32) y = Add (a, s)
Inverse: y = com.microsoft.Inverse (q) ! com.microsoft.Inverse is not served
"""


def model(operator, version, nodes, extra=None):
    """The model, and its inputs. extra: an attribute of the operator in addition."""
    from onnx import TensorProto, defs, helper, numpy_helper, parser, shape_inference
    opset = next((one for one in (9, 7) if defs.has(operator, one, "") and defs.get_schema(operator, one).since_version == version),
                 version)  # the first that has Where, and ONNX Runtime's first, where they have this version
    nodes = list(parser.parse_graph("g () => () {" + nodes + "}").node)
    if extra:
        next(node for node in nodes if node.op_type == operator).attribute.append(extra)
    read, made = ({name: None for node in nodes for name in of(node)} for of in (lambda node: node.input, lambda node: node.output))
    inputs = [(name, helper.np_dtype_to_tensor_dtype(INPUTS[name].dtype), INPUTS[name].shape) for name in read if name in INPUTS]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in made if name and name not in read],
        [numpy_helper.from_array(np.asarray(CONSTANTS[name]), name) for name in read if name in CONSTANTS])
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    made = shape_inference.infer_shapes(helper.make_model(graph, opset_imports=sets, ir_version=10))
    for one in made.graph.output:
        one.type.tensor_type.shape.SetInParent()  # where it infers none
    return made, tuple(INPUTS[name] for name, _, _ in inputs)


def cases(text=CASES):
    text = text.replace("\n    ", " ").strip()
    for name, nodes in MACROS.items():
        text = text.replace(name, nodes)
    for case in text.split("\n"):
        (operator, *versions), rest = case.split(":")[0].split(), case.partition(":")[2]
        versions = versions or [21]  # those of ONNX Runtime have none
        nodes, _, words = rest.partition(" ! ")
        for version in map(int, versions):
            yield operator, version, nodes.strip(), words or None


def export(operator, version, nodes, folder, extra=None):
    import fovea.export
    import onnx
    made, inputs = model(operator, version, nodes, extra)
    path = pathlib.Path(folder) / "model.onnx"
    onnx.save(made, path)
    with mock.patch("fovea.exporter.project.write"):  # the answers are what counts here
        return fovea.export(path, inputs, pathlib.Path(folder) / "out")


OWN = """
BITS<bits=4, block_size=32> (x, nibbles32, nibble_halves): FOVEA_Q4_0
BITS<bits=4, block_size=64> (x, nibbles64, nibble_halves, eights): FOVEA_Q4_0
BITS<bits=8, block_size=32> (x, bytes32, nibble_halves): FOVEA_Q8_0
BITS<bits=8, block_size=32> (x, zero_bytes, nibble_halves): FOVEA_F32
BITS<bits=4, block_size=32> (x, nibbles32, nibble_scales): FOVEA_F32
BITS<bits=4, block_size=32> (x, nibbles32, tiny_halves): FOVEA_F32
BITS<bits=4, block_size=32> (x, nibbles32, nibble_halves, nibble_zeros): FOVEA_F32
BITS<bits=4, block_size=16> (x, nibbles, nibble_halves): FOVEA_F32
DequantizeLinear: f = DequantizeLinear (codes, half) y = MatMul (x, f): FOVEA_I8
DequantizeLinear: f = DequantizeLinear <axis=1> (codes, scales, zeros) y = MatMul (x, f): FOVEA_I8
DequantizeLinear: f = DequantizeLinear <axis=1> (codes, scales, zeros) g = Transpose <perm=[1, 0]> (f) y = Gemm <transB=1> (x, g): FOVEA_F32
DequantizeLinear: f = DequantizeLinear <axis=0> (square_codes, c) y = MatMul (x, f): FOVEA_F32
DequantizeLinear: f = DequantizeLinear (codes, half) z = MatMul (x, f) y = Mul (z, two): FOVEA_F32
DequantizeLinear: f = DequantizeLinear (codes, half) y = Gemm <alpha=0.3> (x, f): FOVEA_F32
DequantizeLinear: f = DequantizeLinear (low_codes, half) y = MatMul (x, f): FOVEA_F32
"""


def check_own(folder):
    """Codes of a file's weights stay where a format has the same numbers: the answers then are those of f32 to 1e-5."""
    for line in OWN.replace("BITS<", "MatMulNBits: y = com.microsoft.MatMulNBits <K=8, N=3, ").strip().split("\n"):
        case, _, wanted = line.rpartition(": ")
        kept = []
        with mock.patch("fovea.exporter.pipeline.Exported", lambda *fields: kept.append(fields)):
            report = export(*next(iter(cases(case)))[:3], folder)
        lost = wanted == "FOVEA_F32" and not re.search(r"Transpose|Mul \(z|alpha", line)  # but for numbers that are made of codes
        assert ("codes      not those of the file" in str(report)) == lost, f"{line}: {report}"
        found = [call.fields["weights"].get("dtype", "FOVEA_F32") for call in kept[0][1] if call.struct == "linear"]
        assert found == [wanted], f"{line}: {found}"


def check(folder, text=CASES):
    """Each case is served, with the answers of ONNX Runtime, or refused by name; and the cases are all that there are."""
    import fovea.export
    compared, failed = {}, []
    for operator, version, nodes, words in cases(text):
        try:
            report, said = export(operator, version, nodes, folder), None
            compared[report.compared] = compared.get(report.compared, 0) + 1
        except fovea.export.NotServed as refused:
            said = str(refused)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        if said is not None and not (words and words in said and operator.split(".")[-1] in said + nodes) or words and said is None:
            failed.append(f"{operator} {version}: {nodes}: {said or 'was served'}")
    print(*(f"    {count} cases compared with {source}" for source, count in compared.items()), sep="\n")
    assert not failed, "\n".join(failed)


def check_all_covered(folder):
    """Each version that is served has a case, and each attribute; each other attribute of ONNX is refused by name."""
    import fovea.export
    from fovea.exporter.onnx_ops import OPS
    from onnx import AttributeProto, defs, helper
    served = {(operator, version): nodes for operator, version, nodes, words in cases() if words is None}
    standard = {operator: OPS[operator] for operator in OPS if defs.has(operator)}
    assert all((operator, version) in served for operator in standard for version in standard[operator]), [
        (operator, version) for operator in standard for version in standard[operator] if (operator, version) not in served]
    for operator, versions in standard.items():
        known = {one.since_version: one for one in defs.get_all_schemas_with_history() if (one.name, one.domain) == (operator, "")}
        assert set(versions) <= set(known), f"{operator} has no versions {set(versions) - set(known)}"
        for version, function in versions.items():
            names = inspect.signature(function).parameters
            for key, attribute in known[version].attributes.items():
                if key in names:
                    tested = [nodes for name, at, nodes, _ in cases() if name == operator and at == version]
                    assert any(f"{key}=" in nodes for nodes in tested), f"no case gives {operator} {version} the attribute {key}"
                    continue
                value = {AttributeProto.INT: 7, AttributeProto.FLOAT: 0.7, AttributeProto.STRING: "other",
                         AttributeProto.INTS: [7]}[AttributeProto.AttributeType.Value(attribute.type.name)]
                try:
                    export(operator, version, served[operator, version], folder, helper.make_attribute(key, value))
                    raise AssertionError(f"{operator} {version} was served with {key}")
                except fovea.export.NotServed as refused:
                    assert f"{operator} with {key}" in str(refused), refused
