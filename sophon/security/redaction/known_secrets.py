"""Secrets known by value: what the settings resolved in this process, of whatever form it is and however encoded."""

import re
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache

from sophon.security.redaction.secret_patterns import BOUNDARY

MARKER = "[REDACTED]"
"""Replacement of a secret."""

MIN_CHARACTERS = 8
"""Shorter values, such as `ollama`, occur in ordinary text and are not searched for."""

MAX_VALUES = 1000
"""The oldest value is forgotten beyond this number."""


class KnownSecrets:
    """The values to search for, also in the encodings of `encoded_pattern`.

    The pattern is compiled when it is first needed: a host resolves its secrets one after the other.
    """

    def __init__(self) -> None:
        self.values: dict[str, None] = {}
        """The values; a change replaces all of them, so that who has searched for these can tell."""
        self._compiled: tuple[dict[str, None], re.Pattern[str] | None] = (self.values, None)
        self._begun: tuple[dict[str, None], list[re.Pattern[str]]] = (self.values, [])
        self._lock = threading.Lock()

    def add(self, value: str) -> None:
        """Search for a value from now on; one that is too short is ignored. Thread-safe."""
        value = value.strip()
        if len(value) < MIN_CHARACTERS or value in self.values or value in MARKER:
            return
        with self._lock:  # otherwise one of two values that are added at the same time is lost
            values = {**self.values, value: None}
            if len(values) > MAX_VALUES:
                del values[next(iter(values))]
            self.values = values

    def restore(self, values: Mapping[str, None]) -> None:
        """Search for exactly these values again; for a test whose settings end with it."""
        self.values = dict(values)

    def replace(self, text: str, marker: str = MARKER) -> str:
        """Return the text with every known value replaced."""
        pattern = self._pattern()
        return text if pattern is None else pattern.sub(marker, text)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the place of every known value in the text."""
        pattern = self._pattern()
        if pattern is not None:
            yield from (match.span() for match in pattern.finditer(text))

    def _pattern(self) -> re.Pattern[str] | None:
        values, compiled = self.values, self._compiled
        if compiled[0] is not values:
            compiled = self._compiled = (values, compile_values(values))
        return compiled[1]

    def find_begun(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where values that hold a boundary (`BOUNDARY`) begin, and up to which boundary the text agrees.

        A text that is cut within may hold half a value in each part.
        """
        values, begun = self.values, self._begun
        if begun[0] is not values:
            begun = self._begun = (values, [re.compile(each) for each in map(begun_pattern, values) if each])
        for pattern in begun[1]:
            yield from (match.span(1) for match in pattern.finditer(text))


def compile_values(values: "dict[str, None] | frozenset[str] | set[str]") -> re.Pattern[str] | None:
    """Return the pattern of the values, the longest first, because one may be a prefix of another; None without one."""
    known = sorted((value for value in values if len(value) >= MIN_CHARACTERS), key=lambda value: (-len(value), value))
    return re.compile("|".join(map(encoded_pattern, known))) if known else None


KNOWN_SECRETS = KnownSecrets()
"""Of this process: an error text is redacted where it is made, far from the settings that hold the secret."""


_BACKSLASHES = r"\\{1,8}"
_NAMED_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_HTML_NAMES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_MIN_BASE64_CHARACTERS = 10
"""Fewer characters of Base64 occur in ordinary text."""
_MAX_PARTS = 60
_MAX_ENCODED = 16
"""Maximum length of a character's escape, apart from repeated backslashes."""


def encoded_pattern(value: str) -> str:
    """Return the pattern of a value in all its forms.

    A value of letters only, such as `postgres`, is searched for as a word: it may be part of another one.
    """
    if value.isalpha() and value.isascii():
        escape = r"(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})"
        plain = rf"(?:(?<![A-Za-z])|{escape}){value}(?![A-Za-z])"
    else:
        plain = "".join(map(_character_pattern, value))
    return "|".join([plain, *_base64_patterns(value)])


def begun_pattern(value: str) -> str:
    """Return the pattern whose group 1 is a value's beginning up to any boundary in it; "" if it has no boundary.

    Matches are empty and may overlap. Past a number of boundaries any text counts as the value's, because the parser of
    patterns is recursive.
    """
    ends = [match.end() for match in BOUNDARY.finditer(value)]
    parts = [value[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    if not parts:
        return ""
    rest = rf"(?s:.){{0,{_MAX_ENCODED * len(value)}}}" if len(parts) > _MAX_PARTS else ""
    for part in reversed(parts[:_MAX_PARTS]):
        encoded = "".join(map(_character_pattern, part))
        rest = f"{encoded}(?:{rest})?" if rest else encoded
    return f"(?=({rest}))"


@cache
def _character_pattern(character: str) -> str:
    """Return the pattern of one character and its escapes; ASCII letters and digits have none."""
    if character.isascii() and character.isalnum():
        return character
    code = ord(character)
    percent = "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
    units = character.encode("utf-16-be", "surrogatepass")
    unicode = "".join(rf"{_BACKSLASHES}u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
    forms = [re.escape(character), f"(?i:{percent})", f"(?i:{unicode})", f"&#{code};", f"(?i:&#x{code:x};)"]
    if character in _HTML_NAMES:
        forms.append(f"&{_HTML_NAMES[character]};")
    if character in _NAMED_ESCAPES:
        forms.append(f"{_BACKSLASHES}{_NAMED_ESCAPES[character]}")
    if character in "\"'/":
        forms.insert(0, f"{_BACKSLASHES}{character}")
    if character == "\\":
        forms[0] = _BACKSLASHES
    if character == " ":
        forms.append(r"\+")
    if code < 0x100:
        forms.append(rf"(?i:{_BACKSLASHES}x{code:02x})")
    elif code > 0xFFFF:
        forms.append(rf"(?i:{_BACKSLASHES}U{code:08x})")
    if not character.isascii():  # the repr of bytes
        data = character.encode("utf-8", "surrogatepass")
        forms.append("(?i:" + "".join(rf"{_BACKSLASHES}x{byte:02x}" for byte in data) + ")")
    return f"(?:{'|'.join(dict.fromkeys(forms))})"


def _base64_patterns(value: str) -> list[str]:
    """Return the patterns of the value within any Base64 text, which depends on its place: one for each of the three.

    Only characters that stand for bits of the value alone are compared, in the alphabet of MIME and that of URLs.
    """
    data = value.encode("utf-8", "surrogatepass")
    found: list[str] = []
    for before in range(3):
        encoded = b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (before * 8 + 5) // 6
        last = (before + len(data)) * 8 // 6
        inner = encoded[first:last]
        if len(inner) >= _MIN_BASE64_CHARACTERS:
            found.append(inner.replace("+", "[+-]").replace("/", r"(?:\\{0,8}/|_)"))
    return found
