# SPDX-License-Identifier: Apache-2.0
"""fovea's operators on int8 tensors: each kernel against PyTorch in f64, then what to_fovea makes of quantised graphs.

    FOVEA_EXECUTORCH_LIBRARIES=<folder> FOVEA_LIBRARY=<libfovea_python.so> PYTHONPATH=<platform/packages/python> \\
        python3 test_quantized.py
"""
import unittest

import executorch.kernels.quantized  # noqa: F401  kernels of quantize and dequantize nodes
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (XNNPACKQuantizer, get_symmetric_quantization_config)
from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from torch import nn
from torch.nn import functional
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import ComposableQuantizer
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

from caller import Call, Failed
from fovea.executorch import ACTIVATIONS, operators, to_fovea
from fovea.executorch.quantized import multiplier
from fovea.executorch.quantizer import FoveaQuantizer
from test_graphs import Loaded, compute, counts

try:
    from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
    from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
except ModuleNotFoundError:  # tosa_serializer, of the package tosa-tools
    CortexMQuantizer = None


def codes(*shape):
    return torch.randint(-128, 128, shape, dtype=torch.int8)


class Kernels(unittest.TestCase):
    def check(self, name, *inputs, most=1):
        """Results that are not near a half differ by nothing; `most` is how many codes others may."""
        expected = getattr(torch.ops.fovea, name)(*inputs)
        result = compute(name, *inputs)
        self.assertEqual(result.dtype, torch.int8)
        differences = (result.short() - expected.short()).abs()
        self.assertLessEqual(differences.max().item() if differences.numel() else 0, most)
        return differences.float().mean().item() if differences.numel() else 0.0

    def test_multipliers(self):
        for real in 1.0, 0.999999999999, 1e-6, 3.7, 2.0**30:
            number, shift = multiplier(real, -31, 31)
            self.assertTrue(2**30 <= number < 2**31)
            self.assertAlmostEqual(number * 2.0**(shift - 31) / real, 1, delta=2**-31)
        for real in 0.0, -1.0, 2.0**31, 2.0**-33, float("inf"), float("nan"):
            self.assertIsNone(multiplier(real, -31, 31))

    def test_attention(self):
        for layout in range(16):
            for heads, kv_heads, queries, keys, dim, value_dim, causal in ((4, 4, 7, 7, 16, 16, True), (6, 2, 5, 70, 24, 12, False)):
                with self.subTest(layout=layout, heads=heads):
                    tensors = [codes(2, tokens, count, size) if layout & bit else codes(2, count, tokens, size)
                               for bit, count, tokens, size in ((operators.QUERY, heads, queries, dim),
                                                                (operators.KEY, kv_heads, keys, dim),
                                                                (operators.VALUE, kv_heads, keys, value_dim))]
                    numbers = *multiplier(0.02 * 0.015 / dim**0.5 * 1.44269504, -31, 31), *multiplier(0.9, -31, 31)
                    mean = self.check("quantized_attention", *tensors, causal, 5, -9, 3, *numbers, layout, most=2)
                    self.assertLess(mean, 0.3)

    def test_linear_layers(self):
        for shape in (20,), (3, 4, 20), (70, 20), (0, 20):
            for bias in None, torch.randn(30):
                mean = self.check("quantized_linear", codes(*shape), codes(30, 20), torch.rand(30) * 0.01, bias, 0.02, 7, 0.1, -3, "none")
                self.assertLess(mean, 1e-3)
        for name in ACTIVATIONS:
            self.check("quantized_linear", codes(5, 20), codes(30, 20), torch.rand(30) * 0.01, None, 0.02, 7, 0.1, -3, name)

    def test_normalisation(self):
        for shape in (1,), (33,), (2, 3, 64), (0, 33):
            weight = torch.randint(-32767, 32768, shape[-1:], dtype=torch.int16)
            bias = torch.randint(-3000, 3000, shape[-1:], dtype=torch.int16)
            numbers = 7, -11, *multiplier(1.2 / 32767 / 0.025, -31, -8), *multiplier(1e-5 / 0.03**2, -31, 15)
            for given in None, bias:
                self.assertLess(self.check("quantized_layer_norm", codes(*shape), weight, given, *numbers), 0.05)
            self.assertLess(self.check("quantized_rms_norm", codes(*shape), weight, *numbers), 0.05)

    def test_activations_and_softmax(self):
        self.assertEqual(self.check("quantized_activation", codes(3, 5, 7), codes(256)), 0)
        for shape in (3, 4, 5), (40, 60), (2, 2000, 1), (0, 4):
            for dim in range(-len(shape), len(shape)):
                self.assertLess(self.check("quantized_softmax", codes(*shape), dim, 0.05, 1 / 256, -128), 1e-3)

    def test_wrong_arguments_are_errors_and_nothing_is_written(self):
        x, w, four, half = codes(2, 8), codes(4, 8), codes(1, 2, 3, 8), (2**30, -10)
        weight, scales = torch.ones(8, dtype=torch.int16), torch.ones(4)
        attention = [False, 0, 0, 0, *half, *half, 0]
        for name, inputs, out in [
            ("quantized_linear", [x, codes(4, 7), scales, None, 0.1, 0, 0.1, 0, "none"], (2, 4)),
            ("quantized_linear", [x, w, torch.ones(3), None, 0.1, 0, 0.1, 0, "none"], (2, 4)),
            ("quantized_linear", [x, w, scales, torch.ones(5), 0.1, 0, 0.1, 0, "none"], (2, 4)),
            ("quantized_linear", [x, w, scales, None, 0.1, 128, 0.1, 0, "none"], (2, 4)),
            ("quantized_linear", [x, w, scales, None, 0.1, 0, 0.0, 0, "none"], (2, 4)),
            ("quantized_linear", [x, w, scales, None, 0.1, 0, 0.1, 0, "nothing"], (2, 4)),
            ("quantized_linear", [x.float(), w, scales, None, 0.1, 0, 0.1, 0, "none"], (2, 4)),
            ("quantized_layer_norm", [x, weight[:7], None, 0, 0, *half, *half], (2, 8)),
            ("quantized_layer_norm", [x, weight, weight[:7], 0, 0, *half, *half], (2, 8)),
            ("quantized_layer_norm", [x, weight, None, 0, 0, 2**30, -7, *half], (2, 8)),
            ("quantized_rms_norm", [x, weight.int(), 0, 0, *half, *half], (2, 8)),
            ("quantized_rms_norm", [x, weight, 0, 2**32, *half, *half], (2, 8)),
            ("quantized_activation", [x, codes(255)], (2, 8)), ("quantized_activation", [x, weight], (2, 8)),
            ("quantized_softmax", [x, 2, 0.1, 0.1, 0], (2, 8)), ("quantized_softmax", [x, 1, 0.0, 0.1, 0], (2, 8)),
            ("quantized_softmax", [x, 1, 0.1, float("nan"), 0], (2, 8)),
            ("quantized_softmax", [x, 1, 0.1, 0.1, -129], (2, 8)),
            ("quantized_attention", [four, four, four[:, :, :2], *attention], four.shape),
            ("quantized_attention", [four, codes(1, 3, 3, 8), four, *attention], four.shape),
            ("quantized_attention", [four, four, four.float(), *attention], four.shape),
            ("quantized_attention", [four, four, four, False, 0, 0, 0, 1, 0, *half, 0], four.shape)]:
            with self.subTest(name=name, inputs=inputs):
                written = torch.full(tuple(out), 77, dtype=torch.int8)
                with self.assertRaises(Failed):
                    Call(name, inputs, [written], namespace="fovea").run()
                self.assertTrue((written == 77).all())


class Language(nn.Module):
    """A layer as language models have it: RMS normalisation, causal attention whose heads share keys, SwiGLU."""

    def __init__(self):
        super().__init__()
        self.norm, self.last = nn.RMSNorm(32), nn.RMSNorm(32)
        self.q, self.k, self.v, self.out = nn.Linear(32, 32), nn.Linear(32, 16), nn.Linear(32, 16), nn.Linear(32, 32)
        self.gate, self.down = nn.Linear(32, 48), nn.Linear(48, 32, bias=False)
        nn.init.normal_(self.norm.weight)

    def forward(self, x):
        batch, tokens, _ = x.shape
        y = self.norm(x)
        q, k, v = (layer(y).view(batch, tokens, -1, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, 32))
        y = self.down(functional.silu(self.gate(self.last(x))))
        return functional.softmax(x + y, -1)


class Masked(nn.Module):
    def forward(self, x, mask):
        return functional.scaled_dot_product_attention(x, x, x, mask)


class Padded(nn.Module):
    """A layer of an encoder of sequences of several lengths. Its mask is of bool, of numbers, or in the scores."""

    def __init__(self, how):
        super().__init__()
        self.how, self.qkv, self.out, self.norm = how, nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32)

    def forward(self, x, shown):
        batch, tokens, _ = x.shape
        q, k, v = (y.view(batch, tokens, 4, 8).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        mask = shown[:, None, None, :]
        if self.how == "bool":
            y = functional.scaled_dot_product_attention(q, k, v, mask.expand(batch, 1, tokens, tokens))
        elif self.how == "fill":
            scores = (q @ k.transpose(2, 3) * 8**-0.5).masked_fill(~mask, -torch.inf)
            y = functional.softmax(scores, -1) @ v
        else:
            numbers = (1 - mask.float()) * torch.finfo(torch.float32).min
            if self.how == "numbers":
                y = functional.scaled_dot_product_attention(q, k, v, numbers)
            else:
                y = functional.softmax(q @ k.transpose(2, 3) * 8**-0.5 + numbers, -1) @ v
        return self.norm(x + self.out(y.transpose(1, 2).reshape(batch, tokens, 32)))


def quantize(module, inputs, quantizer, rounds=3):
    """The quantised module. Numbers are observed on random inputs of the same shapes."""
    prepared = prepare_pt2e(torch.export.export(module.eval(), inputs).module(check_guards=False), quantizer)
    for _ in range(rounds):
        prepared(*(torch.randn_like(x) if x.is_floating_point() else x for x in inputs))
    return convert_pt2e(prepared)


class Graphs(unittest.TestCase):
    def assert_near(self, a, b, most):
        """Codes may differ where the graph's f32 rounds another way, and by three where such differences add up."""
        differences = (a - b).abs()
        self.assertLessEqual(differences.max().item(), most)
        self.assertLessEqual(differences.mean().item(), most / 10)

    def check(self, module, inputs, expected, quantizer, kinds=None, most=0.03, lowered=True):
        converted = quantize(module, inputs, quantizer)
        program = torch.export.export(converted, inputs)
        replaced = to_fovea(program, kinds) if kinds else to_fovea(program)
        self.assertEqual(counts(replaced), expected)
        self.assertEqual(counts(program), {})
        with torch.no_grad():
            wanted = converted(*inputs)
            self.assert_near(replaced.module()(*inputs), wanted, most)
            edges = [to_edge(replaced)]
            if lowered:
                edges.append(to_edge_transform_and_lower(replaced, partitioner=[XnnpackPartitioner()]))
            for edge in edges:
                self.assert_near(Loaded(edge)(*inputs)[0], wanted, most)
        return replaced

    def test_encoder(self):
        for before in False, True:
            layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True, norm_first=before)
            module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.check(module, (torch.randn(2, 9, 32),),
                       {"quantized_attention": 2, "quantized_layer_norm": 4, "quantized_linear": 8}, FoveaQuantizer(), most=0.12)

    def test_language_model(self):
        program = self.check(Language(), (torch.randn(2, 9, 32),),
                             {"quantized_attention": 1, "quantized_rms_norm": 2, "quantized_linear": 6,
                              "quantized_softmax": 1}, FoveaQuantizer())
        (node,) = (n for n in program.graph.nodes if "quantized_attention" in str(n.target))
        self.assertEqual(node.args[-1], operators.QUERY | operators.KEY | operators.VALUE | operators.OUT)
        (node,) = (n for n in program.graph.nodes if n.args[-1:] == ("silu",))
        self.assertIn("quantized_linear", str(node.target))

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
                        return self.function(self.layer(x)) + self.function(x)

                self.check(Module(), (torch.randn(3, 8),), {"quantized_linear": 1, "quantized_activation": 1},
                           FoveaQuantizer(), lowered=False)

    def test_graphs_of_other_quantizers(self):
        module = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 8))
        inputs = (torch.randn(5, 16),)
        for per_channel in False, True:
            quantizer = XNNPACKQuantizer()
            quantizer.set_global(get_symmetric_quantization_config(is_per_channel=per_channel))
            self.check(module, inputs, {"quantized_linear": 2}, quantizer)

    @unittest.skipUnless(CortexMQuantizer, "there is no package tosa-tools")
    def test_graphs_of_the_quantizer_for_cortex_m(self):
        module = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 8))
        self.check(module, (torch.randn(5, 16),), {"quantized_linear": 2}, CortexMQuantizer())

    def test_other_quantizers_have_the_sums(self):
        quantizer = XNNPACKQuantizer()
        quantizer.set_global(get_symmetric_quantization_config())
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
        self.check(layer, (torch.randn(2, 9, 32),), {"quantized_attention": 1, "quantized_layer_norm": 2, "quantized_linear": 4},
                   ComposableQuantizer([FoveaQuantizer(), quantizer]), most=0.12)

    @unittest.skipUnless(CortexMQuantizer, "there is no package tosa-tools")
    def test_transformer_for_cortex_m(self):
        """A layer in which no operator is on floats: fovea's attention and normalisation among CMSIS-NN's kernels."""
        kinds, inputs = {"attention", "layer_norm", "activation"}, (torch.randn(2, 9, 32),)
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
        converted = quantize(layer, inputs, ComposableQuantizer([CortexMQuantizer(), FoveaQuantizer(kinds)]))
        program = to_fovea(torch.export.export(converted, inputs), kinds)
        config = EdgeCompileConfig(_check_ir_validity=False, preserve_ops=[torch.ops.aten.linear.default])
        program = CortexMPassManager(to_edge(program, compile_config=config).exported_program()).transform()
        self.assertEqual(counts(program), {"quantized_attention": 1, "quantized_layer_norm": 2, "quantized_activation": 1})
        names = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
        self.assertEqual(sum("cortex_m.quantized_linear" in name for name in names), 4)
        self.assertEqual(sum("cortex_m.quantized_add" in name for name in names), 2)
        self.assertFalse([name for name in names if "aten.add" in name or "aten.linear" in name])
        with torch.no_grad():
            self.assert_near(program.module(check_guards=False)(*inputs), converted(*inputs), 0.12)

    def test_some_kinds_alone(self):
        inputs, expected = (torch.randn(2, 9, 32),), {"quantized_attention": 1}
        self.check(Language(), inputs, expected, FoveaQuantizer({"attention"}), {"attention"}, lowered=False)
        self.check(Language(), inputs, expected, FoveaQuantizer(), {"attention"}, lowered=False)

    def test_masks(self):
        shown = torch.rand(2, 9) < 0.6
        shown[:, 0] = True
        inputs = torch.randn(2, 9, 32), shown
        dynamic, static = XNNPACKQuantizer(), XNNPACKQuantizer()
        dynamic.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
        static.set_global(get_symmetric_quantization_config(is_per_channel=True))
        codes_around = {"quantized_linear": 2, "quantized_layer_norm": 1}
        for how in "bool", "numbers", "added", "fill":
            name = "attention" if how in ("bool", "numbers") else "softmax"
            with self.subTest(how=how):
                module = Padded(how)
                self.check(module, inputs, {name: 1, **codes_around}, FoveaQuantizer())
                self.check(module, inputs, {name: 1, "layer_norm": 1}, dynamic)
        self.check(Padded("numbers"), inputs, {"attention": 1, **codes_around}, ComposableQuantizer([FoveaQuantizer(), static]), most=0.12)

    def test_weights_that_torchao_quantised_stay(self):
        module = nn.Sequential(nn.Linear(64, 32), nn.SiLU(), nn.Linear(32, 8)).eval()
        quantize_(module, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
        inputs = (torch.randn(5, 64),)
        replaced = to_fovea(torch.export.export(module, inputs))
        self.assertEqual(counts(replaced), {"activation": 1})
        edge = to_edge_transform_and_lower(replaced, partitioner=[XnnpackPartitioner()])
        self.assert_near(Loaded(edge)(*inputs)[0], module(*inputs), 0.03)

    def test_what_is_not_served_stays_in_floats(self):
        mask = torch.rand(4, 4) < 0.7
        mask[:, 0] = True
        self.check(Masked(), (torch.randn(1, 2, 4, 8), mask), {"attention": 1}, FoveaQuantizer())
        dynamic = XNNPACKQuantizer()
        dynamic.set_global(get_symmetric_quantization_config(is_dynamic=True))
        self.check(nn.Linear(16, 8), (torch.randn(5, 16),), {}, dynamic)


if __name__ == "__main__":
    torch.manual_seed(7)
    unittest.main()
