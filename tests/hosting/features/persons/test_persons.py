"""Everything of a person: exported, brought back into an empty store, and forgotten without a trace in any file."""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall
from sophon.approvals import ApprovalRequest, Decision
from sophon.attachments import Attachment
from sophon.errors import InputError
from sophon.learning.feedback import Feedback
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.trajectories import Trajectory
from sophon.messages import Message, Usage
from sophon.preferences import Preferences
from sophon.stores.audit.audit_event import AuditEvent
from sophon.stores.contract import Store
from sophon.stores.data_labels.contract import session_key
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sql.schema import metadata
from sophon.stores.sql.store_url import resolve_url
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon.stores.usage.contract import PayerLimits, Period, ProviderLimits
from sophon.testing import FunctionModel, VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.features.persons.export import PersonExport
from sophon_hosting.features.persons.forgetting import Forgotten, PersonForgetting
from sophon_hosting.features.persons.person_files import PersonFolders
from sophon_hosting.features.persons.person_import import import_person
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_configured_chain
from sophon_hosting.store.api_tokens.api_token import ApiToken
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.person_deletion import PersonStore
from tests import postgres
from tests.databases import SQLITE, copy_database
from tests.store_urls import store_url as store_url

EVA = "telegram:5"
MARKER = "Xylophonist"
OTHER = "Bassoonist"


def said(text: str) -> SessionRecord:
    return SessionRecord("message", "r", Message("user", text))


class Place:
    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder, self.clock = url, folder, VirtualClock(auto=False)
        self.store: Store = host_store_from_url(url, folder=folder, clock=self.clock)
        self.folders = PersonFolders(folder, folder / "data/files", folder / "data/memory")
        self.memory = LongTermMemory(self.store, self.clock, HashingEmbedder())

    async def export(self, person: str = EVA) -> list[dict[str, Any]]:
        reader = PersonExport(self.store, self.clock, self.folders)
        return [each async for each in reader.read(person)]

    async def forget(self, person: str = EVA) -> Forgotten:
        delete = self.store.sessions.delete
        return await PersonForgetting(self.store, self.memory, self.clock, self.folders, delete).forget(person)

    def traces(self, word: str) -> list[str]:
        """The files below the folder, and the tables of a server, that have the word in any case."""
        found = [
            str(each.relative_to(self.folder))
            for each in self.folder.rglob("*")
            if each.is_file() and word.lower().encode() in each.read_bytes().lower()
        ]
        if self.url == postgres.MIGRATED:
            engine = create_engine(resolve_url(self.url, self.folder))
            with engine.connect() as connection:
                for table in metadata.sorted_tables:
                    query = f"SELECT count(*) FROM {table.name} AS t WHERE t::text ILIKE :word"
                    if connection.execute(text(query), {"word": f"%{word}%"}).scalar():
                        found.append(table.name)
            engine.dispose()
        return sorted(found)


@pytest.fixture
async def place(store_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(store_url, tmp_path)
    await place.store.open()
    yield place
    await place.store.close()


async def answer(request: ModelRequest) -> ModelResponse:
    last = request.messages[-1]
    if last.role == "user" and request.purpose == "reply":
        word = last.content.split()[-1]
        return ModelResponse("", [ToolCall("c", "files.write", {"path": "notes.txt", "content": f"{word} again"})])
    return ModelResponse(f"{last.content[-40:]} noted")


async def run_turn(place: Place, person: str, word: str) -> str:
    """Run a turn of a host: a file is replaced, so that there are a snapshot, a journal, audit entries and events."""
    services = Services(
        models=FunctionModel(answer),
        store=place.store,
        folder=place.folder,
        settings={"Planning": {"Mode": "Never"}, "Learning": {"Enabled": True}, "Memory": {"Learn": False}},
    )
    host = Host(services, build_configured_chain(services))
    await host.start()
    receipt = await host.accept(RunRequest(f"I am the {word}", f"s-{person}", owner=person, session_owner=person))
    async with asyncio.timeout(30):
        while not (await place.store.runs.get(receipt.task_id)).is_finished:
            for asked in await place.store.approvals.list():
                if asked.request.run_id.startswith(receipt.task_id):
                    await host.approvals.decide(asked.request.id, Decision.approve(), "local:store")
            await asyncio.sleep(0)
    await host.shutdown()
    return receipt.task_id


async def fill(place: Place, person: str, word: str) -> None:
    """Put a word into everything that a store and the folders keep of a person."""
    store, now = place.store, place.clock.now()
    number = person.rpartition(":")[2]
    own = place.folder / "data/files/principals" / person.replace(":", "_3a")
    own.mkdir(parents=True)
    (own / "notes.txt").write_text(f"{word} first")
    private = place.folder / "data/memory/principals" / person.replace(":", "_3a")
    private.mkdir(parents=True)
    (private / "USER.md").write_text(f"the {word}")
    run_id = await run_turn(place, person, word)
    session = f"s-{person}"
    await place.memory.write(MemoryEntry(f"m-{number}", f"{person} is a {word}", scope=person, sources=()))
    await store.audit.append(
        [AuditEvent(now, "executed", session_id="", principal=person, tool="files.read", texts={"arguments": word})]
    )
    await store.grants.add(
        StandingGrant(
            *(f"g-{number}", "always", person, "", "files.write", "high", {"path": word}, word, "local", now),
            expires_at=now + timedelta(days=1),
        )
    )
    await store.preferences.put(person, Preferences(notes=word))
    for schedule_session in (session, "a group"):  # one goes with its session, the other with its owner
        await stored_schedules(store).add(
            Schedule(
                *(f"sch-{number}-{schedule_session}", person, schedule_session, "telegram", f"say {word}"),
                *("cron", "0 8 * * *", "UTC", now, person),
                due_at=now + timedelta(days=1),
                wake_at=now + timedelta(days=1),
            )
        )
    await store.api_tokens.add(ApiToken(f"t-{number}", f"digest-{number}", person, word, (), now))
    await store.trajectories.rate(Feedback(run_id, person, 0.5, now, text=word, session_id=session))
    embedded = Trajectory(f"e-{number}", "", person, now, word, word)
    await store.trajectories.add([TrajectoryWrite(embedded, 100)])
    work = SubAgentRun(
        *(f"{run_id}/agent-x", run_id, run_id, "x", "group", person, word, "failed", 1, now), detail=word
    )
    await store.sub_agents.put([work])
    request = ApprovalRequest(
        *(f"a-{number}", "tool", "other", "c", "files.write", {"content": word}, Risk.HIGH, "", word),
        session_id=session,
    )
    await store.approvals.get_or_create(request, now)
    await store.channel_state.put_many(
        [
            ChannelStateEntry("telegram", "", "person", number, {"name": word, "paired": True}),
            ChannelStateEntry("telegram", "", "session", number, {"session": session}),
            ChannelStateEntry("telegram", "", "piece", f"update-{number}", {"sender": {"id": number}, "text": word}),
        ]
    )
    await store.outbox.add(
        [OutboundEntry(f"o-{number}", None, "telegram", "", number, "note", {"text": word}, recipient=person)]
    )


def kinds(lines: list[dict[str, Any]], word: str) -> set[str]:
    return {each["kind"] for each in lines if word.lower() in repr(each).lower()}


async def test_nothing_of_a_person_is_left_and_everything_of_others(place: Place):
    await fill(place, EVA, MARKER)
    await fill(place, "telegram:6", OTHER)
    exported = await place.export()
    expected = {
        "session",
        "memory",
        "task",
        "feedback",
        "trajectory",
        "sub_agent",
        "grant",
        "schedule",
        "token",
        "channel",
        "workspace",
        "audit",
    }
    assert kinds(exported, MARKER) >= expected
    assert any(each["kind"] == "snapshot" and each["files"][0]["content"] for each in exported)
    assert kinds(exported, OTHER) == set()
    before = await place.export("telegram:6")

    forgotten = await place.forget()

    assert place.traces(MARKER) == []
    assert kinds(await place.export(), MARKER) == set()
    assert {each["kind"] for each in await place.export()} <= {"person", "account", "audit"}
    assert (await place.store.audit.verify()).broken is None
    assert await place.export("telegram:6") == before
    assert {"sessions", "memories", "audit_texts", "files", "grants", "preferences", "schedules", "messages"} <= {
        *forgotten.counts
    }
    assert forgotten.other_sessions == []
    assert (await place.forget()).counts == {}


async def test_a_store_that_forgets_less_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The test above looks where the marker is: without one part of the deletion it finds it."""
    copy_database(tmp_path)
    place = Place(SQLITE, tmp_path)
    await place.store.open()
    await fill(place, EVA, MARKER)

    async def forget_nothing(self: PersonStore, person: str, current: Period) -> dict[str, int]:
        return {}

    monkeypatch.setattr(PersonStore, "forget", forget_nothing)
    await place.forget()
    await place.store.close()
    assert place.traces(MARKER) == ["data/sophon.db"]


async def test_sessions_and_memory_come_back_into_an_empty_store(place: Place, tmp_path_factory: Any):
    await fill(place, EVA, MARKER)
    exported = await place.export()
    records = [each.message for each in await place.store.sessions.list_records(f"s-{EVA}") if each.message]
    memories = await place.store.memories.list_all(scope=EVA)
    await place.forget()

    done = await import_person(place.store, place.memory, EVA, exported)

    assert (done.sessions, done.memories, done.known_sessions) == (1, 1, 0)
    again = [each.message for each in await place.store.sessions.list_records(f"s-{EVA}") if each.message]
    assert again == records
    assert await place.store.memories.list_all(scope=EVA) == memories
    assert await place.store.preferences.get(EVA) == Preferences(notes=MARKER)
    assert [each.entry.text for each in await place.memory.search(MARKER, scope=EVA)] == [f"{EVA} is a {MARKER}"]
    # Schedules come back paused, those of its own sessions, and answer there: a chat may be somebody else's now.
    [schedule] = await stored_schedules(place.store).list(owner=EVA)
    assert (schedule.session_id, schedule.state, schedule.channel) == (f"s-{EVA}", "paused", "hub")
    # What its turns had read is not known here.
    [label] = (await place.store.data_labels.find([session_key(f"s-{EVA}")])).values()
    assert (label.is_untrusted, label.is_private) == (True, True)
    assert (await import_person(place.store, place.memory, EVA, exported)).known_sessions == 1


async def test_branches_come_back_as_one_conversation(place: Place):
    await place.store.sessions.append("s", [said("one"), said("two")], owner=EVA)
    await place.store.sessions.set_planning("s", "Always")
    await place.store.sessions.fork("s", "b", upto=1, branch=True)
    before = await place.store.sessions.list_family("s")
    exported = await place.export()
    await place.forget()
    assert await place.store.sessions.list() == []

    await import_person(place.store, place.memory, EVA, exported)

    found = await place.store.sessions.list_family("s")
    facts = [(each.id, each.family, each.forked_from, each.forked_at, each.planning) for each in before]
    assert facts == [("s", "s", None, None, "Always"), ("b", "s", "s", 1, "Always")]
    assert sorted((each.id, each.family, each.forked_from, each.forked_at, each.planning) for each in found) == sorted(
        facts
    )


async def test_an_import_joins_no_conversation_of_another_person(place: Place):
    await place.store.sessions.append("hers", [said("one")], owner="ada")
    await place.store.sessions.fork("hers", "also-hers", upto=1, branch=True)
    for number, family in enumerate(("hers", "not-there-yet")):
        session = {"id": f"s{number}", "title": "mine", "family": family, "forked_from": family, "forked_at": 0}
        await import_person(place.store, place.memory, EVA, [{"kind": "session", "session": session, "records": []}])
    assert [each.id for each in await place.store.sessions.list_family("hers")] == ["hers", "also-hers"]
    await place.store.sessions.append("not-there-yet", [said("one")], owner="ada")
    await place.store.sessions.fork("not-there-yet", "later", upto=1, branch=True)
    for number in range(2):
        await place.store.sessions.delete(f"s{number}")
    assert {each.id for each in await place.store.sessions.list()} == {"hers", "also-hers", "not-there-yet", "later"}


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (
            {"kind": "session", "session": {"id": "s", "title": "", "family": 5}, "records": []},
            "family and forked_from are ids",
        ),
        ({"kind": "person", "version": 9}, "version 9 is not known"),
        ({"kind": "session", "session": {"id": "", "title": ""}, "records": []}, "needs an id"),
        (
            {
                "kind": "session",
                "session": {"id": "s", "title": ""},
                "records": [{"kind": "message", "run_id": "r", "at": None, "message": {"role": "system"}}],
            },
            "'system' is no part of a session",
        ),
        ({"kind": "session", "session": {"id": "s", "title": ""}}, "'records' is missing"),
        ({"kind": "preferences", "preferences": {"colour": "blue"}}, "there is no preference 'colour'"),
        ({"kind": "schedule", "schedule": {"kind": "cron"}}, "'misfire' is missing"),
        (7, "item 2 cannot be imported, and nothing was: it is no JSON object"),
        ([], "it is no JSON object"),
        ({"kind": "session", "session": [], "records": []}, "it has not the form of an export"),
    ],
)
async def test_an_invalid_item_is_named_and_nothing_is_stored(item: object, problem: str):
    store, clock = host_store_from_url("memory://", folder=Path()), VirtualClock(auto=False)
    whole = {"kind": "session", "session": {"id": "ok", "title": ""}, "records": []}
    with pytest.raises(InputError, match=problem):
        await import_person(store, LongTermMemory(store, clock), EVA, [whole, item])
    assert await store.sessions.list() == []


async def test_the_account_of_today_stays_so_that_no_limit_can_be_spent_twice(place: Place):
    usage, now = place.store.usage, place.clock.now()
    current = Period(now.date().isoformat(), now.date().isoformat()[:7])
    for period in (Period("2020-01-01", "2020-01"), current):
        spent = Usage(10, 10, cost_micros=50)
        await usage.reserve("p", period, spent, ProviderLimits(), PayerLimits(EVA))
    await place.forget()
    assert (await usage.get_payer_spending(EVA, current)).daily_micros == 50
    assert (await usage.get_payer_spending(EVA, Period("2020-01-01", "2020-01"))).monthly_micros == 0


@pytest.mark.parametrize("name", ["", "system", "terminal", "expiry"])
async def test_what_is_no_person_is_refused(name: str, tmp_path: Path):
    with pytest.raises(InputError, match="is no person"):
        await Place("memory://", tmp_path).forget(name)


async def test_the_log_of_a_host_holds_no_text(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    copy_database(tmp_path)
    place = Place(SQLITE, tmp_path)
    await place.store.open()
    with caplog.at_level(logging.INFO):
        await fill(place, EVA, MARKER)
        await place.forget()
    await place.store.close()
    assert MARKER.lower() not in caplog.text.lower()


async def test_files_are_exported_forgotten_and_come_back_as_what_they_are(place: Place):
    store, content = place.store, f"a {MARKER}".encode()
    file = Attachment("f", "note.txt", "text/plain", len(content), 3)
    await store.sessions.append(
        "s", [SessionRecord("message", "r", Message("user", "x", attachments=(file,)))], owner=EVA
    )
    await store.attachments.add(file, content, owner=EVA, session_id="s")
    exported = await place.export()
    [item] = [each for each in exported if each["kind"] == "attachment"]
    assert base64.b64decode(item["content"]) == content

    await place.forget()
    assert await store.attachments.find("f") is None
    assert place.traces(MARKER) == []

    item["attachment"] |= {"media_type": "text/html", "name": "../note.txt", "size": 1}
    await import_person(store, place.memory, EVA, exported)
    found = await store.attachments.find("f")
    assert found is not None
    assert (found.attachment, found.owner, found.sessions) == (file, EVA, ("s",))
    assert await store.attachments.read("f", session_id="s") == content


async def test_an_imported_file_takes_no_id_of_somebody_else(place: Place):
    theirs = Attachment("f", "note.txt", "text/plain", 5, 3)
    await place.store.attachments.add(theirs, b"hello", owner="bob")
    item = {"kind": "attachment", "attachment": theirs.to_json(), "content": "eA==", "sessions": ["s"]}
    session = {"kind": "session", "session": {"id": "s", "title": "", "model": None}, "records": []}
    await import_person(place.store, place.memory, EVA, [session, item])
    found = await place.store.attachments.find("f")
    assert found is not None
    assert (found.owner, found.sessions) == ("bob", ())
    with pytest.raises(InputError, match="nothing was"):
        await import_person(place.store, place.memory, EVA, [{**item, "content": "*"}])
