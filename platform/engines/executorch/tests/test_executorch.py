# SPDX-License-Identifier: Apache-2.0
"""fovea's kernels against ExecuTorch's own, called through the runtime's registry.

    FOVEA_EXECUTORCH_LIBRARIES=<folder of libfovea_executorch and libcaller> python3 test_executorch.py
"""
import os
import subprocess
import sys
import tempfile
import unittest

import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool

import caller
from caller import Call, Failed

OPERATORS = ["custom_sdpa", "sdpa_with_kv_cache", "custom_quantized_sdpa", "update_cache", "update_cache_with_indices",
             "gated_delta_rule", "channelwise_gated_delta_rule"]


def both(name, inputs, outputs):
    """The outputs of fovea's kernel and of ExecuTorch's own, each with its own copies of what it may write."""
    results = []
    for own in False, True:
        copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
        written = [torch.zeros_like(x) for x in outputs]
        Call(name, copies, written, own).run()
        results.append(written + [x for x in copies if isinstance(x, torch.Tensor)])
    return results


class Attention(unittest.TestCase):
    def check(self, dtype=torch.float32, batch=1, queries=3, room=40, heads=8, kv_heads=2, dim=16, start=5, mask=None,
              causal=True, scale=None, tolerance=2e-6):
        q = torch.randn(batch, queries, heads, dim).to(dtype)
        k, v = (torch.randn(batch, room, kv_heads, dim).to(dtype) for _ in range(2))
        fovea, own = both("custom_sdpa", [q, k, v, start, mask, 0.0, causal and mask is None, scale], [torch.empty_like(q)])
        torch.testing.assert_close(fovea[0], own[0], atol=tolerance, rtol=tolerance)

    def test_shapes_heads_and_positions(self):
        for queries, start in (1, 0), (1, 39), (3, 5), (17, 20), (40, 0):
            for heads, kv_heads in (1, 1), (8, 8), (8, 2), (6, 3), (5, 1):
                for causal in False, True:
                    with self.subTest(queries=queries, start=start, heads=heads, causal=causal):
                        self.check(queries=queries, start=start, heads=heads, kv_heads=kv_heads, causal=causal)

    def test_long_sequences_batches_and_odd_dims(self):
        self.check(queries=200, room=1000, start=700, batch=2)
        self.check(queries=800, room=800, start=0, heads=2)
        self.check(batch=3, dim=5)
        self.check(batch=2, dim=80, queries=1, start=30)

    def test_types(self):
        self.check(torch.float16, tolerance=2e-3)
        self.check(torch.bfloat16, tolerance=2e-2)

    def test_scale_and_mask(self):
        self.check(scale=0.3)
        for queries in 1, 7:
            mask = torch.randn(queries, 40)
            mask[torch.rand(queries, 40) < 0.5] = -torch.inf
            mask[:, 0] = 0
            self.check(queries=queries, mask=mask)
        self.check(mask=torch.zeros(0, 0))

    def test_a_row_that_sees_no_key_is_zeros(self):
        q, k = torch.randn(1, 2, 2, 4), torch.randn(1, 6, 2, 4)
        mask = torch.zeros(2, 6)
        mask[0] = -torch.inf
        out = torch.empty_like(q)
        Call("custom_sdpa", [q, k, k, 0, mask, 0.0, False, None], [out]).run()
        self.assertTrue((out[0, 0] == 0).all() and torch.isfinite(out).all())

    def test_caches_are_updated_before_attention(self):
        q, k, v = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 2, 8), torch.randn(2, 3, 2, 8)
        caches = [torch.randn(2, 20, 2, 8) for _ in range(2)]
        fovea, own = both("sdpa_with_kv_cache", [q, k, v, *caches, 4, 3, None, 0.0, True, None], [torch.empty_like(q)])
        for a, b in zip(fovea, own):
            torch.testing.assert_close(a, b, atol=2e-6, rtol=2e-6)

    def test_codes(self):
        for at_dim_2 in False, True:
            for queries, start in (1, 39), (9, 13):
                with self.subTest(at_dim_2=at_dim_2, queries=queries):
                    fovea, own = both(*quantized(queries, start, at_dim_2))
                    torch.testing.assert_close(fovea[0], own[0], atol=2e-5, rtol=2e-5)


def quantized(queries, start, at_dim_2=False, room=50, heads=6, kv_heads=2, dim=24):
    inputs, parameters = [], []
    for tokens, count in (queries, heads), (room, kv_heads), (room, kv_heads):
        shape = (2, count, tokens) if at_dim_2 else (2, tokens, count)
        inputs.append(torch.randint(-128, 128, (*shape, dim), dtype=torch.int8))
        parameters += [torch.randint(-128, 128, (*shape, 1), dtype=torch.int8), torch.rand(*shape, 1) * 0.02]
    inputs += [start, None, 0.0, True, None, *parameters, at_dim_2]
    return "custom_quantized_sdpa", inputs, [torch.empty(inputs[0].shape)]


class Caches(unittest.TestCase):
    def test_all_types(self):
        for dtype in caller.DTYPES:
            if dtype is torch.bool:
                continue
            with self.subTest(dtype=dtype):
                value = torch.randint(0, 100, (3, 4, 2, 5)).to(dtype)
                cache = torch.zeros(3, 9, 2, 5, dtype=dtype)
                inputs = [value, cache, 5]
                fovea, own = both("update_cache", inputs, [torch.empty(1, dtype=dtype)])
                self.assertTrue(torch.equal(fovea[2], own[2]))
                indices = torch.tensor([[0, 8, 3, 3], [1, 2, 3, 4], [7, 5, 3, 1]])
                fovea, own = both("update_cache_with_indices", [*inputs, indices], [torch.empty(1, dtype=dtype)])
                self.assertTrue(torch.equal(fovea[2], own[2]))


def delta(tokens, channelwise, heads=4, kv_heads=2, head_dim=20, value_dim=24, batch=2):
    k = torch.nn.functional.normalize(torch.randn(batch, kv_heads, tokens, head_dim), dim=-1)
    shape = (batch, kv_heads, tokens)
    return [torch.randn(batch, heads, tokens, head_dim), k, torch.randn(*shape, value_dim),
            torch.rand(*shape, head_dim) if channelwise else torch.rand(shape), torch.rand(shape),
            torch.randn(batch, kv_heads, head_dim, value_dim)]


class DeltaRule(unittest.TestCase):
    def test_against_own(self):
        for name in "gated_delta_rule", "channelwise_gated_delta_rule":
            for tokens in 1, 2, 5, 64, 67:
                for channelwise in False, True:
                    with self.subTest(name=name, tokens=tokens, channelwise=channelwise):
                        inputs = delta(tokens, channelwise)
                        outputs = [torch.empty(2, 4, tokens, 24), torch.empty_like(inputs[5])]
                        fovea, own = both(name, inputs, outputs)
                        for a, b in zip(fovea[:2], own[:2]):
                            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)

    def test_a_decay_of_zero_forgets(self):
        inputs = delta(3, False)
        inputs[3].zero_()
        fovea, own = both("gated_delta_rule", inputs, [torch.empty(2, 4, 3, 24), torch.empty_like(inputs[5])])
        torch.testing.assert_close(fovea[0], own[0], atol=1e-5, rtol=1e-5)


class Errors(unittest.TestCase):
    def refused(self, name, inputs, outputs):
        before = [x.clone() for x in inputs + outputs if isinstance(x, torch.Tensor)]
        with self.assertRaises(Failed):
            Call(name, inputs, outputs).run()
        for a, b in zip(before, [x for x in inputs + outputs if isinstance(x, torch.Tensor)]):
            self.assertTrue(torch.equal(a, b))

    def test_attention(self):
        q, k, out = torch.randn(1, 2, 4, 8), torch.randn(1, 6, 2, 8), torch.zeros(1, 2, 4, 8)
        right = {"q": q, "k": k, "v": k, "start": 4, "mask": None, "dropout": 0.0, "causal": True, "scale": None}
        for wrong in ({"start": 5}, {"start": -1}, {"mask": torch.zeros(2, 6)}, {"k": torch.randn(1, 6, 3, 8)},
                      {"v": torch.randn(1, 6, 2, 4)}, {"k": torch.randn(1, 6, 2, 4)},
                      {"causal": False, "mask": torch.zeros(2, 5)}, {"causal": False, "mask": torch.zeros(1, 6)},
                      {"q": torch.randn(2, 2, 4, 8)}, {"v": torch.randn(1, 5, 2, 8)}):
            with self.subTest(wrong=list(wrong)):
                self.refused("custom_sdpa", list({**right, **wrong}.values()), [out])
        self.refused("sdpa_with_kv_cache", [q, k[:, :2], k[:, :2], k.clone(), k.clone(), 5, 2, None, 0.0, True, None], [out])

    def test_codes(self):
        for place, shape in (10, (2, 50, 1, 1)), (11, (2, 49, 2, 1)), (13, (2, 50, 2, 2)):
            name, inputs, outputs = quantized(2, 3)
            inputs[place] = torch.zeros(shape, dtype=inputs[place].dtype)
            self.refused(name, inputs, [torch.zeros_like(outputs[0])])

    def test_caches(self):
        value, cache, out = torch.ones(1, 2, 2, 4), torch.zeros(1, 6, 2, 4), torch.zeros(1)
        for start in 5, 6, -1:
            self.refused("update_cache", [value, cache, start], [out])
        for shape in (1, 2, 1, 4), (2, 2, 2, 4), (1, 2, 2, 2), (1, 7, 2, 4):
            self.refused("update_cache", [torch.ones(shape), cache, 0], [out])
        for indices in [[0, 6]], [[-1, 2]], [[1, 2, 3]]:
            self.refused("update_cache_with_indices", [value, cache, 0, torch.tensor(indices)], [out])

    def test_delta_rule(self):
        inputs = delta(3, False)
        outputs = [torch.zeros(2, 4, 3, 24), torch.zeros_like(inputs[5])]
        wrong = {0: torch.zeros(2, 3, 3, 20), 2: torch.zeros(2, 2, 2, 24), 3: torch.full((2, 2, 3), -0.5),
                 4: torch.zeros(2, 2, 2), 5: torch.zeros(2, 2, 20, 20)}
        for place, tensor in wrong.items():
            with self.subTest(place=place):
                self.refused("gated_delta_rule", inputs[:place] + [tensor] + inputs[place + 1:], outputs)
        self.refused("gated_delta_rule", inputs, [outputs[0], inputs[5]])


class Threads(unittest.TestCase):
    def test_bits_do_not_depend_on_threads(self):
        q, k, v = torch.randn(1, 200, 8, 64), torch.randn(1, 200, 4, 64), torch.randn(1, 200, 4, 64)
        inputs = delta(100, True, heads=8, kv_heads=8, head_dim=64, value_dim=64)
        results = []
        for threads in 1, 3:
            _unsafe_reset_threadpool(threads)
            out, outputs = torch.empty_like(q), [torch.empty(2, 8, 100, 64), torch.empty_like(inputs[5])]
            attention = Call("custom_sdpa", [q, k, v, 0, None, 0.0, True, None], [out])
            attention.run()
            rule = Call("gated_delta_rule", inputs, outputs)
            rule.run()
            results.append((out, *outputs, attention.bytes, rule.bytes))
        for a, b in zip(results[0][:3], results[1][:3]):
            self.assertTrue(torch.equal(a, b))
        self.assertGreater(results[1][3], results[0][3])  # each worker has its workspace: so threads did run
        self.assertGreater(results[1][4], results[0][4])


class Memory(unittest.TestCase):
    def test_library_asks_for_no_memory(self):
        library = os.path.join(caller.LIBRARIES, "libfovea_executorch.so")
        undefined = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout.split()
        for name in "malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "_Znwm", "_Znam":
            self.assertNotIn(name, {symbol.split("@")[0] for symbol in undefined})


class Module(torch.nn.Module):
    """Every operator once, as the graph of an exported model has them."""

    def forward(self, q, k, v, mask, inputs, codes, indices):
        ops = torch.ops.llama
        cache, other = torch.zeros(1, 16, 2, 8), torch.zeros(1, 16, 2, 8)
        ops.update_cache(k, cache, 3)
        ops.update_cache_with_indices(v, other, 0, indices)
        return (ops.custom_sdpa(q, cache, other, 3, None, 0.0, True), ops.custom_sdpa(q, cache, other, 0, mask),
                ops.sdpa_with_kv_cache(q, k, v, cache, other, 6, 4, None, 0.0, True),
                ops.custom_quantized_sdpa(*codes[:3], 4, None, 0.0, True, None, *codes[3:], False),
                *ops.gated_delta_rule(*inputs), *ops.channelwise_gated_delta_rule(*inputs))


class Programs(unittest.TestCase):
    def test_program_runs_without_own_kernels(self):
        """Another process loads fovea's library alone: an operator that it does not serve would be missing there."""
        _, codes, _ = quantized(3, 4)
        inputs = (torch.randn(1, 4, 4, 8), torch.randn(1, 4, 2, 8), torch.randn(1, 4, 2, 8), torch.randn(4, 16),
                  delta(5, True), codes[:3] + codes[8:14], torch.tensor([[3, 4, 5, 6]]))
        expected = Module()(*inputs)
        program = to_edge(torch.export.export(Module(), inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.pte"), "wb") as file:
                file.write(program.buffer)
            flat, _ = torch.utils._pytree.tree_flatten(inputs)
            torch.save(flat, os.path.join(folder, "inputs.pt"))
            here = os.path.dirname(os.path.abspath(__file__))
            subprocess.run([sys.executable, os.path.join(here, "run_program.py"), folder,
                            os.path.join(caller.LIBRARIES, "libfovea_executorch.so")], check=True)
            for a, b in zip(torch.load(os.path.join(folder, "outputs.pt")), expected):
                torch.testing.assert_close(a, b, atol=2e-5, rtol=2e-4)


class Registry(unittest.TestCase):
    def test_each_operator_has_keyed_kernels_and_own(self):
        for name in OPERATORS:
            self.assertGreater(caller.kernels(name), 1, name)


if __name__ == "__main__":
    torch.manual_seed(7)
    unittest.main()
