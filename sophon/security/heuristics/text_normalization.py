"""Normalisation of texts before matching: compatibility forms, look-alikes, invisible characters, encodings.

An attack that is written with other characters, or encoded, must look to the rules like the plain one.
"""

import binascii
import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

_INVISIBLE: Final = (
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
    *(0x00AD, 0x034F, 0x061C, 0x180E, 0xFEFF, 0xE0001, 0xE007F),
)

_CONFUSABLES: Final = dict(
    zip(
        "аеорсухіјѕһԁԛԝќкмтвнАВЕКМНОРСТУХІЈЅԌԚԜαεικνορτυχηΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳıɡɑℓ∕⁄∖˸׃ꓲ",
        "aeopcyxijshdqwkkmtbhABEKMHOPCTYXIJSGQWaeiknoptuxnABEZHIKMNOPTYXcjigal//\\::I",
        strict=True,
    )
)
"""Letters that look like ASCII (a part of Unicode's confusables.txt: Cyrillic, Greek, and some signs)."""

_FOLD: Final[dict[int, str | None]] = {
    **dict.fromkeys(_INVISIBLE),
    **{ord(letter): plain for letter, plain in _CONFUSABLES.items()},
    **{0xE0000 + code: chr(code) for code in range(0x20, 0x7F)},
}
"""Tag characters are a second, invisible ASCII: they are read as what they spell."""

_HEX_ESCAPE: Final = re.compile(r"\\x([0-9a-fA-F]{2})")
_MIN_BASE64_RUN: Final = 16
_BASE64: Final = re.compile(rf"[A-Za-z0-9+/]{{{_MIN_BASE64_RUN},4096}}={{0,2}}")
_MAX_BASE64_RUNS: Final = 20
_MIN_PRINTABLE_LENGTH: Final = 8


def fold(text: str) -> str:
    """Return the text in NFKC, without invisible characters, with look-alikes as ASCII."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).translate(_FOLD)


def decode_forms(text: str) -> Iterator[str]:
    """Yield what a folded text says when percent signs, hexadecimal escapes or Base64 in it are decoded."""
    if "%" in text:
        decoded = unquote(text, errors="replace")
        if decoded != text:
            yield fold(decoded)
    if "\\x" in text:
        yield fold(_HEX_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text))
    if len(max(text.split(), key=len, default="")) < _MIN_BASE64_RUN:  # plain prose; a run of Base64 has no blanks
        return
    for count, match in enumerate(_BASE64.finditer(text)):
        if count == _MAX_BASE64_RUNS:
            return
        printable = decode_printable(match[0])
        if printable is not None:
            yield printable


def decode_printable(run: str) -> str | None:
    """Return the printable ASCII text that a run of Base64 stands for, or None."""
    try:
        bare = run.rstrip("=")
        content = binascii.a2b_base64(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
    if len(content) < _MIN_PRINTABLE_LENGTH or not content.isascii():
        return None
    text = content.decode("ascii")
    return text if all(each.isprintable() or each in "\n\t" for each in text) else None
