#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes recording.bin: keywords and other words, said by voices that were not used in training, in noise, as bytes
of mu-law."""
import numpy as np

from speech import FOLDER, HOP, RATE, Speaker, mixed, spoken, voices

SAID = "yes left garden stop music up right start open seven no light down close".split()
DECIBELS, NOISE = 20, "pink"
FRAMES = 620  # kRecordedFrames of recording.h


def mu_law(samples):
    """Bytes of 16-bit samples, by G.711."""
    large = np.minimum(np.abs(samples.astype(np.int64)), 32635) + 132
    exponent = np.floor(np.log2(large)).astype(np.int64) - 7
    return (~((samples < 0) * 128 | exponent << 4 | (large >> (exponent + 3)) & 15) & 255).astype(np.uint8)


def main():
    rng, speaker = np.random.default_rng(24), Speaker()
    names, words, at = voices(speaker, held_out=True), [], RATE // 3
    for word in SAID:
        sound = spoken(rng, speaker, word, names)
        words.append((sound, at))
        at += len(sound) + int(rng.uniform(0.3, 0.4) * RATE)
    if at > FRAMES * HOP:
        raise ValueError(f"the recording has {at // HOP} frames")
    samples = mixed(rng, words, FRAMES * HOP, DECIBELS, NOISE, [])
    (FOLDER / "recording.bin").write_bytes(mu_law(samples).tobytes())
    for (_, begin), word in zip(words, SAID):
        print(f"{begin / RATE:6.2f} s {word}")


if __name__ == "__main__":
    main()
