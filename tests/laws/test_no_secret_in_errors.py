"""A key in an error reaches nobody: no event, no record, no result, no file of the store, no caller."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.errors import SophonError, ToolError
from sophon.events import ModelAttempt, PlanStepChanged, TaskFailed, ToolCallCompleted
from sophon.messages import ToolResult
from sophon.models.providers.provider_http_error import http_error_from_response
from sophon.settings import Secret
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.outbox.transitions import mark_ambiguous, mark_dead, mark_refused
from sophon_hosting.store.runs.contract import RunError
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.tables import table

Answer = Callable[[ModelRequest], Awaitable[str | ModelResponse]]
KEY = "sk-proj-Canary0123456789abcdef"
BY_VALUE = str(Secret("CANARY", "$env").resolve({"CANARY": "zebra crossing nine"}))
"""A secret without any form; only the settings know that it is one."""

SAID = f"Incorrect API key provided: {KEY}, password {BY_VALUE}"


@tool
async def fails() -> str:
    """Fail."""
    raise RuntimeError(SAID)


@tool
async def refuses() -> str:
    """Refuse."""
    raise ToolError(SAID)


@tool
async def is_late() -> str:
    """Be late."""
    raise TimeoutError(SAID)


def assert_clean(text: str, also: str = "REDACTED") -> None:
    assert KEY not in text
    assert BY_VALUE not in text
    assert also in text


async def run(folder: Path, answer: Answer) -> tuple[str, str, FunctionModel]:
    """Return what caller and listeners saw, what the store holds, and the model that was asked."""
    model, events = FunctionModel(answer), EventRecorder()
    store = SqlHostStore(f"sqlite:///{folder}/sophon.db", clock=VirtualClock())
    services = Services(models=model, tools=[fails, refuses, is_late], store=store, events=events, clock=VirtualClock())
    failure = ""
    async with services:
        try:
            await twelve(services).run(services.turn("go", session_id="s", planning="Never"))
        except Exception as error:
            failure = f"{error} {error!r} {getattr(error, 'attempts', '')}"
        stored = b"".join(path.read_bytes() for path in sorted(folder.iterdir())).decode("utf-8", "replace")
    return failure + json.dumps([event.to_wire() for event in events.events], default=str), stored, model


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SAID),
        SophonError(SAID),
        http_error_from_response(401, {}, json.dumps({"error": {"message": SAID}}).encode()),
        http_error_from_response(500, {}, b"x" * 1990 + SAID.encode()),
        ConnectionError(f"{'x' * 1960} {KEY}"),
    ],
    ids=["any", "ours", "401", "cut at the limit", "cut within the key"],
)
async def test_an_error_of_a_model_leaves_no_key_anywhere(tmp_path: Path, error: Exception) -> None:
    async def answer(request: ModelRequest) -> str:
        raise error

    seen, stored, _ = await run(tmp_path, answer)
    assert_clean(seen, "function" if "x" * 1900 in str(error) else "REDACTED")
    assert_clean(stored, "failed")
    assert "Canary" not in seen + stored


@pytest.mark.parametrize("name", ["fails", "refuses", "is_late"])
async def test_an_error_of_a_tool_leaves_no_key_anywhere(tmp_path: Path, name: str) -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        return "done" if request.messages[-1].role == "tool" else ModelResponse(tool_calls=[ToolCall("c", name)])

    seen, stored, model = await run(tmp_path, answer)
    assert_clean(seen)
    assert_clean(stored)
    assert_clean(model.requests[1].messages[-1].content)


NOW = datetime(2026, 1, 1, tzinfo=UTC)
SENDING = OutboundEntry("e", "r", "telegram", "a", "c", "reply", {}, status="sending")


@table(
    "made",
    [
        lambda: TaskFailed(error={"code": "internal", "message": SAID, "id": "r"}),
        lambda: ToolCallCompleted(call_id="c", tool="t", outcome="failed", result=SAID),
        lambda: ToolCallCompleted(call_id="c", tool="t", outcome="timed_out", result=SAID),
        lambda: ModelAttempt(purpose="reply", model="m", outcome="internal", duration_ms=1, detail=SAID),
        lambda: PlanStepChanged(step_id="a", status="failed", reason=SAID),
        lambda: ToolResult("c", "t", SAID, "failed"),
        lambda: SessionRecord("failed", "r", data={"code": "internal", "message": SAID}),
        lambda: RunError("internal", SAID),
        lambda: mark_refused(SENDING, NOW, SAID),
        lambda: mark_ambiguous(SENDING, SAID, None),
        lambda: mark_dead(SENDING, SAID),
    ],
)
def test_whoever_makes_an_error_cannot_put_a_key_into_it(made: Callable[[], Any]) -> None:
    assert_clean(repr(made()))


def test_what_is_no_error_stays_as_it_is() -> None:
    assert ToolResult("c", "t", SAID).text == SAID
    assert ToolCallCompleted(call_id="c", tool="t", outcome="completed", result=SAID).result == SAID
    assert SessionRecord("failed", "r", data={"message": "no", "shown": KEY}).data["shown"] == KEY
