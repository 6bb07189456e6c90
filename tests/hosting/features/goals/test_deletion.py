"""Deleting a chat, forgetting a person, exporting and importing: goals go and come with them."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sophon.errors import InputError
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.persons.export import PersonExport
from sophon_hosting.features.persons.forgetting import PersonForgetting
from sophon_hosting.features.persons.person_files import PersonFolders
from sophon_hosting.features.persons.person_import import import_person
from tests.databases import SQLITE
from tests.hosting.features.goals.conftest import World, plan, step


async def test_a_chat_is_deleted_with_its_goals_and_what_they_did(world: World):
    world.settings = {"Goals": {"Budget": {"Parallel": 2}}}
    world.plans = [plan(step("a", "note", text="one"), step("b", "note", text="two"))]
    world.held = asyncio.Event()
    await world.start()
    goal = await world.create()
    await world.until(goal, lambda found: len(world.kept) == 2)
    await world.delete_session("chat")
    assert await stored_goals(world.store).find(goal.id) is None
    assert await world.store.sessions.list() == []
    assert await world.store.runs.list() == []
    await world.clock.advance(60)
    assert await world.store.sessions.list() == []


async def test_a_goal_goes_with_the_session_in_which_it_works(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    goal = await world.create()
    await world.ended(goal)
    await world.delete_session(goal.work_session_id)
    assert await stored_goals(world.store).find(goal.id) is None
    assert [each.id for each in await world.store.sessions.list()] == ["chat"]


def traces_in(file: Path, *words: str) -> list[str]:
    """Return the tables of a database that contain one of these words anywhere."""
    with closing(sqlite3.connect(file)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: repr(database.execute(f'SELECT * FROM "{name}"').fetchall()) for name in tables}
    return [name for name, text in rows.items() if any(word in text for word in words)]


@pytest.mark.parametrize("held", [True, False])
async def test_a_deleted_goal_leaves_nothing_behind_and_other_conversations_as_they_are(
    world: World, store_url: str, tmp_path: Path, held: bool
):
    world.settings = {"Goals": {"Budget": {"Parallel": 2}}}
    world.plans = [plan(step("a", "note", text="Xylophone"), step("b", "note", text="Xylophone two"))]
    world.held = asyncio.Event() if held else None
    await world.start()
    goal = await world.commands.create(owner="ada", title="Errand", priority="user")
    other = await world.create("Other", autonomy="assist")
    if held:
        await world.until(goal, lambda found: len(world.kept) >= 2)
    else:
        await world.ended(goal)
    files = [*tmp_path.glob("**/*.db")]
    assert len(files) == (store_url == SQLITE)
    assert all(traces_in(each, goal.id) for each in files)
    await world.finish(lambda: world.delete_goal(goal))
    assert await stored_goals(world.store).find(goal.id) is None
    assert await stored_goals(world.store).find(other.id) is not None
    assert {each.id for each in await world.store.sessions.list()} >= {"chat", other.work_session_id}
    assert not [run for run in await world.store.runs.list() if run.session_id.startswith(goal.work_session_id)]
    await world.stop()
    for each in files:
        assert traces_in(each, goal.id, "Errand") == []


async def test_a_goal_whose_session_of_work_is_gone_is_deleted_too(world: World):
    await world.start()
    goal = await world.create()
    await world.commands.pause(goal.id, "ada", by="ada")
    alone = replace(goal, id="alone", state="paused", version=0)
    assert await stored_goals(world.store).add(alone) is not None
    await world.finish(lambda: world.delete_goal(alone))
    assert await stored_goals(world.store).find("alone") is None


async def test_goals_are_exported_imported_and_forgotten(world: World, tmp_path: Path):
    world.plans = [plan(step("a", "pay", text="one"))]
    await world.start()
    goal = await world.create(autonomy="full", description="Pay the Xylophonist")
    other = await world.create("Other", description="Wait")
    await world.ended(goal)
    await world.commands.pause(other.id, "ada", by="ada")
    folders = PersonFolders(tmp_path, tmp_path / "files", tmp_path / "memory")
    items = [item async for item in PersonExport(world.store, world.clock, folders).read("ada")]
    exported = [item["goal"] for item in items if item["kind"] == "goal"]
    assert {each["description"] for each in exported} == {"Pay the Xylophonist", "Wait"}
    memory = LongTermMemory(world.store, world.clock, HashingEmbedder())
    forgetting = PersonForgetting(world.store, memory, world.clock, folders, world.delete_session)
    await forgetting.forget("ada")
    assert await stored_goals(world.store).list() == []
    assert await world.store.sessions.list() == []

    stored = await import_person(world.store, memory, "eva", items)
    assert stored.added["goal"] == 2
    again = {found.description: found for found in await stored_goals(world.store).list(owner="eva")}
    assert (again["Pay the Xylophonist"].state, again["Wait"].state) == ("completed", "paused")
    assert {found.autonomy for found in again.values()} == {"Semi"}
    assert (await import_person(world.store, memory, "eva", items)).added["goal"] == 0


@pytest.mark.parametrize("wrong", [{}, {"id": "x"}, None, {"id": 5}])
async def test_an_export_with_an_invalid_goal_is_not_imported(world: World, wrong: object):
    memory = LongTermMemory(world.store, world.clock, HashingEmbedder())
    with pytest.raises(InputError, match="item 1 cannot be imported"):
        await import_person(world.store, memory, "eva", [{"kind": "goal", "goal": wrong}])
