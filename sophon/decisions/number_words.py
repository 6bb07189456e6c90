"""Numbers as people write them in a sentence, English and Spanish."""

from typing import Final

_ENGLISH: Final = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_SPANISH: Final = ["uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"]
WORDS: Final[dict[str, float]] = {
    **{word: number for number, word in enumerate(_ENGLISH, 1)},
    **{word: number for number, word in enumerate(_SPANISH, 1)},
    "half an": 0.5,
    "media": 0.5,
    "a": 1,
    "an": 1,
    "un": 1,
    "una": 1,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty-five": 45,
    "sixty": 60,
    "quince": 15,
    "veinte": 20,
    "treinta": 30,
}


def read_number(text: str) -> float | None:
    """Return the number that digits or a word mean; None for anything else."""
    word = " ".join(text.lower().split())
    return int(word) if word.isascii() and word.isdigit() else WORDS.get(word)
