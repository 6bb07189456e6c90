"""Reversible placeholders: personal data in a text is replaced by `[EMAIL_1]` and the like, and put back later."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, Final, cast

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.personal_data import (
    NamePattern,
    PersonalDataKind,
    Span,
    find_names,
    find_personal_data,
    merge_spans,
)
from sophon.security.rewritten_text import decode

_PLACEHOLDER: Final = lazy_pattern(r"\[(?:EMAIL|PHONE|IBAN|CARD|IP|NAME|TEXT)_[0-9]{1,9}\]")
_BEGUN: Final = lazy_pattern(r"\[(?:[A-Z]{0,5}|[A-Z]{2,5}_[0-9]{0,9})\Z")
"""The end of a text that more text may make a placeholder of."""

MAX_BEGUN_CHARACTERS = 16

MAX_PASSES = 4
"""Searches of one text: what is left of one value at another, as in `a@b.orgc@d.org`, may be a value again."""


class Placeholders:
    """The placeholders of one turn: the same value has the same one. Thread-safe.

    A text that looks like a placeholder by itself gets one, too (`[TEXT_1]`), so that each text comes back as it was.
    """

    def __init__(self, kinds: Collection[PersonalDataKind], names: Sequence[NamePattern]) -> None:
        self._kinds, self._names = tuple(kinds), names
        self._by_value: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._lock = Lock()

    def mask(self, text: str) -> str:
        """Return the text with a placeholder in place of each value."""
        spans = [*_find_placeholders(text), *self._find_values(text)]
        for _ in range(MAX_PASSES):
            if not spans:
                break
            text = self._replace(text, spans)
            own = {place for span in _find_placeholders(text) for place in range(span.start, span.end)}
            spans = [each for each in self._find_values(text) if own.isdisjoint(range(each.start, each.end))]
        return text

    def _find_values(self, text: str) -> Iterator[Span]:
        yield from self._find_plain(text)
        for decoded in decode(text):
            for start, end, label in self._find_plain(decoded.text):
                yield Span(*decoded.find_span(start, end), label)

    def _find_plain(self, text: str) -> Iterator[Span]:
        yield from find_personal_data(text, self._kinds)
        yield from find_names(text, self._names)

    def _replace(self, text: str, spans: Iterable[Span]) -> str:
        parts: list[str] = []
        end = 0
        for span in merge_spans(spans):
            parts += (text[end : span.start], self._find(text[span.start : span.end], span.label))
            end = span.end
        return "".join([*parts, text[end:]])

    def mask_json(self, value: Any) -> Any:
        """Return JSON data with the values in all of its texts masked, those in names of fields too."""
        return _map_texts(value, self.mask)

    def restore(self, text: str) -> str:
        """Return the text with the values in place of their placeholders; an unknown placeholder stays."""
        if not self._values or "[" not in text:
            return text
        return _PLACEHOLDER.sub(lambda match: self._values.get(match[0], match[0]), text)

    def restore_json(self, value: Any) -> Any:
        """Return JSON data with the placeholders in all of its texts restored."""
        return _map_texts(value, self.restore)

    def _find(self, value: str, label: str) -> str:
        with self._lock:
            placeholder = self._by_value.get(value)
            if placeholder is None:
                number = self._counts[label] = self._counts.get(label, 0) + 1
                placeholder = self._by_value[value] = f"[{label}_{number}]"
                self._values[placeholder] = value
        return placeholder


def _find_placeholders(text: str) -> Iterator[Span]:
    return (Span(*match.span(), "TEXT") for match in _PLACEHOLDER.finditer(text))


class StreamRestorer:
    """Restores placeholders in a streamed text, wherever it is cut; holds back what may be the beginning of one."""

    def __init__(self, placeholders: Placeholders) -> None:
        self._placeholders, self._held = placeholders, ""

    def feed(self, text: str) -> str:
        """Return what can be shown of the text so far."""
        text = self._held + text
        begun = _BEGUN.search(text, max(0, len(text) - MAX_BEGUN_CHARACTERS))
        cut = len(text) if begun is None else begun.start()
        self._held = text[cut:]
        return self._placeholders.restore(text[:cut])

    def flush(self) -> str:
        """Return the rest at the end of the text."""
        held, self._held = self._held, ""
        return held


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_texts(each, change) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_map_texts(each, change) for each in cast("Sequence[Any]", value)]
    return value
