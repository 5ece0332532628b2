# SPDX-License-Identifier: Apache-2.0
"""fovea's operators for PyTorch's graphs: each kernel against PyTorch, then what fovea.executorch makes of modules.

    FOVEA_EXECUTORCH_LIBRARIES=<folder> FOVEA_LIBRARY=<libfovea_python.so> PYTHONPATH=<platform/packages/python> \\
        python3 test_graphs.py
"""
import os
import unittest

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from torch import nn
from torch.nn import functional

import caller
from caller import Call, Failed
from fovea.executorch import ACTIVATIONS, ToFovea, operators, to_fovea

TYPES = {torch.float32: 3e-6, torch.float16: 3e-3, torch.bfloat16: 3e-2}  # and tolerances


def compute(name, *inputs):
    """The kernel's result, whose shape and type are those that PyTorch is told."""
    fake = getattr(torch.ops.fovea, name)(*(x.to("meta") if isinstance(x, torch.Tensor) else x for x in inputs))
    out = torch.full(fake.shape, torch.nan if fake.dtype.is_floating_point else 77, dtype=fake.dtype)
    Call(name, list(inputs), [out], namespace="fovea").run()
    return out


class Kernels(unittest.TestCase):
    def check(self, name, *inputs, tolerance=3e-6):
        expected = getattr(torch.ops.fovea, name)(*inputs)
        torch.testing.assert_close(compute(name, *inputs), expected, atol=tolerance, rtol=tolerance)
        out = torch.empty(0, dtype=expected.dtype)
        getattr(torch.ops.fovea, name).out(*inputs, out=out)
        self.assertTrue(torch.equal(out, expected))

    def attention(self, layout=0, mask=None, causal=False, scale=None, dtype=torch.float32, heads=6, kv_heads=6,
                  queries=7, keys=9, value_dim=12):
        tensors = []
        for bit, count, tokens, dim in ((operators.QUERY, heads, queries, 8), (operators.KEY, kv_heads, keys, 8),
                                        (operators.VALUE, kv_heads, keys, value_dim)):
            shape = (2, tokens, count, dim) if layout & bit else (2, count, tokens, dim)
            tensors.append(torch.randn(shape).to(dtype))
        self.check("attention", *tensors, mask, causal, scale, layout, tolerance=TYPES[dtype])

    def test_attention_in_every_layout(self):
        for layout in range(16):
            with self.subTest(layout=layout):
                self.attention(layout)

    def test_attention_of_types_groups_and_sizes(self):
        for dtype in TYPES:
            self.attention(dtype=dtype)
        for heads, kv_heads in (1, 1), (6, 2), (5, 1):
            self.attention(heads=heads, kv_heads=kv_heads)
        self.attention(queries=1, keys=300)
        self.attention(queries=200, keys=150, value_dim=5)
        self.attention(causal=True)
        self.attention(causal=True, queries=12, keys=5)
        for scale in 0.3, -0.5, 0.0:
            self.attention(scale=scale)

    def test_attention_with_masks(self):
        for shape in (7, 9), (7, 1), (1, 9), (6, 7, 9), (2, 1, 1, 9), (2, 6, 7, 9), (1, 6, 1, 1), (2, 1, 7, 9):
            shown = torch.rand(shape) < 0.6
            shown[..., 0] = True
            for mask in shown, torch.randn(shape), torch.randn(shape).masked_fill(~shown, -torch.inf):
                with self.subTest(shape=shape, dtype=mask.dtype):
                    self.attention(mask=mask)
        self.attention(mask=torch.randn(7, 9).half(), dtype=torch.float16)
        self.attention(mask=torch.randn(7, 9).bfloat16(), dtype=torch.bfloat16)

    def test_linear_layers(self):
        for shape in (20,), (1, 20), (3, 4, 20), (70, 20), (0, 20):
            for bias in None, torch.randn(30):
                self.check("linear_activation", torch.randn(shape), torch.randn(30, 20), bias, "none", tolerance=1e-5)
        for name in ACTIVATIONS:
            self.check("linear_activation", torch.randn(5, 20), torch.randn(30, 20), None, name, tolerance=1e-5)

    def test_normalisation(self):
        for dtype, tolerance in TYPES.items():
            for shape in (33,), (2, 3, 33), (0, 33):
                x = torch.randn(shape).to(dtype)
                weight, bias = (torch.randn(33), torch.randn(33)) if dtype is torch.float32 else (None, None)
                self.check("layer_norm", x, weight, bias, 1e-5, tolerance=tolerance)
                self.check("layer_norm", x, weight, None, 1e-3, tolerance=tolerance)
                self.check("rms_norm", x, weight, 1e-6, tolerance=tolerance)

    def test_activations(self):
        for name in ACTIVATIONS:
            for dtype, tolerance in TYPES.items():
                with self.subTest(name=name, dtype=dtype):
                    x = (torch.randn(3, 5, 7) * 3).to(dtype)
                    self.check("activation", x, None, name, tolerance=tolerance)
                    self.check("activation", x, torch.randn(3, 5, 7).to(dtype), name, tolerance=tolerance * 2)

    def test_softmax_of_each_dimension(self):
        for dim in range(-3, 3):
            self.check("softmax", torch.randn(3, 4, 5), dim)

    def test_wrong_arguments_are_errors_and_nothing_is_written(self):
        x, w, four = torch.randn(2, 8), torch.randn(4, 8), torch.randn(1, 2, 3, 8)
        for name, inputs, out in [
            ("linear_activation", [x, torch.randn(4, 7), None, "none"], (2, 4)),
            ("linear_activation", [x, w, torch.randn(5), "none"], (2, 4)),
            ("linear_activation", [x, w, None, "nothing"], (2, 4)),
            ("linear_activation", [x.half(), w, None, "none"], (2, 4)),
            ("layer_norm", [x, torch.randn(7), None, 1e-5], (2, 8)),
            ("layer_norm", [x, None, torch.randn(1, 8), 1e-5], (2, 8)),
            ("layer_norm", [x, None, None, -1.0], (2, 8)), ("rms_norm", [x.long(), None, 1e-5], (2, 8)),
            ("activation", [x, torch.randn(2, 7), "silu"], (2, 8)), ("activation", [x, None, "softplus"], (2, 8)),
            ("softmax", [x, 2], (2, 8)), ("softmax", [x, -3], (2, 8)), ("softmax", [x.half(), 1], (2, 8)),
            ("attention", [four, four, four[:, :, :2], None, False, None, 0], four.shape),
            ("attention", [four, torch.randn(1, 3, 3, 8), four, None, False, None, 0], four.shape),
            ("attention", [four, four, four, torch.randn(3, 2), False, None, 0], four.shape),
            ("attention", [four, four, four, torch.zeros(3, 3).long(), False, None, 0], four.shape),
            ("attention", [four, four.half(), four, None, False, None, 0], four.shape),
            ("attention", [four, four, four[0], None, False, None, 0], four.shape)]:
            with self.subTest(name=name, inputs=inputs):
                written = torch.full(tuple(out), 7.0)
                with self.assertRaises(Failed):
                    Call(name, inputs, [written], namespace="fovea").run()
                self.assertTrue((written == 7).all())


class Threads(unittest.TestCase):
    def test_bits_do_not_depend_on_threads(self):
        x, y = torch.randn(301, 600), torch.randn(301, 600)
        calls = [("layer_norm", [x, y[0], y[1], 1e-5]), ("rms_norm", [x.half(), y[0], 1e-5]),
                 ("activation", [x, y, "gelu"]), ("activation", [x.bfloat16(), None, "silu"]),
                 ("softmax", [x.view(301, 20, 30), 1]), ("linear_activation", [x, torch.randn(40, 600), None, "relu"])]
        for name, inputs in calls:
            with self.subTest(name=name):
                results = []
                for threads in 1, 3:
                    _unsafe_reset_threadpool(threads)
                    results.append(compute(name, *inputs))
                self.assertFalse(results[0].isnan().any())
                self.assertTrue(torch.equal(*results))


class Gated(nn.Module):
    """What language models have: RMS normalisation, spelled out or not, and SwiGLU."""

    def __init__(self):
        super().__init__()
        self.norm, self.weight = nn.RMSNorm(32), nn.Parameter(torch.rand(32))
        self.gate, self.up, self.down = nn.Linear(32, 48), nn.Linear(32, 48, bias=False), nn.Linear(48, 32)

    def forward(self, x):
        x = self.norm(x)
        y = self.down(functional.silu(self.gate(x)) * self.up(x))
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        return functional.softmax(y, -1)


class Grouped(nn.Module):
    """Attention with the layouts, the repeated keys and the expanded mask of Hugging Face's models."""

    def __init__(self, how):
        super().__init__()
        self.how, self.q, self.k, self.v = how, nn.Linear(32, 32), nn.Linear(32, 16), nn.Linear(32, 16)

    def forward(self, x, shown):
        batch, tokens, _ = x.shape
        q, k, v = (layer(x).view(batch, tokens, -1, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        if self.how == "expand":
            k, v = (y[:, :, None].expand(batch, 2, 2, tokens, 8).reshape(batch, 4, tokens, 8) for y in (k, v))
        if self.how == "repeat":
            k, v = (y.repeat_interleave(2, dim=1) for y in (k, v))
        mask = shown[:, None, None, :].expand(batch, 1, tokens, tokens)
        y = functional.scaled_dot_product_attention(q, k, v, mask, enable_gqa=self.how == "gqa")
        return y.transpose(1, 2).reshape(batch, tokens, 32)


class Left(nn.Module):
    """What fovea's operators do not serve."""

    def forward(self, x, y):
        x = functional.layer_norm(x, (4, 8)) + functional.scaled_dot_product_attention(x, x, x)
        return x.double().softmax(-1), functional.gelu(x.double()), (y @ y.T).relu_() * y[0, 0]


def counts(program):
    found = {}
    for node in program.graph_module.graph.nodes:
        if node.op == "call_function" and "fovea." in str(node.target):
            name = str(node.target).split("fovea.")[1].split(".")[0]
            found[name] = found.get(name, 0) + 1
    return found


class Loaded:
    """A method, with the program and its bytes, which are read as long as it runs."""

    def __init__(self, manager):
        self.buffer = manager.to_executorch().buffer
        self.program = Runtime.get().load_program(self.buffer)
        self.method = self.program.load_method("forward")

    def __call__(self, *inputs):
        return [out.clone() for out in self.method.execute(list(inputs))]


class Graphs(unittest.TestCase):
    def check(self, module, inputs, expected, dynamic=None, others=()):
        program = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
        replaced = to_fovea(program)
        self.assertEqual(counts(replaced), expected)
        self.assertEqual(counts(program), {})
        with torch.no_grad():
            for edge in to_edge(replaced), to_edge_transform_and_lower(replaced, partitioner=[XnnpackPartitioner()]):
                method = Loaded(edge)
                for given in inputs, *others:
                    wanted = module(*given)
                    for a, b in zip(method(*given), wanted if isinstance(wanted, tuple) else (wanted,)):
                        torch.testing.assert_close(a, b, atol=2e-6, rtol=2e-5)
        return replaced

    def test_encoder(self):
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
        module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.check(module, (torch.randn(2, 5, 32),), {"attention": 2, "layer_norm": 4, "linear_activation": 8})

    def test_gated_layers(self):
        self.check(Gated(), (torch.randn(2, 5, 32),), {"rms_norm": 2, "linear_activation": 3, "activation": 1, "softmax": 1})

    def test_transpositions_repeated_heads_and_expanded_masks_are_taken_in(self):
        shown = torch.rand(2, 5) < 0.7
        shown[:, 0] = True
        for how in "expand", "repeat", "gqa":
            with self.subTest(how=how):
                program = self.check(Grouped(how), (torch.randn(2, 5, 32), shown), {"attention": 1, "linear_activation": 3})
                (node,) = (n for n in program.graph.nodes if "attention.default" in str(n.target))
                self.assertEqual(node.args[6], operators.QUERY | operators.KEY | operators.VALUE | operators.OUT)
                self.assertEqual(node.args[1].meta["val"].shape, (2, 5, 2, 8))
                self.assertEqual(node.args[3].meta["val"].shape, (2, 1, 1, 5))

    def test_sizes_may_change(self):
        tokens = torch.export.Dim("tokens", min=2, max=40)
        others = [(torch.randn(2, n, 32), torch.ones(2, n, dtype=torch.bool)) for n in (2, 33, 40)]
        self.check(Grouped("gqa"), (torch.randn(2, 5, 32), torch.ones(2, 5, dtype=torch.bool)),
                   {"attention": 1, "linear_activation": 3}, ({1: tokens}, {1: tokens}), others)

    def test_what_is_not_served_stays(self):
        self.check(Left(), (torch.randn(3, 4, 8), torch.randn(4, 4)), {"activation": 1})

    def test_each_activation(self):
        for name, function in ACTIVATIONS.items():
            if name == "none":
                continue
            with self.subTest(name=name):
                class Module(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.layer, self.function = nn.Linear(8, 8), function

                    def forward(self, x):
                        return self.function(self.layer(x)), self.function(x)

                program = self.check(Module(), (torch.randn(3, 8),), {"linear_activation": 1, "activation": 1})
                names = [n.args[-1] for n in program.graph.nodes if "fovea" in str(n.target)]
                self.assertEqual(names, [name, name])

    def test_some_kinds_alone(self):
        program = torch.export.export(Gated(), (torch.randn(2, 5, 32),))
        self.assertEqual(counts(to_fovea(program, {"softmax"})), {"softmax": 1})
        with self.assertRaises(ValueError):
            ToFovea({"linear"})

    def test_edge_programs(self):
        inputs = (torch.randn(2, 5, 32),)
        # What is left of operators that to_edge took apart: an epsilon that is a tensor now is not found.
        expected = {"rms_norm": 1, "linear_activation": 3, "activation": 1, "softmax": 1}
        module = Gated().eval()
        edge = to_edge(torch.export.export(module, inputs))
        lowered = to_edge_transform_and_lower(torch.export.export(module, inputs), transform_passes=[ToFovea()],
                                              partitioner=[XnnpackPartitioner()])
        for manager in to_fovea(edge), lowered:
            self.assertEqual(counts(manager.exported_program()), expected)
            torch.testing.assert_close(Loaded(manager)(*inputs)[0], module(*inputs), atol=2e-6, rtol=2e-5)


if __name__ == "__main__":
    assert os.environ["FOVEA_LIBRARY"] and caller.kernels("attention", "fovea") == 1
    torch.manual_seed(7)
    unittest.main()
