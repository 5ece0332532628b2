# SPDX-License-Identifier: Apache-2.0
"""The C++ program of platform/engines/executorch runs models on fovea's kernels; ExecuTorch's own are not linked.

    FOVEA_EXECUTORCH_LIBRARIES=<folder of runner> FOVEA_LIBRARY=<libfovea_python.so> \\
        PYTHONPATH=<platform/packages/python> python3 test_runner.py
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

from test_executorch import Module, delta, quantized
from test_graphs import Grouped

from fovea.executorch import to_fovea

RUNNER = os.path.join(os.environ["FOVEA_EXECUTORCH_LIBRARIES"], "runner")


def run(buffer, inputs, expected):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pte")
        with open(path, "wb") as file:
            file.write(buffer)
        given = []
        for i, tensor in enumerate(inputs):
            given.append(os.path.join(folder, f"input{i}"))
            tensor.contiguous().numpy().tofile(given[-1])
        done = subprocess.run([RUNNER, path, *given], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        outputs = [bytearray(pathlib.Path(f"{path}.{i}").read_bytes()) for i in range(len(expected))]
        return [torch.frombuffer(out, dtype=x.dtype).view(x.shape) for out, x in zip(outputs, expected)]


def lower(program, delegates=True):
    partitioner = [XnnpackPartitioner()] if delegates else []
    config = EdgeCompileConfig(_check_ir_validity=False)
    return to_edge_transform_and_lower(program, partitioner=partitioner, compile_config=config).to_executorch().buffer


class Runner(unittest.TestCase):
    def check(self, buffer, inputs, expected):
        for a, b in zip(run(buffer, inputs, expected), expected):
            torch.testing.assert_close(a, b, atol=2e-5, rtol=2e-4)

    def test_operators_of_graphs(self):
        module = Grouped("gqa").eval()
        inputs = (torch.randn(2, 5, 32), torch.tensor([[True] * 5, [True] * 3 + [False] * 2]))
        with torch.no_grad():
            expected = [module(*inputs)]
            program = to_fovea(torch.export.export(module, inputs))
            for delegates in False, True:
                buffer = lower(program, delegates)
                self.check(buffer, inputs, expected)
            with self.assertRaisesRegex(RuntimeError, "number of bytes"):
                run(buffer, (inputs[0][:1], inputs[1]), expected)
            with self.assertRaisesRegex(RuntimeError, "number of inputs"):
                run(buffer, inputs[:1], expected)

    def test_operators_of_language_models(self):
        _, codes, _ = quantized(3, 4)
        inputs = (torch.randn(1, 4, 4, 8), torch.randn(1, 4, 2, 8), torch.randn(1, 4, 2, 8), torch.randn(4, 16),
                  delta(5, True), codes[:3] + codes[8:14], torch.tensor([[3, 4, 5, 6]]))
        expected = Module()(*inputs)
        flat, _ = torch.utils._pytree.tree_flatten(inputs)
        self.check(lower(torch.export.export(Module(), inputs), False), flat, expected)


if __name__ == "__main__":
    torch.manual_seed(7)
    unittest.main()
