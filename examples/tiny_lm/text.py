"""Text that the repository makes itself: a small English and three tasks, all as questions with one right answer.

The general text (what the model is trained on first) is about people, things, colours and places. The tasks are sums,
reversed words, and the plural of invented nouns.
"""

from __future__ import annotations

import random
from collections.abc import Callable

PEOPLE = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jana"]
THINGS = ["cup", "book", "coat", "lamp", "ring", "key", "hat", "box", "pen", "map"]
COLOURS = ["red", "blue", "green", "black", "white", "brown", "grey", "pink"]
PLACES = ["the shed", "the hall", "the attic", "the car", "the garden", "the kitchen"]
Pair = tuple[str, str]


def general(rng: random.Random) -> Pair:
    """Two facts and a question about one of them."""
    who = rng.sample(PEOPLE, 2)
    what, colour, place = rng.choice(THINGS), rng.choice(COLOURS), rng.choice(PLACES)
    facts = [f"{who[0]} has a {colour} {what}.", f"{who[1]} is in {place}."]
    rng.shuffle(facts)
    if rng.random() < 0.5:
        return f"{' '.join(facts)} What colour is the {what}?", colour
    return f"{' '.join(facts)} Where is {who[1]}?", place


def sums(rng: random.Random) -> Pair:
    """A sum of two numbers below twenty."""
    a, b = rng.randrange(20), rng.randrange(20)
    return f"What is {a} plus {b}?", str(a + b)


def reversing(rng: random.Random) -> Pair:
    """A word of four letters, backwards."""
    word = "".join(rng.choice("abcdefgh") for _ in range(4))
    return f"Write {word} backwards.", word[::-1]


def plural(rng: random.Random) -> Pair:
    """The plural of an invented noun, by a rule on its last letter."""
    noun = "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(2)) + rng.choice("bsxy")
    endings = {"s": "ses", "x": "xen", "y": "ii", "b": "bim"}
    return f"What is the plural of {noun}?", noun[:-1] + endings[noun[-1]]


TASKS: dict[str, Callable[[random.Random], Pair]] = {"sums": sums, "reversing": reversing, "plural": plural}
ALL: dict[str, Callable[[random.Random], Pair]] = {"general": general, **TASKS}


def made(name: str, n: int, seed: int) -> list[Pair]:
    """So many questions of one kind: the same seed gives the same ones. Test questions have a seed of their own."""
    rng = random.Random(f"{name}/{seed}")
    return [ALL[name](rng) for _ in range(n)]
