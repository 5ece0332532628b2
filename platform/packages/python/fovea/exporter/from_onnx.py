# SPDX-License-Identifier: Apache-2.0
"""Reads an ONNX file, by the package onnx. What depends on no input is computed by its reference evaluator."""
import numpy as np

from .graph import Buffer, Graph, NotServed, Tensor, dense
from .onnx_ops import OPS, REPLACEMENTS


def read(path, example_inputs, name):
    """The graph of a file, and what onnx's reference evaluator answers to the example inputs."""
    import onnx
    model = onnx.load(path)
    reader = Reader(model, [np.asarray(one) for one in example_inputs], name)
    given = dict(zip(reader.input_names, (np.asarray(one) for one in example_inputs)))
    try:
        return reader.graph, evaluator(model).run(None, given)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        shapes = ", ".join("x".join(map(str, one.shape)) for one in given.values())
        raise ValueError(f"the model does not take inputs of {shapes}: {error}") from error


def evaluator(model, **options):
    """onnx's reference evaluator, with an operator that it has for few elements only."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class GatherElements(OpRun):

        def _run(self, data, indices, axis=None):
            return (np.take_along_axis(data, indices, axis or 0),)

    return ReferenceEvaluator(model, new_ops=[GatherElements], **options)


class Reader:
    """Walks through the nodes. A value is an array where it is constant, else one of graph.Tensor."""

    def __init__(self, model, inputs, name):
        from onnx import numpy_helper
        self.graph, self.values, self.titles = Graph(name), {"": None}, {}
        self.opsets = {one.domain: one.version for one in model.opset_import}
        self.constants = {}
        for one in model.graph.initializer:
            self.values[one.name] = numpy_helper.to_array(one)
            self.titles[id(self.values[one.name])] = one.name
        self.input_names = [one.name for one in model.graph.input if one.name not in self.values]
        if len(self.input_names) != len(inputs):
            raise ValueError(f"the model has {len(self.input_names)} inputs, {', '.join(self.input_names)}: "
                             f"{len(inputs)} are given")
        for title, array in zip(self.input_names, inputs):
            self.values[title] = self.input(title, array)
        for node in model.graph.node:
            self.compute(node)
        for one in model.graph.output:
            self.graph.outputs.append(self.tensor(self.values[one.name], one.name))

    def input(self, title, array):
        kind = array.dtype.kind
        dtype = np.dtype(np.float32 if kind == "f" else np.uint8 if kind == "b" else np.uint32)
        self.graph.inputs.append(dense(Buffer(self.graph.unique(title), "input", array.size, dtype), array.shape))
        return self.graph.inputs[-1]

    def compute(self, node):
        from onnx import helper
        inputs = [self.values[one] for one in node.input]
        attrs = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        attrs = {key: value.decode() if isinstance(value, bytes) else value for key, value in attrs.items()}
        self.node = node
        if not any(self.is_live(one) for one in inputs):
            answers = self.evaluated(node, inputs)
        elif node.op_type == "Shape":
            answers = [np.array(inputs[0].shape[attrs.get("start", 0):attrs.get("end")], np.int64)]
        else:
            self.graph.read += 1
            if node.op_type not in OPS or node.domain not in ("", "ai.onnx"):
                raise NotServed(node.op_type, self.line,
                                REPLACEMENTS.get(node.op_type, "a part of the model that runs before or after it"))
            answers = OPS[node.op_type](self, *inputs, **attrs)
            answers = answers if isinstance(answers, list) else [answers]
        self.values.update(zip(node.output, answers))

    def evaluated(self, node, inputs):
        if node.op_type == "Constant":
            from onnx import helper, numpy_helper
            value = helper.get_attribute_value(node.attribute[0])
            return [
                numpy_helper.to_array(value) if node.attribute[0].name == "value" else np.array(
                    value, np.float32 if "float" in node.attribute[0].name else np.int64)
            ]
        given = {title: value for title, value in zip(node.input, inputs) if title}
        return evaluator(node, opsets=self.opsets).run(None, given)

    # ---------------------------------------------------------------------------------------------- for operations

    @property
    def line(self):
        return f"the node {self.node.name or self.node.output[0]}"

    def is_live(self, value):
        return isinstance(value, Tensor)

    def refuse(self, what, replacement):
        raise NotServed(f"{self.node.op_type} {what}".strip(), self.line, replacement)

    def name(self, kind):
        """A tensor's name: that of the node, where it has one that says more than its kind."""
        title = (self.node.name or self.node.output[0]).strip("/").replace("node_", "")
        return title or kind

    def tensor(self, value, name=None):
        """The value as a tensor of the graph."""
        if self.is_live(value):
            return value
        value = np.asarray(value)
        if id(value) not in self.constants:
            dtype = np.uint8 if value.dtype == bool else np.float32 if value.dtype.kind == "f" else np.uint32
            title = self.titles.get(id(value), f"{self.name('constant')}.{name or 'constant'}")
            self.constants[id(value)] = self.graph.constant(title, value.astype(dtype)), value
        return self.constants[id(value)][0]

    def copied(self, tensor):
        return self.graph.copied(tensor, self.line)
