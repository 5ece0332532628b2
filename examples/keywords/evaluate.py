#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has the program and the model in f32 hear voices that were not used in training, and writes results.json:
evaluate.py LISTEN [--folder FOLDER] [--board NAME=MACHINE:ELF]...

LISTEN is the program keywords_listen. The folder is that of train.py. Both hear the same recordings, of words with
pauses, without noise and in noises of several strengths; the model in f32 gets its features from front_end.c, and decides as
keywords.c does.
ELF is the program keywords for a board, and runs in QEMU's MACHINE.
"""
import argparse
import json
import os
import pathlib
import re
import struct
import subprocess

import numpy as np
import torch

import train
from speech import FOLDER, HOP, KEYWORDS, NONE, NOISES, OTHERS, RATE, FrontEnd, Speaker, mixed, spoken, voices

WORDS, PIECES = 12, 25      # words of a piece, which has one noise; pieces of each strength
RUN, MARGIN = 6, 120        # of keywords.h
LATE = int(0.45 * RATE)     # a word that is reported until then after its end was heard
STRENGTHS = (None, 20, 10, 5)  # decibels by which noise is weaker than the words


def recording(rng, speaker, names, babble, decibels):
    """Samples of some pieces, and the words: (number, first sample, last sample)."""
    pieces, truth, begin = [], [], 0
    for _ in range(PIECES):
        words, at = [], RATE // 2
        for number in rng.permutation(WORDS):
            keyword = number < 8  # two thirds of the words
            word = str(rng.choice(KEYWORDS if keyword else OTHERS))
            sound = spoken(rng, speaker, word, names)
            words.append((sound, at))
            truth.append((KEYWORDS.index(word) if keyword else NONE, begin + at, begin + at + len(sound)))
            at += len(sound) + int(rng.uniform(0.5, 1.0) * RATE)
        at += -at % HOP
        pieces.append(mixed(rng, words, at, decibels, str(rng.choice(NOISES)), babble))
        begin += at
    return np.concatenate(pieces), truth


def decided(scores, margin):
    """What keywords.c does with the scores of all frames: [(sample, number)]."""
    found, waits = [], False
    sums = np.cumsum(np.concatenate([np.zeros((RUN, NONE + 1)), scores]), axis=0)
    sums = sums[RUN:] - sums[:-RUN]
    for frame, row in enumerate(sums):
        best = int(row[:NONE].argmax())
        if row[best] <= row[NONE]:
            waits = False
        if not waits and row[best] >= row[NONE] + margin:
            waits = True
            found.append(((frame + 1) * HOP, best))
    return found


@torch.no_grad()
def in_f32(model, features):
    """Each part of the frames is computed with all that it depends on."""
    need = train.STACK - 1 + train.LAYERS * (train.WINDOW - 1)
    parts = []
    for begin in range(0, len(features), 1024):
        first = max(begin - need, 0)
        parts.append(model(torch.from_numpy(features[first:begin + 1024][None]).float(), first)[0, begin - first:])
    return torch.cat(parts).numpy()


def counts(truth, found):
    """Words that were heard as they are, for keywords and for the others; and reports where no word was."""
    heard = [set() for _ in truth]
    nowhere = 0
    for sample, number in found:
        where = [i for i, (_, first, last) in enumerate(truth) if first < sample <= last + LATE]
        if where:
            heard[where[-1]].add(number)
        else:
            nowhere += 1
    right = [heard[i] == ({number} if number != NONE else set()) for i, (number, _, _) in enumerate(truth)]
    keyword = np.array([number != NONE for number, _, _ in truth])
    right = np.array(right)
    return {"keywords": int(keyword.sum()), "keywords_right": int(right[keyword].sum()),
            "others": int((~keyword).sum()), "others_right": int(right[~keyword].sum()), "nowhere": nowhere}


def on_board(machine, elf):
    """Bytes of flash without the recording, of memory and of the stack, and instructions of a frame."""
    image = elf.read_bytes()
    at, = struct.unpack_from("<I", image, 28)
    entry_bytes, entries = struct.unpack_from("<HH", image, 42)
    parts = [struct.unpack_from("<8I", image, at + i * entry_bytes) for i in range(entries)]
    flash = sum(part[4] for part in parts if part[0] == 1)  # the file's bytes of PT_LOAD
    command = [FOLDER.parent.parent / "toolchains/common/qemu-system.sh", "qemu-system-arm", "-M", machine, "--", elf]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True,
                          env={**os.environ, "FOVEA_QEMU_ARGS": "-icount shift=0"}).stdout
    line = r"memory: (\d+) bytes, static; stack: (\d+) bytes.*?, (\d+) instructions each; digest (\w+)"
    memory, stack, instructions, digest = re.search(line, text, re.S).groups()
    return {"flash": flash - (FOLDER / "recording.bin").stat().st_size, "memory": int(memory), "stack": int(stack),
            "instructions": int(instructions), "digest": digest}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("listen", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER.parent.parent / "build" / "keywords")
    parser.add_argument("--board", action="append", default=[], metavar="NAME=MACHINE:ELF")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = train.Model()
    model.load_state_dict(torch.load(options.folder / "model.pt"))
    score_scale = model.codes["scores"].scale().item()
    rng, speaker, front_end = np.random.default_rng(9), Speaker(), FrontEnd(options.folder)
    names = voices(speaker, held_out=True)
    babble = [spoken(rng, speaker, str(rng.choice(OTHERS)), names) for _ in range(100)]
    results = []
    for decibels in STRENGTHS:
        samples, truth = recording(rng, speaker, names, babble, decibels)
        f32 = decided(in_f32(model, front_end(samples)), MARGIN * score_scale)
        printed = subprocess.run([options.listen], input=samples.tobytes(), stdout=subprocess.PIPE, check=True).stdout
        lines = (line.split() for line in printed.decode().splitlines())
        int8 = [(int(time) * RATE // 1000, KEYWORDS.index(word)) for time, word in lines]
        for arithmetic, found in (("f32", f32), ("int8", int8)):
            result = {"decibels": decibels, "arithmetic": arithmetic, "seconds": len(samples) // RATE, **counts(truth, found)}
            results.append(result)
            print(result, flush=True)
    boards = {}
    for name, machine, elf in (re.fullmatch("(.*)=(.*?):(.*)", board).groups() for board in options.board):
        boards[name] = on_board(machine, pathlib.Path(elf))
        print(name, boards[name])
    rows = ",\n".join(map(json.dumps, results))
    on_boards = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in boards.items())
    (FOLDER / "results.json").write_text(f'{{"voices": {len(names)},\n"results": [\n{rows}],\n"boards": {{\n{on_boards}}}}}\n')


if __name__ == "__main__":
    main()
