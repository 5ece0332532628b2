#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX project's own test cases of some operators as plain files, which fovea_onnx reads: a folder a case, in the
form that case.h describes: make_vectors.py <folder>, which is replaced.

The package onnx makes the cases; requirements.txt pins its version. "./run onnx" installs it below build/ and calls this.
Inputs are random; the seed makes them the same each time.
"""
import pathlib
import shutil
import sys

import numpy
import onnx
import onnx.reference
from onnx.backend.test.case.node import collect_testcases

# The operators that fovea_onnx runs.
OPERATORS = {"Add", "ArgMax", "Attention", "CausalConvWithState", "DequantizeLinear", "DynamicQuantizeLinear", "FlexAttention", "Gather",
             "Gelu", "GlobalAveragePool", "HardSwish", "LayerNormalization", "LinearAttention", "LogSoftmax", "Mul", "QuantizeLinear",
             "RMSNormalization", "ReduceMean", "Relu", "RotaryEmbedding", "Sigmoid", "Softmax", "Swish", "Tanh", "TensorScatter", "TopK"}
# Operators that have cases in types that fovea has not: only cases whose first input and output have these types are written.
TYPES = {"Add": {"float32", "int8"}, "DequantizeLinear": {"float32", "uint8"}, "Mul": {"float32", "int8"},
         "QuantizeLinear": {"float32", "uint8"}}


def value_of(attribute):
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.GRAPH:
        return value.name
    return value.decode() if isinstance(value, bytes) else value


def graph_facts(graph, shape):
    """The lines of a graph's file, in the form that graph.h describes. What does not depend on the input's elements is a constant."""
    (taken,), (given,) = graph.input, graph.output
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        (output,) = node.output
        if node.op_type == "Shape":
            constants[output] = numpy.array(shape)
        elif all(name in constants for name in node.input):
            (constants[output],) = onnx.reference.ReferenceEvaluator(node).run(None, {name: constants[name] for name in node.input})
        else:
            attributes = (f"{attribute.name}={value_of(attribute)}" for attribute in node.attribute)
            nodes.append(" ".join(["node", node.op_type, output, *node.input, *attributes]))
    facts = [f"input {taken.name}"]
    for name, array in constants.items():
        kind = "float" if array.dtype.kind == "f" else "int"
        numbers = (array if kind == "float" else array.astype(int)).ravel().tolist()
        facts.append(" ".join(["constant", name, kind, "x".join(map(str, array.shape)) or "scalar", *map(repr, numbers)]))
    return [*facts, *nodes, f"output {given.name}"]


def write_case(folder, case):
    """A case is a model of one node, and one set of inputs and outputs."""
    graph = case.model.graph
    (node,), ((inputs, outputs),) = graph.node, case.data_sets
    folder.mkdir(parents=True)
    (opset,) = (o.version for o in case.model.opset_import if o.domain == node.domain)
    facts = [f"op {node.op_type}", f"opset {opset}", f"rtol {case.rtol}", f"atol {case.atol}"]
    for attribute in node.attribute:
        facts.append(f"attr {attribute.name} {value_of(attribute)}")
        if attribute.type == onnx.AttributeProto.GRAPH:
            shape = (*inputs[0].shape[:3], inputs[1].shape[2])  # of scores
            (folder / f"{attribute.name}.graph").write_text("\n".join(graph_facts(attribute.g, shape)) + "\n")
    for role, slots, values, arrays in (("input", node.input, graph.input, inputs), ("output", node.output, graph.output, outputs)):
        arrays = dict(zip((value.name for value in values), arrays, strict=True))
        for slot, name in enumerate(slots):
            if name:
                array = numpy.ascontiguousarray(arrays[name])
                if array.dtype == numpy.float64:  # which fovea has not
                    array = array.astype(numpy.float32)
                if array.dtype.kind in "iu":
                    assert array.max(initial=0) < 2**63
                    array = array.astype(numpy.int64)
                shape = "x".join(map(str, array.shape)) or "scalar"
                facts.append(f"{role} {slot} {name} {numpy.lib.format.dtype_to_descr(array.dtype)} {shape}")
                (folder / f"{role}_{slot}_{name}.bin").write_bytes(array.tobytes())
    (folder / "case.txt").write_text("\n".join(facts) + "\n")


def is_served(case):
    """Whether fovea has the operator, and its types."""
    nodes = case.model.graph.node
    if len(nodes) != 1 or nodes[0].op_type not in OPERATORS:
        return False
    types = TYPES.get(nodes[0].op_type)
    ((inputs, outputs),) = case.data_sets
    first = (inputs[0], outputs[0])
    return types is None or all(isinstance(array, numpy.ndarray) and array.dtype.name in types for array in first)


def main():
    folder = pathlib.Path(sys.argv[1])
    partial = folder.with_name(folder.name + ".partial")
    for old in (partial, folder):
        shutil.rmtree(old, ignore_errors=True)
    numpy.random.seed(0)
    count = 0
    for case in collect_testcases():
        if is_served(case):
            write_case(partial / case.name.removeprefix("test_"), case)
            count += 1
    partial.rename(folder)
    print(f"{count} cases of onnx {onnx.__version__} in {folder}")


main()
