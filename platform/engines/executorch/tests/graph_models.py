# SPDX-License-Identifier: Apache-2.0
"""Whole models, made at random: with ExecuTorch's kernels, with XNNPACK, and with the operators that to_fovea puts in.

Programs of ExecuTorch's kernels are loaded before fovea's library, the others after it. Outputs are compared with
PyTorch's, and times are taken alternately.

    FOVEA_LIBRARY=<libfovea_python.so> PYTHONPATH=<platform/packages/python> \\
        python3 graph_models.py --library <libfovea_executorch.so> [--models vit bert ...] [--rounds 5] [--json <file>]
"""
import argparse
import ctypes
import json
import time
import unittest.mock

import torch
import torchvision
import transformers
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.examples.models.llama import attention
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from torch.utils._pytree import tree_flatten

from fovea.executorch import KINDS, to_fovea

MOST_DIFFERENCE = 1e-4  # of the largest output


def vit():
    """DeiT tiny's sizes, with a quarter of its layers."""
    model = torchvision.models.VisionTransformer(image_size=224, patch_size=16, num_layers=3, num_heads=3, hidden_dim=192, mlp_dim=768)
    torch.nn.init.normal_(model.heads.head.weight)  # zeros by default, which would make all outputs equal
    return model, (torch.randn(1, 3, 224, 224),)


def bert():
    config = transformers.BertConfig(hidden_size=256, num_hidden_layers=2, num_attention_heads=4,
                                     intermediate_size=1024, vocab_size=1000, attn_implementation="sdpa")
    model = transformers.BertModel(config, add_pooling_layer=False)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, tokens, mask):
            return self.model(input_ids=tokens, attention_mask=mask)[0]

    mask = torch.ones(2, 128, dtype=torch.long)
    mask[1, 90:] = 0
    return Encoder(), (torch.randint(0, 1000, (2, 128)), mask)


def language_model(**given):
    args = ModelArgs(n_layers=2, vocab_size=512, max_seq_len=256, max_context_len=256, generate_full_logits=True, **given)
    return construct_transformer(args), (torch.randint(0, 512, (1, 128)),)


def llama():
    return language_model(dim=512, n_heads=8, n_kv_heads=2)


def qwen3_5():
    """A layer of gated delta rule, then one of attention."""
    model, (tokens,) = language_model(dim=256, n_heads=4, n_kv_heads=2, head_dim=64, use_kv_cache=True,
                          layer_types=["linear_attention", "full_attention"], linear_key_head_dim=32,
                          linear_value_head_dim=32, linear_num_key_heads=4, linear_num_value_heads=8,
                          partial_rotary_factor=0.25, use_q_gate=True, use_qk_norm=True, qk_norm_before_rope=True,
                          rms_norm_add_unit_offset=True, use_hf_rope=True)
    return model, (tokens, {"input_pos": torch.arange(tokens.shape[1])})


MODELS = {"vit": vit, "bert": bert, "llama": llama, "qwen3_5": qwen3_5}
CONFIG = EdgeCompileConfig(_check_ir_validity=False)


def lower(program, delegates):
    partitioner = [XnnpackPartitioner()] if delegates else []
    return to_edge_transform_and_lower(program, partitioner=partitioner, compile_config=CONFIG).to_executorch().buffer


class Session:
    def __init__(self, buffer):
        self.buffer = buffer
        self.program = Runtime.get().load_program(buffer)
        self.method = self.program.load_method("forward")

    def run(self, inputs):
        start = time.thread_time()  # of the processor: the pool has this thread alone
        (out,) = self.method.execute(tree_flatten(inputs)[0])
        return out, time.thread_time() - start


def compare(name, sessions, inputs, expected, rounds):
    rows, times = [], {kind: [] for kind in sessions}
    for i in range(rounds):
        for kind, session in sessions.items():
            out, seconds = session.run(inputs)
            times[kind].append(seconds)
            if i == 0:
                difference = (out - expected).abs().max().item() / expected.abs().max().item()
                rows.append({"model": name, "kernels": kind, "difference": difference})
    for row in rows:
        row["ms"] = round(min(times[row["kernels"]]) * 1e3, 3)
        print(f"{name:8} {row['kernels']:32} {row['ms']:9.2f} ms  difference {row['difference']:.1e}", flush=True)
    assert all(row["difference"] < MOST_DIFFERENCE for row in rows), rows
    return rows


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--library", required=True)
    options.add_argument("--models", nargs="+", default=list(MODELS))
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json")
    options = options.parse_args()
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(1)
    cases = {}
    for name in options.models:
        torch.manual_seed(0)
        model, inputs = MODELS[name]()
        model = model.eval()
        with torch.no_grad():
            program = torch.export.export(model, inputs)
            with unittest.mock.patch.object(attention, "_get_gated_delta_rule_op", lambda: None):
                expected = model(*inputs)  # the operator does not run outside of a program: this is its loop in Python
            sessions = {"portable": Session(lower(program, False)), "xnnpack": Session(lower(program, True))}
            replaced = to_fovea(program)
            buffers = {"fovea, portable": lower(replaced, False), "fovea, xnnpack": lower(replaced, True),
                       "fovea's attention, xnnpack": lower(to_fovea(program, {"attention"}), True),
                       "fovea's but linear, xnnpack": lower(to_fovea(program, KINDS - {"linear_activation"}), True)}
        cases[name] = inputs, expected, sessions, buffers
    ctypes.CDLL(options.library)
    rows = []
    for name, (inputs, expected, sessions, buffers) in cases.items():
        sessions.update({kind: Session(buffer) for kind, buffer in buffers.items()})
        rows += compare(name, sessions, inputs, expected, options.rounds)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
