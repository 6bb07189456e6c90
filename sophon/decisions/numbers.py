"""Numbers as people write them in a sentence, English and Spanish."""

from typing import Final

WORDS: Final = {
    "half an": 0.5,
    "media": 0.5,
    "a": 1,
    "an": 1,
    "one": 1,
    "un": 1,
    "una": 1,
    "two": 2,
    "dos": 2,
    "three": 3,
    "tres": 3,
    "four": 4,
    "five": 5,
    "cinco": 5,
    "ten": 10,
    "diez": 10,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}


def read_number(text: str) -> float | None:
    """Return the number that digits or a word mean; None for anything else."""
    word = " ".join(text.lower().split())
    return int(word) if word.isascii() and word.isdigit() else WORDS.get(word)
