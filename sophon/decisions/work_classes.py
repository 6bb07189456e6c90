"""Work class of a message: how much work it is, by its words. Source: WASP, pipeline."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from sophon._python.lazy_pattern import lazy_pattern

WorkClass = Literal["simple", "normal", "complex"]

CALL_LIMITS: Final[Mapping[WorkClass, int]] = {"simple": 10, "normal": 20, "complex": 36}
"""Model calls that a request of a tier may use."""

SIMPLE_WORDS: Final = 8
"""A message of at most so many words without a complex marker is simple."""

_COMPLEX = lazy_pattern(
    r"\b(?:agents?|bots?|daily|weekly|monthly|hourly|every|schedule\w*|monitor\w*|reports?|research|analy[sz]e|compare"
    r"|plan|project|workflow|pipeline|automat\w*|step by step|first\b.{1,200}\bthen|agentes?|diari\w+|cada|programa\w*"
    r"|informes?|investiga\w*|analiza\w*|compara\w*|proyecto|automatiza\w*|primero\b.{1,200}\bluego)\b",
    re.IGNORECASE | re.DOTALL,
)


def find_work_class(text: str) -> WorkClass:
    """Return the tier of a message: complex by its words, simple if it is short, otherwise normal."""
    if _COMPLEX.search(text[:4000]) is not None:
        return "complex"
    return "simple" if len(text[:400].split()) <= SIMPLE_WORDS else "normal"
