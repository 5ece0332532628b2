# SPDX-License-Identifier: Apache-2.0
"""A whole llama of ExecuTorch's own definition, made at random: with ExecuTorch's kernels, then with fovea's.

A method takes its kernels when it is loaded. So each program is loaded twice in one process: before fovea's library is
there, and after. Outputs are compared, and times are taken alternately. --layers-too adds programs into which to_fovea
put fovea's layers, too. --int4 gives linear layers weights of 4 bits, as ExecuTorch's own recipe for phones does.
--threads measures seconds of the clock, with this number of threads in ExecuTorch's pool.

    python3 models.py --library <libfovea_executorch.so> [--context 1024] [--layers 2] [--dim 512] [--json <file>]
"""
import argparse
import copy
import ctypes
import json
import statistics
import time

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.custom_kv_cache import (replace_kv_cache_with_custom_kv_cache)
from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401
from executorch.extension.llm.export.export_passes import RemoveRedundantTransposes
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from torchao.quantization.granularity import PerGroup
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

from fovea.executorch import KINDS, to_fovea

STEPS = 32


def llama(options):
    args = ModelArgs(dim=options.dim, n_layers=options.layers, n_heads=options.dim // 64,
                     n_kv_heads=max(1, options.dim // 64 // options.group), vocab_size=512,
                     max_seq_len=options.context + STEPS, max_context_len=options.context + STEPS,
                     use_kv_cache=True, use_sdpa_with_kv_cache_op=True, enable_dynamic_shape=True)
    model = construct_transformer(args).eval()
    if options.int4:
        quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    return model


def export(model, context, delegates, kinds=()):
    model = replace_sdpa_with_custom_op(model)
    model = replace_kv_cache_with_custom_kv_cache(model)
    tokens = torch.export.Dim("tokens", max=context)
    example = (torch.zeros(1, 3, dtype=torch.long), {"input_pos": torch.tensor([0])})
    shapes = {1: tokens}, {"input_pos": {0: 1}}
    with torch.no_grad():
        graph = torch.export.export(model, example, dynamic_shapes=shapes, strict=True).module()
        graph = RemoveRedundantTransposes()(graph).graph_module  # as ExecuTorch's own exporter does
        program = torch.export.export(graph, example, dynamic_shapes=shapes, strict=True)
        program = to_fovea(program, kinds) if kinds else program
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()] if delegates else [],
                                       compile_config=EdgeCompileConfig(_check_ir_validity=False))
    return edge.to_executorch().buffer


# Name: whether XNNPACK has what is left, and what to_fovea puts in.
LAYERS = {"fovea's layers, portable": (False, KINDS), "fovea's layers, xnnpack": (True, KINDS),
          "fovea's but linear, xnnpack": (True, KINDS - {"linear_activation"})}


class Session:
    clock = time.thread_time  # of the processor: the pool has this thread alone

    def __init__(self, buffer):
        self.program = Runtime.get().load_program(buffer)
        self.method = self.program.load_method("forward")

    def run(self, tokens, position):
        start = Session.clock()
        (logits,) = self.method.execute([tokens, torch.tensor([position])])
        return logits.clone(), Session.clock() - start


def compare(sessions, context, rounds):
    prompt = torch.randint(0, 512, (1, context))
    new = torch.randint(0, 512, (STEPS, 1, 1))
    names = list(sessions)
    times = {name: {"prefill": [], "decode": []} for name in names}
    largest = 0.0
    for _ in range(rounds):
        outputs = {}
        for name in names:
            logits, seconds = sessions[name].run(prompt, 0)
            times[name]["prefill"].append(seconds)
            outputs[name] = [logits]
        for step in range(STEPS):
            for name in names:
                logits, seconds = sessions[name].run(new[step], context + step)
                times[name]["decode"].append(seconds)
                outputs[name].append(logits)
        for name in names[1:]:
            for a, b in zip(outputs[names[0]], outputs[name]):
                largest = max(largest, (a - b).abs().max().item() / max(1.0, a.abs().max().item()))
    return {name: {kind: (min(t), statistics.median(t)) for kind, t in kinds.items()} for name, kinds in times.items()}, largest


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--library", required=True)
    options.add_argument("--context", type=int, nargs="+", default=[1024])
    options.add_argument("--layers", type=int, default=2)
    options.add_argument("--dim", type=int, default=512)
    options.add_argument("--group", type=int, default=1, help="query heads of a key head")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--portable", action="store_true")
    options.add_argument("--layers-too", action="store_true")
    options.add_argument("--int4", action="store_true")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--json")
    options = options.parse_args()
    contexts, rows = options.context, []
    most = 0.05 if options.int4 else 1e-4  # a number that is rounded the other way changes a code of the next layer
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(options.threads)
    if options.threads > 1:
        Session.clock = time.perf_counter
    buffers, layers = {}, {}
    for context in contexts:
        options.context = context
        torch.manual_seed(0)
        model = llama(options)
        kinds = {"xnnpack": True, **({"portable": False} if options.portable else {})}
        layers[context] = {kind: export(copy.deepcopy(model), context, *how)
                           for kind, how in LAYERS.items() if options.layers_too and (how[0] or not options.int4)}
        buffers[context] = {kind: export(copy.deepcopy(model), context, delegates) for kind, delegates in kinds.items()}
    sessions = {context: {f"{kind}, executorch": Session(buffer) for kind, buffer in kinds.items()} for context, kinds in buffers.items()}
    ctypes.CDLL(options.library)
    for context, kinds in buffers.items():
        for kind, buffer in kinds.items():
            sessions[context][f"{kind}, fovea"] = Session(buffer)
        sessions[context].update({kind: Session(buffer) for kind, buffer in layers[context].items()})
        times, largest = compare(sessions[context], context, options.rounds)
        for name, kinds_of_times in times.items():
            line = {kind: round(t[0] * 1e3, 3) for kind, t in kinds_of_times.items()}
            rows.append({"context": context, "weights": "int4" if options.int4 else "f32", "threads": options.threads,
                         "kernels": name, **line, "difference": largest})
            print(f"llama {context:5} {name:28} prefill {line['prefill']:9.2f} ms  decode "
                  f"{line['decode']:8.3f} ms  largest difference {largest:.1e}", flush=True)
        assert largest < most, largest
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
