"""Text as the grammars see it: folded, without quotations, in sentences and clauses."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern

MAX_CHARACTERS: Final = 4000
"""Of a longer text the beginning and the end are judged: what is pasted into a message stands between."""

_QUOTED = lazy_pattern(r"\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|„[^“”\n]{1,500}[“”]|«[^»\n]{1,500}»")
_SENTENCE_END = lazy_pattern(r"[.!?;]+(?=\s|\Z)|\n+")
_CLAUSE_END = lazy_pattern(
    r"[,:](?=\s)|\s[-–—]\s|[()]|\b(?:and|then|but|y|pero|luego|und|aber|dann|et|puis|mais)\b(?!-)"
)
_UNFOLDED: Final = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "’": "'", "‘": "'", "\u00a0": " ", "\u202f": " "})


_ADDRESS = lazy_pattern(r"https?://\S+")


def fold_text(text: str) -> str:
    """Return the text in lower case, without accents, with straight apostrophes."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_UNFOLDED))
    return "".join(each for each in decomposed if not unicodedata.combining(each))


def cut_middle(text: str) -> str:
    """Return a text of at most `MAX_CHARACTERS`, without its middle if it is longer."""
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def remove_quotations(text: str) -> str:
    """Return the text with marks in place of quotations and addresses, whose words ask nothing."""
    return _ADDRESS.sub("https://address.com", _QUOTED.sub(' "" ', text))


_FROM_OTHERS = lazy_pattern(
    r"^>[^\n]*|```.*?(?:```|\Z)|^(?:from|von|de): [^\n]*\n(?:[^\n]*\n){0,4}?(?:subject|betreff|asunto|objet) ?: .*"
    r"|^-{2,} ?(?:original|forwarded|weitergeleitete|urspr|mensaje|message)[^\n]*.*",
    re.MULTILINE | re.DOTALL,
)
"""Quoted lines, blocks of code, and a mail from its header on, in folded text."""


def remove_words_of_others(folded: str) -> str:
    """Return a folded text without what its author has quoted or pasted, as far as its form shows that."""
    return _FROM_OTHERS.sub("", folded)


def split_sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a text, each with whether it ends, or in Spanish begins, as a question."""
    start = 0
    for end in [*_SENTENCE_END.finditer(text), None]:
        sentence = text[start : end.start() if end else len(text)].strip()
        if sentence:
            yield sentence, (end is not None and "?" in end.group()) or sentence.startswith("¿")
        start = end.end() if end else len(text)


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence."""
    return [each.strip(" ¿¡") for each in _CLAUSE_END.split(sentence) if each.strip(" ¿¡")]
