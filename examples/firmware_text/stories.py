#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The text that the model learns: short stories of boats, weather and instruments, each followed by questions.

    python3 stories.py     # prints a few

All of it is made by the grammar below. A sentence depends on earlier ones: who sails which boat, with what cargo, where
to, and what an instrument showed. So to continue a story, or to answer a question, a model has to attend to them."""
import random

# Whether the pronoun is "she" or "he" depends on the name.
CAPTAINS = {"Anna": "she", "Boris": "he", "Clara": "she", "David": "he", "Elena": "she", "Felix": "he", "Greta": "she",
            "Hugo": "he", "Irina": "she", "Jonas": "he", "Karla": "she", "Leo": "he"}
BOATS = ("Avocet", "Curlew", "Gannet", "Heron", "Kestrel", "Osprey", "Petrel", "Plover", "Puffin", "Tern")
COLOURS = ("black", "blue", "green", "grey", "red", "white", "yellow")
SIZES = ("big", "fast", "little", "new", "old", "slow")
PORTS = ("Aldport", "Brimhaven", "Colmouth", "Dunwater", "Eastholm", "Farnsea", "Greypoint", "Hollowbay")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
# A cargo, and whether its noun is plural: the verb agrees.
CARGOES = {"apples": True, "bricks": True, "flour": False, "lamps": True, "nets": True, "salt": False, "tea": False,
           "tools": True, "wool": False}
CONTAINERS = ("boxes", "crates", "sacks")

# Instrument, what it shows, what that means, what the captain does (two forms), the time, and whether the day ends at
# the port of destination (else at the port of departure).
EVENTS = (
    ("barometer", "the pressure falls", "a storm is coming", "turns back", "turn back", "in the afternoon", False),
    ("barometer", "the pressure rises", "the sky will be clear", "sails on", "sail on", "in the afternoon", True),
    ("thermometer", "the temperature falls", "ice grows on the deck", "breaks the ice with a hammer",
     "break the ice with a hammer", "at night", True),
    ("thermometer", "the temperature rises", "fog lies on the water", "rings the bell and waits",
     "ring the bell and wait", "in the morning", True),
    ("wind gauge", "the wind grows", "the waves are high", "takes down the sail",
     "take down the sail", "in the evening", True),
    ("wind gauge", "the wind dies", "the sail hangs down", "starts the engine",
     "start the engine", "in the evening", True),
    ("depth sounder", "the depth falls", "there is a sandbank ahead", "steers around it",
     "steer around it", "in the evening", True),
    ("radar", "a ship comes near", "the way is not free", "lets the ship pass",
     "let the ship pass", "in the afternoon", True),
)
END = "<end>"


def introduction(rng, captain, boat, size, colour):
    article = "an" if size == "old" else "a"
    return rng.choice((
        f"{captain} sails the {size} {colour} boat {boat} .",
        f"the {boat} is {article} {size} {colour} boat , and {captain} sails it .",
        f"{captain} is the captain of the {boat} , {article} {size} {colour} boat ."))


def story(rng):
    """The words of a story and of four questions with their answers."""
    captains = rng.sample(sorted(CAPTAINS), 2)
    boats = rng.sample(BOATS, 2)
    colours = rng.sample(COLOURS, 2)
    ports = rng.sample(PORTS, 2)
    day, number, container = rng.choice(DAYS), rng.choice(NUMBERS), rng.choice(CONTAINERS)
    cargo = rng.choice(sorted(CARGOES))
    instrument, sign, meaning, action, to_act, time, arrives = rng.choice(EVENTS)

    told = 2 if rng.random() < 0.6 else 1
    hero = rng.randrange(told)
    text = [introduction(rng, captains[i], boats[i], rng.choice(SIZES), colours[i]) for i in range(told)]
    captain, boat, pronoun = captains[hero], boats[hero], CAPTAINS[captains[hero]]
    place = ports[1] if arrives else ports[0]

    # If the subject that leaves is the boat, its captain is named next; if it is the captain, the boat is named last.
    who = rng.choice((f"the {boat}", f"the {colours[hero]} boat", captain))
    text.append(f"on {day} {who} leaves {ports[0]} for {ports[1]} with {number} {container} of {cargo} .")
    who = pronoun if who == captain else captain
    text.append(rng.choice((f"{who} reads the {instrument} : {sign} .", f"{who} sees on the {instrument} that {sign} .")))
    text.append(rng.choice((f"{meaning} , and {pronoun} {action} .", f"{meaning} , so {pronoun} {action} .")))
    are = "are" if CARGOES[cargo] else "is"
    text.append(rng.choice((
        f"{time} the {boat} is in {place} , and the {cargo} {are} dry .",
        f"{time} the {colours[hero]} boat is in {place} , and the {number} {container} of {cargo} are dry .",
        f"{captain} writes in the log : {day} , {place} , {number} {container} of {cargo} .")))

    questions = [
        (f"what does the {boat} carry ?", f"{number} {container} of {cargo} ."),
        (f"where is the {boat} {time} ?", f"in {place} ."),
        (f"why does {captain} {to_act} ?", f"because {meaning} ."),
        (f"when does {captain} leave {ports[0]} ?", f"on {day} ."),
    ]
    for i in range(told):
        questions.append((f"who sails the {boats[i]} ?", f"{captains[i]} ."))
        questions.append((f"which boat does {captains[i]} sail ?", f"the {boats[i]} ."))
        questions.append((f"what colour is the {boats[i]} ?", f"{colours[i]} ."))
    for question, answer in rng.sample(questions, 4):
        text.append(f"question : {question} answer : {answer}")
    return " ".join(text).split()


def vocabulary():
    """The mark between stories, then all words, sorted."""
    rng = random.Random(1)
    return [END] + sorted({word for _ in range(20000) for word in story(rng)})


def written(words):
    """Text with a capital letter at the beginning of a sentence and no space before punctuation."""
    text, begins = "", True
    for word in words:
        if word not in (".", ",", ":", "?"):
            text += (" " if text else "") + (word[0].upper() + word[1:] if begins else word)
            begins = False
        else:
            text += word
            begins = word in ".?"
    return text


def main():
    rng = random.Random()
    for _ in range(4):
        print(written(story(rng)), end="\n\n")


if __name__ == "__main__":
    main()
