"""Data of earlier versions: shown first, moved only if the store says whose it is, and never merged."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sophon.stores.contract import Store
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.outbound_entry import OutboundEntry
from sophon.stores.runs.contract import InboundKey, Run
from sophon.stores.sql_store import SqlStore
from sophon_hosting.migration.plan import Kept, Move, find_renamed_users, plan_memory, plan_session
from sophon_hosting.migration.principal_migration import PrincipalMigration, has_shared_data

OLD, NEW = "telegram:5", "user:telegram:5"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: Any, tmp_path: Path) -> AsyncIterator[Store]:
    store = InMemoryStore() if request.param == "memory" else SqlStore(f"sqlite:///{tmp_path / 'sophon.db'}")
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


async def add_run(store: Store, run_id: str, session: str, channel: str, owner: str = OLD, **origin: str) -> None:
    await store.sessions.get_or_create(session, owner)
    await store.runs.accept(Run(run_id, session, owner, channel, origin, text="hello"))


@pytest.mark.parametrize(
    ("owner", "channels", "moves"),
    [
        (OLD, {"hub"}, True),
        (OLD, {"telegram"}, False),
        (OLD, {"hub", "telegram"}, False),
        (OLD, set(), False),
        ("local", {"hub"}, False),
    ],
)
def test_a_session_moves_only_if_nobody_else_wrote_in_it(owner: str, channels: set[str], moves: bool) -> None:
    assert isinstance(plan_session("s", owner, NEW, channels), Move if moves else Kept)


@pytest.mark.parametrize(
    ("origin", "moves"),
    [("hub/s", True), ("learned/s", True), ("telegram/s", False), ("hub/other", False), ("", False)],
)
def test_a_memory_moves_with_the_session_it_comes_from(origin: str, moves: bool) -> None:
    assert isinstance(plan_memory(MemoryEntry("m", "x", origin=origin), NEW, {"s"}), Move if moves else Kept)


def test_a_hub_user_with_a_plain_name_keeps_everything_without_a_migration() -> None:
    assert find_renamed_users(["ada", "bob@example.org", OLD, "local"]) == {OLD: NEW, "local": "user:local"}


async def test_a_plan_changes_nothing(store: Store, root: Path) -> None:
    await add_run(store, "r", "s", "hub")
    plan = await PrincipalMigration(store, root, [OLD]).plan()
    assert [str(each) for each in plan.moves] == [f"session s: {OLD} -> {NEW}"]
    assert (await store.sessions.get("s")).owner == OLD


async def test_the_hub_user_and_the_person_on_the_channel_are_told_apart(store: Store, root: Path) -> None:
    await add_run(store, "r1", "s-hub", "hub")
    await add_run(store, "r2", "s-telegram", "telegram")
    await store.memories.write(MemoryEntry("m1", "of the hub", scope=OLD, origin="hub/s-hub"))
    await store.memories.write(MemoryEntry("m2", "of the person", scope=OLD, origin="telegram/s-telegram"))
    await PrincipalMigration(store, root, [OLD]).apply()
    assert [(await store.sessions.get(each)).owner for each in ("s-hub", "s-telegram")] == [NEW, OLD]
    assert [(await store.runs.get(each)).owner for each in ("r1", "r2")] == [NEW, OLD]
    assert [each.id for each in await store.memories.list_all(scope=NEW)] == ["m1"]
    assert [each.id for each in await store.memories.list_all(scope=OLD)] == ["m2"]
    assert (await PrincipalMigration(store, root, [OLD]).apply()).moves == []


async def test_a_turn_that_waits_goes_on_as_its_new_owner(store: Store, root: Path) -> None:
    await add_run(store, "r", "s", "hub")
    await store.runs.begin("r", (await store.sessions.get("s")).created_at)
    await store.runs.suspend("r", {"principal": OLD, "run_id": "r"}, ["apr_1"])
    await PrincipalMigration(store, root, [OLD]).apply()
    assert (await store.runs.get("r")).checkpoint == {"principal": NEW, "run_id": "r"}


async def test_files_of_messages_go_to_who_sent_them_and_to_their_group(store: Store, root: Path) -> None:
    await add_run(store, "r1", "s1", "telegram", owner="telegram:7", chat="7", kind="direct")
    await add_run(store, "r2", "s2", "telegram", owner="telegram:7", chat="-9/3", kind="group")
    for name in ("r1", "r2", "gone"):
        (root / "uploads" / "telegram" / name).mkdir(parents=True)
        (root / "uploads" / "telegram" / name / "1-a.txt").write_text(name)
    done = await PrincipalMigration(store, root, []).apply()
    assert (root / "principals/telegram_3a7/uploads/telegram/r1/1-a.txt").read_text() == "r1"
    assert (root / "principals/telegram_3achat_3a-9/uploads/telegram/r2/1-a.txt").read_text() == "r2"
    folders = [root / "principals", *(root / "principals").iterdir()]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    assert (root / "uploads/telegram/gone/1-a.txt").exists()
    assert [each.reason for each in done.kept] == ["its task does not exist any more"]


async def test_a_file_that_is_still_to_be_sent_stays_where_it_is(store: Store, root: Path) -> None:
    await add_run(store, "r1", "s1", "telegram", owner="telegram:7", chat="7", kind="direct")
    file = root / "uploads" / "telegram" / "r1" / "1-a.txt"
    file.parent.mkdir(parents=True)
    file.touch()
    await store.outbox.add([OutboundEntry("o", "r1", "telegram", "bot", "7", "file", {"path": str(file.resolve())})])
    assert (await PrincipalMigration(store, root, []).apply()).moves == []
    assert file.exists()


async def test_other_files_stay_unless_they_are_given_to_somebody_and_replace_nothing(store: Store, root: Path) -> None:
    (root / "notes.txt").write_text("mine")
    (root / "other.txt").write_text("old")
    assert (await PrincipalMigration(store, root, []).plan()).moves == []
    (root / "principals" / "ada").mkdir(parents=True)
    (root / "principals" / "ada" / "other.txt").write_text("new")
    done = await PrincipalMigration(store, root, [], files_to="ada").apply()
    assert (root / "principals/ada/notes.txt").read_text() == "mine"
    assert (root / "principals/ada/other.txt").read_text() == "new"
    assert [each.name for each in done.moves] == ["notes.txt"]
    assert [each.name for each in done.kept] == ["principals/ada", "other.txt"]


@pytest.mark.parametrize(
    ("entries", "user_ids", "shared"),
    [([], ["ada"], False), (["principals/ada/a.txt"], [], False), (["a.txt"], [], True), ([], ["local"], True)],
)
def test_a_host_knows_whether_there_is_something_to_migrate(
    root: Path, entries: list[str], user_ids: list[str], shared: bool
) -> None:
    for entry in entries:
        (root / entry).parent.mkdir(parents=True, exist_ok=True)
        (root / entry).touch()
    assert has_shared_data(root, user_ids) == shared


async def test_a_repeated_message_of_a_renamed_user_is_the_same_task(store: Store, root: Path) -> None:
    await store.sessions.get_or_create("s", OLD)
    await store.runs.accept(Run("r", "s", OLD, "hub", {}, text="hello"), InboundKey("hub", OLD, "m1"))
    await PrincipalMigration(store, root, [OLD]).apply()
    again = await store.runs.accept(Run("r2", "s", NEW, "hub", {}, text="hello"), InboundKey("hub", NEW, "m1"))
    assert (again.created, again.run.id) == (False, "r")


async def test_a_key_that_the_new_owner_has_already_stays(store: Store, root: Path) -> None:
    await store.sessions.get_or_create("s", OLD)
    await store.runs.accept(Run("r", "s", OLD, "hub", {}, text="hello"), InboundKey("hub", OLD, "m1"))
    await store.runs.accept(Run("n", "s2", NEW, "hub", {}, text="hello"), InboundKey("hub", NEW, "m1"))
    assert (await store.runs.change_owner("r", NEW)).owner == NEW
    again = await store.runs.accept(Run("r2", "s2", NEW, "hub", {}, text="hello"), InboundKey("hub", NEW, "m1"))
    assert again.run.id == "n"


async def test_what_was_below_principals_before_is_listed_until_a_migration_was_applied(
    store: Store, root: Path
) -> None:
    for name in ("principals/ada/planted.txt", "principals/notes.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    plan = await PrincipalMigration(store, root, []).plan()
    assert [each.name for each in plan.kept] == ["principals/ada", "principals/notes.txt"]
    assert all("--set-aside" in each.reason for each in plan.kept)
    await PrincipalMigration(store, root, []).apply()
    assert (await PrincipalMigration(store, root, []).plan()).kept == []


async def test_planted_files_are_set_aside_before_anybody_gets_them(store: Store, root: Path) -> None:
    (root / "principals/ada").mkdir(parents=True)
    (root / "principals/ada/planted.txt").write_text("bob was here")
    (root / "notes.txt").touch()
    await PrincipalMigration(store, root, [], files_to="ada", set_aside=True).apply()
    assert [each.name for each in (root / "principals/ada").iterdir()] == ["notes.txt"]
    assert (root / "set-aside/principals/ada/planted.txt").read_text() == "bob was here"
    assert {path.stat().st_mode & 0o777 for path in (root / "principals/ada", root / "set-aside")} == {0o700}
    again = await PrincipalMigration(store, root, [], files_to="bob", set_aside=True).apply()
    assert (again.moves, again.kept) == ([], [])
