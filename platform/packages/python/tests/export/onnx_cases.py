# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX, in each version that the exporter reads: a line of CASES is
`operator versions: nodes ! words of a refusal`."""
import inspect
import pathlib

import numpy as np

RANDOM = np.random.default_rng(1)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(*numbers):
    return np.array(numbers, np.int64)


INPUTS = {
    "x": floats(2, 3, 4, 8), "r": floats(5, 8), "image": floats(1, 3, 8, 8), "image_4": floats(1, 4, 8, 8),
    "signal": floats(2, 3, 16), "ids": whole([1, 4, 0]),
    "q": floats(1, 4, 6, 8), "k": floats(1, 4, 6, 8), "v": floats(1, 4, 6, 8), "k2": floats(1, 2, 9, 8),
    "flat": floats(1, 6, 32), "flat2": floats(1, 9, 16), "shown": (np.arange(36).reshape(1, 1, 6, 6) % 5 != 1),
    "numbers": np.tri(6, dtype=np.int64)[None, None], "lengths": whole(5), "past": floats(1, 4, 2, 8)
}
CONSTANTS = {
    "c": floats(8), "c3": floats(3), "w": floats(8, 6), "w_t": floats(6, 8), "c6": floats(6), "grid": floats(4, 3, 2, 2),
    "point": floats(4, 3, 1, 1), "line": floats(4, 3, 2), "wide": floats(4, 3, 3, 3), "halves": floats(4, 1, 2, 2),
    "bias": floats(6, 6), "table": floats(4, 8), "short": floats(6, 4), "lower": np.tri(4, 8, dtype=bool),
    "none": np.zeros((4, 8), bool), "causal": np.tri(6, dtype=bool),
    "codes": RANDOM.integers(-127, 128, (8, 6)).astype(np.int8), "scales": np.abs(floats(6)), "zeros": np.zeros(6, np.int8),
    "zero": np.float32(0), "half": np.float32(0.5), "one": np.float32(1), "two": np.float32(2), "three": np.float32(3),
    "six": np.float32(6), "root": np.float32(2**0.5), "tiny": np.float32(1e-5), "hidden": np.float32(-np.inf),
    "least": np.finfo(np.float32).min, "low": np.float32(-1e4), "true": np.bool_(True), "i0": whole(0), "i1": whole(1), "i2": whole(2),
    "i3": whole(3), "last": whole(-1), "one_place": np.int64(1), "odd": whole(1, 3), "eight": whole(8), "some": whole(2, 6),
    "two_six": whole(2, 5, 8), "flat_shape": whole(0, -1), "rows": whole(-1, 8), "nothing": np.zeros(0, np.int64)
}
MACROS = {"SCORES": "t = Transpose <perm=[0, 1, 3, 2]> (k) s = MatMul (q, t)", "WEIGHTS": "p = Softmax <axis=3> (a) y = MatMul (p, v)"}
CASES = """
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
Attention 23 24 25: y = Attention <softcap=2.0> (q, k, v) ! with softcap 2
Attention 23 24 25: y = Attention (q, k, v, "", past, past) ! with past_key
Attention 23 24 25: y, pk, pv = Attention (q, k, v) ! with the output pk
Attention 24 25: y = Attention (q, k, v, "", "", "", lengths) ! with nonpad_kv_seqlen
BatchNormalization 7 9 14 15: y = BatchNormalization (image, c3, c3, c3, c3) ! BatchNormalization is not served
Cast 6 9 13 19 21 23 24 25: y = Cast <to=1> (x)
Cast 6 9 13 19 21 23 24 25: j = Cast <to=6> (ids) y = Gather (w, j)
Cast 6 9 13 19 21 23 24 25 28: y = Cast <to=1> (ids) ! Cast of whole numbers to float
Cast 13: y = Cast <to=1> (shown) ! Cast of booleans to float
Cast 13: y = Cast <to=10> (x) ! Cast of float32 to float16
Cast 28: y = Cast <to=1> (x)
Cast 23 24 25: j = Cast <to=9> (numbers) y = Attention (q, k, v, j)
CastLike 15 19 21 23 24 25: y = CastLike (x, c)
CastLike 15: y = CastLike (ids, x) ! whole numbers to float
Clip 6: y = Clip <min=0.0> (x)
Clip 6: y = Clip <min=0.0, max=6.0> (x)
Clip 11 12 13: y = Clip (x, zero, six)
Clip 11 12 13: y = Clip (x, zero)
Clip 6: y = Clip <min=-0.5, max=0.5> (x) ! Clip to -0.5 and 0.5
Concat 4 11 13: a = Relu (x) y = Concat <axis=1> (x, a)
Conv 1 11 22: y = Conv <strides=[2, 2], kernel_shape=[2, 2], pads=[0, 0, 0, 0], dilations=[1, 1]> (image, grid)
Conv 1 11 22: y = Conv <strides=[4, 4], auto_pad="VALID"> (image, grid)
Conv 1 11 22: y = Conv (image, point)
Conv 1 11 22: y = Conv <strides=[2]> (signal, line)
Conv 1 11 22: y = Conv <strides=[2, 2]> (image, point)
Conv 11: y = Conv <strides=[3, 3]> (image, wide)
Conv 11: y = Conv (image, grid) ! whose windows overlap
Conv 11: y = Conv <strides=[2, 2], pads=[1, 1, 1, 1]> (image, grid) ! with padding
Conv 11: y = Conv <strides=[2, 2], auto_pad="SAME_UPPER"> (image, grid) ! with auto_pad SAME_UPPER
Conv 1 11 22: y = Conv <group=4, strides=[2, 2]> (image_4, halves) ! of 4 groups
Conv 11: y = Conv <strides=[4, 4], dilations=[2, 2]> (image, grid) ! with dilation
DequantizeLinear 10: f = DequantizeLinear (codes, half) y = MatMul (x, f)
DequantizeLinear 13 19 21 23 25: f = DequantizeLinear <axis=1> (codes, scales, zeros) y = MatMul (x, f)
Div 7 13 14: y = Div (x, c)
Dropout 7 10: y = Dropout <ratio=0.3> (x)
Dropout 12 13 22: y = Dropout <seed=3> (x, half)
Dropout 12 13 22: y = Dropout (x, half, true) ! in training
Dropout 7 10 12: y, z = Dropout (x) ! with the output z
Erf 9 13: u = Div (x, root) e = Erf (u) p = Add (e, one) z = Mul (x, p) y = Mul (z, half)
Expand 8 13: y = Expand (r, two_six)
Flatten 1 9 11 13 21 23 24 25: y = Flatten (x)
Flatten 1 9 11 13 21 23 24 25: y = Flatten <axis=3> (x)
Flatten 11 13 21 23 24 25: y = Flatten <axis=-1> (x)
Gather 1 11 13: y = Gather (w, ids)
Gather 1 11 13: y = Gather <axis=2> (x, odd)
Gather 1 11 13: y = Gather <axis=3> (x, one_place)
Gather 11 13: y = Gather <axis=3> (x, last)
Gelu 20: y = Gelu (x)
Gelu 20: y = Gelu <approximate="tanh"> (x)
Gemm 7 9 11 13: y = Gemm (r, w, c6)
Gemm 7 9 11 13: y = Gemm <alpha=2.0, beta=0.5, transB=1> (r, w_t, c6)
Gemm 11 13: y = Gemm (r, w)
Gemm 7: y = Gemm <transA=1> (r, w, c6) ! with transA 1
GlobalAveragePool 1 22: y = GlobalAveragePool (x)
HardSwish 14 22: y = HardSwish (x)
Identity 1 13 14 16 19 21 23 24 25: y = Identity (x)
IsNaN 9 13 20: s = Softmax <axis=3> (x) n = IsNaN (s) y = Where (n, zero, s)
LayerNormalization 17: y = LayerNormalization <axis=3, epsilon=0.1> (x, c, c)
LayerNormalization 17: y = LayerNormalization (x, c)
LayerNormalization 17: y = LayerNormalization <axis=2> (x, table) ! with axis 2
LayerNormalization 17: y = LayerNormalization (x, two) ! weights of another shape
LayerNormalization 17: y = LayerNormalization <stash_type=11> (x, c) ! with stash_type 11
LogSoftmax 1 11 13: y = LogSoftmax (x) ! LogSoftmax is not served
MatMul 1 9 13: y = MatMul (x, w)
MatMul 1 9 13: SCORES a = Mul (s, half) WEIGHTS
Mul 7 13 14: y = Mul (x, c)
Neg 6 13: y = Neg (x)
Not 1: m = Not (shown) b = Where (m, hidden, zero) SCORES a = Add (s, b) WEIGHTS
Pow 7 12 13 15: y = Pow (x, two)
Pow 7 12 13 15: y = Pow (x, three)
Pow 13: y = Pow (x, c) ! to several exponents
RMSNormalization 23: y = RMSNormalization <axis=3, epsilon=0.1> (x, c)
RMSNormalization 23: y = RMSNormalization <axis=2> (x, table) ! with axis 2
Reciprocal 6 13: s = Mul (x, x) m = ReduceMean <axes=[3]> (s) e = Add (m, tiny) d = Sqrt (e) i = Reciprocal (d) z = Mul (x, i) y = Mul (z,
    c)
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
Shape 1 13 15 19 21 23 24 25: s = Shape (x) f = Reshape (x, flat_shape) y = Reshape (f, s)
Shape 15 19 21 23 24 25: s = Shape <start=1, end=-2> (x) f = Concat <axis=0> (s, last) y = Reshape (x, f)
Sigmoid 6 13: y = Sigmoid (x)
SimplifiedLayerNormalization 17: y = SimplifiedLayerNormalization (x, c) ! SimplifiedLayerNormalization is not served
Slice 1: y = Slice <axes=[1, 3], ends=[2, 100], starts=[0, -3]> (x)
Slice 1: y = Slice <starts=[1], ends=[2]> (x)
Slice 10 11 13: y = Slice (x, i1, eight, i3, i2)
Slice 10 11 13: y = Slice (x, i1, i2)
Slice 10: y = Slice (x, eight, i1, i3, last) ! backwards
Softmax 1 11 13: y = Softmax (x)
Softmax 1 11 13: y = Softmax <axis=2> (x)
Softmax 1 11 13: y = Softmax <axis=3> (x)
Softmax 11 13: y = Softmax <axis=-2> (x)
Split 2 11: a, b = Split <axis=3, split=[2, 6]> (x) y = Concat <axis=3> (b, a)
Split 13 18: a, b = Split <axis=3> (x, some) y = Concat <axis=3> (b, a)
Split 2 11 13: a, b = Split (x) y = Add (a, b)
Split 18: a, b = Split <num_outputs=2, axis=3> (x) y = Add (a, b)
Split 18: a, b, d = Split <num_outputs=3, axis=3> (x) y = Concat <axis=3> (d, a)
Sqrt 6 13: s = Mul (x, x) m = ReduceMean <axes=[3]> (s) e = Add (m, tiny) d = Sqrt (e) i = Reciprocal (d) z = Mul (i, x) y = Mul (z, c)
Sqrt 13: a = Sigmoid (x) y = Sqrt (a) ! sqrt is not served
Squeeze 1 11: u = Unsqueeze <axes=[0, 2]> (x) y = Squeeze <axes=[2]> (u)
Squeeze 1 11: u = Unsqueeze <axes=[0]> (x) y = Squeeze (u)
Squeeze 13 21 23 24 25: u = Unsqueeze (x, i2) y = Squeeze (u, i2)
Sub 7 13 14: y = Sub (x, c)
Sub 7 13 14: y = Sub (one, x)
Sub 7 13 14: a = Relu (x) y = Sub (a, x)
Swish 24: y = Swish (x)
Swish 24: y = Swish <alpha=2.0> (x)
Swish 24: y = Swish <alpha=0.0> (x) ! with alpha 0
Tanh 6 13: y = Tanh (x)
Transpose 1 13 21 23 24 25: y = Transpose (x)
Transpose 1 13 21 23 24 25: y = Transpose <perm=[0, 2, 1, 3]> (x)
Unsqueeze 1 11: y = Unsqueeze <axes=[0, 2]> (x)
Unsqueeze 13 21 23 24 25: y = Unsqueeze (x, last)
Where 9 16: s = Where (lower, x, hidden) y = Softmax <axis=3> (s)
Where 9 16: s = Where (lower, x, least) y = Softmax <axis=3> (s)
Where 9 16: s = Where (lower, x, low) y = Softmax <axis=3> (s) ! of other numbers
Where 9 16: s = Where (none, x, least) y = Softmax <axis=3> (s) ! of other numbers
Where 9 16: SCORES b = Where (shown, zero, hidden) a = Add (s, b) WEIGHTS
Where 9 16: SCORES a = Where (shown, s, hidden) WEIGHTS
Where 9 16: SCORES a = Where (shown, s, least) WEIGHTS
    ! of other numbers
com.microsoft.FusedMatMul 17: y = com.microsoft.FusedMatMul (x, w) ! com.microsoft.FusedMatMul is not served
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
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in made if name not in read],
        [numpy_helper.from_array(np.asarray(CONSTANTS[name]), name) for name in read if name in CONSTANTS])
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    made = shape_inference.infer_shapes(helper.make_model(graph, opset_imports=sets, ir_version=10))
    for one in made.graph.output:
        one.type.tensor_type.shape.SetInParent()  # where it infers none
    return made, tuple(INPUTS[name] for name, _, _ in inputs)


def cases():
    text = CASES.replace("\n    ", " ").strip()
    for name, nodes in MACROS.items():
        text = text.replace(name, nodes)
    for case in text.split("\n"):
        (operator, *versions), rest = case.split(":")[0].split(), case.partition(":")[2]
        nodes, _, words = rest.partition(" ! ")
        for version in map(int, versions):
            yield operator, version, nodes.strip(), words or None


def export(operator, version, nodes, folder, extra=None):
    import fovea.export
    import onnx
    made, inputs = model(operator, version, nodes, extra)
    path = pathlib.Path(folder) / "model.onnx"
    onnx.save(made, path)
    return fovea.export(path, inputs, pathlib.Path(folder) / "out")


def check(folder):
    """Each case is served, with the answers of ONNX Runtime, or refused by name; and the cases are all that there are."""
    import fovea.export
    compared, failed = {}, []
    for operator, version, nodes, words in cases():
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
    assert all((operator, version) in served for operator in OPS for version in OPS[operator]), [
        (operator, version) for operator in OPS for version in OPS[operator] if (operator, version) not in served]
    for operator, versions in OPS.items():
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
