"""Provenance of a request: whether a schedule follows from what people wrote, in a session with texts of others.

A schedule acts while nobody looks, again and again. So where decision 50 has a call confirmed by a person, one for a
schedule is refused: its text must be in what people wrote, and they must have asked for a time.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.family_patterns import RECURRENCES, count_hits
from sophon.decisions.fast_paths.arguments import REMINDERS
from sophon.security.information_flow.named_values import PersonTexts

_TIMES: Final = ("cron", "every", "at", "day", "in_minutes")
_NUMBER = lazy_pattern(r"\d{1,4}")
_TIME_WORDS = lazy_pattern(
    r"\b(?:remind|reminder|alarm|o'clock|noon|midnight|tomorrow|tonight|later|morning|evening"
    r"|recu[eé]rdame|mañana|luego)\b",
)


def follows_from_people(arguments: Mapping[str, Any], texts: Iterable[str]) -> bool:
    """Return whether people wrote what a schedule is to do, and that it is to be done at some time."""
    said, text = list(texts), str(arguments.get("text", ""))
    people = PersonTexts(said)
    if text not in REMINDERS.values() and not people.name_words(text):
        return False
    return any(map(_asks_for_time, said)) or _names_time(arguments, people)


def _asks_for_time(text: str) -> bool:
    if "schedule" in count_hits(text) or _TIME_WORDS.search(text.casefold()) is not None:
        return True
    return any(each.search(text) for each in RECURRENCES)


def _names_time(arguments: Mapping[str, Any], people: PersonTexts) -> bool:
    """Return whether people wrote the numbers of the times, which is how a wish in any language is recognised."""
    numbers = {int(each) for name in _TIMES for each in _NUMBER.findall(str(arguments.get(name) or ""))} - {0}
    return bool(numbers) and all(people.name(each) for each in numbers)
