"""Large fields of a payload: cut to their beginning, with a reference to the whole, so that a payload fits any frame.

The rule is the same for every event and every field: a field whose JSON is larger than `MAX_FIELD_BYTES` contains its
beginning only, and the payload's field `large` says how long the whole is and where it is:
`{"text": {"url", "characters", "bytes"}}`. The URL returns `{"text"}`; with `"json": true` that text is JSON, the whole
value of a field that is no text. What was rejected: docs/decisions/0018-large-texts.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Any, NotRequired, cast
from urllib.parse import quote

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon._python.lazy_typed_dict import TypedDict
from sophon.stores.texts.large_text import text_id
from sophon_hosting.json_text import encode_json, json_bytes

MAX_FIELD_BYTES = 32 * 1024
"""Maximum size of a field as JSON; as `LARGE_TEXT_BYTES`, the size from which a text is stored apart."""

HEAD_CHARACTERS = 4000
"""Length of the beginning of a cut text."""

MAX_JSON_BYTES_PER_CHARACTER = 6
"""A control character or a lone surrogate becomes `\\uXXXX`; a character beyond the BMP has 4 bytes."""

MAX_SMALL_CHARACTERS = MAX_FIELD_BYTES // MAX_JSON_BYTES_PER_CHARACTER
"""Length up to which a text is never large, whatever its characters."""

HEAD_ELEMENTS = 20
HEAD_DEPTH = 5
HEAD_ELEMENT_CHARACTERS = 200
HEAD_BYTES = 24 * 1024
"""Limits of the excerpt of a list or object: elements per level, levels, characters per text, bytes in total."""

LARGE_FIELD = "large"


class LargeFieldReference(TypedDict):
    """Where the whole of a cut field is, and how long it is; `json`: that text is the JSON of the field's value."""

    url: str
    characters: int
    bytes: int
    json: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class CutPayload:
    """A payload with large fields cut, and their whole texts by id."""

    data: Mapping[str, Any]
    texts: Mapping[str, str] = field(default_factory=new_dict)


def cut_payload(data: Mapping[str, Any], session_id: str) -> CutPayload:
    """Return the payload with its large fields cut; the same mapping if it has none."""
    wholes: dict[str, str] = {}
    for name, value in data.items():
        if value is None or isinstance(value, int | float):
            continue  # most fields are these, or small texts
        if isinstance(value, str) and len(value) <= MAX_SMALL_CHARACTERS:
            continue
        whole = _whole_if_large(value) if name != LARGE_FIELD else None
        if whole is not None:
            wholes[name] = whole
    return _cut_fields(data, wholes, session_id) if wholes else CutPayload(data)


def text_url(session_id: str, text: str) -> str:
    """Return the relative URL of a text of a session, given by its id."""
    return f"/api/sessions/{quote(session_id, safe='')}/texts/{text}"


def text_reference(url: str, text: str) -> LargeFieldReference:
    """Return the entry of a cut text in the field `large`."""
    return {"url": url, "characters": len(text), "bytes": len(text.encode("utf-8", "surrogatepass"))}


def text_id_from_url(url: str) -> str:
    """Return the id of the text in a URL of `text_url`; "" for another URL."""
    return url.partition("/texts/")[2]


def referenced_text_id(data: Mapping[str, Any], name: str) -> str:
    """Return the id of the whole text of a cut field; "" for a field that is whole."""
    references = cast(Mapping[str, Mapping[str, Any]], data.get(LARGE_FIELD) or {})
    return text_id_from_url(references[name]["url"]) if name in references else ""


def rename_session_in_references(data: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
    """Return the field `large` with URLs that name another session; {} for a payload without large fields."""
    references = cast(Mapping[str, Mapping[str, Any]] | None, data.get(LARGE_FIELD))
    if not references:
        return {}
    renamed = {
        name: {**each, "url": text_url(session_id, text)} if text else each
        for name, each in references.items()
        for text in (text_id_from_url(each["url"]),)
    }
    return {LARGE_FIELD: renamed}


def _cut_fields(data: Mapping[str, Any], wholes: Mapping[str, str], session_id: str) -> CutPayload:
    cut, texts = dict(data), dict[str, str]()
    references: dict[str, Any] = dict(data.get(LARGE_FIELD) or {})
    for name, whole in wholes.items():
        whole_id = text_id(whole)
        texts[whole_id] = whole
        references[name] = text_reference(text_url(session_id, whole_id), whole)
        if isinstance(data[name], str):
            cut[name] = whole[:HEAD_CHARACTERS]
        else:
            cut[name] = _head_of_json(data[name])
            references[name]["json"] = True
    return CutPayload({**cut, LARGE_FIELD: references}, texts)


def _whole_if_large(value: object) -> str | None:
    """Return the text of a large field, which is JSON unless the field is a text; None for any other field."""
    if isinstance(value, str):
        if len(value) <= MAX_SMALL_CHARACTERS:
            return None
        return value if len(value) > MAX_FIELD_BYTES or json_bytes(value) > MAX_FIELD_BYTES else None
    if isinstance(value, Mapping | list | tuple):
        encoded = encode_json(cast(Any, value))
        return encoded if len(encoded.encode()) > MAX_FIELD_BYTES else None
    return None


def _head_of_json(value: Any) -> Any:
    """Return a value of the same type with the beginning of its content; empty if even that is too large."""
    head = _cut_value(value, HEAD_DEPTH)
    if json_bytes(head) <= HEAD_BYTES:
        return head
    head = _cut_value(value, 1)
    return head if json_bytes(head) <= HEAD_BYTES else type(head)()


def _cut_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value[:HEAD_ELEMENT_CHARACTERS]
    if isinstance(value, Mapping):
        items = islice(cast(Mapping[str, Any], value).items(), HEAD_ELEMENTS if depth else 0)
        return {key: _cut_value(each, depth - 1) for key, each in items if len(key) <= HEAD_ELEMENT_CHARACTERS}
    if isinstance(value, list | tuple):
        return [
            _cut_value(each, depth - 1) for each in islice(cast(Sequence[Any], value), HEAD_ELEMENTS if depth else 0)
        ]
    return value
