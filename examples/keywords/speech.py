# SPDX-License-Identifier: Apache-2.0
"""Speech to train and test with: espeak-ng says keywords and other words with many voices, in noise.

It needs the library of espeak-ng (Debian: libespeak-ng1) and a C compiler, for front_end.c.
"""
import ctypes
import os
import pathlib
import subprocess

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
RATE, HOP, FEATURES = 16000, 320, 40

KEYWORDS = "yes no up down left right stop start open close light music".split()
NONE = len(KEYWORDS)  # the class of silence, noise and all other words
OTHERS = """
a about above across afternoon again air all almost along already always animal answer apple around arm ask autumn
away back bag ball bank basket beach because bed before below better between big bird black blue board boat book both
bottle box branch bread bridge bring brother brown building busy but button buy call came can car care carry castle
chair change cheap cheese child church circle city class clear climb clock cloth cloud coat coffee cold colour come
computer cook corner could country cousin cover cross cup curtain dance dark daughter day deep desk different dinner
doctor dog door draw dream dress drink drive dry early earth east easy eat egg eight eleven else empty engine evening
every eye face fall family far farm fast father feather fifteen find finger fire first fish five flag floor flower fly
follow food foot forest forget four friend from front fruit full game garden gate get girl give glass go gold good
grandmother grass great green ground group guess hair half hall hand happy hard hat have head hear heart heavy help
here hill hold holiday home horse hospital hot hour house how hundred ice idea inside iron island January jump just
keep key kind king kitchen lady lake lamp language large last laugh learn leather lesson letter library life line lion
list listen little live long look loud love low lunch machine make man many map market may meat medicine meet middle
milk minute money month moon more morning mother mountain mouth move much museum must name near neck need never new
nine noise north nose nothing now number ocean October of off often oil old on once one only opera orange other our
out over page paint paper parent park part party past pay pencil people pepper person picture piece place plan plane
plant plate play please pocket point police poor potato power pull purple push put queen question quick quiet rabbit
radio rain read ready red remember rest ring river road rock roof room round run sad salt same sand Saturday say
school sea season second see sell send seven shadow sharp sheep ship shirt shoe shop short shoulder show side silver
simple since sing sister sit six skin sky sleep slow small smile snow soap soft some son song soon sound soup south
speak spoon spring square stand star stay step still stone store story strange street strong sugar summer sun sure
sweet swim table take talk tall tea teacher ten thank that then there thing think thirty this three through ticket
time tired together tomorrow tooth top touch town toy train travel tree trousers true try Tuesday turn twenty two ugly
umbrella uncle under until use vegetable very village visit voice wait walk wall want warm wash watch water way wear
weather week well wet what wheel when where which white who why wide wife wind window winter wish with woman wonder
wood word work world worry yard year yellow yesterday you young zero lift laughed lest list left-hand write-off lights
night might fight lightning musical musician amusing use museum upper cup shop stop-watch store stark starch chart art
heart storm stuck step star staff opening opera hoping opener clothes clothing closet closer clothe rose nose know-how
note nose now nor snow notice town downtown brown drown done dawn own yet guess less yesterday yeah just us pup apple
""".split()
OTHERS = sorted(set(OTHERS) - set(KEYWORDS))

# An accent, with how often it is taken.
ACCENTS = {"en-US": 4, "en": 4, "en-GB-scotland": 2, "en-GB-x-gbclan": 2, "en-GB-x-rp": 2, "en-GB-x-gbcwmd": 2, "en-029": 2, "en-US-nyc": 2}
# Voices that are no speech: they are distorted until nobody understands them.
EFFECTS = {"Demonic", "UniRobot", "fast", "whisper", "whisperf"}


def voices(speaker, held_out):
    """Names of espeak-ng's voice variants: four fifths to train with or, if held_out, the other fifth. Relatives as
    Steph and Steph2 stay together."""
    names = sorted(path.name for path in speaker.variants.iterdir() if path.name not in EFFECTS)
    relatives = [name.rstrip("0123456789") if len(name) > 2 else name for name in names]
    families = sorted(set(relatives), key=str.lower)
    chosen = {family for i, family in enumerate(families) if (i % 5 == 4) == held_out}
    return [name for name, family in zip(names, relatives) if family in chosen]


class Speaker:
    """The library of espeak-ng."""
    LIBRARY = "libespeak-ng.so.1"
    SPEED, PITCH, RANGE, VOLUME = 1, 3, 4, 2  # espeak_PARAMETER

    def __init__(self):
        self.library = ctypes.CDLL(self.LIBRARY)
        # 2 is AUDIO_OUTPUT_SYNCHRONOUS: sound goes to the callback.
        self.rate = self.library.espeak_Initialize(2, 0, None, 0)
        if self.rate <= 0:
            raise OSError("espeak-ng does not begin")
        data = ctypes.c_char_p()
        self.library.espeak_Info(ctypes.byref(data))
        self.variants = pathlib.Path(data.value.decode(), "voices", "!v")
        self.parts = []

        def collect(samples, count, _):
            if count > 0:
                self.parts.append(np.ctypeslib.as_array(samples, (count,)).copy())
            return 0

        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int16), ctypes.c_int, ctypes.c_void_p)
        self.callback = kind(collect)  # kept, or it would be freed
        self.library.espeak_SetSynthCallback(self.callback)

    def say(self, word, accent, voice, speed, pitch, variation):
        """The word without silence around it, at RATE, as floats with a largest of 1."""
        if self.library.espeak_SetVoiceByName(f"gmw/{accent}+{voice}".encode()) != 0:
            raise OSError(f"espeak-ng has no voice {accent}+{voice}")
        for parameter, value in ((self.SPEED, speed), (self.PITCH, pitch), (self.RANGE, variation)):
            self.library.espeak_SetParameter(parameter, value, 0)
        text = word.encode() + b"\0"
        self.parts = []
        self.library.espeak_Synth(text, len(text), 0, 1, 0, 1, None, None)  # POS_CHARACTER, espeakCHARS_UTF8
        sound = resampled(np.concatenate(self.parts).astype(np.float64), self.rate)
        loud = np.flatnonzero(np.abs(sound) > 0.02 * np.abs(sound).max())
        sound = sound[loud[0]:loud[-1] + 1]
        return (sound / np.abs(sound).max()).astype(np.float32)


def resampled(sound, rate):
    """At RATE, with the frequencies below half of it. Padded, since the transform is periodic."""
    step = rate // np.gcd(rate, RATE)  # the length must be a multiple, so that the result's is whole
    sound = np.pad(sound, (0, -len(sound) % step + step))
    count = len(sound) * RATE // rate
    return np.fft.irfft(np.fft.rfft(sound)[:count // 2 + 1], count) * (count / len(sound))


def spoken(rng, speaker, word, names):
    """The word with a random one of the voices."""
    accents = list(ACCENTS)
    shares = np.array(list(ACCENTS.values())) / sum(ACCENTS.values())
    return speaker.say(word, str(rng.choice(accents, p=shares)), str(rng.choice(names)), int(rng.integers(110, 220)),
                       int(rng.integers(20, 85)), int(rng.integers(20, 85)))


def noise(rng, count, kind, babble):
    """Noise of mean square 1: white, pink, brown, a hum, or other voices."""
    if kind == "babble":
        sound = np.zeros(count)
        for _ in range(5):
            at = 0
            while at < count:
                part = babble[rng.integers(len(babble))][:count - at]
                sound[at:at + len(part)] += part
                at += len(part) + int(rng.integers(0, RATE // 5))
    elif kind == "hum":
        phase = 2 * np.pi * rng.uniform(48, 130) * np.arange(count) / RATE
        sound = sum(rng.uniform(0, 1) * np.sin(k * phase + rng.uniform(0, 6)) / k for k in range(1, 12))
        sound = sound + 0.05 * rng.standard_normal(count)
    else:
        slope = {"white": 0, "pink": -0.5, "brown": -1}[kind]
        spectrum = np.fft.rfft(rng.standard_normal(count))
        sound = np.fft.irfft(spectrum * np.maximum(np.arange(len(spectrum)), 5.0)**slope, count)
    return sound / np.sqrt(np.mean(sound**2) + 1e-12)


NOISES = ("white", "pink", "brown", "hum", "babble", "babble")


def filtered(rng, sound):
    """What a microphone and a room do: a slope of the spectrum, and an echo."""
    spectrum = np.fft.rfft(sound)
    at = np.arange(len(spectrum)) / len(spectrum)
    slope = rng.uniform(-1, 1) * at + rng.uniform(-0.5, 0.5) * np.cos(9 * at + rng.uniform(0, 6))
    sound = np.fft.irfft(spectrum * np.exp(slope), len(sound))
    for _ in range(int(rng.integers(0, 4))):
        delay = int(rng.integers(80, 1200))
        sound[delay:] += rng.uniform(-0.3, 0.3) * sound[:-delay]
    return sound


def mixed(rng, words, count, decibels, kind, babble):
    """16-bit samples: the words, each (sound, its first sample), in noise that is weaker than they by `decibels`."""
    sound = np.zeros(count)
    power = 0.05
    for word, at in words:
        word = word[:count - at]
        sound[at:at + len(word)] += word
    if words:
        power = np.mean(np.concatenate([word for word, _ in words])**2)
    sound = filtered(rng, sound)
    if decibels is not None:
        sound = sound + noise(rng, count, kind, babble) * np.sqrt(power) * 10**(-decibels / 20)
    peak = 10**rng.uniform(-1.3, -0.05)
    return np.clip(np.round(sound / max(np.abs(sound).max(), 1e-9) * peak * 32767), -32768, 32767).astype(np.int16)


class FrontEnd:
    """front_end.c."""
    def __init__(self, folder):
        path = pathlib.Path(folder, f"front_end_{os.getpid()}.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", FOLDER / "front_end.c", "-o", path], check=True)
        self.library = ctypes.CDLL(str(path))
        self.state = ctypes.create_string_buffer(512 * (2 + 4 + 4))

    def __call__(self, samples):
        """int8 [frames][FEATURES] of int16 samples."""
        samples = np.ascontiguousarray(samples)
        features = np.empty((len(samples) // HOP, FEATURES), np.int8)
        self.library.front_end_begin(self.state)
        for i in range(len(features)):
            self.library.front_end_frame(self.state, ctypes.c_void_p(samples[i * HOP:].ctypes.data),
                                         ctypes.c_void_p(features[i].ctypes.data))
        return features
