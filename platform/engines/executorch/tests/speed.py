# SPDX-License-Identifier: Apache-2.0
"""Times fovea's kernels and ExecuTorch's own through the runtime's registry, alternately in one run, on one thread.

    FOVEA_EXECUTORCH_LIBRARIES=<folder> python3 speed.py [--json <file>]
"""
import argparse
import json
import statistics

import torch
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool

from caller import Call

LEAST_SECONDS = 0.02  # of one measurement


def sdpa(queries, keys, heads, kv_heads, dim, causal):
    q = torch.randn(1, queries, heads, dim)
    k, v = torch.randn(1, keys, kv_heads, dim), torch.randn(1, keys, kv_heads, dim)
    return "custom_sdpa", [q, k, v, keys - queries, None, 0.0, causal, None], [torch.empty_like(q)]


def codes(*shape):
    return torch.randint(-128, 128, shape, dtype=torch.int8)


def quantized(queries, keys, heads, kv_heads, dim):
    def parameters(tokens, heads):
        return [torch.randint(-9, 9, (1, tokens, heads, 1), dtype=torch.int8), torch.rand(1, tokens, heads, 1) * 0.02]
    inputs = [codes(1, queries, heads, dim), codes(1, keys, kv_heads, dim), codes(1, keys, kv_heads, dim),
              keys - queries, None, 0.0, True, None]
    inputs += parameters(queries, heads) + parameters(keys, kv_heads) + parameters(keys, kv_heads) + [False]
    return "custom_quantized_sdpa", inputs, [torch.empty(1, queries, heads, dim)]


def delta(tokens, heads=16, dim=128, channelwise=False):
    q, v = torch.randn(1, heads, tokens, dim), torch.randn(1, heads, tokens, dim)
    k = torch.nn.functional.normalize(torch.randn(1, heads, tokens, dim), dim=-1)
    decay = torch.rand(1, heads, tokens, dim) if channelwise else torch.rand(1, heads, tokens)
    inputs = [q, k, v, decay * 0.2 + 0.8, torch.rand(1, heads, tokens), torch.randn(1, heads, dim, dim)]
    return "gated_delta_rule", inputs, [torch.empty_like(v), torch.empty(1, heads, dim, dim)]


def update(tokens):
    return "update_cache", [torch.randn(1, tokens, 8, 128), torch.zeros(1, 1024, 8, 128), 100], [torch.empty(1)]


ROWS = {
    "prefill 512, 8 heads of 64": lambda: sdpa(512, 512, 8, 8, 64, False),
    "prefill 512, 8 heads of 64, causal": lambda: sdpa(512, 512, 8, 8, 64, True),
    "prefill 2048, 8 heads of 64, causal": lambda: sdpa(2048, 2048, 8, 8, 64, True),
    "prefill 512, 32 heads over 8 of 128, causal": lambda: sdpa(512, 512, 32, 8, 128, True),
    "decode, 32 heads over 8 of 128, 128 keys": lambda: sdpa(1, 128, 32, 8, 128, True),
    "decode, 32 heads over 8 of 128, 1024 keys": lambda: sdpa(1, 1024, 32, 8, 128, True),
    "decode, 32 heads over 8 of 128, 4096 keys": lambda: sdpa(1, 4096, 32, 8, 128, True),
    "decode, 8 heads of 64, 1024 keys": lambda: sdpa(1, 1024, 8, 8, 64, True),
    "int8 prefill 512, 8 heads of 64": lambda: quantized(512, 512, 8, 8, 64),
    "int8 decode, 32 heads over 8 of 128, 1024 keys": lambda: quantized(1, 1024, 32, 8, 128),
    "delta, 16 heads of 128 x 128, 1 token": lambda: delta(1),
    "delta, 16 heads of 128 x 128, 64 tokens": lambda: delta(64),
    "delta, 16 heads of 128 x 128, 512 tokens": lambda: delta(512),
    "delta of channels, 16 heads of 128 x 128, 1 token": lambda: delta(1, channelwise=True),
    "delta of channels, 16 heads of 128 x 128, 64 tokens": lambda: delta(64, channelwise=True),
    "update_cache, 1 token": lambda: update(1),
    "smallest call: 1 head of 4, 1 key": lambda: sdpa(1, 1, 1, 1, 4, True),
}


def measure(row, rounds):
    name, inputs, outputs = row()
    calls = Call(name, inputs, outputs), Call(name, inputs, [x.clone() for x in outputs], own=True)
    repeats = [max(1, int(LEAST_SECONDS / call.run(2))) for call in calls]
    times = [[], []]
    for _ in range(rounds):
        for i in range(2):
            times[i].append(calls[i].run(repeats[i]))
    for a, b in zip(outputs, calls[1].kept[1]):
        if name != "update_cache":
            assert torch.allclose(a, b, atol=2e-4, rtol=1e-3), (name, (a - b).abs().max())
    return [min(t) for t in times], [statistics.median(t) for t in times], calls[0].bytes


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--json")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--only", default="")
    options = options.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(1)
    rows = {}
    for name, row in ROWS.items():
        if options.only not in name:
            continue
        (fovea, own), (fovea_median, own_median), used = measure(row, options.rounds)
        rows[name] = {"fovea_us": fovea * 1e6, "executorch_us": own * 1e6, "workspace_bytes": used,
                      "median_ratio": own_median / fovea_median}
        print(f"{name:52} {fovea * 1e6:10.1f} us {own * 1e6:10.1f} us  x {own / fovea:5.2f}  {used} bytes", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
