"""Relations between entities: what one statement says of two names, as a model lists it."""

import re
from collections.abc import Sequence
from typing import Final, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.entities import MAX_ENTITY_CHARACTERS, entity_key

MAX_RELATIONS: Final = 4
"""Relations of one statement."""

MAX_NAME_CHARACTERS: Final = 40

_NAME = re.compile(r"[^\W\d_][\w'’ -]*")


@dataclass(frozen=True, slots=True)
class Relation:
    """`subject` and `object` are names of entities; `name` says how they are related, such as `lives in`."""

    subject: str
    name: str
    object: str


def parse_relations(listed: object, text: str) -> tuple[Relation, ...]:
    """Return the valid ones of listed triples (subject, name, object), each once, at most `MAX_RELATIONS`.

    Both ends must stand in the text of the statement: a model may invent, and a name that the statement lacks is none
    of its entities.
    """
    items = cast(Sequence[object], listed) if isinstance(listed, list | tuple) else ()
    known = entity_key(text)
    found = [relation for item in items if (relation := _parse_relation(item, known)) is not None]
    by_key = {(entity_key(each.subject), each.name.casefold(), entity_key(each.object)): each for each in found}
    return tuple(by_key.values())[:MAX_RELATIONS]


def _parse_relation(item: object, known: str) -> Relation | None:
    parts = cast(Sequence[object], item) if isinstance(item, list | tuple) else ()
    texts = [" ".join(part.split()) for part in parts if isinstance(part, str)]
    if len(texts) != 3 or len(parts) != 3:
        return None
    subject, name, object_ = texts
    is_name = len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name) is not None
    ends = (entity_key(subject), entity_key(object_))
    if not is_name or ends[0] == ends[1] or not all(_is_end(each, known) for each in ends):
        return None
    return Relation(subject, name, object_)


def _is_end(key: str, known: str) -> bool:
    return 0 < len(key) <= MAX_ENTITY_CHARACTERS and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", known) is not None
