"""Words of messages and terms of queries: what the index holds, and when a text matches. Pure functions.

A query is plain text: no character of it has a meaning of its own. Case and accents do not count. A term matches at the
beginning of a word; one of a single letter matches whole words only, because nearly every text has a word that begins
with it. Scripts that are written without spaces are indexed by single characters and pairs, and match anywhere.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern

MAX_WORD_CHARACTERS: Final = 64
"""Characters of a word that are indexed and compared; PostgreSQL stores words of at most 2,046 bytes."""

MAX_INDEXED_WORDS: Final = 10_000
"""Different words of one message that are indexed, the first ones; PostgreSQL stores at most 1 MB of them."""

MAX_QUERY_CHARACTERS: Final = 1000
"""Characters of a query that are looked at."""

MAX_TERMS: Final = 16
"""Terms of a query that must match, the first ones."""

_UNSPACED: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, Kana and Han."""

_WORD = lazy_pattern(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_RUN = lazy_pattern(rf"[{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Term:
    """Term of a query. `is_unspaced`: its script has no spaces, so it matches anywhere in a run of that script."""

    text: str
    is_unspaced: bool = False

    @property
    def is_whole_word(self) -> bool:
        """Whether it matches a whole word only."""
        return not self.is_unspaced and len(self.text) == 1

    def list_indexed(self) -> list[str]:
        """Return the words of the index that a matching message has all of."""
        return [*_pairs(self.text)] if self.is_unspaced and len(self.text) > 1 else [self.text]

    @property
    def is_prefix(self) -> bool:
        """Whether the index is asked for words that begin with the term."""
        return not self.is_unspaced and len(self.text) > 1


def fold(text: str) -> str:
    """Return the text in the form that is compared: lower case, compatibility forms, no accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in decomposed if not unicodedata.combining(each)).casefold()


def fold_character(character: str) -> str:
    """Return what `fold` makes of one character, in any text; it may become several, or none."""
    return fold(character)


def index_words(text: str) -> list[str]:
    """Return the different words of a message that are indexed, in the order of their first use."""
    found: dict[str, None] = {}
    for word in _iterate_words(fold(text)):
        found.setdefault(word)
        if len(found) == MAX_INDEXED_WORDS:
            break
    return [*found]


def owner_word(owner: str) -> str:
    """Return the word that each message of an owner has in the index, and no text: so a search reads no other's."""
    return f"_{blake2b(owner.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def parse_query(query: str) -> list[Term]:
    """Return the terms of a query; none if it has neither letter nor digit."""
    words = _WORD.findall(fold(query[:MAX_QUERY_CHARACTERS]))
    terms = {word[:MAX_WORD_CHARACTERS]: _UNSPACED_RUN.match(word) is not None for word in words}
    return [Term(text, is_unspaced) for text, is_unspaced in terms.items()][:MAX_TERMS]


def find_matches(folded: str, terms: Sequence[Term]) -> list[tuple[int, int]] | None:
    """Return where the terms match in a folded text, in order, the longest first; None unless each matches."""
    spans: list[tuple[int, int]] = []
    missing = set(terms)
    for found in _WORD.finditer(folded):
        word, start = found[0], found.start()
        is_unspaced = _UNSPACED_RUN.match(word) is not None
        for term in terms:
            if term.is_unspaced:
                at = word.find(term.text) if is_unspaced else -1
            elif is_unspaced:
                continue
            else:
                at = 0 if (word == term.text if term.is_whole_word else word.startswith(term.text)) else -1
            if at >= 0:
                missing.discard(term)
                spans.append((start + at, start + at + len(term.text)))
    return None if missing else sorted(set(spans), key=lambda span: (span[0], -span[1]))


def _iterate_words(folded: str) -> Iterator[str]:
    for found in _WORD.finditer(folded):
        word = found[0]
        if _UNSPACED_RUN.match(word) is None:
            yield word[:MAX_WORD_CHARACTERS]
        else:
            yield from word
            yield from _pairs(word)


def _pairs(run: str) -> Iterator[str]:
    return (run[index : index + 2] for index in range(len(run) - 1))
