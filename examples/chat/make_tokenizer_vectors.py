#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tokenizer_vectors.bin: texts, and their tokens by Hugging Face's tokenizer with a model's vocabulary.

    pip install numpy tokenizers==0.23.3
    make_tokenizer_vectors.py SmolLM2-135M-Instruct.Q4_1.gguf > tokenizer_vectors.bin

The pre-tokenizers are those of SmolLM2's tokenizer.json: Digits(individual_digits) and ByteLevel. Each text is also split by \\p{N}
instead of Digits, as in llama.cpp's "smollm"; the script fails if the results differ. Texts have only characters of Unicode 14,
which Python 3.11 knows: for newer characters the package's own tables differ from one another.

The file has for each text, little-endian: the FNV-1a hash of its tokens, four bytes a token (64 bits); those of the bytes of its
pieces as Qwen2 and as Llama 3 split it, four bytes a piece (2 of 64); the number of tokens (16); the number of bytes of the text
(16); 1 if the texts of special tokens become these tokens, else 0 (8); the text in UTF-8.
"""
import random
import struct
import sys
import unicodedata

from reference import read_values
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

TEXTS = 2000
CONTROL = 3  # a token's type
# The expressions of Qwen2's and Llama 3's tokenizer.json, which differ in one place.
MODERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|NUMBER| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
NUMBERS_OF = {"qwen2": r"\p{N}", "llama3": r"\p{N}{1,3}"}

# Blocks of Unicode's Blocks.txt: some of each kind of script.
BLOCKS = [
    (0x0021, 0x007e), (0x00a1, 0x00ff), (0x0100, 0x024f), (0x0250, 0x02ff), (0x0300, 0x036f), (0x0370, 0x03ff), (0x0400, 0x04ff),
    (0x0531, 0x058f), (0x0591, 0x05f4), (0x0600, 0x06ff), (0x0900, 0x097f), (0x0980, 0x09ff), (0x0b80, 0x0bff), (0x0e00, 0x0e7f),
    (0x0f00, 0x0fff), (0x1000, 0x109f), (0x10a0, 0x10ff), (0x1100, 0x11ff), (0x1200, 0x137f), (0x13a0, 0x13ff), (0x1780, 0x17ff),
    (0x1800, 0x18af), (0x1e00, 0x1eff), (0x1f00, 0x1fff), (0x2010, 0x2027), (0x2030, 0x205e), (0x2070, 0x20cf), (0x2100, 0x218b),
    (0x2190, 0x23ff), (0x2460, 0x24ff), (0x2500, 0x27bf), (0x2800, 0x28ff), (0x2c00, 0x2c7f), (0x3001, 0x303f), (0x3041, 0x30ff),
    (0x3105, 0x312f), (0x3200, 0x32ff), (0x4e00, 0x9fff), (0xa000, 0xa48c), (0xac00, 0xd7a3), (0xe000, 0xe0ff), (0xf900, 0xfaff),
    (0xfb00, 0xfdff), (0xfe00, 0xfe6f), (0xff01, 0xffee), (0x10000, 0x100ff), (0x10300, 0x1034f), (0x12000, 0x1236f),
    (0x1d400, 0x1d7ff), (0x1f300, 0x1faff), (0x20000, 0x200ff), (0xe0100, 0xe01ef),
]
ALL = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
NUMBERS = [c for c in ALL if unicodedata.category(c)[0] == "N"]
SPACES = [c for c in ALL if unicodedata.category(c)[0] == "Z" or c in "\t\n\v\f\r\x85"]
CONTROLS = [c for c in ALL if unicodedata.category(c) in ("Cc", "Cf")]
WORDS = """a able about attention because bytes can cat don every for from giraffe house I in is It keys language Little model
    Number of on page query seven small that the The their then to token under value was we What where with word would you""".split()
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'Re", "'", "''s", "\u2019s", "'x", "'l", "'v"]
EMOJI = ["\U0001f600", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "1\ufe0f\u20e3",
         "\U0001f1eb\U0001f1f7", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\U0001f9d1\u200d\U0001f680"]
CODE = ["int main(void) {", "    return x->y[i++] << 3;", "\tif (a != b) {", "}", "for i in range(10):", "        print(f\"{i:02d}\")",
        "#include <stdio.h>", "// ----------------", "x = {'a': 1, 'b': [2, 3]}", "SELECT * FROM t WHERE id>=42;", "</div>", "$HOME/.cache",
        "a_snake_case and camelCase", "0x1F, 1e-9, 3.14", "https://example.org/a?b=c&d=%20", "===", "...", "\\n", "\r\n"]


def tokenizer(values, first_split, specials):
    texts = [text.decode() for text in values["tokenizer.ggml.tokens"]]
    merges = [tuple(merge.decode().split(" ")) for merge in values["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE({text: i for i, text in enumerate(texts)}, merges))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([first_split, byte_level])
    if specials:
        types = values["tokenizer.ggml.token_type"]
        made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text, kind in zip(texts, types) if kind == CONTROL])
    return made


def some(draw, most, make, between=""):
    return between.join(make() for _ in range(draw.randint(1, most)))


def word(draw):
    first, last = draw.choice(BLOCKS)
    characters = [chr(code) for code in range(first, last + 1) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    return some(draw, 6, lambda: draw.choice(characters))


def run(draw):
    """One or two characters, repeated; sometimes longer than a window of the tokenizer."""
    unit = draw.choice([" ", "=", "-", "a", "ab", "\n", "\t", "\u00e9", "\u4f60", "\u3000", "'", "na", "\U0001f600", ".", " \n", "x'"])
    return unit * draw.choice([2, 3, 5, 8, 13, 31, 64, 100])


def line(draw, specials):
    makers = [
        lambda: word(draw),
        lambda: some(draw, 8, lambda: draw.choice(WORDS), " "),
        lambda: draw.choice(WORDS) + draw.choice(CONTRACTIONS) + draw.choice(["", "x", " "]),
        lambda: some(draw, 4, lambda: draw.choice(NUMBERS)),
        lambda: some(draw, 5, lambda: draw.choice("0123456789")),
        lambda: some(draw, 4, lambda: draw.choice(SPACES)),
        lambda: draw.choice(EMOJI),
        lambda: draw.choice(CODE) + draw.choice(["", "\n", "\n\n"]),
        lambda: draw.choice(ALL),
        lambda: draw.choice(CONTROLS),
        lambda: run(draw) if draw.random() < 0.3 else draw.choice(WORDS),
        lambda: draw.choice(specials) if draw.random() < 0.5 else draw.choice(specials)[:-1],
    ]
    text = some(draw, 7, lambda: draw.choice(makers)(), draw.choice(["", " "]))
    return text[0].upper() + text[1:] if draw.random() < 0.2 else text


def long_lines(draw):
    """Texts without spaces that are longer than a window: random words, or a repeated one."""
    for count in (1023, 1024, 1025, 1536, 2500):
        yield "".join(draw.choice(WORDS) for _ in range(count))[:count]
    yield "\u4f60\u597d\u4e16" * 500
    yield " " * 3001 + "x"
    yield "-" * 2049


def fnv1a(tokens):
    state = 0xcbf29ce484222325
    for byte in struct.pack(f"<{len(tokens)}I", *tokens):
        state = (state ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return state


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    values, _, _ = read_values(sys.argv[1])
    types = values["tokenizer.ggml.token_type"]
    specials = [text.decode() for text, kind in zip(values["tokenizer.ggml.tokens"], types) if kind == CONTROL]
    digits, numbers = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Split(Regex(r"\p{N}"), "isolated")
    plain, plain_numbers, special = (tokenizer(values, digits, False), tokenizer(values, numbers, False), tokenizer(values, digits, True))
    splits = [pre_tokenizers.Split(Regex(MODERN.replace("NUMBER", number)), "isolated") for number in NUMBERS_OF.values()]
    draw = random.Random(1)
    texts = list(long_lines(draw))
    texts += [line(draw, specials) for _ in range(TEXTS - len(texts))]
    for i, text in enumerate(texts):
        is_special = i % 4 == 3
        made = special if is_special else plain
        tokens = made.encode(text, add_special_tokens=False).ids
        if made is plain and tokens != plain_numbers.encode(text, add_special_tokens=False).ids:
            sys.exit(f"Digits and \\p{{N}} differ: {text!r}")
        pieces = [fnv1a([len(piece.encode()) for piece, _ in split.pre_tokenize_str(text)]) for split in splits]
        head = struct.pack("<QQQHHB", fnv1a(tokens), *pieces, len(tokens), len(text.encode()), is_special)
        sys.stdout.buffer.write(head + text.encode())


if __name__ == "__main__":
    main()
