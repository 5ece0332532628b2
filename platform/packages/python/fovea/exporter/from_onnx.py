# SPDX-License-Identifier: Apache-2.0
"""Reads an ONNX file, by the package onnx. What depends on no input is computed by its reference evaluator."""
import inspect
import os
import textwrap

import numpy as np

from .graph import Answers, Buffer, Graph, NotServed, Tensor, dense
from . import loops, onnx_attention, onnx_elements  # noqa: F401: their operators
from .onnx_ops import FROM_BYTES, OF_HIDING, OPS, REPLACEMENTS

NARROW = "int8", "uint8", "int16", "uint16"  # sums and products of these wrap around
VIEWS = set("Expand Flatten Identity Reshape Slice Split Squeeze Transpose Unsqueeze".split())
BITS = VIEWS | set("Cast Equal Gather Greater GreaterOrEqual Less LessOrEqual MultiHeadAttention".split())  # which take them as they are
NEUTRAL = {  # attributes of com.microsoft -> values that change nothing
    "local_window_size": (-1,), "qk_output": (0,), "k_quant_type": (b"NONE",), "v_quant_type": (b"NONE",), "kv_cache_bit_width": (0,),
    "is_packed_batching": (0,), "scale": (1,), "transBatchA": (0,), "transBatchB": (0,)}


def read(path, example_inputs, name):
    """The graph of a file, and what ONNX Runtime answers to the example inputs, or else onnx's reference evaluator."""
    model = loaded(os.fspath(path))
    inputs = given(model, [np.asarray(one) for one in example_inputs])
    return Reader(model, inputs, name).graph, answers(model, os.fspath(path), inputs)


def loaded(path):
    import onnx
    from google.protobuf.message import DecodeError
    try:
        model = onnx.load(path)
        foreign = [node for node in model.graph.node if node.domain in ("", "ai.onnx") and not onnx.defs.has(node.op_type)]
        for node in foreign:
            if node.op_type not in OPS:
                raise NotServed(node.op_type, f"the node {node.name or node.output[0]}", "an operator of ONNX")
        if not foreign:  # ONNX Runtime writes its own as if they were ONNX's, which the checker does not know
            onnx.checker.check_model(path)
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise ValueError(f"{path} is no valid file of ONNX: {str(error).strip()}") from None
    return model


def given(model, arrays):
    """name -> array, of the types and shapes that the file declares."""
    from onnx import helper
    constants = {one.name for one in model.graph.initializer}
    declared = [one for one in model.graph.input if one.name not in constants]
    if len(declared) != len(arrays):
        raise ValueError(f"the model has {len(declared)} inputs, {', '.join(one.name for one in declared)}: {len(arrays)} are given")
    found = {}
    for one, array in zip(declared, arrays):
        kind = one.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type) if kind.elem_type else np.dtype(object)
        if dtype.kind not in "biuf" or (dtype.kind == "f" and dtype != np.float32):
            raise NotServed(f"the input {one.name} of {dtype}", "", "a model of float32, but for token numbers and masks")
        sizes = [size.dim_value or None for size in kind.shape.dim] if kind.HasField("shape") else array.shape
        if len(sizes) != array.ndim or any(want not in (None, have) for want, have in zip(sizes, array.shape)) or (
                not np.can_cast(array.dtype, dtype, "same_kind")):
            raise ValueError(f"the input {one.name} is {'x'.join(str(size or '?') for size in sizes)} {dtype}: "
                             f"{'x'.join(map(str, array.shape))} {array.dtype} is given")
        found[one.name] = array.astype(dtype)
    return found


def answers(model, path, inputs):
    try:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # some of it is inexact
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        outputs, source = session.run(None, inputs), f"ONNX Runtime {onnxruntime.__version__}"
    except Exception as error:
        why = "is not installed" if isinstance(error, ImportError) else f"does not run the file ({short(error)})"
        try:
            outputs, source = evaluator(model).run(None, inputs), f"onnx's reference evaluator: onnxruntime {why}"
        except Exception as other:
            raise ValueError(f"the model does not run: {short(other)}; onnxruntime {why}") from other
    return Answers(outputs, source, lambda: all_values(model, inputs))


def all_values(model, inputs):
    """name -> what onnx's reference evaluator computes for each value of the model, if it runs it."""
    try:
        return evaluator(model).run(None, inputs, intermediate=True)
    except Exception:
        return {}


def opsets_of(model):
    return {"": 1, **{"" if one.domain == "ai.onnx" else one.domain: one.version for one in model.opset_import}}


def evaluator(model, opsets=None):
    """onnx's reference evaluator, with operators and versions that it lacks, or has for few elements only."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class GatherElements(OpRun):

        def _run(self, data, indices, axis=None):
            return (np.take_along_axis(data, indices, axis or 0),)

    class DequantizeLinear(OpRun):

        def _run(self, x, scale, zero=None, **_):
            axis = next((one.i for one in self.onnx_node.attribute if one.name == "axis"), 1)
            shape = [-1 if place == axis % x.ndim else 1 for place in range(x.ndim)] if np.ndim(scale) else ()
            zero = np.zeros_like(scale) if zero is None else zero
            return ((x.astype(np.float32) - zero.astype(np.float32).reshape(shape)) * scale.reshape(shape),)

    class BatchNormalization(OpRun):

        def _run(self, x, scale, bias, mean, variance, **_):
            epsilon = next((one.f for one in self.onnx_node.attribute if one.name == "epsilon"), 1e-5)
            factor, mean, bias = (one.reshape([-1] + [1] * (x.ndim - 2))
                                  for one in (scale / np.sqrt(variance + epsilon), mean, bias))
            return (((x - mean) * factor + bias).astype(x.dtype),)

    def of_rows(kind):  # all dimensions from the axis on are one row

        def _run(self, x, **_):
            axis = next((one.i for one in self.onnx_node.attribute if one.name == "axis"), 1)
            rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
            return (kind(rows - rows.max(1, keepdims=True)).reshape(x.shape),)

        return _run

    new, opset = [GatherElements], (opsets or opsets_of(model))[""]
    if opset < 13:
        new.append(type("Softmax", (OpRun,), {"_run": of_rows(lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True))}))
        new.append(type("LogSoftmax", (OpRun,), {"_run": of_rows(lambda x: x - np.log(np.exp(x).sum(1, keepdims=True)))}))
    if opset < 14:
        new.append(BatchNormalization)
    if opset < 19:
        new.append(DequantizeLinear)
    return ReferenceEvaluator(model, opsets=opsets, new_ops=new)


class Reader:
    """Walks through the nodes. A value is an array where it is constant, else one of graph.Tensor."""

    def __init__(self, model, inputs, name):
        from onnx import numpy_helper
        self.graph, self.values, self.titles = Graph(name), {"": None}, {}
        self.opsets = opsets_of(model)
        self.constants, self.scales = {}, {}  # of DequantizeLinear, by the id of its result
        for one in model.graph.initializer:
            self.values[one.name] = numpy_helper.to_array(one)
            self.titles[id(self.values[one.name])] = one.name
        for title, array in inputs.items():
            self.values[title] = self.input(title, array)
        self.nodes, self.narrow = list(model.graph.node), {title for title, one in inputs.items() if one.dtype.name in NARROW}
        for node in self.nodes:
            self.compute(node)
        for one in model.graph.output:
            self.graph.outputs.append(self.tensor(self.values[one.name], one.name))
            if self.graph.outputs[-1].buffer.dtype != np.float32:
                raise NotServed(f"the output {one.name} of booleans or whole numbers", "", "outputs of float32")

    def input(self, title, array):
        kind = array.dtype.kind
        dtype = np.dtype(np.float32 if kind == "f" else np.uint8 if kind == "b" else np.uint32)
        self.graph.inputs.append(dense(Buffer(self.graph.unique(title), "input", array.size, dtype), array.shape))
        return self.graph.inputs[-1]

    def compute(self, node):
        self.node = node
        inputs = [self.values[one] for one in node.input]
        if any(self.is_live(one) for one in inputs):
            self.graph.read += 1
            if self.narrow.intersection(node.input):
                if node.op_type not in BITS:
                    self.refuse("of whole numbers of less than 32 bits", "int32 or int64")
                self.narrow.update(node.output if node.op_type in VIEWS else ())
            values = self.served(node, inputs)
            values = values if isinstance(values, list) else [values]
        else:
            values = self.evaluated(node, inputs)
        self.values.update(zip(node.output, values))
        self.graph.values.update((name, one) for name, one in zip(node.output, values) if self.is_live(one))

    def served(self, node, inputs):
        """The values of a node: by the function that serves this version of its operator, whose parameters are the
        inputs and attributes that it honours. Any other, but for an attribute at its default, is a refusal."""
        from onnx import defs, helper
        kind = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        if kind not in OPS:
            raise NotServed(kind, self.line, REPLACEMENTS.get(kind, "a part of the model that runs before or after it"))
        schema = defs.get_schema(kind, self.opsets[""]) if defs.has(kind) else None
        version = schema.since_version if schema else 1  # those of ONNX Runtime have one
        if version not in OPS[kind]:
            self.refuse(f"of version {version}", "another opset: onnx.version_converter converts files")
        function = OPS[kind][version]
        parameters = list(inspect.signature(function).parameters.values())[1:]
        names = {one.name for one in parameters}
        defaults = {key: helper.get_attribute_value(one.default_value) for key, one in (schema.attributes if schema else {}).items()
                    if one.default_value.name}
        found = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        for key, value in found.items():
            if key not in names and (value != defaults[key] if key in defaults else value not in NEUTRAL.get(key, ())):
                self.refuse(f"with {key} {text(value)}", f"the model without {key}")
        places = [one for one in parameters if one.kind != one.KEYWORD_ONLY]
        most = len(inputs) if any(one.kind == one.VAR_POSITIONAL for one in places) else len(places)
        for place in range(most, len(inputs)):
            if inputs[place] is not None:
                title = schema.inputs[place].name if schema else node.input[place]
                self.refuse(f"with {title}", f"the model without {title}")
        inputs = [loops.unhidden(self, kind, one, OF_HIDING) for one in inputs]
        if kind not in FROM_BYTES and any(self.is_live(one) and one.buffer.dtype != np.float32 for one in inputs):
            self.refuse("of booleans or whole numbers", "a model of float32, but for token numbers and masks")
        values = function(self, *inputs[:most], **{key: text(value) for key, value in {**defaults, **found}.items() if key in names})
        made = values if isinstance(values, list) else [values]
        for place, name in enumerate(node.output):
            if name and (place >= len(made) or made[place] is None):
                self.refuse(f"with the output {name}", "its first output alone")
        return values

    def evaluated(self, node, inputs):
        if node.op_type == "Constant":
            from onnx import helper, numpy_helper
            value = helper.get_attribute_value(node.attribute[0])
            dtype = np.float32 if "float" in node.attribute[0].name else np.int64
            return [numpy_helper.to_array(value) if node.attribute[0].name == "value" else np.array(value, dtype)]
        given = {title: value for title, value in zip(node.input, inputs) if title}
        try:
            values = evaluator(node, self.opsets).run(None, given)
        except Exception as error:  # of the evaluator
            raise NotServed(f"{node.op_type} of constants", self.line, f"its result as a constant: {short(error)}") from error
        if node.op_type == "DequantizeLinear":
            self.scales[id(values[0])] = values[0], inputs[1]  # which keeps the id
        return values

    @property
    def line(self):
        return f"the node {self.node.name or self.node.output[0]}"

    def is_live(self, value):
        return isinstance(value, Tensor)

    def refuse(self, what, replacement):
        raise NotServed(f"{self.node.op_type} {what}".strip(), self.line, replacement)

    def users(self, one):
        """The nodes that read the results of one, or an input's buffer."""
        names = one.output if not isinstance(one, Buffer) else [
            next(name for name, value in self.values.items() if self.is_live(value) and value.buffer is one)]
        return [node for node in self.nodes if any(name in node.input for name in names)]

    def kind_of(self, node):
        whole = node.op_type == "Cast" and node.attribute[0].i != 1  # FLOAT
        return "whole" if whole else "to" if node.op_type == "Cast" else node.op_type.lower()

    def name(self, kind):
        """A tensor's name: that of the node, where it has one that says more than its kind."""
        title = (self.node.name or self.node.output[0]).strip("/").replace("node_", "")
        return title or kind

    def floats(self, value):
        return np.float32(value) if isinstance(value, float) else value

    def tensor(self, value, name=None):
        """The value as a tensor of the graph."""
        if self.is_live(value):
            return value
        value = np.asarray(value)
        if value.dtype.kind not in "biuf" or (value.dtype.kind == "f" and value.dtype != np.float32):
            self.refuse(f"of {value.dtype}", "a model of float32")
        if id(value) not in self.constants:
            dtype = np.uint8 if value.dtype == bool else np.float32 if value.dtype.kind == "f" else np.uint32
            title = self.titles.get(id(value), f"{self.name('constant')}.{name or 'constant'}")
            self.constants[id(value)] = self.graph.constant(title, value.astype(dtype)), value
            self.constants[id(value)][0].buffer.own = own_codes(value, self.scales.get(id(value), (None, None))[1])
        return self.constants[id(value)][0]

    def copied(self, tensor):
        return self.graph.copied(tensor, self.line)


def own_codes(value, scales):
    """The format, codes of int8 and scales of rows that have exactly these numbers; () where none have; None without scales."""
    if scales is None or value.ndim != 2:
        return None
    if np.size(scales) not in (1, len(value)) or scales.dtype != np.float32:
        return ()
    scales = np.broadcast_to(np.ravel(scales), len(value)).copy()
    with np.errstate(all="ignore"):
        codes = np.where(scales[:, None] == 0, 0, np.rint(value / scales[:, None]))
    exact = np.array_equal(codes * scales[:, None], value) and np.abs(codes).max() < 128
    return ("i8", codes.astype(np.int8), scales) if exact else ()


def short(error):
    """The first line of a message, or the beginning of that."""
    return textwrap.shorten(str(error).strip().split("\n")[0] or type(error).__name__, 200)


def text(value):
    return value.decode() if isinstance(value, bytes) else value
