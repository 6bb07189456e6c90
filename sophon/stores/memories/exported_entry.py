"""Memory entries as plain JSON values: written by an export, and checked when they come back."""

from collections.abc import Sequence
from datetime import UTC
from typing import Annotated, Any, Final

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sophon.clock import to_utc
from sophon.errors import InputError
from sophon.memory.relations import parse_relations
from sophon.stores.memories.contract import MemoryCategory, MemoryEntry, MemoryReach

MAX_TEXT_CHARACTERS: Final = 20_000
"""Characters of an imported or corrected entry."""

ShortText = Annotated[str, Field(max_length=500)]
EntryText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT_CHARACTERS)]


class ExportedEntry(BaseModel):
    """Entry of an export; `scope` and `trusted` follow from others and are ignored."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    text: EntryText
    category: MemoryCategory = "fact"
    scope: str = ""
    reach: MemoryReach = "owner"
    agent: ShortText = ""
    session_id: ShortText = ""
    entities: Annotated[tuple[ShortText, ...], Field(max_length=100)] = ()
    relations: Annotated[tuple[tuple[ShortText, ShortText, ShortText], ...], Field(max_length=100)] = ()
    origin: ShortText = ""
    trusted: bool = False
    sources: Annotated[tuple[ShortText, ...], Field(max_length=100)] | None = None
    created_at: Annotated[AwareDatetime, AfterValidator(to_utc)]


def entry_to_json(entry: MemoryEntry) -> dict[str, Any]:
    """Return an entry as plain JSON values."""
    return {
        "id": entry.id,
        "text": entry.text,
        "category": entry.category,
        "scope": entry.scope,
        "reach": entry.reach,
        "agent": entry.agent,
        "session_id": entry.session_id,
        "entities": list(entry.entities),
        "relations": [[each.subject, each.name, each.object] for each in entry.relations],
        "origin": entry.origin,
        "trusted": entry.is_trusted,
        "sources": list(entry.sources) if entry.sources is not None else None,
        "created_at": None if entry.created_at is None else entry.created_at.astimezone(UTC).isoformat(),
    }


def parse_entries(items: Sequence[object], scope: str) -> list[MemoryEntry]:
    """Return the entries of an export as those of a scope. Raises InputError, which names the first invalid one."""
    entries: list[MemoryEntry] = []
    for number, item in enumerate(items, 1):
        try:
            found = ExportedEntry.model_validate(item)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, problem["loc"])) or "entry"
            raise InputError(f"entry {number} cannot be imported, and nothing was: {where}: {problem['msg']}") from None
        facts = {name: getattr(found, name) for name in ExportedEntry.model_fields if name != "trusted"}
        facts |= {"scope": scope, "relations": parse_relations(found.relations, found.text)}
        entries.append(MemoryEntry(**facts))
    return entries
