"""References to large texts in JSON data: pure functions that take the large texts out of a value and put them back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.texts.large_text import HEAD_CHARACTERS, is_large, text_id

TextPart: TypeAlias = str | Mapping[str, str]
"""A piece of a text, or `{"id"}`: another stored text."""


@dataclass(frozen=True, slots=True)
class TextReference:
    """The place of a large text in a JSON value (keys and indexes), its id, and its length in characters."""

    path: Sequence[str | int]
    id: str
    characters: int


def take_out_texts(value: Any) -> tuple[Any, dict[TextReference, str]]:
    """Return the value with "" for each large text, and these texts; `value` itself if it has none."""
    found: dict[TextReference, str] = {}
    return _take_out(value, (), found), found


def put_back_texts(value: Any, references: Sequence[TextReference], find: Callable[[str], str | None]) -> Any:
    """Return the value with its texts, which are set in place; a text that is missing becomes a sentence saying so."""
    for reference in references:
        text = find(reference.id)
        if text is None:
            text = f"[a text of {reference.characters:,} characters, which is no longer in the store]"
        if not reference.path:
            return text
        *parents, last = reference.path
        holder = value
        for key in parents:
            holder = holder[key]
        holder[last] = text
    return value


def cut_texts(value: Any) -> Any:
    """Return the value with the beginning of each large text; `value` itself if it has none."""
    rest, found = take_out_texts(value)
    heads = {reference.id: text[:HEAD_CHARACTERS] for reference, text in found.items()}
    return put_back_texts(rest, list(found), heads.get)


def split_into_parts(text: str, known: Mapping[str, str]) -> list[TextPart] | None:
    """Return a text as pieces and references to the texts by id that it contains in this order; None if that leaves a
    large piece.

    The full text of a turn, for example, contains the texts before its tool calls and the last reply.
    """
    parts: list[TextPart] = []
    rest = text
    for known_id, each in known.items():
        before, found, after = rest.partition(each)
        if found:
            parts += [before, {"id": known_id}]
            rest = after
    parts.append(rest)
    if any(isinstance(part, str) and is_large(part) for part in parts):
        return None
    return [part for part in parts if part]


def _take_out(value: Any, path: tuple[str | int, ...], found: dict[TextReference, str]) -> Any:
    if isinstance(value, str):
        if not is_large(value):
            return value
        found[TextReference(path, text_id(value), len(value))] = value
        return ""
    before = len(found)
    copy: Any = value
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        copy = {key: _take_out(each, (*path, key), found) for key, each in items}
    elif isinstance(value, list | tuple):
        elements = enumerate(cast(Sequence[Any], value))
        copy = [_take_out(each, (*path, index), found) for index, each in elements]
    return copy if len(found) > before else cast(Any, value)
