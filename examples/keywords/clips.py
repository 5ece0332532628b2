# SPDX-License-Identifier: Apache-2.0
"""Clips of some words in noise, with a class for each frame, to train with."""
import numpy as np

from speech import HOP, KEYWORDS, NOISES, NONE, OTHERS, RATE, FrontEnd, Speaker, mixed, spoken, voices

FRAMES = 110  # of a clip
IGNORED = -100          # the class of frames that training skips
# A keyword is due from EARLY frames before its end to LATE after it; then it does not matter for REST.
EARLY, LATE, REST = 2, 10, 6


def label(classes, word, begin, end):
    """Marks the frames of a word from sample `begin` to `end`."""
    if word not in KEYWORDS:
        return
    first, last = begin // HOP, end // HOP
    classes[first:last + LATE + REST] = IGNORED
    classes[max(last - EARLY, 0):last + LATE] = KEYWORDS.index(word)


def clip(rng, speaker, front_end, names, babble):
    """Features, and classes of the frames."""
    words, classes, at = [], np.full(FRAMES, NONE, np.int64), int(rng.integers(0, RATE))
    while at < FRAMES * HOP - RATE // 4 and rng.random() < 0.93:
        word = str(rng.choice(KEYWORDS if rng.random() < 0.55 else OTHERS))
        sound = spoken(rng, speaker, word, names)
        words.append((sound * np.float32(rng.uniform(0.6, 1)), at))
        label(classes, word, at, at + len(sound))
        at += len(sound) + int(rng.exponential(0.25) * RATE) + RATE // 20
    decibels = None if rng.random() < 0.1 else rng.uniform(0, 35)
    samples = mixed(rng, words, FRAMES * HOP, decibels, str(rng.choice(NOISES)), babble)
    return front_end(samples), classes


def make(count, seed, folder):
    """`count` clips of the voices to train with: int8 [count][FRAMES][FEATURES], int64 [count][FRAMES]."""
    rng, speaker, front_end = np.random.default_rng(seed), Speaker(), FrontEnd(folder)
    names = voices(speaker, held_out=False)
    babble = [spoken(rng, speaker, str(rng.choice(OTHERS)), names) for _ in range(400)]
    made = [clip(rng, speaker, front_end, names, babble) for _ in range(count)]
    return np.stack([features for features, _ in made]), np.stack([classes for _, classes in made])
