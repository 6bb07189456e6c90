"""`sophon audit`: list, verify and export, beside a host that has the store open and without one."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from sophon.clock import SystemClock
from sophon.security.audit.audit_head import HeadError, sign_head
from sophon.stores.audit.audit_event import AuditEvent
from sophon_hosting.features.guards.audit_heads import AuditHeadWriter
from sophon_hosting.features.settings.change_audit import record_change
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database

Command = Callable[..., Any]
T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)


async def append(folder: Path) -> None:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    about: dict[str, Any] = {"session_id": "s1", "principal": "ann", "tool": "files.write", "chat": "-100"}
    about["risk"] = "medium"
    blocked: dict[str, Any] = {"guard": "Protection", "rule": "protected_blocked", "outcome": "denied"}
    await store.audit.append(
        [
            AuditEvent(T0, "proposed", texts={"input": '{"path":"\u00e4\x1b[2J\ud83d"}'}, **about),
            AuditEvent(T0 + timedelta(hours=1), "blocked", texts={"output": "no"}, **about, **blocked),
            AuditEvent(T0 + timedelta(hours=2), "executed", "s2", tool="files.read", outcome="completed"),
        ]
    )
    await store.close()


@pytest.fixture
def log(folder: Path) -> Path:
    """A store with three entries; its file."""
    copy_database(folder)
    asyncio.run(append(folder))
    return folder / "data" / "sophon.db"


def change(file: Path, statement: str) -> None:
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        assert connection.execute(text(statement)).rowcount
    engine.dispose()


def test_the_newest_entries_come_first_with_who_and_why(log: Path, sophon: Command) -> None:
    shown = sophon("audit", "list")
    lines = shown.out.splitlines()
    assert (shown.code, len(lines)) == (0, 4)
    assert [line.split()[0] for line in lines[1:]] == ["3", "2", "1"]
    assert "Protection (protected_blocked): denied no" in lines[2]
    assert "\x1b" not in shown.out
    assert ["level" in lines[0], "controlled" in lines[2]] == [True, True]
    assert [each["capability_level"] for each in sophon("audit", "list", "--json").json] == ["", *["controlled"] * 2]


async def append_change(folder: Path) -> None:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    details = {"from": 10, "to": 3}
    what: dict[str, Any] = {"by": "olga", "what": "settings", "name": "ToolFilter.Top", "outcome": "set"}
    await record_change(store, SystemClock(), details=details, **what)
    await store.close()


def test_a_change_of_the_host_is_listed_with_what_was_changed(log: Path, folder: Path, sophon: Command) -> None:
    asyncio.run(append_change(folder))
    shown = sophon("audit", "list", "--event", "changed")
    assert 'settings ToolFilter.Top: set {"from": 10, "to": 3}' in shown.out


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (("--session", "s2"), [3]),
        (("--principal", "ann", "--event", "blocked"), [2]),
        (("--tool", "files.read"), [3]),
        (("--chat", "-100"), [2, 1]),
        (("--risk", "medium", "--limit", "1"), [2]),
        (("--level", "controlled"), [2, 1]),
        (("--level", "privileged"), []),
        (("--outcome", "denied"), [2]),
        (("--before", "2"), [1]),
        (("--since", "2026-11-23T13:00", "--until", "2026-11-23T16:00+02:00"), [2]),
        (("--since", "2030-01-01"), []),
    ],
)
def test_entries_are_filtered(log: Path, sophon: Command, options: tuple[str, ...], numbers: list[int]) -> None:
    assert [each["number"] for each in sophon("audit", "list", "--json", *options).json] == numbers


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("list", "--event", "gone"), "'gone' is not one of 'proposed', 'evaluated', 'executed', 'failed'"),
        (("list", "--risk", "big"), "'big' is not one of 'none', 'low', 'medium', 'high', 'critical'"),
        (("list", "--level", "high"), "'high' is not one of 'safe', 'monitored', 'controlled', 'restricted'"),
        (("list", "--since", "soon"), "since: 'soon' is no time"),
        (("list", "--since", "0001-01-01T00:00+14:00"), "is no time"),
        (("list", "--limit", "0"), "'--limit'"),
        (("verify", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
        (("export", "--output", "nowhere/a.jsonl"), "cannot be written"),
    ],
)
def test_wrong_input_is_one_clear_error(log: Path, sophon: Command, arguments: tuple[str, ...], message: str) -> None:
    refused = sophon("audit", *arguments)
    assert refused.code != 0
    assert message in refused.err
    assert len(refused.err.splitlines()) == 1


def test_an_intact_chain_is_verified_and_a_broken_one_named(log: Path, sophon: Command) -> None:
    intact = sophon("audit", "verify")
    assert (intact.code, intact.out) == (0, "The chain is intact: 3 entries.\n")
    change(log, "UPDATE audit SET outcome = 'completed' WHERE number = 2")
    broken = sophon("audit", "verify")
    assert (broken.code, broken.out) == (1, "The chain is broken: the entry 2 was changed.\n")
    as_json = sophon("audit", "verify", "--json")
    assert (as_json.code, as_json.json["broken"]) == (1, 2)


def test_an_export_can_be_verified_without_the_store(log: Path, folder: Path, sophon: Command) -> None:
    assert sophon("audit", "export", "--output", "log.jsonl").code == 0
    file = folder / "log.jsonl"
    assert file.stat().st_mode & 0o077 == 0
    assert sophon("audit", "export").out == file.read_text(encoding="ascii")
    lines = file.read_text(encoding="ascii").splitlines()
    assert [json.loads(line)["number"] for line in lines] == [1, 2, 3]
    assert [json.loads(line)["capability_level"] for line in lines] == ["controlled", "controlled", ""]
    assert sophon("audit", "verify", "log.jsonl").code == 0
    file.write_text("\n".join([lines[0], lines[1].replace("denied", "allowed"), lines[2]]))
    broken = sophon("audit", "verify", "log.jsonl")
    assert (broken.code, broken.out) == (1, "The chain is broken: line 2 of log.jsonl.\n")
    assert "exists already" in sophon("audit", "export", "--output", "log.jsonl").err


def test_a_log_without_entries_says_so(folder: Path, sophon: Command) -> None:
    assert sophon("audit", "list").out == "There are no entries.\n"
    assert sophon("audit", "verify").out == "The chain is intact: 0 entries.\n"
    assert sophon("audit", "export").out == ""


async def test_a_store_that_a_host_has_open_is_read(log: Path, folder: Path, process: Command) -> None:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    verified = await asyncio.to_thread(process, "audit", "verify")
    await store.audit.append([AuditEvent(T0, "executed", "s3")])
    listed = await asyncio.to_thread(process, "audit", "list", "--json", "--limit", "1")
    await store.close()
    assert (verified.code, [each["number"] for each in listed.json]) == (0, [4])


KEY = "k" * 32
TRUNCATE = (
    "DELETE FROM audit WHERE number = 3",
    "UPDATE audit_chain SET last_number = 2, last_hash = (SELECT hash FROM audit WHERE number = 2)",
)


@pytest.fixture
def signed(log: Path, folder: Path) -> Path:
    """The log, with a key and the head that a host has written."""
    settings = {"Sophon": {"Guards": {"Audit": {"SigningKey": KEY}}}}
    (folder / "appsettings.json").write_text(json.dumps(settings))
    asyncio.run(sign(folder))
    return log


async def sign(folder: Path) -> None:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    try:
        await AuditHeadWriter(store, SystemClock(), folder / "data" / "audit-head.json", KEY).write()
    finally:
        await store.close()


def test_a_truncated_log_is_found_by_its_signed_head_alone(signed: Path, folder: Path, sophon: Command) -> None:
    assert sophon("audit", "verify").code == 0
    for statement in TRUNCATE:
        change(signed, statement)
    found = sophon("audit", "verify")
    assert (found.code, found.out) == (1, "The chain is broken: the entry 3 is missing: the signed head is 3.\n")
    with pytest.raises(HeadError, match="ends at 2, and 3 was signed"):
        asyncio.run(sign(folder))  # a host does not sign what is left
    (folder / "appsettings.json").write_text("{}")
    assert sophon("audit", "verify").code == 0  # without a head nothing shows it


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (None, "there is no signed head"),
        ("{}", "the signed head cannot be read"),
        (sign_head(3, "0" * 64, T0, "w" * 32), "was not signed with the key"),
        (sign_head(3, "0" * 64, T0, KEY), "the entry 3 is not the one that was signed"),
        (sign_head(4, "0" * 64, T0, KEY), "the entry 4 is missing"),
    ],
    ids=("missing", "unreadable", "wrong key", "other chain", "later entry"),
)
def test_a_head_that_does_not_fit_breaks_the_chain(
    head: str | None, problem: str, signed: Path, folder: Path, sophon: Command
) -> None:
    file = folder / "data" / "audit-head.json"
    file.unlink()
    if head is not None:
        file.write_text(head)
    found = sophon("audit", "verify")
    assert (found.code, problem in found.out) == (1, True), found.out


def test_an_export_has_a_signed_head(signed: Path, folder: Path, sophon: Command) -> None:
    assert sophon("audit", "export", "--output", "log.jsonl").code == 0
    assert sophon("audit", "verify", "log.jsonl").code == 0
    file = folder / "log.jsonl"
    file.write_text("\n".join(file.read_text().splitlines()[:2]))
    found = sophon("audit", "verify", "log.jsonl")
    assert (found.code, "ends with the entry 2, and 3 was signed" in found.out) == (1, True)


@pytest.mark.parametrize(
    ("key", "problem"), [({"$env": "NO_SUCH_KEY"}, "is not there"), ("short", "less than 32 bytes")]
)
def test_a_key_that_is_missing_or_short_is_an_error(
    key: Any, problem: str, log: Path, folder: Path, sophon: Command
) -> None:
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": {"Guards": {"Audit": {"SigningKey": key}}}}))
    found = sophon("audit", "verify")
    assert (found.code != 0, problem in found.err) == (True, True), found
