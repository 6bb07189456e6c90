"""The forms in which a known secret appears in a text: as it is, escaped character by character, and in Base64.

A provider, a proxy or a library may quote a key in JSON (`\\/`, `\\u002b`, JSON within JSON), as a Python literal, in
a URL (`%2B` and `%2b`), in HTML, or within a Base64 text such as a header of basic authentication. Reversed, encrypted
or split secrets are not found. The pattern has a bounded number of alternatives for each character and three for
Base64, each of fixed length but for a run of backslashes, so that the search takes linear time.
"""

import re
from base64 import b64encode
from functools import cache

from sophon.security.secret_patterns import BOUNDARY

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
