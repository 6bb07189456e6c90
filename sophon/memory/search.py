"""Word search over memory entries: whole words, folded, weighted by how rare they are (Okapi BM25).

Every entry of the scope is looked at for every query: a few milliseconds per 1,000 short entries once their words
are cached, some tens the first time. The words of `CACHED_TEXTS` texts are kept; a memory of many more entries than
that deserves an index of its own.
"""

import heapq
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

SATURATION = 1.2
"""BM25's k1: how soon more of the same word stops counting. The usual value."""

LENGTH_WEIGHT = 0.75
"""BM25's b: how much a long entry is held back. The usual value."""

CACHED_TEXTS = 10_000
SHORTEST_STEM = 3

# Han and kana are written without spaces: each character is a word of its own.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
)
_POSSESSIVE = re.compile(r"['’]s\b")
_VOWEL = re.compile(r"[aeiouy]")


class HasText(Protocol):
    """What can be searched: a `MemoryEntry`, or anything else with a text."""

    @property
    def text(self) -> str: ...


Entry = TypeVar("Entry", bound=HasText)


def rank(query: str, entries: Sequence[Entry], limit: int) -> list[Entry]:
    """At most `limit` of the entries (given oldest first) that share a word with the query, the best first.

    Equally good ones come newest first. A blank query gives the newest entries.
    """
    if limit <= 0:
        return []
    if not query.strip():
        return list(reversed(entries[-limit:]))
    wanted = set(folded_words(query))
    best = heapq.nlargest(limit, _scores(wanted, entries))
    return [entries[place] for _, place in best]


def folded_words(text: str) -> Sequence[str]:
    """The words of a text in the form in which they are compared: no case, no accents, no plural."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c)) if not plain.isascii() else plain
    return [fold(word) for word in _WORD.findall(_POSSESSIVE.sub("", plain))]


@lru_cache(maxsize=CACHED_TEXTS)
def fold(word: str) -> str:
    """A lower-case word without the endings of English plurals and verbs, so that `cats` is `cat`.

    Light on purpose: the result is compared, never shown, and needs only be the same for the forms of one word.
    """
    if len(word) > SHORTEST_STEM and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = _without_verb_ending(word)
    if len(word) > SHORTEST_STEM and word.endswith("e"):
        word = word[:-1]
    # What is left of "cities" ends in i, as that of "movies" does.
    return word[:-1] + "i" if len(word) >= SHORTEST_STEM and word.endswith("y") else word


def _without_verb_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= SHORTEST_STEM and _VOWEL.search(stem) and not stem.endswith("e"):
            return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
    return word


@lru_cache(maxsize=CACHED_TEXTS)
def _counted(text: str) -> tuple[Mapping[str, int], int]:
    words = folded_words(text)
    return Counter(words), len(words)


def _scores(wanted: set[str], entries: Sequence[HasText]) -> Iterable[tuple[float, int]]:
    texts = [_counted(entry.text) for entry in entries]
    average = sum(length for _, length in texts) / len(texts) if texts else 0.0
    hits = {word: sum(word in counts for counts, _ in texts) for word in sorted(wanted)}
    weights = {word: math.log(1 + (len(texts) - found + 0.5) / (found + 0.5)) for word, found in hits.items() if found}
    for place, (counts, length) in enumerate(texts):
        score = 0.0
        for word, weight in weights.items():
            count = counts.get(word, 0)
            if count:
                held_back = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / average)
                score += weight * count * (SATURATION + 1) / (count + held_back)
        if score > 0:
            yield score, place
