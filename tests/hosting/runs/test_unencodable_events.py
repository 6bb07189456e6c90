"""An event that JSON cannot encode is left out: its turn, its session and what else they tell go on."""

import logging
from typing import Any

import pytest

from sophon import Context, Pipeline, Services
from sophon.chain.pipeline import Next
from sophon.events import AgentStatus, Event, StageCompleted, TaskCompleted, ToolCallStarted
from sophon_middlewares.chains import twelve


def started(**fields: Any) -> Event:
    return ToolCallStarted(**{"call_id": "c", "tool": "own", "arguments_digest": "", "arguments": {}, **fields})


UNENCODABLE = {
    "durable": lambda: started(arguments={"x": object()}),
    "durable, refers to itself": lambda: started(arguments=endless()),
    "trace": lambda: StageCompleted(stage="own", data={"x": object()}),  # type: ignore[arg-type]
    "transient": lambda: AgentStatus(status="thinking", detail={"x": object()}),  # type: ignore[arg-type]
}


def endless() -> dict[str, Any]:
    inner: dict[str, Any] = {}
    inner["x"] = inner
    return inner


class OwnEvents:
    """A middleware of one's own that emits an event before and after the turn's work."""

    def __init__(self, kind: str) -> None:
        self._build = UNENCODABLE[kind]

    async def __call__(self, ctx: Context, next: Next) -> None:
        ctx.emit(self._build())
        await next(ctx)
        ctx.emit(self._build())


def with_events(services: Services, kind: str) -> Pipeline:
    record, *others = twelve(services)
    return Pipeline.compose(record, OwnEvents(kind), *others)


@pytest.mark.parametrize("kind", UNENCODABLE)
async def test_a_turn_that_emits_it_ends_once_with_all_else_that_it_tells(world: Any, kind: str) -> None:
    host = world.host(chain=lambda services: with_events(services, kind))
    await host.start()
    heard: list[str] = []
    await host.event_bus.subscribe("s", lambda event: heard.append(event.name))
    for text in ("hello", "again"):
        run = await world.ended(await world.send(host, text))
        await host.event_bus.flush("s")
        assert (run.status, run.starts) == ("completed", 1)
        assert "model_attempt" in [each.name for each in await world.store.events.list_traces("s", run.id)]
    assert await world.said("s") == ["hello", "HELLO", "again", "AGAIN"]
    stored = [each.name for each in await world.store.events.list_after("s", 0)]
    assert stored.count("task_completed") == heard.count("task_completed") == len(world.events.of(TaskCompleted)) == 2
    assert "tool_call_started" not in [*stored, *heard]


async def test_who_emits_it_outside_a_turn_gets_the_error_and_the_session_takes_messages(
    world: Any, host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await world.ended(await world.send(host, "hello"))
    event = started(arguments={"x": object()})
    event.session_id = "s"
    with pytest.raises(TypeError, match="JSON"):
        host.event_bus.emit(event)
    with caplog.at_level(logging.WARNING, "sophon"):
        assert (await world.ended(await world.send(host, "again"))).status == "completed"
    assert caplog.messages == []


async def test_a_turn_that_emits_it_can_be_cancelled_and_the_log_says_where_it_was_emitted(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    host = world.host(chain=lambda services: with_events(services, "durable"))
    await host.start()
    receipt = await world.send(host, "wait a")

    async def has_begun() -> bool:
        return bool(world.begun)

    await world.until(has_begun)
    await host.cancel(receipt.task_id)
    assert (await world.ended(receipt)).status == "cancelled"
    [logged] = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert "ToolCallStarted" in logged.getMessage()
    assert "ctx.emit(self._build())" in (logged.stack_info or "")
