"""Recognition of personal data: e-mail addresses, phone numbers, IBANs, credit cards, IP addresses and given names.

Numbers with a check digit are validated (IBAN: ISO 13616, cards: Luhn, ISO/IEC 7812), so that ordinary numbers stay.
A pattern is tried only where a digit, an `@`, two colons or the beginning of a name stand, and looks at a bounded piece
of text there, so that the time is linear and a text without any costs little.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from string import ascii_uppercase
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.redaction.secret_form import AFTER_ESCAPE
from sophon.security.rewritten_text import fold

PersonalDataKind: TypeAlias = Literal["email", "phone", "iban", "card", "ip"]
"""The kinds that are recognised by their form."""

ALL_KINDS: Final[frozenset[PersonalDataKind]] = frozenset(get_args(PersonalDataKind))

_WORD = r"0-9A-Za-z_\u00aa\u00b5\u00ba\u00c0-\u0dff"
"""Characters of a word in scripts with spaces between words; in others a value may stand within a word."""
_START = rf"(?:(?<![{_WORD}])|{AFTER_ESCAPE})"
_END = rf"(?![{_WORD}])"
_SPACES = r" \u00a0\u2000-\u200a\u202f\u3000"
_SPACE = rf"[{_SPACES}]"
_DASHES = r"\u2010-\u2015\u2212\uff0d-"
_INVISIBLE = r"\u00ad\u200b-\u200d\u2060\ufeff"
_LETTER_ESCAPE = r"\\{1,7}u(?!00[0-9AaBb])[0-9A-Fa-f]{4}"
"""A letter beyond ASCII, as JSON escapes it."""

_AT = rf"[(\[{{]{_SPACE}?(?:[Aa][Tt]|@){_SPACE}?[)\]}}]{_SPACE}?"
_SIGN = rf"(?:[@\uff20]|%(?:25)?40|&(?:#(?:64|x40)|commat);|\\{{1,7}}u0040|{_AT})"
"""`@`, as URLs, HTML and JSON escape it and people write it."""
_DOT = rf"(?:[.\uff0e\u3002\uff61]|{_SPACE}?[(\[{{]{_SPACE}?(?:[Dd][Oo][Tt]|\.){_SPACE}?[)\]}}]{_SPACE}?)"
_LABEL = rf"(?:[{_WORD}{_INVISIBLE}-]|{_LETTER_ESCAPE}){{1,63}}"
_EMAIL_DOMAIN = lazy_pattern(
    rf"{_SIGN}(?:{_LABEL}{_DOT}){{1,8}}"
    rf"(?:xn--[{_WORD}-]{{1,59}}|(?:[A-Za-z\u00c0-\u0dff]|{_LETTER_ESCAPE}){{2,24}}){_END}"
    # In scripts without spaces between words a domain ends with its letters.
    rf"|{_SIGN}(?:[\w-]{{1,63}}{_DOT}){{1,8}}[^\W\d_]{{2,24}}"
)
_LOCAL_BACKWARDS = lazy_pattern(
    rf"(?:(?![0-9A-Fa-f][0-9AaBb]00u)[0-9A-Fa-f]{{4}}u\\{{1,7}}|[{_WORD}{_INVISIBLE}.+-]|'(?=[{_WORD}]))++"
)
_OTHER_LOCAL_BACKWARDS = lazy_pattern(r"[\w.+-]++")
"""A local part in a script without spaces between words."""
_ESCAPE = lazy_pattern(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0nrtbfv])|%[0-9A-Fa-f]{2}")
"""In front of a value in JSON or a URL; its letters are none of the value."""
_EMAIL_SIGN = lazy_pattern(_SIGN)
MAX_LOCAL_CHARACTERS, MAX_DOMAIN_CHARACTERS = 320, 640
_ZERO = r"[0\u0660\u06f0\u0966\uff10]"
_PHONE = lazy_pattern(
    # International, national with a leading 0, and of North America.
    rf"(?:(?<![{_WORD}+])|{AFTER_ESCAPE})(?:[+\uff0b]|00(?=[1-9]))(?:[{_SPACES}\t./(){_DASHES}]{{0,3}}\d){{7,15}}{_END}"
    rf"|(?:\({_ZERO}\d{{1,4}}\)|{_START}{_ZERO}\d{{1,4}})[{_SPACES}/{_DASHES}]{{1,3}}"
    rf"\d(?:[{_SPACES}/{_DASHES}]?\d){{4,10}}{_END}"
    rf"|{_START}{_ZERO}\d{{8,11}}{_END}"
    rf"|{_START}{_ZERO}(?:\d(?:\.\d\d){{4}}|\d{{2,4}}\.\d{{6,8}})(?!\.?\d){_END}"
    rf"|(?:\([2-9]\d{{2}}\){_SPACE}?|{_START}[2-9]\d{{2}}[.{_SPACES}{_DASHES}])\d{{3}}[.{_SPACES}{_DASHES}]\d{{4}}{_END}"
)
_GAP = rf"(?:[{_SPACES}\t]{{1,2}}|[.{_DASHES}])?"
_IBAN = lazy_pattern(
    rf"{_START}[A-Za-z]{{2}}\d{{2}}(?:{_GAP}[A-Za-z0-9]{{4}}){{2,7}}(?:{_GAP}[A-Za-z0-9]{{1,3}})?{_END}"
)
_CARD = lazy_pattern(
    rf"{_START}[2-6]\d{{3}}(?:(?:(?:{_SPACE}{{1,2}}|[{_DASHES}])?\d){{9,15}}|(?:\.\d{{4}}){{3}}){_END}"
)
_IPV4 = lazy_pattern(rf"(?:(?<![{_WORD}.])|{AFTER_ESCAPE})(?:\d{{1,3}}(?:\.|\[\.\])){{3}}\d{{1,3}}(?!\.?[{_WORD}])")
_IPV6 = lazy_pattern(rf"(?:(?<![{_WORD}:.])|{AFTER_ESCAPE})[0-9A-Fa-f:]{{3,39}}(?![{_WORD}:])")
_COLONS = lazy_pattern("[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:")
_DIGITS = lazy_pattern(r"\d+")
_DATE = lazy_pattern(r"\d{1,2}[/-]\d{1,2}[/-](?:\d{2}|\d{4})")
_SEPARATORS = lazy_pattern(r"[^A-Za-z0-9]")
_TRAILING_GAP = lazy_pattern(rf"[{_SPACES}\t.{_DASHES}]+\Z")
_IBAN_DIGITS = {ord(letter): str(number) for number, letter in enumerate(ascii_uppercase, 10)}


class Span(NamedTuple):
    """Place of a value in a text; `label` is its kind in capital letters."""

    start: int
    end: int
    label: str


def find_personal_data(text: str, kinds: Iterable[PersonalDataKind] = ALL_KINDS) -> Iterator[Span]:
    """Yield the places of personal data of the kinds; places may overlap."""
    kinds = frozenset(kinds)
    if "email" in kinds:
        yield from _find_emails(text)
    if "ip" in kinds:
        yield from _find_addresses(text)
    forms = [form for form in _NUMBERS if form.kind in kinds]
    ends = dict.fromkeys(forms, 0)
    for digits in _DIGITS.finditer(text) if forms else ():
        for form in forms:
            start = max(0, digits.start() - form.before)
            if digits.start() >= ends[form]:
                for place in range(start, digits.start() + 1):
                    match = form.pattern.match(text, place)
                    length = 0 if match is None else form.measure(match[0])
                    if length:
                        ends[form] = place + length
                        yield Span(place, place + length, form.kind.upper())
                        break


def _find_emails(text: str) -> Iterator[Span]:
    end = 0
    for sign in _EMAIL_SIGN.finditer(text):
        at = sign.start()
        if at < end:
            continue
        domain = _EMAIL_DOMAIN.match(text, at, at + MAX_DOMAIN_CHARACTERS)
        if domain is None:
            continue
        at -= text[at] in "([{" and text[at - 1 : at] == " "  # as in `ada [at] example.org`
        backwards = text[max(end, at - MAX_LOCAL_CHARACTERS) : at][::-1]
        local = _LOCAL_BACKWARDS.match(backwards) or _OTHER_LOCAL_BACKWARDS.match(backwards)
        if local is None:
            continue
        begun = at - local.end()
        escape = _ESCAPE.match(text, begun - 1) if begun else None
        begun = escape.end() if escape and escape.end() < at else begun
        end = domain.end()
        yield Span(begun, end, "EMAIL")


def _find_addresses(text: str) -> Iterator[Span]:
    end = 0
    for colons in _COLONS.finditer(text):
        if colons.start() >= end and (match := _IPV6.match(text, colons.start())) is not None:
            length = _measure_ipv6(match[0])
            end = match.start() + length
            if length:
                yield Span(match.start(), end, "IP")


class NamePattern(NamedTuple):
    """Pattern of a name, tried only where its first characters stand, which are found at ten times the speed."""

    head: re.Pattern[str]
    pattern: re.Pattern[str]


@lru_cache(maxsize=64)
def compile_names(names: tuple[str, ...]) -> tuple[NamePattern, ...]:
    """Return the patterns of whole names in a folded text, whatever the white space in them.

    They are found in composed and decomposed letters.
    """
    forms = (unicodedata.normalize(form, " ".join(name.split())) for name in names for form in ("NFC", "NFD"))
    spellings = dict.fromkeys(fold(each).text for each in forms)
    return tuple(
        NamePattern(re.compile(re.escape(each.split()[0][:3])), re.compile(_name_pattern(each)))
        for each in spellings
        if each
    )


def find_names(text: str, names: Iterable[NamePattern]) -> Iterator[Span]:
    """Yield the places of names; places may overlap."""
    folded = fold(text)
    for head, pattern in names:
        for begun in head.finditer(folded.text):
            match = pattern.match(folded.text, begun.start())
            if match is not None:
                yield Span(*folded.find_span(*match.span()), "NAME")


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the places in order, with those that overlap as one."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), last.label)
        else:
            merged.append(span)
    return merged


def _name_pattern(name: str) -> str:
    inner = r"\s+".join(map(re.escape, name.split()))
    start = _START if re.match(f"[{_WORD}]", name) else ""
    return f"{start}{inner}{_END if re.search(f'[{_WORD}]$', name) else ''}"


def _measure_phone(text: str) -> int:
    return 0 if _DATE.match(text) else len(text)


def _measure_longest(is_valid: Callable[[str], bool], least: int) -> Callable[[str], int]:
    """Return a function that measures the longest valid beginning of at least some letters and digits: words behind a
    number may look like a part of it.
    """

    def measure(text: str) -> int:
        while len(bare := _SEPARATORS.sub("", text)) >= least:
            if is_valid(bare):
                return len(text)
            cut = max((at for at, each in enumerate(text) if not each.isalnum()), default=0)
            text = _TRAILING_GAP.sub("", text[:cut])
        return 0

    return measure


def _is_iban(text: str) -> bool:
    return len(text) <= 34 and int((text[4:] + text[:4]).upper().translate(_IBAN_DIGITS)) % 97 == 1


def _is_card(text: str) -> bool:
    digits = [*map(int, reversed(text))]
    doubled = sum(each * 2 - 9 * (each > 4) for each in digits[1::2])
    return len(text) <= 19 and len(set(text)) > 1 and (sum(digits[::2]) + doubled) % 10 == 0


def _measure_ipv4(text: str) -> int:
    return len(text) if all(int(each) < 256 for each in text.replace("[.]", ".").split(".")) else 0


def _measure_ipv6(text: str) -> int:
    text = text.rstrip(":") if text.endswith(":") and not text.endswith("::") else text
    groups = [each for each in text.split(":") if each]
    # Less may be a slice or a scope in source code.
    if len(groups) < 4 and not any(len(each) > 2 for each in groups):
        return 0
    try:
        IPv6Address(text)
    except AddressValueError:
        return 0
    return len(text)


class _NumberForm(NamedTuple):
    """Form of a number; it begins at most `before` characters in front of its first digits. `measure` returns how much
    of a match is the value.
    """

    kind: PersonalDataKind
    pattern: re.Pattern[str]
    before: int
    measure: Callable[[str], int]


_NUMBERS: Final = (
    _NumberForm("phone", _PHONE, 1, _measure_phone),
    _NumberForm("iban", _IBAN, 2, _measure_longest(_is_iban, 15)),
    _NumberForm("card", _CARD, 0, _measure_longest(_is_card, 13)),
    _NumberForm("ip", _IPV4, 0, _measure_ipv4),
)
