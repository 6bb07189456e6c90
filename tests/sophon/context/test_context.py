"""The context: what a turn's branches and children share, how calls are settled, and how a turn concludes."""

import copy
import dataclasses

import pytest

from sophon import Context, Message, ModelRequest, ModelResponse, Response, Risk, Services, ToolCall, Usage
from sophon.approvals import Grant
from sophon.chain.pipeline import complete_response
from sophon.context import Step
from sophon.context.reply_stream import restart_stream
from sophon.errors import ChainError
from sophon.events import StreamChunk, StreamCompleted, StreamReset, ToolCallCompleted
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from tests.tables import table

OWN_OF_A_BRANCH = {"pending", "results"}
CALL = ToolCall("c", "t")


def turn(events: EventRecorder | None = None, **options: bool) -> Context:
    return Services(events=events, clock=VirtualClock()).turn("go", session_id="s", **options)


def test_a_branch_shares_everything_but_its_call_and_its_results() -> None:
    ctx = turn()
    ctx.pending, ctx.results, ctx.settling = [CALL, ToolCall("d", "t")], {}, True
    branch = ctx.for_call(CALL)

    assert branch.pending == [CALL]
    assert branch.results == {}
    assert branch.results is not ctx.results
    for each in dataclasses.fields(Context):
        if each.name not in OWN_OF_A_BRANCH:
            assert getattr(branch, each.name) is getattr(ctx, each.name), each.name


def test_a_branch_is_as_whole_as_a_copy() -> None:
    ctx = turn()
    copied, branch = copy.copy(ctx), ctx.for_call(CALL)
    assert type(branch) is Context
    assert all(hasattr(branch, each.name) == hasattr(copied, each.name) for each in dataclasses.fields(Context))


def test_what_a_branch_settles_is_the_turns_only_when_it_is_merged() -> None:
    ctx = turn()
    ctx.pending = [CALL]
    branch = ctx.for_call(CALL)
    branch.settle(CALL, "ok")
    branch.grants["c"] = Grant("digest")

    assert ctx.pending == [CALL]
    assert ctx.results == {}
    assert ctx.grants == {"c": Grant("digest")}


def test_a_child_is_a_turn_of_its_own_within_the_turn() -> None:
    ctx = turn(stream=True)
    ctx.messages.insert(0, Message("system", "Be brief."))
    ctx.excluded_providers["p"] = "spent"
    child = ctx.child("find it", Step("a", ("t",), "code"), prompt="find it, knowing this")

    assert (child.run_id, child.task_id, child.depth) == (f"{ctx.run_id}/a", ctx.run_id, 1)
    assert [m.content for m in child.messages] == ["Be brief.", "find it, knowing this"]
    assert child.text == "find it"
    for shared in ("services", "stopwatch", "tool_limiter", "tally", "meter", "principal", "session_id", "channel"):
        assert getattr(child, shared) is getattr(ctx, shared), shared
    assert child.excluded_providers == ctx.excluded_providers
    assert child.excluded_providers is not ctx.excluded_providers
    assert (child.stream, child.recorded, child.iteration, child.response) == (False, 0, 0, None)
    assert child.call_layers == []
    assert child.tools is ctx.services.registry.tools


def test_a_child_of_a_child_belongs_to_the_same_task() -> None:
    grandchild = turn().child("x", Step("a")).child("y", Step("b"))
    assert grandchild.run_id.endswith("/a/b")
    assert grandchild.depth == 2
    assert grandchild.task_id == grandchild.run_id.split("/")[0]


def test_a_step_that_was_written_out_shares_again_what_a_child_shares() -> None:
    ctx = turn()
    child = ctx.child("x", Step("a", approved_risk=Risk.MEDIUM))
    child.messages.append(Message("assistant", "so far"))
    back = ctx.restore_child(child.state())

    assert (back.run_id, back.step, back.depth) == (child.run_id, child.step, 1)
    assert [m.content for m in back.messages] == ["x", "so far"]
    for shared in ("stopwatch", "tool_limiter", "tally", "meter"):
        assert getattr(back, shared) is getattr(ctx, shared), shared


def test_a_restored_step_has_the_principal_and_data_owner_of_its_turn() -> None:
    ctx = Services().turn("go", principal="user:telegram:5")
    stored = ctx.child("x", Step("a")).state() | {"principal": "telegram:5", "data_owner": "telegram:5"}
    back = ctx.restore_child(stored)
    assert (back.principal, back.data_owner, back.group) == ("user:telegram:5", "user:telegram:5", False)


def test_a_settled_call_has_its_one_result_and_its_one_event() -> None:
    events = EventRecorder()
    ctx = turn(events)
    ctx.pending = [CALL, ToolCall("d", "t")]
    ctx.settle(CALL, "no", "denied", duration_ms=3)

    assert [call.id for call in ctx.pending] == ["d"]
    assert (ctx.results["c"].text, ctx.results["c"].outcome) == ("no", "denied")
    assert [(e.call_id, e.outcome, e.duration_ms, e.result) for e in events.of(ToolCallCompleted)] == [
        ("c", "denied", 3, "no")
    ]


def test_a_turn_without_a_response_names_the_place_where_it_ended() -> None:
    ctx = turn()
    ctx.current_middleware = "Gate"
    with pytest.raises(ChainError, match="ended in Gate with no response"):
        complete_response(ctx)


def test_the_response_tells_what_the_whole_turn_has_used() -> None:
    ctx = turn()
    ctx.response = Response("ok", usage=Usage(1, 1))
    ctx.tally.usage = Usage(10, 5)
    assert complete_response(ctx).usage == Usage(10, 5)


async def test_every_call_is_counted_whatever_its_purpose() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse(request.purpose, usage=Usage(2, 1))

    ctx = Services(models=FunctionModel(answer)).turn("go")
    for purpose in ("plan", "vote", "compaction", "title", "reply"):
        await ctx.complete(ctx.request([Message("user", "x")], purpose=purpose))

    assert (ctx.tally.model_calls, ctx.tally.usage) == (5, Usage(10, 5))


def said(events: EventRecorder) -> list[tuple[int, str]]:
    return [(chunk.epoch, chunk.text) for chunk in events.of(StreamChunk)]


def test_a_text_that_nobody_streamed_is_heard_once() -> None:
    events = EventRecorder()
    ctx = turn(events, stream=True)
    ctx.response = Response("hello")
    complete_response(ctx)
    complete_response(ctx)
    assert said(events) == [(1, "hello")]


@table("shown", [["hel", "lo"], ["hello", "\n"]])
def test_a_text_that_was_streamed_is_not_heard_again(shown: list[str]) -> None:
    events = EventRecorder()
    ctx = turn(events, stream=True)
    ctx.streamed_chunks, ctx.response = shown, Response("hello")
    ctx.messages.append(Message("assistant", "hello"))
    complete_response(ctx)
    assert said(events) == []


def test_a_shown_reply_that_was_replaced_is_taken_back_first() -> None:
    events = EventRecorder()
    ctx = turn(events, stream=True)
    ctx.streamed_chunks, ctx.response = ["secret"], Response("[removed]")
    ctx.messages.append(Message("assistant", "secret"))
    complete_response(ctx)
    assert [reset.epoch for reset in events.of(StreamReset)] == [2]
    assert said(events) == [(2, "[removed]")]


@table("shown", ["done", "done \n"])
def test_a_reply_that_was_continued_is_not_shown_a_second_time(shown: str) -> None:
    events = EventRecorder()
    ctx = turn(events, stream=True)
    ctx.streamed_chunks, ctx.response = [shown], Response("done\n\nActions: one")
    ctx.messages.append(Message("assistant", "done\n\nActions: one"))
    complete_response(ctx)
    assert events.of(StreamReset) == []
    assert said(events) == [(1, "\n\nActions: one")]
    assert [each.length for each in events.of(StreamCompleted)] == [len(shown + "\n\nActions: one")]


def test_what_was_said_beside_tool_calls_is_not_taken_back() -> None:
    events = EventRecorder()
    ctx = turn(events, stream=True)
    ctx.streamed_chunks, ctx.response = ["let me see"], Response("I stopped")
    ctx.messages.append(Message("assistant", "let me see", [CALL]))
    ctx.messages.append(Message("tool", "ok", tool_call_id="c"))
    complete_response(ctx)
    assert events.of(StreamReset) == []
    assert said(events) == [(1, "\n\nI stopped")]
    assert ctx.response.full_text == "let me see\n\nI stopped"


def test_a_new_epoch_repeats_the_text_before_the_calls() -> None:
    events = EventRecorder()
    ctx = turn(events, stream=True)
    ctx.messages.append(Message("assistant", "let me see", [CALL]))
    ctx.messages.append(Message("tool", "ok", tool_call_id="c"))
    restart_stream(ctx, "the turn was interrupted")
    assert said(events) == [(2, "let me see")]


@table("reason", ["stop", "suspended"])
def test_nothing_is_heard_of_a_turn_that_does_not_stream_or_waits(reason) -> None:
    events = EventRecorder()
    ctx = turn(events, stream=reason == "suspended")
    ctx.response = Response("hello", reason)
    complete_response(ctx)
    assert said(events) == []


def test_recorded_follows_its_message_wherever_it_is_put() -> None:
    ctx = turn()
    ctx.mark_recorded(1)
    ctx.messages.insert(0, Message("system", "a"))
    assert (ctx.count_recorded(), ctx.stored_count) == (2, 1)
    ctx.messages.insert(0, Message("system", "b"))
    ctx.messages.append(Message("assistant", "x"))
    assert (ctx.count_recorded(), ctx.stored_count) == (3, 1)
    del ctx.messages[:2]
    assert (ctx.count_recorded(), ctx.stored_count) == (1, 1)


def test_recorded_stays_where_it_was_when_its_message_was_rewritten() -> None:
    ctx = turn()
    ctx.mark_recorded(1)
    ctx.messages[0] = Message("user", "rewritten")
    assert ctx.count_recorded() == 1
