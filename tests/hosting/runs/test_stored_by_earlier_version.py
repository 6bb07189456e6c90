"""A database written before the change of names is read after it: history, runs, checkpoints, approvals, outbox.

`tests/cases/store-before-standard-names.sql` is the dump of a SQLite database that a host of commit 84d322c wrote: a
completed and a failed turn, a turn suspended between two tool calls, and one suspended within a step of its plan.

`tests/cases/store-before-checkpoint-logs.sql` was written by a host of commit 177558c and read while it ran: a turn
behind a history, cut off in its third round of tools, and a plan both of whose steps were. Their checkpoints are whole
states.
"""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.stores.contract import Store
from sophon.stores.factory import store_from_url
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host import Host
from sophon_middlewares.chains import twelve
from tests.hosting.runs.conftest import World

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture
def dump() -> str:
    return "store-before-standard-names.sql"


@pytest.fixture
async def store(tmp_path: Path, clock: VirtualClock, dump: str) -> AsyncIterator[Store]:
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.executescript((CASES / dump).read_text())
    connection.close()
    store = store_from_url("sqlite:///old.db", folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
async def host(store: Store, clock: VirtualClock, ran: list[str]) -> AsyncIterator[Host]:
    """A host of today over that store, with the model and the tools that wrote it."""

    @tool(risk=Risk.HIGH)
    async def pay(to: str) -> str:
        """Pay somebody."""
        ran.append(f"pay {to}")
        return f"paid {to}"

    @tool(idempotent=True)
    async def look(what: str) -> str:
        """Look at something."""
        ran.append(f"look {what}")
        return f"saw {what}"

    @tool()
    async def stall(what: str) -> str:
        """Take long."""
        ran.append(f"stall {what}")
        return what

    async def answer(request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.role == "tool":
            return f"Done: {last.content}"
        if request.purpose == "step" and "Pay Bob" in last.content:
            return ModelResponse("", [ToolCall("c1", "pay", {"to": "Bob"})])
        return last.content.upper()

    services = Services(models=FunctionModel(answer), tools=[pay, look, stall], store=store, clock=clock)
    host = Host(services, twelve(services))
    await host.start()
    yield host
    await host.shutdown(grace_seconds=0)


async def test_what_was_said_and_remembered_is_there(store: Store) -> None:
    history = await store.sessions.load_history("chat")
    assert [(message.role, message.content) for message in history.messages][:2] == [
        ("user", "hello"),
        ("assistant", "HELLO"),
    ]
    assert [entry.text for entry in await store.memories.search("office", scope="ada")] == ["the office is in Oslo"]
    assert {run.status for run in await store.runs.list()} == {"completed", "failed", "suspended"}


async def test_channels_find_their_state_and_what_is_to_be_sent(store: Store) -> None:
    [entry] = await store.channel_state.list("chat")
    assert (entry.channel, entry.key, entry.value) == ("telegram", "7", {"session": "telegram:42:7:1"})
    assert {entry.id: entry.status for entry in await store.outbox.list(channel="telegram")} == {
        "e1": "pending",
        "e2": "dead",
    }


@pytest.mark.parametrize(
    ("session", "answer", "calls"),
    [
        ("approval", "Done: paid Carol", ["pay Carol"]),
        ("plan", None, ["pay Bob"]),
    ],
)
async def test_a_suspended_turn_goes_on_after_its_decision(
    store: Store, clock: VirtualClock, host: Host, ran: list[str], session: str, answer: str | None, calls: list[str]
) -> None:
    [run] = [run for run in await store.runs.list(session_id=session) if run.status == "suspended"]
    await host.approvals.decide(run.waiting_for[0], Decision.approve(), "ada")
    world = World(store, clock)

    async def is_over() -> bool:
        return (await store.runs.get(run.id)).status == "completed"

    await world.until(is_over)
    assert ran == calls  # the call that had finished before is not run again
    last = (await store.sessions.load_history(session)).messages[-1]
    assert last.role == "assistant"
    assert answer is None or last.content == answer


@pytest.mark.parametrize("dump", ["store-before-checkpoint-logs.sql"])
async def test_turns_that_were_cut_off_go_on_from_whole_states(
    store: Store, clock: VirtualClock, host: Host, ran: list[str]
) -> None:
    async def are_over() -> bool:
        return await store.runs.list_unfinished() == []

    await World(store, clock).until(are_over)

    assert {run.status for run in await store.runs.list()} == {"completed"}
    assert ran == []  # a call that was running may have had its effect, and the others had theirs
    history = (await store.sessions.load_history("rounds")).messages
    assert [message.content for message in history if message.role != "assistant"][:5] == [
        *("hello", "again", "Look twice, then stall"),
        *("saw place 0", "saw place 1"),
    ]
    assert "unknown" in history[-1].content
    assert len(history) == 4 + 1 + 6 + 1
