#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws results of the benchmark: bench/plot.py bench.json --peers peers.json --out folder

bench.json is from fovea_bench --json, peers.json from bench/peers/compare.py --json; either may be left out. Writes
    roofline.svg   speed over operations for each byte that must be read or written, with the machine's limits
    tokens.svg     time over tokens, with the peers
    peers.svg      time of each peer for each case, as a multiple of fovea's
Needs matplotlib, see bench/peers/requirements.txt.
"""
import argparse
import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "fovea", "font.family": "sans-serif", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.axisbelow": True,
    "legend.frameon": False, "figure.facecolor": "white",
})
SUITE_COLOURS = {"prefill": "#1f5fa8", "causal": "#2a9d8f", "decode": "#d1495b", "small": "#edae49", "options": "#8d6cab",
                 "shape": "#555555"}
LIBRARY_STYLE = {"fovea": ("#1f5fa8", "o"), "fovea, AVX2": ("#8fb3d9", "o"), "ORT Attention": ("#e07a3f", "s"), "ORT MHA/GQA": ("#f2b880", "D"),
                 "PyTorch": ("#b5365c", "^"), "NumPy": ("#8a8a8a", "v")}


MOST_ROWS = 20  # of peers.svg


def attention_in_f32(result):
    return result.get("flops") and result["suite"] in SUITE_COLOURS and result["shape"].get("compute", "f32") == "f32"


def load(path):
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    data["results"] = [r for r in data["results"] if r.get("ns_median") and attention_in_f32(r)]
    return data


def style(library):
    return LIBRARY_STYLE.get(library, ("#444444", "x"))


def caption(data):
    host = data["host"]
    return f"{host['processor']}, {host['compiler']}, one thread, f32"


def save(figure, folder, name):
    """Without what no viewer shows: who made the file, and a line for each point."""
    figure.savefig(folder / name, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", (folder / name).read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"(\d+\.\d\d)\d+", r"\1", re.sub(r"\s+", " ", text))
    (folder / name).write_text(re.sub(r"(</g>) (?=<g id=\"(?:axes|legend|figure|matplotlib))", r"\1\n", text).strip() + "\n", encoding="utf-8")
    print(folder / name)


def roofline(bench, peers, folder):
    data = bench or peers
    probes = data["probes"]
    figure, axes = plt.subplots(figsize=(7.5, 4.8))
    intensity = np.geomspace(0.3, 2000, 200)
    ceiling = max(probes["fma_gflops"].values())
    for level, gbps in probes["read_gbps"].items():
        reach = intensity[intensity * gbps <= ceiling]
        if len(reach) == 0:
            continue
        axes.plot(np.append(reach, ceiling / gbps), np.append(reach * gbps, ceiling), color="#999999", linewidth=0.9)
        axes.text(0.32, 0.34 * gbps, f"{level.upper()} {gbps:.0f} GB/s", fontsize=7, color="#666666", va="bottom")
    for target, gflops in probes["fma_gflops"].items():
        if target in ("avx512", "avx2", "neon"):
            axes.axhline(gflops, color="#999999", linewidth=0.9)
            axes.text(1900, gflops * 1.03, f"{target} multiply-add {gflops:.0f} GFLOP/s", fontsize=7, color="#666666", ha="right")
    if peers:
        for library in dict.fromkeys(r["library"] for r in peers["results"]):
            points = [r for r in peers["results"] if r["library"] == library]
            if library == "fovea" and bench:
                continue
            colour, marker = style(library)
            axes.scatter([r["flops"] / r["bytes"] for r in points], [r["gflops"] for r in points], s=16, marker=marker,
                         color=colour, alpha=0.55, linewidths=0, label=library)
    if bench:
        best = next(iter(probes["fma_gflops"]))
        attention = [r for r in bench["results"] if r.get("flops") and r["target"] == best]
        for suite in dict.fromkeys(r["suite"] for r in attention):
            points = [r for r in attention if r["suite"] == suite]
            axes.scatter([r["flops"] / r["bytes"] for r in points], [r["gflops"] for r in points], s=26,
                         color=SUITE_COLOURS.get(suite, "#555555"), edgecolors="white", linewidths=0.4, zorder=3,
                         label=f"fovea, {suite}")
    axes.set(xscale="log", yscale="log", xlim=(0.3, 2000), ylim=(1, 1.6 * ceiling), xlabel="operations for each byte of input and output",
             ylabel="GFLOP/s", title="Attention below the machine's limits")
    axes.legend(fontsize=7, loc="lower right", ncol=2)
    figure.text(0.5, -0.01, caption(data), ha="center", fontsize=7, color="#666666")
    save(figure, folder, "roofline.svg")


def tokens(peers, folder):
    panels = [("prefill", 64, "q", "8 heads, head_dim 64, all keys"), ("causal", 64, "q", "8 heads, head_dim 64, causal"),
              ("decode", 128, "k", "one query, 32 heads over 8, head_dim 128")]
    figure, axes = plt.subplots(1, len(panels), figsize=(10, 3.4))
    for axis, (suite, dim, count, title) in zip(axes, panels):
        chosen = [r for r in peers["results"] if r["suite"] == suite and r["shape"]["dim"] == dim]
        for library in dict.fromkeys(r["library"] for r in chosen):
            points = sorted((r["shape"][count], r["ns_median"] * 1e-6) for r in chosen if r["library"] == library)
            colour, marker = style(library)
            axis.plot(*zip(*points), marker=marker, color=colour, markersize=4, linewidth=1.8 if library == "fovea" else 1,
                      label=library, zorder=3 if library == "fovea" else 2)
        ticks = sorted({r["shape"][count] for r in chosen})
        axis.set(xscale="log", yscale="log", title=title, xlabel="keys" if count == "k" else "tokens")
        axis.set_xticks(ticks, [str(tick) for tick in ticks])
        axis.minorticks_off()
        axis.title.set_fontsize(9)
    axes[0].set_ylabel("milliseconds")
    axes[0].legend(fontsize=7)
    figure.text(0.5, -0.05, caption(peers), ha="center", fontsize=7, color="#666666")
    save(figure, folder, "tokens.svg")


def bars(peers, folder):
    by_case = {}
    for r in peers["results"]:
        by_case.setdefault(r["name"], {})[r["library"]] = r["ns_median"]
    names = [name for name, times in by_case.items() if "fovea" in times and len(times) > 1][:MOST_ROWS]
    libraries = [x for x in dict.fromkeys(r["library"] for r in peers["results"]) if x != "fovea"]
    figure, axis = plt.subplots(figsize=(7.5, 0.36 * len(names) + 1.2))
    height = 0.84 / len(libraries)
    for i, library in enumerate(libraries):
        where, widths = [], []
        for row, name in enumerate(names):
            if library in by_case[name]:
                where.append(row + (i - (len(libraries) - 1) / 2) * height)
                widths.append(by_case[name][library] / by_case[name]["fovea"])
        axis.barh(where, [width - 1 for width in widths], height * 0.92, left=1, color=style(library)[0], label=library)
    axis.axvline(1, color=style("fovea")[0], linewidth=1.5)
    axis.text(1, -0.75, " fovea", color=style("fovea")[0], fontsize=8, ha="left")
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set(xscale="log", ylim=(len(names) - 0.4, -1.1))
    axis.xaxis.tick_top()
    axis.xaxis.set_label_position("top")
    axis.set_xlabel(f"time, as a multiple of fovea's\n{caption(peers)}", fontsize=8)
    ticks = [0.5, 1, 2, 4, 8, 16, 32]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    widest = max(ns / times["fovea"] for times in (by_case[name] for name in names) for ns in times.values())
    axis.set_xlim(0.7, 1.2 * widest)
    axis.grid(axis="y", visible=False)
    axis.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1 + 2 / (len(names) + 1)), ncol=len(libraries))
    save(figure, folder, "peers.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="?")
    parser.add_argument("--peers")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    bench, peers = load(options.bench), load(options.peers)
    if not bench and not peers:
        sys.exit("nothing to draw: see --help")
    options.out.mkdir(parents=True, exist_ok=True)
    roofline(bench, peers, options.out)
    if peers:
        tokens(peers, options.out)
        bars(peers, options.out)


if __name__ == "__main__":
    main()
