"""Design 5: failover, streaming, retries and what is never repeated, through the twelve."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, SophonError, ToolCall, Usage, tool
from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ModelError,
    NoProvider,
    NotFound,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
)
from sophon.events import Message as MessageAdded
from sophon.events import ModelAttempt, StreamChunk, StreamReset, TaskCompleted, TaskFailed
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock
from sophon_middlewares.chains import twelve


class Http(Exception):
    def __init__(self, status_code: int, message: str = "", retry_after: float | None = None) -> None:
        self.status_code, self.retry_after = status_code, retry_after
        super().__init__(message or f"HTTP {status_code}")


async def run(models: Any, *, clock: VirtualClock | None = None, stream: bool = False, events: Any = None, **more: Any):
    services = Services(models=models, clock=clock or VirtualClock(), events=events, **more)
    return await twelve(services).run(services.turn("hi", session_id="s", stream=stream))


@pytest.mark.parametrize("status", [429, 529, 500, 502, 503, 504, 408])
async def test_what_is_retryable_is_tried_again_three_times_with_back_off(status: int) -> None:
    clock = VirtualClock()
    with ScriptedModel([Http(status)] * 3 + ["at last"]) as model:
        assert (await run(model, clock=clock)).text == "at last"
    for slept, base in zip(clock.slept, (0.25, 0.5, 1.0), strict=True):
        assert base * 0.8 <= slept <= base * 1.2


@pytest.mark.parametrize("error", [ConnectionError("reset"), TimeoutError("slow"), OSError("network unreachable"),
                                   Exception("Overloaded"), Exception("rate limit exceeded")])  # fmt: skip
async def test_network_faults_and_words_of_overload_are_retryable_too(error: Exception) -> None:
    with ScriptedModel([error, "at last"]) as model:
        assert (await run(model)).text == "at last"


@pytest.mark.parametrize("error", [Http(429), Http(529), Http(500), Http(503), Http(401), Http(403), Http(402),
                                   ConnectionError(), TimeoutError()])  # fmt: skip
async def test_the_next_model_answers(error: Exception) -> None:
    first = FunctionModel(always(error), name="first")
    assert (await run([first, ScriptedModel(["second"], name="second")])).text == "second"
    assert 1 <= len(first.requests) <= 4


def always(error: Exception) -> Any:
    async def fail(request: ModelRequest) -> str:
        raise error

    return fail


async def test_a_key_that_is_refused_is_not_asked_again() -> None:
    model = FunctionModel(always(Http(401)))
    with pytest.raises(AuthenticationFailed):
        await run(model)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("raised", "kind"),
    [(Http(429), RateLimited), (Http(529), Overloaded), (Http(500), ProviderUnavailable),
     (Http(403), AuthenticationFailed),
     (Http(400), BadRequest), (Http(422), BadRequest), (ConnectionError("x"), ProviderUnavailable),
     (Http(400, "This model's maximum context length is 10 tokens"), ContextOverflow),
     (ValueError("whatever"), ModelError), (KeyError("choices"), ModelError)],
)  # fmt: skip
async def test_whatever_a_provider_raises_leaves_as_a_model_error_with_its_cause(
    raised: Exception, kind: type[Exception]
) -> None:
    events = EventRecorder()
    with pytest.raises(kind) as caught:
        await run(FunctionModel(always(raised)), events=events)
    assert isinstance(caught.value, SophonError)
    assert caught.value.__cause__ is raised
    assert len(events.of(TaskFailed)) == 1
    assert events.events[-1] is events.of(TaskFailed)[0]


async def test_an_assertion_passes_as_itself() -> None:
    with pytest.raises(AssertionError, match="mine"):
        await run(FunctionModel(always(AssertionError("mine"))))


async def test_a_models_own_cancellation_is_a_failed_attempt() -> None:
    async def cancelled(request: ModelRequest) -> str:
        raise asyncio.CancelledError

    first = FunctionModel(cancelled, name="first")
    with pytest.raises(ProviderUnavailable, match="cancelled by the model itself"):
        await run(first)
    assert len(first.requests) == 4
    assert (
        await run([FunctionModel(cancelled, name="first"), ScriptedModel(["second"], name="second")])
    ).text == "second"


async def test_retry_after_wins_over_back_off() -> None:
    clock = VirtualClock()
    with ScriptedModel([Http(429, retry_after=7), "ok"]) as model:
        await run(model, clock=clock)
    assert clock.slept == [7]


async def test_several_models_in_priority_order_and_a_sessions_choice() -> None:
    models = [ScriptedModel(["from a"], name="a"), ScriptedModel(["from b"], name="b")]
    services = Services(models=models)
    pipeline = twelve(services)
    assert (await pipeline.run(services.turn("hi"))).text == "from a"
    assert (await pipeline.run(services.turn("hi", model="b"))).text == "from b"
    with pytest.raises(NotFound, match="nobody"):
        services.turn("hi", model="nobody")


async def test_two_models_of_one_name_are_two_candidates() -> None:
    assert (await run([FunctionModel(always(Http(500))), ScriptedModel(["two"], name="function")])).text == "two"


async def test_no_provider_is_a_clear_error() -> None:
    with pytest.raises(NoProvider, match="no model provider"):
        await run([])


async def test_a_provider_that_keeps_failing_is_benched_and_comes_back() -> None:
    clock = VirtualClock()
    broken = FunctionModel(always(Http(500)), name="broken")
    spare = FunctionModel(lambda request: _text("spare"), name="spare")
    services = Services(models=[broken, spare], clock=clock)
    pipeline = twelve(services)
    for _ in range(20):
        assert (await pipeline.run(services.turn("hi"))).text == "spare"
    asked = len(broken.requests)
    assert asked < 80
    await clock.sleep(3600)
    await pipeline.run(services.turn("hi"))
    assert len(broken.requests) > asked


async def _text(text: str) -> str:
    return text


class Speaking:
    """A model that says the pieces and then fails, or answers; not of the test kit, but any object with the methods."""

    def __init__(self, name: str, *plays: tuple[Sequence[str], Exception | ModelResponse]) -> None:
        self.plays = list(plays)
        self.info = FunctionModel(lambda request: _text(""), name=name, stream=True).info
        self.asked = 0

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.asked += 1
        pieces, end = self.plays.pop(0)
        for piece in pieces:
            if request.on_text is not None:
                request.on_text(piece)
            await asyncio.sleep(0)
        if isinstance(end, Exception):
            raise end
        return end


async def test_after_visible_text_nothing_is_repeated_or_failed_over() -> None:
    events = EventRecorder()
    first = Speaking("first", (["Hello ", "wor"], Http(500)))
    second = Speaking("second", (["never"], ModelResponse("never")))
    with pytest.raises(ProviderUnavailable) as caught:
        await run([first, second], stream=True, events=events)
    assert caught.value.visible
    assert (first.asked, second.asked) == (1, 0)
    assert "".join(each.text for each in events.of(StreamChunk)) == "Hello wor"
    assert events.of(TaskFailed)[0].text == "Hello wor"
    assert events.of(StreamReset) == []


async def test_before_visible_text_a_stream_is_tried_again() -> None:
    events = EventRecorder()
    model = Speaking("m", ([], Http(500)), ([""], Http(500)), (["Hi"], ModelResponse("Hi")))
    assert (await run(model, stream=True, events=events)).text == "Hi"
    assert [each.text for each in events.of(StreamChunk)] == ["Hi"]
    assert all(each.epoch == 1 for each in events.of(StreamChunk))


async def test_a_turn_that_does_not_stream_is_repeated_whatever_the_model_had_begun() -> None:
    model = Speaking("m", (["Hello "], Http(500)), (["Hi"], ModelResponse("Hi")))
    assert (await run(model)).text == "Hi"


@pytest.mark.parametrize("size", [False, True, 1, 3, 10_000])
async def test_the_chunks_make_up_the_text(size: bool | int) -> None:
    events = EventRecorder()
    text = "Viele Grüße 👩‍👩‍👧 \n\n  and  spaces \t."
    response = await run(ScriptedModel([text], stream=size), stream=True, events=events)
    assert "".join(each.text for each in events.of(StreamChunk)) == text == response.text
    assert all(each.text for each in events.of(StreamChunk))


async def test_nothing_streams_when_nobody_asked() -> None:
    events = EventRecorder()
    await run(ScriptedModel(["hi there you"], stream=1), events=events)
    assert events.of(StreamChunk) == []


async def test_a_refusal_in_a_streaming_turn_is_one_chunk_and_a_final() -> None:
    events = EventRecorder()
    response = await run(
        ScriptedModel([]), stream=True, events=events, settings={"Budget": {"Providers": {"*": {"DailyTokens": 0}}}}
    )
    assert [each.text for each in events.of(StreamChunk)] == [response.text]
    assert [each.text for each in events.of(TaskCompleted)] == [response.text]


async def test_a_middlewares_own_answer_in_a_streaming_turn_is_one_chunk() -> None:
    from sophon import Context, Next, Pipeline, Response

    async def short(ctx: Context, next: Next) -> None:
        ctx.response = Response("no need to ask")

    events = EventRecorder()
    services = Services(models=ScriptedModel([]), events=events)
    await Pipeline.compose(*list(twelve(services))[:7], short).run(services.turn("hi", stream=True))
    assert [each.text for each in events.of(StreamChunk)] == ["no need to ask"]


async def test_a_middleware_that_replaces_a_shown_reply_resets_the_stream() -> None:
    from dataclasses import replace

    from sophon import Context, Next, Pipeline

    async def censor(ctx: Context, next: Next) -> None:
        await next(ctx)
        assert ctx.response is not None
        ctx.response = replace(ctx.response, text="[removed]")

    events = EventRecorder()
    services = Services(models=ScriptedModel(["a secret"], stream=1), events=events)
    chain = list(twelve(services))
    response = await Pipeline.compose(*chain[:7], censor, *chain[7:]).run(services.turn("hi", stream=True))
    assert response.text == "[removed]"
    (reset,) = events.of(StreamReset)
    last = [each.text for each in events.of(StreamChunk) if each.epoch == reset.epoch]
    assert last == ["[removed]"]
    assert reset.epoch == 2


async def test_plan_vote_step_and_summary_never_stream() -> None:
    events = EventRecorder()

    async def answer(request: ModelRequest) -> str:
        if request.purpose == "plan":
            return '{"goal": "g", "steps": [{"id": "a", "description": "a"}, {"id": "b", "description": "b"}]}'
        return {"vote": "yes", "step": "a step's words", "reply": "the final words"}[request.purpose]

    services = Services(models=FunctionModel(answer, stream=1), events=events)
    ctx = services.turn("go", stream=True, planning="LlmDecides")
    response = await twelve(services).run(ctx)
    assert response.text == "the final words"
    assert "".join(each.text for each in events.of(StreamChunk)) == "the final words"


async def test_usage_is_estimated_where_none_is_reported_and_cost_comes_of_the_prices() -> None:
    response = await run(ScriptedModel(["four words of text"], prices=(2.0, 8.0)))
    assert response.usage.input_tokens > 5
    assert 2 <= response.usage.output_tokens <= 10
    expected = response.usage.input_tokens * 2 + response.usage.output_tokens * 8
    assert response.usage.cost_micros == expected
    response = await run(ScriptedModel([ModelResponse("x", usage=Usage(100, 10))], prices=(2.0, 8.0)))
    assert response.usage.cost_micros == 280


async def test_every_attempt_is_in_the_trace() -> None:
    events = EventRecorder()
    first = ScriptedModel([Http(500), Http(429), Http(401)], name="a")
    await run([first, ScriptedModel(["ok"], name="b")], events=events)
    assert [(each.model, each.outcome) for each in events.of(ModelAttempt)] == [
        ("a/a", "provider_unavailable"), ("a/a", "rate_limited"), ("a/a", "authentication"), ("b/b", "ok"),
    ]  # fmt: skip


async def test_a_context_overflow_goes_to_compaction_and_not_to_the_next_model() -> None:
    asked: list[str] = []

    async def tight(request: ModelRequest) -> str:
        size = sum(len(m.content) for m in request.messages)
        asked.append(request.purpose)
        if request.purpose == "compaction":
            return "short"
        if size > 6000:
            raise Http(400, "context_length_exceeded: maximum context length")
        return "fits"

    async def never(request: ModelRequest) -> str:
        raise AssertionError("an overflow is no reason to fail over")

    services = Services(
        models=[FunctionModel(tight, name="tight"), FunctionModel(never, name="b")], clock=VirtualClock()
    )
    pipeline = twelve(services)
    for n in range(8):
        assert (await pipeline.run(services.turn(f"{n} " + "word " * 300, session_id="s"))).text == "fits"


async def test_the_same_model_may_answer_with_the_same_response_object() -> None:
    shared = ModelResponse("same", usage=Usage(10, 1))

    async def answer(request: ModelRequest) -> ModelResponse:
        return shared

    services = Services(models=FunctionModel(answer))
    pipeline = twelve(services)
    for _ in range(3):
        response = await pipeline.run(services.turn("hi"))
        assert (response.text, response.usage.total_tokens) == ("same", 11)


async def test_requests_that_a_model_keeps_are_never_changed_later() -> None:
    kept: list[tuple[ModelRequest, int]] = []

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    async def answer(request: ModelRequest) -> ModelResponse | str:
        kept.append((request, len(request.messages)))
        return "done" if len(kept) == 4 else ModelResponse(tool_calls=[ToolCall("", "look", {})])

    services = Services(models=FunctionModel(answer), tools=[look])
    await twelve(services).run(services.turn("hi"))
    assert all(len(request.messages) == size for request, size in kept)


@pytest.mark.parametrize("answer", [None, 7, b"bytes", ["list"], {"text": "x"}])
async def test_an_answer_of_the_wrong_kind_is_a_model_error(answer: Any) -> None:
    async def odd(request: ModelRequest) -> Any:
        return answer

    services = Services(models=FunctionModel(odd), clock=VirtualClock())
    with pytest.raises(ModelError):
        await twelve(services).run(services.turn("hi"))
    assert await services.store.usage.reserved() == 0


async def test_an_empty_answer_is_asked_for_again_and_then_said() -> None:
    assert (await run(ScriptedModel(["", " \n", "here"]))).text == "here"
    response = await run(ScriptedModel([""] * 3))
    assert "empty reply 3 times" in response.text
    assert response.finish_reason == "error"


async def test_a_reply_that_was_cut_off_says_so() -> None:
    response = await run(ScriptedModel([ModelResponse("and then", finish_reason="length")]))
    assert response.finish_reason == "length"


async def test_the_capability_that_a_step_hints_at_is_routed_to() -> None:
    plan = (
        '{"goal": "g", "steps": [{"id": "a", "description": "think", "model_hint": "requires reasoning"}, '
        '{"id": "b", "description": "other", "model_hint": "telepathy"}]}'
    )

    async def plain(request: ModelRequest) -> str:
        return plan if request.purpose == "plan" else f"plain {request.purpose}"

    async def deep(request: ModelRequest) -> str:
        return f"deep {request.purpose}"

    events = EventRecorder()
    models = [FunctionModel(plain, name="plain"), FunctionModel(deep, name="deep", capabilities=["reasoning"])]
    services = Services(models=models, events=events)
    await twelve(services).run(services.turn("go", planning="Always"))
    assert [r.purpose for r in models[1].requests] == ["step"]
    assert sorted(r.purpose for r in models[0].requests) == ["plan", "reply", "step"]


async def test_messages_are_told_once_each() -> None:
    events = EventRecorder()
    services = Services(models=ScriptedModel(["one", "two"]), events=events)
    for text in ("a", "b"):
        await twelve(services).run(services.turn(text, session_id="s"))
    told = [(each.role, each.content) for each in events.of(MessageAdded)]
    assert told == [("user", "a"), ("assistant", "one"), ("user", "b"), ("assistant", "two")]
    assert len({each.message_id for each in events.of(MessageAdded)}) == 4
