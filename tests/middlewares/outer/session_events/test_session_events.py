"""The conversation is durable: loaded before, recorded before and after, whatever happens in between."""

import json

import pytest

from sophon import Context, Message, Next, Pipeline, Response, Risk, Services, ToolCall, tool
from sophon.context import Step
from sophon.errors import ModelError, StoreUnavailable
from sophon.events import Message as MessageAdded
from sophon.events import TaskCompleted, TaskFailed, TaskStarted
from sophon.messages import Compaction
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import EventRecorder, ScriptedModel
from sophon.turn.history_redaction import HIDDEN
from sophon_hosting.runs.checkpoints.checkpoint_builder import CheckpointBuilder
from sophon_hosting.runs.checkpoints.checkpoint_store import read_checkpoint
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, SessionEvents, ToolExecution
from tests.gate import Gate
from tests.tables import table

CHAIN = Pipeline.compose(SessionEvents(), AgenticLoop(), Approval(), ToolExecution(), LlmInvoker())


async def said(services: Services) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in await services.history("s")]


async def kinds(services: Services) -> list[str]:
    return [record.kind for record in await services.store.sessions.list_records("s")]


async def test_the_system_prompt_stands_in_front_of_the_history_and_is_not_stored() -> None:
    with ScriptedModel(["a", "b"]) as model:
        services = Services(models=model, instructions="Be brief.")
        for _ in range(2):
            await CHAIN.run(services.turn("hi", session_id="s"))

    assert [m.role for m in model.requests[1].messages] == ["system", "user", "assistant", "user"]
    assert "system" not in [role for role, _ in await said(services)]


async def test_the_user_message_is_stored_before_anything_else_happens() -> None:
    seen: list[tuple[str, str]] = []

    async def look(ctx: Context, next: Next) -> None:
        seen.extend(await said(ctx.services))
        ctx.response = Response("done")

    services = Services()
    await Pipeline.compose(SessionEvents(), look).run(services.turn("keep this", session_id="s"))

    assert seen == [("user", "keep this")]


async def test_a_failure_leaves_a_record_and_an_event_and_goes_on(events: EventRecorder) -> None:
    with ScriptedModel([ModelError("out of order"), "better"]) as model:
        services = Services(models=model, events=events)
        with pytest.raises(ModelError):
            await CHAIN.run(services.turn("go", session_id="s"))
        await CHAIN.run(services.turn("again", session_id="s"))

    assert await kinds(services) == ["message", "failed", "message", "message"]
    assert [e.error["message"] for e in events.of(TaskFailed)] == ["out of order"]
    assert [m.content for m in model.requests[1].messages] == ["go", "again"]


async def test_a_turn_that_the_store_ends_is_said_to_be_interrupted_not_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def refuse(ctx: Context, next: Next) -> None:
        raise StoreUnavailable("s.db", "full", "the disk of the store is full")

    services = Services(models=ScriptedModel([]))
    with caplog.at_level("INFO"), pytest.raises(StoreUnavailable):
        await Pipeline.compose(SessionEvents(), refuse).run(services.turn("go", session_id="s"))
    [line] = [record.getMessage() for record in caplog.records if record.getMessage().startswith("run ")]
    assert line.endswith("was interrupted: the store is unavailable: the disk of the store is full")


async def test_a_resumed_turn_records_nothing_twice() -> None:
    @tool(risk=Risk.HIGH)
    async def grave() -> str:
        """Ask first."""
        return "done"

    with ScriptedModel([[ToolCall("c", "grave")], "finished"]) as model:
        services = Services(models=model, tools=[grave], approvals=Gate.suspending())
        ctx = services.turn("go", session_id="s")
        await CHAIN.run(ctx)
        await CHAIN.run(services.restore(json.loads(json.dumps(ctx.state()))))

    assert [role for role, _ in await said(services)] == ["user", "assistant", "tool", "assistant"]
    assert await kinds(services) == ["message", "suspended", "message", "message", "message"]


async def test_a_plan_step_records_nothing() -> None:
    with ScriptedModel(["done"]) as model:
        services = Services(models=model)
        step = services.turn("go", session_id="s").child("one step", Step("a"))
        await CHAIN.run(step)

    assert await said(services) == []


async def test_a_turn_tells_its_beginning_its_messages_and_its_end(events: EventRecorder) -> None:
    with ScriptedModel(["hello"]) as model:
        await CHAIN.run(Services(models=model, events=events).turn("hi", session_id="s"))

    assert len(events.of(TaskStarted)) == 1
    assert [(m.role, m.content) for m in events.of(MessageAdded)] == [("user", "hi"), ("assistant", "hello")]
    completed = events.of(TaskCompleted)
    assert [(c.text, c.finish_reason) for c in completed] == [("hello", "stop")]
    assert events.events[-1] is completed[0]


async def test_the_sessions_own_model_is_used() -> None:
    async def spy(ctx: Context, next: Next) -> None:
        ctx.response = Response(str(ctx.model))

    services = Services()
    await services.store.sessions.append("s", [SessionRecord("message", "r", Message("user", "x"))])
    await services.store.sessions.set_model("s", "offline")

    assert (await Pipeline.compose(SessionEvents(), spy).run(services.turn("go", session_id="s"))).text == "offline"


def restricted(*features: str) -> dict[str, object]:
    return {"Permissions": {"Levels": {"User": {"Features": list(features)}}}}


@table(("features", "seen"), [(("Chat", "FullHistory"), "7 euros"), (("Chat",), HIDDEN)])
async def test_the_model_reads_earlier_results_only_for_who_may(features: tuple[str, ...], seen: str) -> None:
    read = Message("assistant", "", [ToolCall("c", "files.read", {"path": "pay.txt"})])
    earlier = [Message("user", "look"), read, Message("tool", "7 euros", tool_call_id="c"), Message("assistant", "ok")]
    summary = SessionRecord("compaction", "t", Message("user", "7 euros", origin="compaction"), {"covers": 2})
    with ScriptedModel(["I do not know"]) as model:
        services = Services(models=model, settings=restricted(*features))
        records = [SessionRecord("message", "t", each) for each in earlier]
        await services.store.sessions.append("s", [*records, summary] if "FullHistory" not in features else records)
        ctx = services.turn("what was in it?", session_id="s")
        await CHAIN.run(ctx)

    assert model.requests[0].messages[2].content == seen
    assert ("pay.txt" in repr(model.requests[0].messages)) is (seen != HIDDEN)
    assert [message.content for message in await services.history("s")][2] == "7 euros"


async def test_a_summary_of_a_redacted_history_is_not_stored() -> None:
    with ScriptedModel(["yes"]) as model:
        services = Services(models=model, settings=restricted("Chat"))
        await services.store.sessions.append("s", [SessionRecord("message", "t", Message("user", "hello"))])
        ctx = services.turn("and?", session_id="s")

        async def compact(ctx: Context, next: Next) -> None:
            ctx.compaction = Compaction(Message("user", "nothing was said", origin="compaction"), covers=1)
            await next(ctx)

        await Pipeline.compose(SessionEvents(), compact, AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)
    assert "compaction" not in await kinds(services)


@table(
    ("before", "after", "sees"),
    [
        (("Chat", "FullHistory"), ("Chat", "FullHistory"), True),
        (("Chat",), ("Chat",), False),
        (("Chat", "FullHistory"), ("Chat",), False),
        (("Chat",), ("Chat", "FullHistory"), False),
    ],
)
async def test_a_history_stays_redacted_after_a_resume_and_is_redacted_for_who_may_no_longer_read_it(
    before: tuple[str, ...], after: tuple[str, ...], sees: bool
) -> None:
    @tool(risk=Risk.HIGH)
    async def grave() -> str:
        """Ask first."""
        return "done"

    read = Message("assistant", "", [ToolCall("c", "files.read", {"path": "pay.txt"})])
    earlier = [Message("user", "look"), read, Message("tool", "7 euros", tool_call_id="c"), Message("assistant", "ok")]
    builder = CheckpointBuilder()
    gate = Gate.suspending()
    with ScriptedModel([[ToolCall("d", "grave")], "finished"]) as model:
        services = Services(models=model, tools=[grave], approvals=gate, settings=restricted(*before))
        records = [SessionRecord("message", "t", each) for each in earlier]
        summary = SessionRecord("compaction", "t", Message("user", "7 euros", origin="compaction"), {"covers": 2})
        await services.store.sessions.append("s", [*records, summary])
        ctx = services.turn("and?", session_id="s")
        await CHAIN.run(ctx)
        write = builder.build(ctx.snapshot(), ctx.history)
        stored = json.loads(json.dumps([write.state, [[each.log, each.entries] for each in write.logs]]))
        history = (await services.store.sessions.load_history("s")).messages
        loaded = read_checkpoint(stored[0], dict(stored[1]), history)
        later = Services(models=model, tools=[grave], approvals=gate, settings=restricted(*after), store=services.store)
        restored = later.restore(loaded.state)
        await CHAIN.run(restored)

    [_, resumed] = model.requests
    assert (restored.compaction is not None) is sees
    assert ("7 euros" in repr(resumed.messages), "pay.txt" in repr(resumed.messages)) == (sees, sees)
    assert [each.content for each in resumed.messages[-2:]] == ["", "done"]
    assert resumed.messages[-3].content == "and?"
    assert (HIDDEN in repr(resumed.messages)) is not sees
    assert (await services.history("s"))[2].content == "7 euros"  # the store keeps it whole
