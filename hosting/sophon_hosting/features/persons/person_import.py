"""Import of an export of a person: sessions with their files, memory, preferences, and what features keep come back."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.attachments import Attachment, clean_name
from sophon.errors import InputError, NotFound
from sophon.media_type_detection import detect_media_type
from sophon.preferences import Preferences
from sophon.stores.data_labels.contract import LabelWrite, session_key
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon.stores.sessions.contract import SessionRecord
from sophon.turn.option_checks import parse_planning_mode
from sophon_hosting.features.imports.conversation_import import UNKNOWN_ORIGIN
from sophon_hosting.features.imports.sophon_export import parse_exported_record
from sophon_hosting.features.persons.export import FORMAT_VERSION
from sophon_hosting.features.persons.forgetting import check_person
from sophon_hosting.features.registry import list_person_data
from sophon_hosting.store.contract import HostStore


@dataclass(frozen=True, slots=True)
class Imported:
    """How many sessions, memory entries and, by kind, things of features were stored, and how many sessions were there
    already.
    """

    sessions: int
    memories: int
    known_sessions: int
    added: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Session:
    id: str
    title: str
    model: str | None
    records: list[SessionRecord]
    planning: str | None = None
    family: str | None = None
    forked_from: str | None = None
    forked_at: int | None = None
    pinned: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class ImportedAttachment:
    """A file of an export, and the ids of the sessions that used it."""

    attachment: Attachment
    content: bytes
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Contents:
    """What of an export comes back."""

    sessions: Sequence[_Session]
    entries: Sequence[object]
    of_features: Mapping[str, Sequence[Any]]
    """By kind, what `PersonData.parse` has returned."""
    preferences: Preferences | None
    attachments: Sequence[ImportedAttachment] = ()


async def import_person(store: HostStore, memory: LongTermMemory, person: str, items: Sequence[object]) -> Imported:
    """Store the sessions, the memory, the preferences and what features keep (`PersonData`) as those of a person.

    A session, goal or schedule whose id exists stays as it is, and so do preferences that the person has.

    Everything is checked first: nothing is stored if one item is invalid. An imported session counts as one that has
    read untrusted and private data. Raises InputError with the number of the invalid item, StoreError.
    """
    check_person(person)
    found = _parse(items, person)
    stored = 0
    new: list[_Session] = []
    memories = await memory.import_entries(person, found.entries)
    if found.preferences is not None and not (await store.preferences.get(person)).to_json():
        await store.preferences.put(person, found.preferences)
    for session in found.sessions:
        if await store.sessions.find(session.id) is not None:
            continue
        await store.data_labels.write([LabelWrite(session_key(session.id), UNKNOWN_ORIGIN)])
        await store.sessions.get_or_create(session.id, person)
        if session.records:
            await store.sessions.append(session.id, session.records, owner=person)
        await store.sessions.rename(session.id, session.title)
        if session.model is not None:
            await store.sessions.set_model(session.id, session.model)
        await store.sessions.set_planning(session.id, session.planning)
        await store.sessions.mark(session.id, pinned=session.pinned, archived=session.archived)
        await import_attachments(store, person, session.id, found.attachments)
        stored += 1
        new.append(session)
    for session in new:
        await _join_family(store, session, person)
    added = {
        data.kind: sum([await data.add(store, value, person) for value in found.of_features[data.kind]])
        for data in list_person_data()
    }
    return Imported(stored, memories, len(found.sessions) - stored, added)


async def _join_family(store: HostStore, session: _Session, person: str) -> None:
    """Make an imported session a branch again, of a conversation of the same person only."""
    if session.family is None:
        return
    first = await store.sessions.find(session.family)
    if first is not None and first.owner == person:
        await store.sessions.join_family(session.id, session.family, session.forked_from, session.forked_at)


def _parse(items: Sequence[object], person: str) -> _Contents:
    sessions: list[_Session] = []
    entries: list[object] = []
    by_kind = {each.kind: each for each in list_person_data()}
    of_features: dict[str, list[Any]] = {kind: [] for kind in by_kind}
    preferences: Preferences | None = None
    attachments: list[ImportedAttachment] = []
    for number, item in enumerate(items, 1):
        try:
            found = _to_object(item)
            if found["kind"] == "person":
                _check_version(found["version"])
            elif found["kind"] == "session":
                sessions.append(_parse_session(found))
            elif found["kind"] == "memory":
                entries.append(found["entry"])
            elif found["kind"] == "attachment":
                attachments.append(parse_attachment(found))
            elif found["kind"] == "preferences":
                preferences = Preferences.from_json(found["preferences"])
            elif (data := by_kind.get(found["kind"])) is not None:
                of_features[data.kind].append(data.parse(found[data.kind], person))
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"item {number} cannot be imported, and nothing was: {_describe_problem(error)}") from None
    return _Contents(sessions, entries, of_features, preferences, attachments)


def _to_object(item: object) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - reported like the others
    return cast("Mapping[str, Any]", item)


def _describe_problem(error: Exception) -> str:
    """Return what is wrong with an item. Pure."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    # These two come of values of another type than exports have, and say so in the words of Python.
    return "it has not the form of an export" if isinstance(error, TypeError | AttributeError) else str(error)


def _check_version(version: object) -> None:
    if version != FORMAT_VERSION:
        raise ValueError(f"version {version!r} is not known")


def _parse_session(item: Mapping[str, Any]) -> _Session:
    summary = item["session"]
    session_id, title, model = summary["id"], summary["title"], summary.get("model")
    if not isinstance(session_id, str) or not session_id or not isinstance(title, str):
        raise ValueError("a session needs an id and a title, both texts")
    records = [parse_exported_record(each) for each in item["records"]]
    planning = parse_planning_mode(summary.get("planning"))
    family, source, forked_at = summary.get("family"), summary.get("forked_from"), summary.get("forked_at")
    if not (isinstance(family, str | None) and isinstance(source, str | None) and isinstance(forked_at, int | None)):
        raise ValueError("family and forked_from are ids, forked_at is a number")  # noqa: TRY004 - reported like the others
    pinned, archived = (summary.get(name) is True for name in ("pinned", "archived"))
    return _Session(session_id, title, model, records, planning, family, source, forked_at, pinned, archived)


def parse_attachment(item: Mapping[str, Any]) -> ImportedAttachment:
    """Return the file of an export; its media type and size are those of its content. Raises ValueError, KeyError."""
    facts, content = Attachment.from_json(item["attachment"]), base64.b64decode(item["content"] or "", validate=True)
    if not isinstance(facts.id, str) or not facts.id or not isinstance(facts.name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON
        raise ValueError("a file needs an id and a name, both texts")
    name = clean_name(facts.name)
    media_type = detect_media_type(content, name)
    attachment = Attachment(facts.id, name, media_type, len(content), max(facts.tokens, 0))
    return ImportedAttachment(attachment, content, frozenset(map(str, item["sessions"])))


async def import_attachments(
    store: HostStore, person: str, session_id: str, files: Sequence[ImportedAttachment]
) -> None:
    """Store the files of one imported session. A file whose id belongs to somebody else is left out."""
    for file in files:
        if session_id in file.sessions and file.content:
            with suppress(NotFound):
                await store.attachments.add(file.attachment, file.content, owner=person, session_id=session_id)
