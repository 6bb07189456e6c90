"""Import of an export of a person: sessions, memory, goals, schedules and preferences come back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, cast, get_args

from sophon.errors import InputError
from sophon.goals.budget import GoalBudget
from sophon.goals.goal import Goal
from sophon.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.preferences import Preferences
from sophon.security.taint import Taint
from sophon.stores.contract import Store
from sophon.stores.data_labels.contract import LabelWrite, session_key
from sophon.stores.memories.library import LongTermMemory
from sophon.stores.schedules.contract import Schedule
from sophon.stores.sessions.contract import RecordKind, SessionRecord
from sophon_hosting.persons.export import FORMAT_VERSION
from sophon_hosting.persons.forgetting import check_person
from sophon_hosting.persons.imported_schedules import import_schedule, parse_schedule

ROLES: Final = ("user", "assistant", "tool")
UNKNOWN_ORIGIN: Final = Taint(1, is_private=True, is_untrusted=True)
"""Label of an imported session: what its turns had read is not known here, so the worst is assumed."""


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


@dataclass(frozen=True, slots=True)
class _Contents:
    """What of an export comes back."""

    sessions: Sequence[_Session]
    entries: Sequence[object]
    goals: Sequence[Goal]
    schedules: Sequence[Schedule]
    preferences: Preferences | None


async def import_person(store: Store, memory: LongTermMemory, person: str, items: Sequence[object]) -> Imported:
    """Store the sessions, the memory, the goals, the schedules and the preferences of an export as those of a person.

    A session, goal or schedule whose id exists stays as it is, and so do preferences that the person has.

    Everything is checked first: nothing is stored if one item is invalid. An imported session counts as one that has
    read untrusted and private data. Raises InputError with the number of the invalid item, StoreError.
    """
    check_person(person)
    found = _parse(items, person)
    stored = 0
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
        stored += 1
    added = [await _add_goal(store, goal, person) for goal in found.goals]
    for schedule in found.schedules:
        await import_schedule(store, person, schedule)
    return Imported(stored, memories, len(found.sessions) - stored, sum(added))


async def _add_goal(store: Store, goal: Goal, person: str) -> bool:
    """Store a goal unless its id exists. It does nothing until a person resumes it, with the limits of this host."""
    if await store.goals.find(goal.id) is not None:
        return False
    await store.sessions.get_or_create(goal.work_session_id, person)
    return await store.goals.add(goal) is not None


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
    for number, item in enumerate(items, 1):
        try:
            found = cast("Mapping[str, Any]", item)
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
            elif found["kind"] == "preferences":
                preferences = Preferences.from_json(found["preferences"])
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise InputError(f"item {number} cannot be imported, and nothing was: {problem}") from None
    return _Contents(sessions, entries, goals, schedules, preferences)


def _check_version(version: object) -> None:
    if version != FORMAT_VERSION:
        raise ValueError(f"version {version!r} is not known")


def _parse_session(item: Mapping[str, Any]) -> _Session:
    summary = item["session"]
    session_id, title, model = summary["id"], summary["title"], summary.get("model")
    if not isinstance(session_id, str) or not session_id or not isinstance(title, str):
        raise ValueError("a session needs an id and a title, both texts")
    return _Session(session_id, title, model, [_parse_record(each) for each in item["records"]])


def _parse_record(item: Mapping[str, Any]) -> SessionRecord:
    kind, message = item["kind"], item["message"]
    if kind not in get_args(RecordKind):
        raise ValueError(f"{kind!r} is no kind of record")
    if message is not None and (message["role"] not in ROLES and kind != "compaction"):
        raise ValueError(f"a message of the role {message['role']!r} is no part of a session")
    at = datetime.fromisoformat(item["at"]) if item["at"] else None
    if at is not None and at.tzinfo is None:
        raise ValueError(f"the time {item['at']!r} has no zone")
    parsed = None if message is None else Message.from_json(message)
    return SessionRecord(kind, str(item["run_id"]), parsed, item.get("data") or {}, at=at)
