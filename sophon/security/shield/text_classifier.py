"""Classifier of texts that ships with Sophon: how probable it is that a text instructs an agent against its user.

A word stands for concepts: `ignore`, `vergiss` and `oublie` for one, `instructions` and `reglas` for another. Features
of a passage are its concepts, and their pairs in order, within twelve words and within three. A linear model weighs
them, and a logistic curve makes a probability of the sum. `python -m tests.action_classifier` trains and measures it.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.heuristics.text_normalization import fold
from sophon.security.shield.unusable_classifier import UnusableClassifier

FILE: Final = Path(__file__).with_name("text_classifier.json")

FAR: Final = 12
NEAR: Final = 3
"""Words within which two concepts are a pair."""

MAX_SENTENCES: Final = 3
MAX_CHARACTERS: Final = 240
"""Longest passage that is rated: an attack among other sentences is one by itself."""

USUAL_FEATURES: Final = 25
"""Features from which the sum is damped: a passage is no attack because it has many pairs."""

MIN_STEM: Final = 5
"""Shortest beginning that stands for a word that is not in the lexicon."""

_MAX_STEM: Final = 14
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|<!--|<\||</|\[/|###|---|===|\{")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n\s*")
_MAX_KEPT_WORDS: Final = 20_000
_MAX_LOGIT: Final = 60.0

Concepts = tuple[int, ...]
Sentence = tuple[list[tuple[int, Concepts]], int, int]
"""Places of the words that stand for concepts, number of words, number of characters."""


@dataclass(frozen=True)
class TextClassifier:
    """Lexicon (concept -> words and beginnings of words) and weights.

    A weight is that of a concept (`forget`), of a pair (`forget>rules`), or of a near one (`forget>>rules`).
    """

    lexicon: Mapping[str, Sequence[str]]
    weights: Mapping[str, float]
    bias: float
    slope: float
    offset: float

    def rate(self, text: str) -> float:
        """Return the probability of an attack, from 0 to 1: that of the passage with the highest."""
        return max(map(self.rate_features, self.list_features(fold(text))), default=0.0)

    def rate_features(self, features: set[int]) -> float:
        """Return the probability of an attack in a passage."""
        logit = self.slope * self.sum_weights(features) + self.offset
        return 1 / (1 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, logit))))

    def sum_weights(self, features: Iterable[int]) -> float:
        """Return the log odds before calibration."""
        weights = self._numbered_weights
        values = [weights.get(each, 0.0) for each in sorted(features)]
        return self.bias + sum(values) / damp(len(values))

    def list_features(self, text: str) -> Iterator[set[int]]:
        """Yield the features of each passage of a folded text."""
        return self._find_features_of_passages(list(map(self._read_sentence, split_sentences(text))))

    def find_features(self, passage: str) -> set[int]:
        """Return the features of a passage, however long it is."""
        placed, _, _ = self._read_sentence(passage)
        return self._find_features(placed)

    def _find_features_of_passages(self, sentences: Sequence[Sentence]) -> Iterator[set[int]]:
        """Yield the features of each sentence, and of two and three of them in a row that are short enough together."""
        within = [self._find_features(placed) for placed, _, _ in sentences]
        for start, (_, _, length) in enumerate(sentences):
            yield within[start]
            found, starts = (
                set(within[start]),
                [0, *accumulate(each[1] for each in sentences[start : start + MAX_SENTENCES])],
            )
            for number, (placed, _, characters) in enumerate(sentences[start + 1 : start + MAX_SENTENCES], 1):
                length += 1 + characters
                if length > MAX_CHARACTERS:
                    break
                found |= within[start + number]
                for before in range(number):
                    gap = starts[number] - starts[before]
                    found |= self._find_pairs(sentences[start + before][0], placed, gap)
                yield set(found)

    def _find_features(self, placed: Sequence[tuple[int, Concepts]]) -> set[int]:
        found = {concept for _, concepts in placed for concept in concepts}
        for number, each in enumerate(placed):
            found |= self._find_pairs((each,), placed[number + 1 : number + 1 + FAR], 0)
        return found

    def _find_pairs(
        self, firsts: Sequence[tuple[int, Concepts]], seconds: Sequence[tuple[int, Concepts]], gap: int
    ) -> set[int]:
        count, found = len(self.lexicon), set[int]()
        for place, concepts in firsts:
            for other, others in seconds:
                distance = other + gap - place
                if distance > FAR:
                    break
                pairs = [count + first * count + second for first in concepts for second in others]
                found.update(pairs)
                if distance <= NEAR:
                    found.update(pair + count * count for pair in pairs)
        return found

    def _read_sentence(self, sentence: str) -> Sentence:
        words = _WORD.findall(sentence.lower())
        return (
            [(place, found) for place, word in enumerate(words) if (found := self._find_concepts(word))],
            len(words),
            len(sentence),
        )

    def _find_concepts(self, word: str) -> Concepts:
        kept = self._kept_words
        found = kept.get(word)
        if found is None:
            if len(kept) >= _MAX_KEPT_WORDS:
                kept.clear()
            found = kept[word] = self._look_up(word)
        return found

    def _look_up(self, word: str) -> Concepts:
        stems = self._stems
        if word in stems:
            return stems[word]
        if (mark := max(word.find("'"), word.find("’"))) > 0:  # l'agent, user's
            return self._look_up(word[mark + 1 :]) or self._look_up(word[:mark])
        beginnings = (word[:length] for length in range(min(len(word) - 1, _MAX_STEM), MIN_STEM - 1, -1))
        return next((stems[each] for each in beginnings if each in stems), ())

    @cached_property
    def _kept_words(self) -> dict[str, Concepts]:
        return {}

    @cached_property
    def _stems(self) -> dict[str, Concepts]:
        stems = dict[str, Concepts]()
        for number, words in enumerate(self.lexicon.values()):
            for word in words:
                stems[word] = (*stems.get(word, ()), number)
        return stems

    @cached_property
    def _numbered_weights(self) -> dict[int, float]:
        numbers = {name: number for number, name in enumerate(self.lexicon)}
        return {_number_feature(name, numbers): weight for name, weight in self.weights.items()}


def _number_feature(name: str, numbers: Mapping[str, int]) -> int:
    """Return the number of a feature. Raises KeyError for a concept that the lexicon does not have."""
    first, mark, second = name.partition(">")
    if not mark:
        return numbers[first]
    nearness, count = second.startswith(">"), len(numbers)
    return count + nearness * count * count + numbers[first] * count + numbers[second.removeprefix(">")]


def damp(count: int) -> float:
    """Return what the sum of so many weights is divided by."""
    return math.sqrt(max(1.0, count / USUAL_FEATURES))


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; of a long one pieces, each of which overlaps half of the next."""
    for part in _SENTENCE_END.split(text):
        sentence = part.strip()
        for start in range(0, max(1, len(sentence) - MAX_CHARACTERS // 2), MAX_CHARACTERS // 2):
            if piece := sentence[start : start + MAX_CHARACTERS]:
                yield piece


def load_text_classifier(path: Path = FILE) -> TextClassifier:
    """Return the classifier of a file, by default the one that ships. Raises UnusableClassifier."""
    try:
        found: object = json.loads(path.read_text("utf-8"))
        return _read_classifier(found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnusableClassifier(f"cannot be read from {path.name}: {type(error).__name__}: {error}") from error


def _read_classifier(found: Any) -> TextClassifier:
    lexicon = {str(name): tuple(map(str, words)) for name, words in found["lexicon"].items()}
    weights = {str(name): float(value) for name, value in found["weights"].items()}
    read = TextClassifier(lexicon, weights, *(float(found[name]) for name in ("bias", "slope", "offset")))
    if not weights:
        raise ValueError("there are no weights")
    read.rate("a text that needs all of it")
    if not all(map(math.isfinite, (*weights.values(), read.bias, read.slope, read.offset))):
        raise ValueError("a number is not finite")
    return read
