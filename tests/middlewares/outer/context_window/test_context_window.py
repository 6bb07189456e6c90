"""What a model is asked always fits its window."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon import Context, Message, ModelRequest, ModelResponse, Next, Pipeline, Response, Services, ToolCall, tool
from sophon.errors import BadRequest, BudgetExceeded, ContextOverflow, MessageTooLarge
from sophon.events import AgentStatus, ContextCompacted, StreamChunk
from sophon.messages import Compaction
from sophon.models.token_counter import TokenCounter
from sophon.settings import ContextWindowSettings
from sophon.testing import EventRecorder, FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.outer.context_window.compaction_breaker import FAILURE_THRESHOLD
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.context_window.conversation_truncation import GAP_NOTE
from sophon_middlewares.outer.context_window.summary_request import build_summary_message
from tests.tables import table

COUNTER = TokenCounter()
SYSTEM = "Be brief."


def of_size(role: Any, tokens: int) -> Message:
    """A message of exactly so many tokens by the estimate: four for the message, one per four characters."""
    return Message(role, "abc " * (tokens - 4))


def talk(messages: int, tokens: int = 50) -> list[Message]:
    return [of_size("assistant" if n % 2 else "user", tokens) for n in range(messages)]


def size(request: ModelRequest) -> int:
    return COUNTER.count_request(request)


async def answer(request: ModelRequest) -> str:
    return "they talked" if request.purpose == "compaction" else "done"


def services(*models: Any, **parts: Any) -> Services:
    """With a system prompt of a known size, on a virtual clock."""
    return Services(models=models, clock=VirtualClock(), instructions=SYSTEM, **parts)


def turn(services: Services, history: list[Message], text: str = "and now?", **facts: Any) -> Context:
    """A turn behind a history, without tools, so that a test can count."""
    ctx = services.turn(text, **facts)
    ctx.tools = ()
    ctx.messages[1:1] = history
    return ctx


def chain(**parts: Any) -> Pipeline:
    return Pipeline.compose(ContextWindow(**parts), LlmInvoker())


def asked(model: Any, purpose: str = "reply") -> list[ModelRequest]:
    return [request for request in model.requests if request.purpose == purpose]


async def test_a_request_that_fits_goes_on_as_it_is() -> None:
    model = FunctionModel(answer)
    ctx = turn(services(model), talk(10))
    before = list(ctx.messages)
    await chain().run(ctx)
    (request,) = model.requests
    assert request.messages == before
    assert request.max_tokens == 4096


@table(
    ("options", "tokens", "compactions"),
    [
        ({}, 800, 0),
        ({}, 801, 1),
        ({"Trigger": 0.7, "Reserve": 200}, 560, 0),  # a share of what the reserve leaves
        ({"Trigger": 0.7, "Reserve": 200}, 561, 1),
    ],
)
async def test_more_than_the_share_is_too_much_and_the_share_is_not(
    options: dict[str, Any], tokens: int, compactions: int
) -> None:
    model = FunctionModel(answer, context_window=1000)
    ctx = turn(services(model, settings={"ContextWindow": options}), talk(6))
    rest = tokens - sum(map(COUNTER.count_message, ctx.messages))
    ctx.messages.insert(7, of_size("assistant", rest))
    await chain().run(ctx)
    assert len(asked(model, "compaction")) == compactions


async def test_the_oldest_sixty_percent_become_one_message_behind_the_system_prompt() -> None:
    model = FunctionModel(answer, context_window=4000)
    ctx = turn(services(model), talk(19, 200))
    before = list(ctx.messages)
    await chain().run(ctx)
    (reply,) = asked(model)
    assert ctx.compaction == Compaction(build_summary_message("they talked"), covers=12)
    assert reply.messages == [before[0], before[1], ctx.compaction.summary, *before[13:]]


async def test_listeners_hear_of_a_compaction() -> None:
    recorder = EventRecorder()
    ctx = turn(services(FunctionModel(answer, context_window=4000), events=recorder), talk(19, 200))
    await chain().run(ctx)
    (event,) = recorder.of(ContextCompacted)
    assert (event.how, event.messages) == ("summary", 12)
    assert event.tokens_before > 3200 > event.tokens_after
    assert "compacting" in [status.status for status in recorder.of(AgentStatus)]


async def test_a_message_that_cannot_be_shortened_is_no_compaction() -> None:
    recorder, model = EventRecorder(), FunctionModel(answer, context_window=1000)
    ctx = turn(services(model, events=recorder), [], text="abc " * 820)
    await chain().run(ctx)
    assert 800 < size(asked(model)[0]) < 1000
    assert recorder.of(ContextCompacted) == []


async def test_a_summary_is_not_shown_to_the_person() -> None:
    recorder = EventRecorder()
    ctx = turn(
        services(FunctionModel(answer, context_window=1000, stream=True), events=recorder), talk(19), stream=True
    )
    await chain().run(ctx)
    assert "".join(chunk.text for chunk in recorder.of(StreamChunk)) == "done"


async def hang(request: ModelRequest) -> str:
    if request.purpose == "compaction":
        await asyncio.Event().wait()
    return "done"


async def fail(request: ModelRequest) -> str:
    if request.purpose == "compaction":
        raise BadRequest("no")
    return "done"


async def empty(request: ModelRequest) -> str:
    return " \n" if request.purpose == "compaction" else "done"


async def invisible(request: ModelRequest) -> str:
    return "\u200b" if request.purpose == "compaction" else "done"


async def ramble(request: ModelRequest) -> str:
    return "on and on " * 5000 if request.purpose == "compaction" else "done"


@table("model", [hang, fail, empty, invisible, ramble])
async def test_without_a_summary_the_oldest_rounds_are_left_out_until_seventy_percent(model: Any) -> None:
    made = FunctionModel(model, context_window=1000)
    ctx = turn(services(made), talk(30))
    own = list(ctx.messages)
    await chain().run(ctx)
    (reply,) = asked(made)
    assert reply.messages[:3] == [own[0], own[1], GAP_NOTE]  # the first message is pinned
    assert reply.messages[3:] == own[-len(reply.messages) + 3 :]
    assert 600 < size(reply) <= 700
    assert ctx.compaction is None


async def test_a_summary_has_thirty_seconds() -> None:
    made = services(FunctionModel(hang, context_window=1000))
    await chain().run(turn(made, talk(30)))
    assert made.clock.monotonic() == 30


async def test_all_summaries_of_a_request_have_thirty_seconds_together() -> None:
    async def slow(request: ModelRequest) -> str:
        if request.purpose == "compaction":
            await made.clock.sleep(12)
        return await answer(request)

    model = FunctionModel(slow, context_window=1000)
    made = services(model)
    await chain().run(turn(made, talk(80)))
    assert (len(asked(model, "compaction")), made.clock.monotonic()) == (3, 30)


async def test_what_is_too_much_for_one_summary_is_summarised_in_parts_from_the_oldest_on() -> None:
    recorder = EventRecorder()
    model = FunctionModel(answer, context_window=1000)
    ctx = turn(services(model, events=recorder), [of_size("user", 50) for _ in range(80)])
    await chain().run(ctx)
    (reply,) = asked(model)
    compactions = asked(model, "compaction")
    assert len(compactions) > 2
    assert {event.how for event in recorder.of(ContextCompacted)} == {"summary"}
    assert all("they talked" in request.messages[1].content for request in compactions[1:])
    assert ctx.compaction is not None
    own = ctx.messages[:-1]
    assert reply.messages == [*own[:2], ctx.compaction.summary, *own[1 + ctx.compaction.covers :]]
    assert size(reply) <= 700


async def test_what_no_summary_covers_is_cut_by_name_once_summaries_fail() -> None:
    async def once(request: ModelRequest) -> str:
        if request.purpose == "compaction" and len(asked(model, "compaction")) > 1:
            raise BadRequest("no")
        return await answer(request)

    recorder = EventRecorder()
    model = FunctionModel(once, context_window=1000)
    ctx = turn(services(model, events=recorder), talk(80))
    await chain().run(ctx)
    (reply,) = asked(model)
    assert [event.how for event in recorder.of(ContextCompacted)] == ["summary", "truncation"]
    assert ctx.compaction is not None
    assert reply.messages[1:4] == [ctx.messages[1], ctx.compaction.summary, GAP_NOTE]
    assert size(reply) <= 700


async def test_a_system_prompt_that_does_not_fit_is_named() -> None:
    model = FunctionModel(answer, context_window=1000)
    host = Services(models=[model], clock=VirtualClock(), instructions="abc " * 1000)
    with pytest.raises(MessageTooLarge, match=r"system prompt and the tools are too large.* instructions"):
        await chain().run(turn(host, []))
    assert model.requests == []


async def test_a_message_that_does_not_fit_by_itself_is_refused_before_any_call() -> None:
    model = FunctionModel(answer, context_window=1000)
    ctx = turn(services(model), talk(10), text="abc " * 1000)
    with pytest.raises(MessageTooLarge, match="function/function accepts at most 875"):
        await chain().run(ctx)
    assert model.requests == []


async def test_a_conversation_that_was_compacted_before_starts_from_its_summary() -> None:
    model = FunctionModel(answer)
    ctx = turn(services(model), talk(10))
    ctx.compaction = Compaction(build_summary_message("earlier"), covers=6)
    own = list(ctx.messages)
    await chain().run(ctx)
    assert model.requests[0].messages == [own[0], own[1], ctx.compaction.summary, *own[7:]]


async def test_an_earlier_summary_counts_among_the_oldest_sixty_percent() -> None:
    model = FunctionModel(answer, context_window=4000)
    ctx = turn(services(model), talk(30, 180))
    ctx.compaction = Compaction(build_summary_message("earlier"), covers=11)
    await chain().run(ctx)
    assert ctx.compaction.covers == 22  # 12 of 21 messages, and one of the 12 is the summary


async def test_a_summary_is_kept_short() -> None:
    model = FunctionModel(answer, context_window=1000)
    await chain().run(turn(services(model), talk(30)))
    assert asked(model, "compaction")[0].max_tokens == 125


async def test_a_summary_whose_own_request_overflows_is_asked_for_with_half_of_it() -> None:
    async def narrow(request: ModelRequest) -> str:
        if request.purpose == "compaction" and size(request) > 500:
            raise ContextOverflow("too long")
        return await answer(request)

    model = FunctionModel(narrow, context_window=1000)
    ctx = turn(services(model), talk(30))
    await chain().run(ctx)
    first, second, *_ = asked(model, "compaction")
    assert size(first) > 500 >= size(second)
    assert ctx.compaction is not None


@tool
async def look(at: str) -> str:
    """Look at something."""
    return f"{at}: " + "abc " * 100


def looking(rounds: int, **traits: Any) -> FunctionModel:
    done = iter(range(rounds))

    async def work(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "compaction":
            return "looked " + "around " * 10
        number = next(done, None)
        if number is None:
            return "done"
        return ModelResponse(tool_calls=[ToolCall(f"c{number}", "look", {"at": str(number)})])

    return FunctionModel(work, **traits)


async def run_loop(model: FunctionModel, **parts: Any) -> Context:
    made = services(model, tools=[look], **parts)
    ctx = made.turn("look around")
    ctx.tools = [made.registry.find("look")]
    await Pipeline.compose(ContextWindow(), AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)
    return ctx


async def test_a_long_loop_of_tools_never_exceeds_the_window() -> None:
    model = looking(40, context_window=1500)
    ctx = await run_loop(model)
    assert ctx.response is not None
    assert ctx.response.text == "done"
    for request in model.requests:
        assert_valid_transcript(request.messages)
        assert size(request) + request.max_tokens <= 1500
        assert request.purpose == "compaction" or ctx.messages[1] in request.messages


class Counting(TokenCounter):
    """Knows how many messages it was asked about."""

    __slots__ = ("messages",)

    def __init__(self) -> None:
        super().__init__()
        self.messages = 0

    def count_message(self, message: Message) -> int:
        self.messages += 1
        return super().count_message(message)


async def test_the_cost_of_a_round_does_not_grow_with_the_number_of_rounds() -> None:
    at_round: list[int] = []

    async def watch(ctx: Context, next: Next) -> None:
        at_round.append(counted.messages)
        await next(ctx)

    made, counted = services(looking(60), tools=[look]), Counting()
    made.gateway.tokens = counted
    ctx = made.turn("look around")
    await Pipeline.compose(ContextWindow(), AgenticLoop(), ToolExecution(), watch, LlmInvoker()).run(ctx)
    assert at_round[-1] - at_round[-3] == at_round[5] - at_round[3] > 0


async def test_truncation_goes_by_the_calibrated_estimate_too() -> None:
    model = FunctionModel(fail, context_window=1000)
    made = services(model)
    for _ in range(50):
        made.gateway.tokens.update_calibration(model.info.id, 100, 150)
    await chain().run(turn(made, talk(40)))
    assert made.gateway.tokens.calibrate(size(asked(model)[0]), model.info.id) <= 700


async def test_a_truncated_view_goes_on_from_where_it_was_cut() -> None:
    play = looking(60)

    async def mute(request: ModelRequest) -> str | ModelResponse:
        return "" if request.purpose == "compaction" else await play.complete(request)

    recorder = EventRecorder()
    model = FunctionModel(mute, context_window=4000)
    ctx = await run_loop(model, events=recorder)
    sizes = [size(request) for request in asked(model)]
    assert 0 < len(recorder.of(ContextCompacted)) < ctx.iteration / 3
    assert max(sizes) <= 3200


async def test_a_compaction_for_one_model_serves_the_others_of_the_turn() -> None:
    large = FunctionModel(answer, name="large")
    ctx = turn(services(large), talk(30))
    layered = list(ctx.messages)

    async def twice(ctx: Context, next: Next) -> None:
        await next(ctx)
        ctx.compaction = Compaction(build_summary_message("for a smaller one"), covers=20)
        await next(ctx)

    await Pipeline.compose(ContextWindow(), twice, LlmInvoker()).run(ctx)
    assert large.requests[0].messages == layered
    assert large.requests[1].messages[:3] == [*layered[:2], ctx.compaction.summary]


async def test_a_tokenizer_that_was_loaded_in_between_counts_anew() -> None:
    model = FunctionModel(answer, context_window=2000)
    made = services(model, tools=[look])

    async def twice(ctx: Context, next: Next) -> None:
        await next(ctx)
        tokens = made.gateway.tokens
        tokens.name, tokens.count_text = "letters", len
        await next(ctx)

    ctx = turn(made, talk(10))
    ctx.request_overheads.append(lambda request: "abc")
    await Pipeline.compose(ContextWindow(), twice, LlmInvoker()).run(ctx)
    assert len(asked(model, "compaction")) == 1
    assert asked(model)[1].max_tokens == 2000 - made.gateway.tokens.count_request(asked(model)[1]) - 3


async def test_a_stored_history_is_counted_once_and_not_in_every_turn() -> None:
    made = services(FunctionModel(answer))
    first = turn(made, talk(100))
    first.recorded = len(first.messages)
    await chain().run(first)
    counted = Counting()
    made.gateway.tokens = counted
    second = turn(made, first.messages[1:])
    second.prefix_cache = first.prefix_cache
    await chain().run(second)
    assert counted.messages < 10


async def test_a_fallback_with_a_smaller_window_gets_its_own_fit() -> None:
    async def unreachable(request: ModelRequest) -> str:
        raise BadGateway

    large = FunctionModel(unreachable, name="large")
    small = FunctionModel(answer, name="small", context_window=1000)
    ctx = turn(services(large, small), talk(30))
    own = list(ctx.messages)
    await chain().run(ctx)
    (reply,) = asked(small)
    assert large.requests[0].messages == own
    assert size(reply) <= 800


class BadGateway(Exception):
    status_code = 502


@table("summary", [answer, fail])
async def test_a_refusal_by_the_provider_is_answered_by_a_request_of_half_the_size(summary: Any) -> None:
    async def smaller_than_it_says(request: ModelRequest) -> str:
        if request.purpose == "reply" and size(request) > 400:
            raise ContextOverflow("too long")
        return await summary(request)

    model = FunctionModel(smaller_than_it_says, context_window=1000)
    response = await chain().run(turn(services(model), talk(15)))
    refused, accepted = asked(model)
    assert response.text == "done"
    assert size(accepted) <= size(refused) / 2


async def test_a_provider_that_refuses_everything_is_asked_twice() -> None:
    async def full(request: ModelRequest) -> str:
        raise ContextOverflow("too long")

    model = FunctionModel(full, context_window=1000)
    with pytest.raises(ContextOverflow):
        await chain().run(turn(services(model), talk(15)))
    assert len(asked(model)) == 2


async def test_what_a_provider_refused_is_remembered_for_the_rest_of_the_turn() -> None:
    refused: list[int] = []
    play = looking(12, context_window=1500)

    async def smaller_than_it_says(request: ModelRequest) -> str | ModelResponse:
        if size(request) > 700:
            refused.append(size(request))
            raise ContextOverflow("too long")
        return await play.complete(request)

    ctx = await run_loop(FunctionModel(smaller_than_it_says, context_window=1500))
    assert ctx.response is not None
    assert ctx.response.text == "done"
    assert len(refused) == 1


async def test_an_overflow_after_visible_text_is_not_tried_again() -> None:
    async def speaks_first(request: ModelRequest) -> str:
        assert request.on_text is not None
        request.on_text("Well, ")
        raise ContextOverflow("too long")

    model = FunctionModel(speaks_first, context_window=1000, stream=True)
    with pytest.raises(ContextOverflow):
        await chain().run(turn(services(model), talk(5), stream=True))
    assert len(model.requests) == 1


async def test_after_three_failed_summaries_there_is_only_truncation_for_a_minute() -> None:
    model = FunctionModel(fail, context_window=1000)
    made, pipeline = services(model), chain()
    for _ in range(5):
        await pipeline.run(turn(made, talk(30)))
    assert len(asked(model, "compaction")) == 3
    await made.clock.sleep(60)
    await pipeline.run(turn(made, talk(30)))
    assert len(asked(model, "compaction")) == 4


class NoMoneyForSummaries:
    """A meter that pays for everything but compaction."""

    async def reserve(self, request: ModelRequest, input_tokens: int) -> None:
        if request.purpose == "compaction":
            raise BudgetExceeded("Budget.Turn.Tokens", 1, 1)

    async def settle(self, reservation: None, request: ModelRequest, usage: Any) -> None:
        pass

    async def release(self, reservation: None) -> None:
        pass

    def find_time_limit(self) -> tuple[str, float] | None:
        return None

    def reserve_tool_call(self) -> None:
        pass


async def test_a_budget_too_small_for_a_summary_may_still_pay_for_the_reply() -> None:
    model = FunctionModel(answer, context_window=1000)
    window, made = ContextWindow(), services(model)
    pipeline = Pipeline.compose(window, LlmInvoker())
    for _ in range(FAILURE_THRESHOLD):
        ctx = turn(made, talk(30))
        ctx.meter = NoMoneyForSummaries()
        await pipeline.run(ctx)
    assert size(asked(model)[0]) <= 700
    assert window.breaker.allows(model.info.id, made.clock.monotonic())  # no failure of the model


async def test_a_call_that_waits_for_a_person_is_pinned() -> None:
    call = ToolCall("w", "look", {})
    waiting = [Message("assistant", "", [call]), Message("tool", "nobody has decided yet", tool_call_id="w")]
    model = FunctionModel(answer, context_window=1000)
    ctx = turn(services(model), [*talk(2), *waiting, *talk(40)])
    ctx.pending = [call]
    await Pipeline.compose(ContextWindow(), ask).run(ctx)
    (reply,) = asked(model)
    assert all(message in reply.messages for message in waiting)
    assert_valid_transcript(reply.messages)
    assert size(reply) <= 700


async def ask(ctx: Context, next: Next) -> None:
    response = await ctx.complete(ctx.request(list(ctx.messages), purpose="reply", tools=ctx.tools))
    ctx.response = Response(response.text)


@table(("function_calling", "compactions"), [(True, 1), (False, 0)])
async def test_tool_schemas_count_where_the_model_takes_them(function_calling: bool, compactions: int) -> None:
    model = FunctionModel(answer, context_window=1000, function_calling=function_calling)
    made = services(model, tools=[look])
    ctx = turn(made, talk(15))
    ctx.tools = [made.registry.find("look")]
    await chain().run(ctx)
    assert len(asked(model, "compaction")) == compactions


async def test_a_calibrated_estimate_decides() -> None:
    model = FunctionModel(answer, context_window=1000)
    made = services(model)
    for _ in range(50):
        made.gateway.tokens.update_calibration(model.info.id, 100, 150)
    await chain().run(turn(made, talk(13)))
    assert len(asked(model, "compaction")) == 1


async def test_options_of_ones_own_win_over_the_settings() -> None:
    model = FunctionModel(answer, context_window=2000)
    await chain(options=ContextWindowSettings(trigger=0.2)).run(turn(services(model), talk(12)))
    assert len(asked(model, "compaction")) == 1


async def test_plan_steps_fit_too_and_the_layer_goes_with_the_turn() -> None:
    model = FunctionModel(answer, context_window=1000)
    ctx = turn(services(model), talk(30))
    ctx.depth = 1
    await chain().run(ctx)
    assert size(asked(model, "step")[0]) <= 800
    assert ctx.call_layers == []


shapes = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.integers(5, 400))
    | st.tuples(st.just("tools"), st.lists(st.integers(5, 1500), min_size=1, max_size=4)),
    max_size=25,
)


def conversation(shape: list[tuple[str, Any]], prefix: str = "then") -> list[Message]:
    messages: list[Message] = []
    for number, (kind, content) in enumerate(shape):
        if kind != "tools":
            messages.append(of_size(kind, content))
            continue
        calls = [ToolCall(f"{prefix}.{number}.{n}", "look", {}) for n in range(len(content))]
        messages.append(Message("assistant", "", calls))
        messages += [
            Message("tool", of_size("tool", tokens).content, tool_call_id=call.id)
            for call, tokens in zip(calls, content, strict=True)
        ]
    return messages


@settings(deadline=None)
@given(shapes, shapes, st.sampled_from([answer, fail, empty, ramble]), st.integers(300, 5000), st.booleans())
def test_any_conversation_arrives_sound_complete_in_what_matters_and_within_the_window(
    history: list[tuple[str, Any]], loop: list[tuple[str, Any]], model: Any, window: int, twice: bool
) -> None:
    made = FunctionModel(model, context_window=window)
    ctx = turn(services(made), conversation(history))
    question = ctx.messages[-1]
    ctx.messages += conversation([(kind if kind == "tools" else "assistant", content) for kind, content in loop], "now")

    async def run() -> None:
        for _ in range(1 + twice):
            await chain().run(ctx)

    asyncio.run(run())
    for request in made.requests:
        assert_valid_transcript(request.messages)
        assert size(request) + request.max_tokens <= window
    for request in asked(made):
        assert request.messages[0].content == SYSTEM
        assert any(message is question for message in request.messages)


class Topics:
    """Embedder that knows two topics."""

    name, dimensions = "topics", 2

    def __init__(self, *, is_broken: bool = False) -> None:
        self.is_broken = is_broken

    async def embed(self, texts: Any) -> list[list[float]]:
        if self.is_broken:
            raise BadRequest("no")
        return [[float("parser" in text), float("cake" in text)] for text in texts]


def about(topic: str, number: int) -> list[Message]:
    return [Message("user", f"{topic} {number}?"), Message("assistant", f"{topic} {number} " + "abc " * 90)]


@table(
    ("strategy", "embedder", "parsers", "cakes"),
    [
        ("MiddleDrop", Topics(), 1, 5),
        ("Relevant", Topics(), 4, 2),
        ("Relevant", Topics(is_broken=True), 1, 5),  # as MiddleDrop
        ("Relevant", None, 4, 2),  # with the embedder of the settings
    ],
)
async def test_the_strategy_says_what_stays_and_no_summary_is_asked_for(
    strategy: str, embedder: Any, parsers: int, cakes: int
) -> None:
    model = FunctionModel(answer, context_window=1000)
    history = [each for n in range(4) for each in about("parser", n)]
    history += [each for n in range(5) for each in about("cake", n)]
    parts = services(model, embedder=embedder, settings={"ContextWindow": {"Strategy": strategy}})
    ctx = turn(parts, history, "and the parser now?")
    await chain().run(ctx)
    (request,) = model.requests
    texts = [message.content for message in request.messages]
    assert texts[1] == "parser 0?"  # the first message is pinned
    assert size(request) <= 700
    answers = [text.split()[0] for text in texts if text.endswith("abc ")]
    assert (answers.count("parser") > answers.count("cake")) == (parsers > cakes)
    assert ctx.messages[1:-2] == history  # the turn's own messages stay


@table(
    ("options", "text", "limit"),
    [
        ({"MaxTokens": 400}, "and now?", 400),
        ({"MaxTokens": 400, "TaskTokens": {"research": 200}}, "and now?", 400),
        ({"MaxTokens": 400, "TaskTokens": {"research": 200}}, "search for it", 200),
        ({"TaskTokens": {"research": 200}}, "and now?", 800),
    ],
)
@table("strategy", ["Summary", "MiddleDrop"])
async def test_a_task_type_has_a_budget(options: dict[str, Any], text: str, limit: int, strategy: str) -> None:
    model = FunctionModel(answer, context_window=1000)
    parts = services(model, settings={"ContextWindow": {"Strategy": strategy, **options}})
    await chain().run(turn(parts, talk(15), text))
    [request] = asked(model)
    assert limit / 4 < size(request) <= limit
