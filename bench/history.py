#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Size and speed over commits: bench/history.py FILE [--out FOLDER]

Appends to FILE a line of JSON for each commit of HEAD's history that changed a baseline and is not in FILE yet, and draws it:
    size.svg           bytes of whole programs on boards, of bench/size_baseline.csv (bench/size.py)
    instructions.svg   instructions of whole calls, of bench/calls_baseline.csv, and of each multiply-add, of
                       bench/counts_baseline.csv (bench/counts.py)
CI holds these baselines to the byte and to the instruction, so they are what a commit has, and no machine's noise is in them. FILE
grows at its end only. --out needs matplotlib; without it nothing is drawn. The workflow `history` keeps FILE on a branch.
"""
import argparse
import csv
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASELINES = ["bench/size_baseline.csv", "bench/calls_baseline.csv", "bench/counts_baseline.csv"]
PROGRAMS = ["softmax alone", "attention, causal and key lengths", "integer attention, int8 tensors", "attention", "all functions"]
MEASURES = ["instructions", "instructions integers", "instructions tensors", "instructions decode", "instructions delta"]


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout


def rows_at(commit, path):
    """The rows of a baseline; none if the commit lacks it."""
    done = subprocess.run(["git", "show", f"{commit}:{path}"], cwd=ROOT, text=True, capture_output=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines)) if done.returncode == 0 else []


def point(commit, date):
    sizes, calls, counts = (rows_at(commit, path) for path in BASELINES)
    return {
        "commit": commit, "date": date,
        "bytes": {f"{row['target']}: {row['name']}": int(row["code"]) + int(row["rodata"]) for row in sizes if row["kind"] == "program"},
        "calls": {f"{row['target']}: {row['shape']}": int(row["fovea"]) for row in calls if row.get("fovea")},
        "instructions": {f"{row['toolchain']}: {row['measure']}": float(row["value"]) for row in counts
                         if row["measure"].startswith("instructions")},
    }


def append(file):
    """The points of the file, old and new."""
    points = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    known = {one["commit"] for one in points}
    log = git("log", "--first-parent", "--reverse", "--format=%H %cI", "HEAD", "--", *BASELINES).split("\n")
    new = [point(*line.split()) for line in log if line and line.split()[0] not in known]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        for one in new:
            out.write(json.dumps(one, sort_keys=True) + "\n")
    print(f"{file}: {len(points)} commits, and {len(new)} new ones")
    return points + new


def draw(points, folder):
    import plot  # which has the style of all charts
    folder.mkdir(parents=True, exist_ok=True)

    def lines(axis, kind, title, names, label):
        for name in names:
            found = [(i, one[kind][name]) for i, one in enumerate(points) if name in one[kind]]
            if found:
                axis.plot(*zip(*found), marker=".", linewidth=1.2, label=name.split(": ", 1)[1])
        axis.set(title=title, ylabel=label, ylim=(0, None), xlabel=f"commits, until {points[-1]['date'][:10]}")
        axis.title.set_fontsize(9)
        axis.legend(fontsize=6)

    boards = {"m4f": "Cortex-M4F", "m55": "Cortex-M55"}
    figure, axes = plot.plt.subplots(1, 2, figsize=(10, 3.6))
    for axis, (board, title) in zip(axes, boards.items()):
        lines(axis, "bytes", title, [f"{board}: {name}" for name in PROGRAMS], "bytes of code and constants")
    plot.save(figure, folder, "size.svg")

    figure, axes = plot.plt.subplots(2, 2, figsize=(10, 7))
    for column, (board, title) in enumerate(boards.items()):
        shapes = sorted({name for one in points for name in one["calls"] if name.startswith(f"{board}: ")})
        lines(axes[0][column], "calls", f"{title}, compiled for size", shapes[:6], "instructions of a call")
        axes[0][column].set(yscale="log", ylim=(1e3, None))
        preset = f"arm-none-eabi-cortex-{board}"
        lines(axes[1][column], "instructions", f"{title}, compiled for speed", [f"{preset}: {name}" for name in MEASURES],
              "instructions of a multiply-add")
    plot.save(figure, folder, "instructions.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    points = append(options.file)
    if options.out and points:
        draw(points, options.out)


if __name__ == "__main__":
    main()
