# SPDX-License-Identifier: Apache-2.0
"""Runs ExecuTorch's own tests of its operators, from its Python package, on fovea's kernels.

Some of these tests have scores of thousands and compare with PyTorch's f32 attention, which has the order of
operations of ExecuTorch's kernels and so their rounding errors: several hundred times the tolerance. Those of STEEP
are run again against attention in f64, where fovea's error must be the smaller one.
"""
import contextlib
import importlib
import sys
import unittest

import torch

import caller

NAMES = ["test_sdpa_with_kv_cache", "test_update_cache", "test_quantized_sdpa", "test_gated_delta"]
STEEP = [("test_sdpa_with_kv_cache", "SDPATestForSpeculativeDecode.test_sdpa_with_cache_seq_len_130"),
         ("test_quantized_sdpa", "SDPATestForCustomQuantizedSDPA.test_sdpa_with_custom_quantized_seq_len_130_gqa")]
PACKAGE = "executorch.extension.llm.custom_ops."


def tests_of(module, name=None):
    module = importlib.import_module(PACKAGE + module)
    loader = unittest.defaultTestLoader
    return loader.loadTestsFromName(name, module) if name else loader.loadTestsFromModule(module)


@contextlib.contextmanager
def references_in_f64():
    """Yields the largest differences that the tests find."""
    errors, attention = [], torch.nn.functional.scaled_dot_product_attention
    close, choose = torch.allclose, torch.nn.attention.sdpa_kernel

    def in_f64(q, k, v, attn_mask=None):
        return attention(q.double(), k.double(), v.double(), attn_mask=attn_mask.double()).float()

    def compare(a, b, **_):
        errors.append((a - b).abs().max().item())
        return True

    torch.nn.functional.scaled_dot_product_attention, torch.allclose = in_f64, compare
    torch.nn.attention.sdpa_kernel = lambda _: contextlib.nullcontext()
    yield errors
    torch.nn.functional.scaled_dot_product_attention, torch.allclose = attention, close
    torch.nn.attention.sdpa_kernel = choose


def errors_in_f64(module, name):
    with references_in_f64() as errors:
        unittest.TextTestRunner(verbosity=0).run(tests_of(module, name))
    return max(errors)


def main():
    own_errors = [errors_in_f64(*test) for test in STEEP]
    calls, run = {}, caller.Call.run

    def counted(self, *args):
        calls[self.name] = calls.get(self.name, 0) + 1
        return run(self, *args)

    caller.Call.run = counted
    kept = caller.instead()
    result = unittest.TextTestRunner(verbosity=1).run(unittest.TestSuite(tests_of(name) for name in NAMES))
    failed = {test.id().removeprefix(PACKAGE) for test, _ in result.failures + result.errors}
    print(f"{result.testsRun} tests, {len(result.skipped)} skipped, {len(failed)} failed; calls of fovea's kernels:")
    for name, count in sorted(calls.items()):
        print(f"  {name.decode()} {count}")
    for test, own in zip(STEEP, own_errors):
        error = errors_in_f64(*test)
        print(f"{test[1]}: largest error against f64: fovea {error:.1e}, ExecuTorch {own:.1e}")
        if error <= own:
            failed.discard(".".join(test))
    del kept
    return 1 if failed or len(calls) < 6 else 0


if __name__ == "__main__":
    sys.exit(main())
