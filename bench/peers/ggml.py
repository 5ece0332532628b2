#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""llama.cpp with its own kernels and with fovea's backend, in llama-bench's units: tokens a second.

    ./run model && python3 bench/peers/ggml.py [--target avx2] [--test]

Builds llama.cpp as bench/peers/chat.py does, and platform/engines/ggml for it. Then llama-bench runs alternately with and without
the backend, with flash attention: prompts of 512 tokens and answers of 64 at several depths, medians of the rounds. Then both answer
prompts, and the divergence of their next tokens in a text is printed, and that of ggml without flash attention. --test: ggml's own tests.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import chat
import compare
from compare import ROOT, Fault

OPERATORS = ("MUL_MAT", "MUL_MAT_ID", "FLASH_ATTN_EXT", "GATED_DELTA_NET", "L2_NORM", "SWIGLU", "GEGLU", "GEGLU_ERF", "REGLU")


def build(options, *targets):
    """Programs of llama.cpp, and the backend for them: the folder of programs, and the library."""
    bench = chat.llama_bench(options.llama, options.target)
    source = options.llama / chat.RELEASE
    _, name, arguments = chat.TARGETS[options.target]
    if targets:
        chat.run("cmake", "-S", source / "vendor" / "llama.cpp", "-B", source / name, *chat.CMAKE, *arguments, "-DLLAMA_BUILD_TESTS=ON")
        chat.run("cmake", "--build", source / name, "--parallel", os.cpu_count(), "--target", *targets)
    folder = ROOT / "build" / f"ggml_{options.target}"
    flags = [f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/toolchains/x86-64-avx2.cmake"] if options.target == "avx2" else []
    chat.run("cmake", "-S", ROOT / "platform/engines/ggml", "-B", folder, f"-DGGML_SOURCE={source}/vendor/llama.cpp",
             *(f"-DFOVEA_BUILD_{part}=OFF" for part in ("TESTS", "BENCH", "EXAMPLES")), *flags)
    chat.run("cmake", "--build", folder, "--parallel", os.cpu_count(), "--target", "ggml-fovea")
    return bench.parent, folder / "libggml-fovea.so"


def run(program, *arguments, backend=None):
    environment = {name: value for name, value in os.environ.items() if name != "GGML_BACKEND_PATH"}
    if backend:
        environment["GGML_BACKEND_PATH"] = str(backend)
    done = subprocess.run([str(word) for word in (program, *arguments)], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise Fault(f"{program.name} failed: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout + (done.stderr if "perplexity" in program.name else "")


def test(programs, backend):
    """ggml's own tests: the closing line of each operator, and how many of its cases the backend does not take."""
    for operator in OPERATORS:
        said = run(programs / "test-backend-ops", "test", "-b", "fovea", "-o", operator, backend=backend)
        passed = re.search(r"(\d+)/(\d+) tests passed", said)
        if not passed or passed[1] != passed[2] or passed[2] == "0":
            raise Fault(f"{operator}: {said[-2000:]}")
        print(f"{operator}: {passed[0]}, {said.count('not supported')} not taken", flush=True)


def tokens_a_second(programs, model, threads, depth, backend):
    more = ["-fa", "1", "-r", "1", "-o", "json", *(["-dev", "fovea"] if backend else [])]
    said = run(programs / "llama-bench", "-m", model, "-t", threads, "-d", depth, "-p", 512, "-n", 64, *more, backend=backend)
    return {"pp512" if one["n_prompt"] else "tg64": one["avg_ts"] for one in json.loads(said)}


def speed(programs, backend, options):
    rows = []
    print("| test | threads | ggml | fovea | ratio |\n| --- | ---: | ---: | ---: | ---: |")
    for threads in options.threads:
        os.sched_setaffinity(0, list(range(os.cpu_count()))[-threads:])
        for depth in options.depths:
            samples = [[tokens_a_second(programs, options.model, threads, depth, by) for by in (None, backend)] for _ in range(options.rounds)]
            for name in ("pp512", "tg64"):
                theirs, ours = speeds = [statistics.median(sample[i][name] for sample in samples) for i in (0, 1)]
                rows += [{"name": f"{name} @ d{depth}, {threads}", "library": library, "target": options.target, "tokens_a_second": each}
                         for library, each in zip(("ggml", "fovea"), speeds)]
                print(f"| {name} @ d{depth} | {threads} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f} |", flush=True)
    return rows


def answers(programs, backend, options):
    """The words that both answer, and how far their next tokens are apart."""
    ours = ["-fa", "on", "--device", "fovea"]
    for prompt in ("The capital of France is", "Once upon a time", "Water boils at"):
        words = [programs / "llama-completion", "-m", options.model, "-p", prompt, "-n", 48, "--temp", 0, "-no-cnv"]
        said = run(*words, "-fa", "on"), run(*words, *ours, backend=backend)
        print(f"greedy answers to {prompt!r} " + ("are the same" if said[0] == said[1] else f"differ: {said[0]!r} and {said[1]!r}"))
    words = ["-m", options.model, "-f", options.text, "-c", 512, "-b", 512, "--chunks", 6]  # one text at a time: its mask is causal
    words += ["--kl-divergence-base", ROOT / "build" / "ggml.logits"]
    run(programs / "llama-perplexity", *words, "-fa", "on")
    apart = []
    for name, more, by in (("ggml without flash attention", ["-fa", "off"], None), ("fovea", ours, backend)):
        found = run(programs / "llama-perplexity", *words, "--kl-divergence", *more, backend=by)
        apart.append([float(re.search(rf"Mean +{what} *: +([0-9.]+)", found)[1]) for what in (r"PPL.Q./PPL.base.", "KLD")])
        print(f"{name}: perplexity times {apart[-1][0]}, mean divergence {apart[-1][1]}")
    if apart[1][1] > 2 * apart[0][1]:
        raise Fault("next tokens are further from ggml's than orders of sums explain")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=chat.TARGETS, default="native", help="the instructions of both")
    parser.add_argument("--llama", type=pathlib.Path, default=ROOT / "build" / "llama", help="where llama.cpp is, or is to be built")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "build" / "model" / "SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "bench" / "README.md", help="for the perplexity")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--depths", type=int, nargs="+", default=[0, 1024, 4096])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--json", help="write the speeds to this file")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "host", help="where fovea_bench is, which knows the machine")
    options = parser.parse_args()
    programs, backend = build(options, *(["test-backend-ops"] if options.test else ["llama-completion", "llama-perplexity"]))
    if options.test:
        test(programs, backend)
    else:
        rows = speed(programs, backend, options)
        answers(programs, backend, options)
    if options.json:
        host, bounds = compare.probes(options.build / "bench" / "fovea_bench", True)
        host["versions"] = {"llama.cpp": f"of {chat.RELEASE}"}
        compare.write_json(options.json, {"host": host, "probes": bounds, "results": rows})


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fault as fault:
        sys.exit(f"ggml.py: {fault}")
