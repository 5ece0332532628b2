#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares sentence_similarity with PyTorch's embeddings (reference.txt), and its messages and exit codes with its
README.

    check.py [--least COSINE] [--longest CHARACTERS] [--embeddings-only] MODEL PROGRAM...

PROGRAM may be several words, an emulator first. Needs only Python. Exit code: 0; 1 if something is wrong; 77 if there
is no model, which ctest counts as skipped.
"""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

DIGITS = {digit: i for i, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
WIDTH = 384
SKIPPED = 77
failures = 0


def check(right, what):
    global failures
    if not right:
        failures += 1
        print(f"wrong: {what}")


def run(program, arguments, lines=()):
    text = "".join(line + "\n" for line in lines)
    return subprocess.run([*program, *arguments], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def reference(path):
    sentences = []
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        digits, sentence = line.split("\t", 1)
        embedding = [DIGITS[digits[i]] * 64 + DIGITS[digits[i + 1]] - 2048 for i in range(0, len(digits), 2)]
        sentences.append((sentence, embedding))
    return sentences


def cosine(a, b):
    return math.fsum(x * y for x, y in zip(a, b)) / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))


def check_embeddings(program, model, least, longest):
    sentences = [s for s in reference(pathlib.Path(__file__).parent / "reference.txt") if len(s[0]) <= longest]
    result = run(program, ["--embedding", model], [sentence for sentence, _ in sentences])
    answers = [[float(x) for x in line.split()] for line in result.stdout.decode().split("\n")[:-1]]
    check(result.returncode == 0, f"exit code {result.returncode}: {result.stderr.decode()}")
    check(len(answers) == len(sentences), f"{len(answers)} embeddings of {len(sentences)} sentences")
    worst = 1.0
    for (sentence, want), answer in zip(sentences, answers):
        check(len(answer) == WIDTH, f"{len(answer)} elements of {sentence[:60]!r}")
        check(abs(math.fsum(x * x for x in answer) - 1) < 1e-5, f"the length of the embedding of {sentence[:60]!r}")
        similarity = cosine(answer, want)
        check(similarity >= least, f"cosine {similarity:.7f} of {sentence[:60]!r}")
        worst = min(worst, similarity)
    print(f"{len(answers)} sentences; least cosine with PyTorch's embeddings: 1 - {1 - worst:.1e}; allowed: 1 - {1 - least:.1e}")


def check_failure(program, arguments, code, message, lines=()):
    result = run(program, arguments, lines)
    text = result.stderr.decode(errors="replace")
    check(result.returncode == code and message in text and not result.stdout,
          f"{arguments[:2]}: exit code {result.returncode}, not {code}, or no {message!r} in {text!r}")


def check_failures(program, model):
    data = pathlib.Path(model).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        def other(name, content):
            path = pathlib.Path(folder) / name
            path.write_bytes(content)
            return str(path)

        middle = len(data) // 2
        changed = bytes([data[middle] ^ 1])
        check_failure(program, [str(pathlib.Path(folder) / "none"), "a"], 1, "No such file")
        check_failure(program, [folder, "a"], 1, "is not a file")
        check_failure(program, [other("empty", b""), "a"], 1, "too short")
        check_failure(program, [other("header", data[:64]), "a"], 1, "cut short")
        check_failure(program, [other("short", data[:middle]), "a"], 1, "cut short")
        check_failure(program, [other("long", data + b"\0"), "a"], 1, "behind its header")
        check_failure(program, [other("changed", data[:middle] + changed + data[middle + 1:]), "a"], 1, "checksum")
        check_failure(program, [other("text", b"no model, but text\n" * 100), "a"], 1, "is not a model")
        check_failure(program, [other("version", data[:8] + b"\2" + data[9:]), "a"], 1, "is of version 2")
        check_failure(program, [other("shape", data[:21] + b"\2" + data[22:]), "a"], 1, "another shape")
    check_failure(program, [], 2, "usage")
    check_failure(program, ["--what", model], 2, "no such option")
    check_failure(program, ["--compute", "i9", model], 2, "--compute takes f32, f16 or i8, not: i9")
    check_failure(program, ["--compute"], 2, "--compute takes f32, f16 or i8")
    for option in ("--embedding", "--what"):
        check_failure(program, [model, option, "a"], 2, f"an option behind MODEL: {option}\nusage")
        check_failure(program, [model, "a", option], 2, f"an option behind MODEL: {option}\nusage")
    check_failure(program, [model, "a ", "a " * 255], 3, "sentence 2 has 257 tokens")
    check_failure(program, [model], 3, "sentence 3 has 257 tokens", ["a", "b", "a " * 255])


def check_ranking(program, model):
    sentences = ["How do I reset my password?", "The weather is lovely today.", "I forgot my login, what should I do?"]
    for arguments, lines in ((sentences, ()), ((), sentences)):
        result = run(program, [model, *arguments], lines)
        output = result.stdout.decode().split("\n")
        order = [line[8:] for line in output[:3]]
        check(result.returncode == 0 and order == [sentences[0], sentences[2], sentences[1]], f"ranking: {output}")
        check("activations" in result.stdout.decode(), "the size of the arena is not told")
    result = run(program, [model, "--", "--embedding", "--"])
    output = result.stdout.decode().split("\n")
    check(result.returncode == 0 and output[0][8:] == "--embedding" and output[1][8:] == "--", f"sentences behind a lone --: {output}")


def check_bench(program, model, least):
    result = run(program, ["--bench", model, "How do I reset my password?"])
    columns = [float(x) for x in result.stdout.split()]
    check(result.returncode == 0 and len(columns) == (6 if "--compute" in program else 3) and columns[0] == 9 and
          all(x > 0 for x in columns), f"bench: {columns}")
    check(len(columns) < 6 or columns[5] >= least, f"bench: a cosine of {columns[-1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=float, default=1 - 1e-5, help="least cosine that is right")
    parser.add_argument("--longest", type=int, default=sys.maxsize, help="leave out sentences of more characters")
    parser.add_argument("--embeddings-only", action="store_true", help="leave out messages and exit codes")
    parser.add_argument("model")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not pathlib.Path(options.model).exists():
        print(f"skipped: there is no {options.model}; ./run model makes it")
        return SKIPPED
    check_embeddings(options.program, options.model, options.least, options.longest)
    if not options.embeddings_only:
        check_failures(options.program, options.model)
        check_ranking(options.program, options.model)
        check_bench(options.program, options.model, options.least)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
