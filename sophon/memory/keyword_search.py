"""Keyword search over an index of words: which entries are looked at, and their order by Okapi BM25.

The index is the database's own. It answers two questions, each in time that does not grow with the memory: how many
entries have a word, counted up to a bound, and which are the newest that have certain words. Python ranks what they
find, so every store gives the same order.
"""

import hashlib
import math
from collections.abc import Sequence
from functools import cache
from typing import Final, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.full_text_scan import LENGTH_WEIGHT, SATURATION, tokenize

MAX_WORDS: Final = 12
"""Words of a query that are looked up: the rarest."""

MAX_COUNTED_WORDS: Final = 48
"""Words of a query whose frequency is looked up: the first."""

COUNT_LIMIT: Final = 300
"""Entries of a word that are counted; a more frequent word counts as one of this frequency."""

TOTAL_LIMIT: Final = 3000
"""Entries that are counted; of more only the ratio of frequencies matters."""

CANDIDATES: Final = 64
"""Entries that are ranked at least, if so many share a word with the query; three times what is asked for if more."""

MAX_WORD_CHARACTERS: Final = 64
"""Characters of a word that are compared; PostgreSQL stores words of at most 2,046 bytes."""


_FUNCTION_WORDS: Final = (
    "a about all am an and any are as at be been by can could did do does for from had has have he her hers him "
    "his how i if in into is it its me my of on or our shall she should so than that the their them then there "
    "these they this those to was we were what when where which who whose why will with would you your"
)
"""Words of English that questions consist of."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """What an index has found: the number of an entry, which grows with time, and its words."""

    number: int
    words: Sequence[str]


class WordIndex(Protocol):
    """Index of the words of all entries; a search may see some of them."""

    def count_entries(self, limit: int) -> int:
        """Return the number of all entries, at most `limit`."""
        ...

    def count(self, word: str, limit: int) -> int:
        """Return how many of all entries have a word, at most `limit`."""
        ...

    def list_newest(self, words: Sequence[str], limit: int) -> Sequence[FoundText]:
        """Return the entries that the search may see and that have all of the words, the newest `limit` of them."""
        ...


def index_words(text: str, scope: str) -> list[str]:
    """Return what is indexed of a text: the word of its scope, and its own words in order, repeated ones too."""
    return [scope_word(scope), *(word[:MAX_WORD_CHARACTERS] for word in tokenize(text))]


def scope_word(scope: str) -> str:
    """Return the word that every entry of a scope has, and no text: so an index finds the words of one scope."""
    return f"_{hashlib.blake2b(scope.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def search_words(query: str, index: WordIndex, limit: int) -> list[int]:
    """Return the numbers of at most `limit` entries that share a word with the query, best and then newest first."""
    every = dict.fromkeys(word[:MAX_WORD_CHARACTERS] for word in tokenize(query))
    # Function words find what has nothing to do with the question; a query of nothing else is taken as it is.
    wanted = ([word for word in every if word not in _stem_function_words()] or [*every])[:MAX_COUNTED_WORDS]
    counts = {word: index.count(word, COUNT_LIMIT) for word in wanted}
    rarest = sorted((word for word in wanted if counts[word]), key=counts.__getitem__)[:MAX_WORDS]
    if not rarest or limit <= 0:
        return []
    most = max(CANDIDATES, 3 * limit)
    # What has all words has the rarest: if that is looked at as a whole, all words need no query of their own.
    together = [[*rarest]] if len(rarest) > 1 and counts[rarest[0]] > most else []
    found = _collect([*together, *([word] for word in rarest)], index, most)
    if not found:
        return []
    scores = _score({word: counts[word] for word in rarest}, index.count_entries(TOTAL_LIMIT), found)
    ranked = sorted(zip(scores, found, strict=True), key=lambda pair: (-pair[0], -pair[1].number))
    return [each.number for _, each in ranked[:limit]]


@cache
def _stem_function_words() -> frozenset[str]:
    return frozenset(tokenize(_FUNCTION_WORDS))


def _collect(queries: Sequence[Sequence[str]], index: WordIndex, most: int) -> list[FoundText]:
    """Return what is ranked: what has all words of the first query, then what has those of the next, and so on."""
    found: dict[int, FoundText] = {}
    for words in queries:
        # What was found before may be found again, hence not only the rest is asked for.
        for each in index.list_newest(words, most):
            if len(found) < most:
                found.setdefault(each.number, each)
        if len(found) >= most:
            break
    return list(found.values())


def _score(counts: dict[str, int], total: int, found: Sequence[FoundText]) -> list[float]:
    average = sum(len(each.words) for each in found) / len(found)
    total = max(total, *counts.values())
    weights = {word: math.log(1 + (total - count + 0.5) / (count + 0.5)) for word, count in counts.items()}
    scores: list[float] = []
    for each in found:
        length_penalty = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * len(each.words) / average)
        score = 0.0
        for word, weight in weights.items():
            if count := each.words.count(word):
                score += weight * count * (SATURATION + 1) / (count + length_penalty)
        scores.append(score)
    return scores
