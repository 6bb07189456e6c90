"""Full-text search over memory entries: stemmed whole words, ranked with Okapi BM25.

Every query scans all entries of the scope: a few milliseconds per 1,000 short entries when their words are cached, some
tens the first time. The words of `CACHED_TEXTS` texts are cached; a memory with many more entries needs an index.
"""

import heapq
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

from sophon._python.lazy_pattern import lazy_pattern

SATURATION = 1.2
"""BM25's k1, the saturation of repeated words. The usual value."""

LENGTH_WEIGHT = 0.75
"""BM25's b, the penalty for long entries. The usual value."""

CACHED_TEXTS = 10_000
MIN_STEM_LENGTH = 3

# Han and kana are written without spaces: each character is a word.
_WORD = lazy_pattern(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
)
_POSSESSIVE = lazy_pattern(r"['’]s\b")
_VOWEL = lazy_pattern(r"[aeiouy]")


class SearchableText(Protocol):
    """Protocol of a searchable object: a `MemoryEntry`, or anything else with a text."""

    @property
    def text(self) -> str: ...


SearchableT = TypeVar("SearchableT", bound=SearchableText)


def rank_entries(query: str, entries: Sequence[SearchableT], limit: int) -> list[SearchableT]:
    """Return at most `limit` entries (given oldest first) that share a word with the query, best first.

    Entries with equal scores come newest first. A blank query returns the newest entries.
    """
    if limit <= 0:
        return []
    if not query.strip():
        return list(reversed(entries[-limit:]))
    wanted = set(tokenize(query))
    best = heapq.nlargest(limit, _scores(wanted, entries))
    return [entries[index] for _, index in best]


def tokenize(text: str) -> Sequence[str]:
    """Split a text into normalised words: lower case, no accents, stemmed."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c)) if not plain.isascii() else plain
    return [stem_word(word) for word in _WORD.findall(_POSSESSIVE.sub("", plain))]


@lru_cache(maxsize=CACHED_TEXTS)
def stem_word(word: str) -> str:
    """Remove the endings of English plurals and verbs from a lower-case word: `cats` becomes `cat`.

    Deliberately simple: stems are only compared, so they need only be equal for the forms of one word.
    """
    if len(word) > MIN_STEM_LENGTH and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = _strip_verb_ending(word)
    if len(word) > MIN_STEM_LENGTH and word.endswith("e"):
        word = word[:-1]
    # The stems of "cities" and "movies" end in i, so "city" must too.
    return word[:-1] + "i" if len(word) >= MIN_STEM_LENGTH and word.endswith("y") else word


def _strip_verb_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= MIN_STEM_LENGTH and _VOWEL.search(stem) and not stem.endswith("e"):
            return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
    return word


@lru_cache(maxsize=CACHED_TEXTS)
def _count_words(text: str) -> tuple[Mapping[str, int], int]:
    words = tokenize(text)
    return Counter(words), len(words)


def forget_words() -> None:
    """Forget the cached words of texts: some may have been deleted."""
    stem_word.cache_clear()
    _count_words.cache_clear()


def _scores(wanted: set[str], entries: Sequence[SearchableText]) -> Iterable[tuple[float, int]]:
    texts = [_count_words(entry.text) for entry in entries]
    average = sum(length for _, length in texts) / len(texts) if texts else 0.0
    hits = {word: sum(word in counts for counts, _ in texts) for word in sorted(wanted)}
    weights = {word: math.log(1 + (len(texts) - found + 0.5) / (found + 0.5)) for word, found in hits.items() if found}
    for index, (counts, length) in enumerate(texts):
        score = 0.0
        for word, weight in weights.items():
            count = counts.get(word, 0)
            if count:
                length_penalty = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / average)
                score += weight * count * (SATURATION + 1) / (count + length_penalty)
        if score > 0:
            yield score, index
