# SPDX-License-Identifier: Apache-2.0
"""Runs ExecuTorch's own tests of its operators, from its Python package, on fovea's kernels."""
import importlib
import sys
import unittest

import caller

NAMES = ["test_sdpa_with_kv_cache", "test_update_cache", "test_quantized_sdpa", "test_gated_delta"]

calls = {}
run = caller.Call.run


def counted(self, *args):
    calls[self.name] = calls.get(self.name, 0) + 1
    return run(self, *args)


caller.Call.run = counted
kept = caller.instead()
suite = unittest.TestSuite()
for name in NAMES:
    module = importlib.import_module(f"executorch.extension.llm.custom_ops.{name}")
    suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(module))
result = unittest.TextTestRunner(verbosity=1).run(suite)
failed = len(result.failures) + len(result.errors)
print(f"{result.testsRun} tests, {len(result.skipped)} skipped, {failed} failed; calls of fovea's kernels:")
for name, count in sorted(calls.items()):
    print(f"  {name.decode()} {count}")
sys.exit(failed != 0 or len(calls) < 7)
