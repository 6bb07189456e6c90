"""Escapes of the shell: those of `$'...'`, `echo -e` and `printf`."""

import re
import string
from typing import Final


def decode_escapes(text: str, *, is_echo: bool = False) -> str:
    """Return the text of a `$'...'` string, or of `echo -e` and `printf`, with its escapes replaced."""
    pattern = _ECHO_ESCAPE if is_echo else _ESCAPE
    return pattern.sub(_decode_escape, text)


def _decode_escape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
    elif code[0] in string.octdigits:
        number = int(code, 8) % 256
    elif code[0] == "c" and len(code) == 2:
        number = ord(code[1]) & 31
    else:
        return _LETTERS.get(code, match[0])
    return chr(number) if number <= _MAX_CODE_POINT and not 0xD800 <= number < 0xE000 else match[0]


_MAX_CODE_POINT: Final = 0x10FFFF
_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
    **{each: each for each in "\\'\"?"},
}
_CODES: Final = r"x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|c.|[A-Za-z\\'\"?]"
_ESCAPE: Final = re.compile(rf"\\([0-7]{{1,3}}|{_CODES})", re.DOTALL)
_ECHO_ESCAPE: Final = re.compile(rf"\\(0[0-7]{{1,3}}|[0-7]{{1,3}}|{_CODES})", re.DOTALL)
