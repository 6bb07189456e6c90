"""Named values: whether the values in a call's arguments occur in what a person wrote.

A value occurs if the text has it as a whole: `example.org` does not occur in `bob@example.org`, nor 12 in `12.50`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast

MAX_CHARACTERS: Final = 20_000
"""A longer value is not searched for: people do not write it out, and a search would cost too much."""

MAX_WORDS: Final = 500
"""Different words of a value that are searched for on their own."""

_VERBATIM: Final = frozenset({"command", "cmd", "code", "script", "sql"})
"""Arguments in which the order of the words decides."""

_JOINERS: Final = frozenset("._-@/:\\+%=&?#~$*,")
"""Characters that join what stands on both sides of them to one name, number, path or address."""

_OPENERS: Final = frozenset("./\\~-@")
"""Joiners that belong to what follows them, also at the beginning of a word: `.env`, `/etc`, `-5`."""

_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of scripts that put no spaces between words, or attach particles to them."""

_FILE_ENDINGS: Final = frozenset(
    {
        *("md", "mov", "ps", "pub", "py", "rs", "sh", "tf", "zip"),  # these are top-level domains too
        *("txt", "pdf", "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "csv", "tsv", "ppt", "pptx", "ics", "eml"),
        *("json", "yaml", "yml", "toml", "xml", "html", "htm", "ini", "cfg", "conf", "env", "log", "sql", "db", "bak"),
        *("js", "ts", "css", "java", "go", "rb", "php", "exe", "bat", "tar", "gz", "tgz", "rar", "pem", "key", "lock"),
        *("png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "wav", "ogg", "avi", "mkv"),
    }
)
"""Endings by which a name with a dot is one of a file, and not of a site."""

_SURROUNDING: Final = ".,;:!?'\"`()[]{}<>«»„“”‘’…"
_NUMBER: Final = re.compile(r"-?\d+(?:[.,'’]\d+)*")


class PersonTexts:
    """What people wrote, ready to be searched."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(_normalize(text) for text in texts)
        self._numbers: frozenset[Decimal] | None = None

    def name(self, value: str | float) -> bool:
        """Return whether the value occurs as a whole: a text, or a number in any of the usual spellings."""
        if isinstance(value, str):
            return self._names_text(value)
        return Decimal(str(value)) in self._find_numbers()

    def name_words(self, value: str) -> bool:
        """Return whether the value occurs, or each of its words does, in any order."""
        if len(value) > MAX_CHARACTERS:
            return False
        if self._names_text(value):
            return True
        words = dict.fromkeys(word for each in value.split() if (word := each.strip(_SURROUNDING)))
        return 0 < len(words) <= MAX_WORDS and all(self._names_text(word) for word in words)

    def _names_text(self, value: str) -> bool:
        wanted = _normalize(value)
        if not wanted or len(wanted) > MAX_CHARACTERS:
            return False
        return any(_occurs(self._text, each) for each in _spellings(wanted))

    def _find_numbers(self) -> frozenset[Decimal]:
        if self._numbers is None:
            whole = (match[0] for match in _NUMBER.finditer(self._text) if _is_whole(self._text, *match.span()))
            self._numbers = frozenset(reading for number in whole for reading in _read_number(number))
        return self._numbers


def find_unnamed_arguments(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any], texts: PersonTexts, *, is_command: bool = False
) -> list[str] | None:
    """Return the names of the arguments that contain a value which nobody named; None if there is no value at all.

    `parameters` is the JSON Schema of the arguments: a default of the tool's author counts as left out, and the names
    of properties are the author's. Values are texts and numbers, at any depth, and keys that the schema does not name.
    """
    known = _find_property_names(parameters)
    properties = cast(Mapping[str, Any], parameters.get("properties") or {})
    unnamed: list[str] = []
    has_values = False
    for name, argument in arguments.items():
        if _is_default(properties.get(name), argument):
            continue
        values = list(_list_values(argument, known))
        has_values = has_values or bool(values)
        in_order = is_command or name.casefold() in _VERBATIM
        if not all(_is_named(texts, value, in_order=in_order) for value in values):
            unnamed.append(name)
    return unnamed if has_values else None


def _is_named(texts: PersonTexts, value: str | float, *, in_order: bool) -> bool:
    if in_order or not isinstance(value, str):
        return texts.name(value)
    return texts.name_words(value)


def _is_default(schema: object, argument: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    default: object = cast(Mapping[str, object], schema).get("default")
    return type(default) is type(argument) and default == argument


def _list_values(argument: object, known: frozenset[str]) -> Iterator[str | float]:
    """Yield the values of an argument in any depth, without recursion: a model may nest as deep as it likes."""
    stack: list[object] = [argument]
    while stack:
        each = stack.pop()
        if isinstance(each, bool) or each is None:
            continue
        if isinstance(each, str):
            if each.strip():
                yield each
        elif isinstance(each, int | float):
            yield each
        elif isinstance(each, Mapping):
            items = cast(Mapping[object, object], each)
            stack += [key for key in items if key not in known]
            stack += items.values()
        elif isinstance(each, list | tuple):
            stack += cast(Sequence[object], each)


def _find_property_names(schema: Mapping[str, Any]) -> frozenset[str]:
    found: set[str] = set()
    stack: list[object] = [schema]
    while stack:
        each = stack.pop()
        if isinstance(each, Mapping):
            items = cast(Mapping[str, object], each)
            properties = items.get("properties")
            if isinstance(properties, Mapping):
                found.update(cast(Mapping[str, object], properties))
            stack += items.values()
        elif isinstance(each, list):
            stack += cast(list[object], each)
    return frozenset(found)


def _normalize(text: str) -> str:
    """Return the text in one spelling: wide and accented characters composed, no case, single spaces."""
    composed = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(composed.split())


def _spellings(wanted: str) -> Iterator[str]:
    """Yield how a person may have written a value: an address without its scheme, or without the slash at its end."""
    yield wanted
    bare = re.sub(r"^https?://", "", wanted)
    is_site = bare.endswith("/") and bare.count("/") == 1
    if is_site:
        yield wanted[:-1]
    if bare != wanted and _is_web_address(bare):
        yield bare
        if is_site:
            yield bare[:-1]


def _is_web_address(bare: str) -> bool:
    """Return whether a text without a scheme is an address of a site: no word, number, mail address or file name is."""
    authority = re.split(r"[/?#\\]", bare, maxsplit=1)[0]
    host, _, port = authority.partition(":")
    labels = host.split(".")
    if len(labels) < 2 or not labels[-1].isalpha() or (port and not port.isdecimal()):
        return False
    if not all(label.replace("-", "").isalnum() for label in labels):
        return False
    return labels[-1] not in _FILE_ENDINGS or bare.rstrip("/?#:\\") != host


def _occurs(text: str, wanted: str) -> bool:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        if _is_whole(text, at, at + len(wanted)):
            return True
        at = text.find(wanted, at + 1)
    return False


def _is_whole(text: str, start: int, end: int) -> bool:
    return not (_joins_before(text, start, text[start]) or _joins_after(text, end, text[end - 1]))


def _joins_before(text: str, start: int, first: str) -> bool:
    before = text[start - 1 : start]
    if _is_letter(before):
        return (first.isalnum() and not (_UNSPACED.match(before) or _UNSPACED.match(first))) or first in _JOINERS
    return before in _JOINERS and before != "" and (before in _OPENERS or _is_letter(text[start - 2 : start - 1]))


def _joins_after(text: str, end: int, last: str) -> bool:
    after = text[end : end + 1]
    if _is_letter(after):
        return (last.isalnum() and not (_UNSPACED.match(after) or _UNSPACED.match(last))) or last in _JOINERS
    return after in _JOINERS and after != "" and _is_letter(text[end + 1 : end + 2])


def _is_letter(character: str) -> bool:
    return character.isalnum()


def _read_number(text: str) -> Iterator[Decimal]:
    """Yield what a number may mean: `1.200` is one and two tenths, or twelve hundred, by where its author lives."""
    plain = re.sub("['’]", "", text)
    parts = re.split(r"[.,]", plain)
    marks = re.findall(r"[.,]", plain)
    if len(parts) == 1:
        yield Decimal(plain)
        return
    grouped = all(len(part) == 3 for part in parts[1:])
    if grouped and len(set(marks)) == 1:
        yield Decimal("".join(parts))
    if len(parts) == 2:
        yield Decimal(".".join(parts))
    elif len(set(marks[:-1])) == 1 and marks[-1] != marks[0] and all(len(part) == 3 for part in parts[1:-1]):
        yield Decimal(f"{''.join(parts[:-1])}.{parts[-1]}")
