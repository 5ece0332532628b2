#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Divides a graph between an Ethos-U and the processor: partition.py FOLDER [PROGRAM...]

Writes graph.tflite: linear layers for queries, keys and values, the custom operator fovea_attention, the linear layer of its output. vela
makes graph_vela.tflite. Fails unless the NPU has all linear layers and nothing else, and fovea_attention the options, types, shapes,
scales and zero points that went in, and the NPU's own tensors. PROGRAM, npu_attention with its emulator if it has one, then gets the
numbers of vela's file. Exit code: 0, 1, or 77 without vela.
"""
import importlib
import pathlib
import subprocess
import sys

try:
    import flatbuffers
    import numpy
    from ethosu.vela.tflite import BuiltinOperator, BuiltinOptions, Model, TensorType
except ImportError as error:
    print(f"skipped: there is no vela, which is ethos-u-vela of PyPI: {error}")
    sys.exit(77)

ACCELERATOR = "ethos-u55-128"  # as vela names them
CACHE_LINE = 32  # bytes, of a Cortex-M55; the NPU asks for 16
NAME, TOKENS, HEADS, HEAD_DIM = "fovea_attention", 13, 2, 20  # as in attention.c
DIM = HEADS * HEAD_DIM
ATTENTION = ["q", "keys", "values", "out"]  # its tensors
SCALES = {"x": (.04, 3), "q": (.012, 4), "keys": (.015, -7), "values": (.025, 11), "out": (.025, 9), "y": (.05, -2)}  # with zero points
WEIGHT_SCALE = .01
INT8, INT32 = TensorType.TensorType.INT8, TensorType.TensorType.INT32
LINEAR, CUSTOM = BuiltinOperator.BuiltinOperator.FULLY_CONNECTED, BuiltinOperator.BuiltinOperator.CUSTOM


class Writer(flatbuffers.Builder):
    """Tables of TensorFlow Lite's schema. A tensor's number is its place in names."""

    def __init__(self):
        super().__init__()
        self.names, self.tensors, self.operators = [], [], []
        self.buffers = [self.table("Buffer")]  # number 0 has no data

    def table(self, kind, **fields):
        module = importlib.import_module(f"ethosu.vela.tflite.{kind}")
        fields = {name: self.stored(value) for name, value in fields.items()}
        getattr(module, f"{kind}Start")(self)
        for name, value in fields.items():
            getattr(module, f"{kind}Add{name}")(self, value)
        return getattr(module, f"{kind}End")(self)

    def stored(self, value):
        if isinstance(value, str):
            return self.CreateString(value)
        if isinstance(value, numpy.ndarray):
            return self.CreateNumpyVector(value)
        if not isinstance(value, list):
            return value
        self.StartVector(4, len(value), 4)  # of tables
        for table in reversed(value):
            self.PrependUOffsetTRelative(table)
        return self.EndVector()

    def tensor(self, name, kind, shape, scale, zero_point, data=None):
        if data is not None:
            self.buffers.append(self.table("Buffer", Data=data.reshape(-1).view(numpy.uint8)))
        numbers = self.table("QuantizationParameters", Scale=numpy.array([scale], numpy.float32), ZeroPoint=numpy.array([zero_point]))
        self.names.append(name)
        self.tensors.append(self.table("Tensor", Name=name, Type=kind, Shape=numpy.array(shape, numpy.int32), Quantization=numbers,
                                       Buffer=0 if data is None else len(self.buffers) - 1))

    def places(self, *names):
        return numpy.array([self.names.index(name) for name in names], numpy.int32)

    def linear(self, x, y):
        random = numpy.random.default_rng(1)
        weights, bias = random.integers(-127, 128, (DIM, DIM), numpy.int8), random.integers(-999, 1000, DIM, numpy.int32)
        self.tensor(f"weights of {y}", INT8, weights.shape, WEIGHT_SCALE, 0, weights)
        self.tensor(f"bias of {y}", INT32, bias.shape, SCALES[x][0] * WEIGHT_SCALE, 0, bias)
        self.operators.append(self.table(
            "Operator", OpcodeIndex=0, Inputs=self.places(x, f"weights of {y}", f"bias of {y}"), Outputs=self.places(y),
            BuiltinOptionsType=BuiltinOptions.BuiltinOptions.FullyConnectedOptions, BuiltinOptions=self.table("FullyConnectedOptions")))

    def graph(self):
        for name, numbers in SCALES.items():
            self.tensor(name, INT8, (TOKENS, DIM), *numbers)
        for name in ATTENTION[:3]:
            self.linear("x", name)
        self.operators.append(self.table("Operator", OpcodeIndex=1, Inputs=self.places(*ATTENTION[:3]), Outputs=self.places("out"),
                                         CustomOptions=numpy.array([HEADS], numpy.uint8)))
        self.linear("out", "y")
        codes = [self.table("OperatorCode", DeprecatedBuiltinCode=LINEAR, BuiltinCode=LINEAR),
                 self.table("OperatorCode", DeprecatedBuiltinCode=CUSTOM, BuiltinCode=CUSTOM, CustomCode=NAME)]
        graph = self.table("SubGraph", Tensors=self.tensors, Inputs=self.places("x"), Outputs=self.places("y"), Operators=self.operators)
        self.Finish(self.table("Model", Version=3, OperatorCodes=codes, Subgraphs=[graph], Buffers=self.buffers), b"TFL3")
        return self.Output()


def check(model):
    """Returns the scale and zero point of each tensor of fovea_attention."""
    graph = model.Subgraphs(0)
    operators = [graph.Operators(i) for i in range(graph.OperatorsLength())]
    names = [(model.OperatorCodes(operator.OpcodeIndex()).CustomCode() or b"a builtin operator").decode() for operator in operators]
    print("operators:", ", ".join(names))
    assert names == ["ethos-u", NAME, "ethos-u"], "the NPU does not have all linear layers and nothing else"
    before, attention, after = operators
    assert attention.CustomOptionsAsNumpy().tolist() == [HEADS], "the options are others"
    places = [*attention.InputsAsNumpy().tolist(), *attention.OutputsAsNumpy().tolist()]
    assert set(places[:3]) == set(before.OutputsAsNumpy().tolist()), "attention reads other tensors than the NPU writes"
    assert places[3] in after.InputsAsNumpy().tolist(), "the NPU does not read what attention writes"
    metadata = {model.Metadata(i).Name(): model.Metadata(i).Buffer() for i in range(model.MetadataLength())}
    offsets = model.Buffers(metadata[b"OfflineMemoryAllocation"]).DataAsNumpy().view(numpy.int32)[3:]  # after version, graph, count
    numbers = []
    for name, place in zip(ATTENTION, places, strict=True):
        tensor = graph.Tensors(place)
        scale, zero_point = tensor.Quantization().Scale(0), tensor.Quantization().ZeroPoint(0)
        shape, at = tensor.ShapeAsNumpy().tolist(), offsets[place]
        print(f"{name}: {shape}, scale {scale:.7g}, zero point {zero_point}, at byte {at} of the arena")
        assert (tensor.Type(), shape) == (INT8, [TOKENS, DIM]), f"{name} has another type or shape"
        assert (scale, zero_point) == (numpy.float32(SCALES[name][0]), SCALES[name][1]), f"{name} has other numbers"
        assert at % CACHE_LINE == 0, f"{name} shares a cache line"
        numbers += [f"{scale:.9g}", str(zero_point)]
    return numbers


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2:]
    (folder / "graph.tflite").write_bytes(Writer().graph())
    subprocess.run([sys.executable, "-m", "ethosu.vela", folder / "graph.tflite", "--accelerator-config", ACCELERATOR,
                    "--cpu-tensor-alignment", str(CACHE_LINE), "--show-cpu-operations", "--output-dir", folder], check=True)
    numbers = check(Model.Model.GetRootAs((folder / "graph_vela.tflite").read_bytes()))
    if program:
        subprocess.run([*program, *numbers], check=True)


if __name__ == "__main__":
    main()
