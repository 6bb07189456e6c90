"""Entities of a text: the people, projects, places and dates that it names, by its spelling; no model is asked."""

import re
from collections.abc import Iterable
from typing import Final, Protocol

from sophon._python.lazy_pattern import lazy_pattern

MAX_ENTITIES: Final = 12
MAX_ENTITY_CHARACTERS: Final = 80

_DATE = lazy_pattern(r"\b\d{4}-\d{2}-\d{2}\b")
_ADDRESS = lazy_pattern(r"(?<![\w.+@-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# Words with a capital letter; particles may stand between them: Ludwig van Beethoven, Bank of England.
_NAME = lazy_pattern(
    r"[^\W\d_a-zß-öø-ÿ][\w'’-]*(?:[ ](?:(?:van|von|de|der|den|del|da|la|le|of|the)[ ]){0,2}[^\W\d_a-zß-öø-ÿ][\w'’-]*)*"
)
_SENTENCE_END: Final = '.!?:;"“('
_POSSESSIVE = re.compile(r"['’]s$")
_COMMON_WORDS: Final = """
a an and any as at but by call each every for from he her here his how i i'm if in is it its let my no not now of on one
or our please remember she so some that the their them then there these they this those to today tomorrow we what when
where which who why will with yes yesterday you your
das dem den der des die ein eine er es ich ihr ihre im ist mein meine sie und unser wir
el la los las le les il je nous mi mon ma su un una une
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())
"""Words that begin a sentence and name nothing."""


class EndedRelation(Protocol):
    """A relation between two names."""

    @property
    def subject(self) -> str: ...
    @property
    def object(self) -> str: ...


def find_entities(text: str) -> tuple[str, ...]:
    """Return what a text names, in order, each once: names by their capital letters, e-mail addresses, ISO dates."""
    found = [(match.start(), match[0]) for pattern in (_ADDRESS, _DATE) for match in pattern.finditer(text)]
    for match in _NAME.finditer(text):
        words = _POSSESSIVE.sub("", match[0]).split(" ")
        if _begins_sentence(text, match.start()) or words[0].lower() in _COMMON:
            while words and words[0].lower() in _COMMON:
                words.pop(0)
        if words and any(len(word) > 1 for word in words):
            found.append((match.start(), " ".join(words)))
    return clean_entities(name for _, name in sorted(found, key=lambda pair: pair[0]))


def collect_entities(text: str, relations: Iterable["EndedRelation"]) -> tuple[str, ...]:
    """Return what a text names, the ends of its relations first: a model knows names that spelling does not show."""
    ends = [end for each in relations for end in (each.subject, each.object)]
    return clean_entities([*ends, *find_entities(text)])


def clean_entities(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without white space around them, each once however it is spelt, at most `MAX_ENTITIES`."""
    by_key: dict[str, str] = {}
    for name in names:
        shown = " ".join(name.split())[:MAX_ENTITY_CHARACTERS]
        if shown:
            by_key.setdefault(entity_key(shown), shown)
    return tuple(by_key.values())[:MAX_ENTITIES]


def _begins_sentence(text: str, start: int) -> bool:
    """Return whether a sentence begins at `start`: a search backwards from there, whose time is that of the blanks."""
    while start and text[start - 1].isspace():
        start -= 1
        if text[start] == "\n":
            return True
    return not start or text[start - 1] in _SENTENCE_END


def entity_key(name: str) -> str:
    """Return what is equal for the spellings of one name."""
    return " ".join(name.casefold().split())
