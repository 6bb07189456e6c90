"""Import of an export of a person: sessions with their files, memory, goals, schedules and preferences come back."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, cast, get_args

from sophon._python.lazy_dataclass import dataclass
from sophon.attachments import Attachment, clean_name
from sophon.errors import InputError, NotFound
from sophon.media_type_detection import detect_media_type
from sophon.preferences import Preferences
from sophon.stores.data_labels.contract import LabelWrite, session_key
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon.stores.sessions.contract import SessionRecord
from sophon.turn.option_checks import parse_planning_mode
from sophon_hosting.features.goals.rules.budget import GoalBudget
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.imports.conversation_import import UNKNOWN_ORIGIN
from sophon_hosting.features.imports.sophon_export import parse_exported_record
from sophon_hosting.features.persons.export import FORMAT_VERSION
from sophon_hosting.features.persons.forgetting import check_person
from sophon_hosting.features.schedules.occurrences import Recurrence
from sophon_hosting.features.schedules.quiet_hours import check_quiet_hours
from sophon_hosting.features.schedules.schedule import Misfire, QuietAction, Schedule, ScheduleKind
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.contract import HostStore

CLIENTS: Final = "hub"
"""Channel of imported schedules: a chat that an export names may be another person's by now."""

IMPORTED: Final = "imported; resume it if it is still wanted"


@dataclass(frozen=True, slots=True)
class Imported:
    """How many sessions, memory entries and goals were stored, and how many sessions were there already."""

    sessions: int
    memories: int
    known_sessions: int
    goals: int = 0


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
    goals: Sequence[Goal]
    schedules: Sequence[Schedule]
    preferences: Preferences | None
    attachments: Sequence[ImportedAttachment] = ()


async def import_person(store: HostStore, memory: LongTermMemory, person: str, items: Sequence[object]) -> Imported:
    """Store the sessions, the memory, the goals, the schedules and the preferences of an export as those of a person.

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
    added = [await _add_goal(store, goal, person) for goal in found.goals]
    for schedule in found.schedules:
        await import_schedule(store, person, schedule)
    return Imported(stored, memories, len(found.sessions) - stored, sum(added))


async def _join_family(store: HostStore, session: _Session, person: str) -> None:
    """Make an imported session a branch again, of a conversation of the same person only."""
    if session.family is None:
        return
    first = await store.sessions.find(session.family)
    if first is not None and first.owner == person:
        await store.sessions.join_family(session.id, session.family, session.forked_from, session.forked_at)


async def _add_goal(store: HostStore, goal: Goal, person: str) -> bool:
    """Store a goal unless its id exists. It does nothing until a person resumes it, with the limits of this host."""
    if await stored_goals(store).find(goal.id) is not None:
        return False
    await store.sessions.get_or_create(goal.work_session_id, person)
    return await stored_goals(store).add(goal) is not None


def _parse_goal(data: Mapping[str, Any], person: str) -> Goal:
    goal = Goal.from_json(data)
    if not isinstance(goal.id, str) or not goal.id or not isinstance(goal.title, str):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON
        raise ValueError("a goal needs an id and a title, both texts")
    nodes = tuple(node.stop() if node.status == "running" else node for node in goal.nodes)
    mine = replace(
        goal, owner=person, nodes=nodes, autonomy="Semi", channel="local", origin={}, limits=GoalBudget(), reported=True
    )
    if not mine.is_live:
        return mine
    at = mine.updated_at or mine.created_at
    if at is None:
        raise ValueError("a goal needs the time of its last change")
    return mine.pause("person", "imported: resume it to go on", at, limit=timedelta(minutes=10))


def _parse(items: Sequence[object], person: str) -> _Contents:
    sessions: list[_Session] = []
    schedules: list[Schedule] = []
    entries: list[object] = []
    goals: list[Goal] = []
    preferences: Preferences | None = None
    attachments: list[ImportedAttachment] = []
    for number, item in enumerate(items, 1):
        try:
            found = _to_object(item)
            if found["kind"] == "person":
                _check_version(found["version"])
            elif found["kind"] == "session":
                sessions.append(_parse_session(found))
            elif found["kind"] == "schedule":
                schedules.append(parse_schedule(found["schedule"]))
            elif found["kind"] == "memory":
                entries.append(found["entry"])
            elif found["kind"] == "goal":
                goals.append(_parse_goal(found["goal"], person))
            elif found["kind"] == "attachment":
                attachments.append(parse_attachment(found))
            elif found["kind"] == "preferences":
                preferences = Preferences.from_json(found["preferences"])
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"item {number} cannot be imported, and nothing was: {_describe_problem(error)}") from None
    return _Contents(sessions, entries, goals, schedules, preferences, attachments)


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


def parse_schedule(item: Mapping[str, Any]) -> Schedule:
    """Return the schedule of an export, paused. Raises KeyError, TypeError, ValueError, InputError."""
    kind, misfire, action = item["kind"], item["misfire"], item["quiet_action"]
    if kind not in get_args(ScheduleKind) or misfire not in get_args(Misfire) or action not in get_args(QuietAction):
        raise ValueError(f"a schedule of kind {kind!r}, {misfire!r}, {action!r} is not known")
    created_at = datetime.fromisoformat(item["created_at"])
    texts = {name: item[name] for name in ("id", "session_id", "text", "expression", "time_zone", "title")}
    if created_at.tzinfo is None or not all(isinstance(each, str) for each in texts.values()):
        raise ValueError("a schedule needs texts and a time with a zone")
    Recurrence(kind, texts["expression"], texts["time_zone"], created_at).find_next(created_at)
    return Schedule(
        **texts,
        kind=kind,
        misfire=misfire,
        quiet_hours=check_quiet_hours(str(item["quiet_hours"])),
        quiet_action=action,
        owner="",
        channel=CLIENTS,
        created_at=created_at,
        created_by="",
        state="paused",
        reason=IMPORTED,
    )


async def import_schedule(store: HostStore, person: str, schedule: Schedule) -> None:
    """Store a schedule as the person's, if its session is theirs; one that exists stays as it is."""
    session = await store.sessions.find(schedule.session_id)
    if session is not None and session.owner == person:
        await stored_schedules(store).add(replace(schedule, owner=person, created_by=person))
