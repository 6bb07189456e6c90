"""Text with the escapes of JSON, of other literals, of HTML and of URLs decoded."""

from collections.abc import Iterator
from html import unescape

from sophon.lazy_pattern import lazy_pattern
from sophon.security.rewritten_text import RewrittenText, rewrite
from sophon.security.secret_form import AFTER_ESCAPE

_PERCENT = "%(?:25){0,2}"
"""Also of a URL within a URL."""
_NEXT = f"{_PERCENT}[89abAB][0-9A-Fa-f]"
_ESCAPE = lazy_pattern(
    # More backslashes where a literal is within another one.
    r"\\{1,4}u[dD][89abAB][0-9A-Fa-f]{2}\\{1,4}u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\{1,4}(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[nrtbfv])"
    rf"|{_PERCENT}(?:[0-7][0-9A-Fa-f]|[cdCD][0-9A-Fa-f]{_NEXT}|[eE][0-9A-Fa-f](?:{_NEXT}){{2}}"
    rf"|[fF][0-7](?:{_NEXT}){{3}})"
    # `&amp;#46;` is HTML within HTML.
    r"|&(?:amp;){0,2}(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};)"
)
_PLUS = lazy_pattern(rf"(?<=[\w)])(?!(?:{AFTER_ESCAPE})\+\d)\+{{1,2}}(?=[\w(])")
"""A space in a form and in the query of a URL, unless a phone number begins there."""
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}


def decode(text: str) -> Iterator[RewrittenText]:
    """Yield what the text may stand for: with its escapes decoded, and as the text of a form; nothing without any."""
    decoded = _decode_escapes(text)
    if decoded.starts:
        yield decoded
    if "+" in text and (form := _PLUS.sub(lambda plus: " " * len(plus[0]), text)) != text:
        yield _decode_escapes(form)


def _decode_escapes(text: str) -> RewrittenText:
    if "\\" in text or "%" in text or "&" in text:
        return rewrite(text, _ESCAPE, _decode)
    return RewrittenText(text, [], [], [0])


def _decode(escape: str) -> str | None:
    if escape[0] == "&":
        decoded = unescape("&" + escape[1:].replace("amp;", ""))
        return decoded if len(decoded) == 1 else None
    if escape[0] == "%":
        codes = bytes.fromhex("".join(each[-2:] for each in escape.split("%")))
        decoded = codes.decode("utf-8", "replace")
        return decoded if len(decoded) == 1 else "\ufffd"
    letters = [each for each in escape.split("\\") if each]
    if len(letters[0]) == 1:
        return _LETTERS[letters[0]]
    units = (int(each[1:], 16).to_bytes(2, "little") for each in letters)
    return b"".join(units).decode("utf-16-le", "surrogatepass")
