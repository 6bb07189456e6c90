"""MaskPersonalData: no model reads a value, whatever it is asked for, and everybody else has it."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import Context, Message, ModelRequest, ModelResponse, Next, Pipeline, Risk, Services, ToolCall, tool
from sophon.errors import ProviderUnavailable
from sophon.events import StreamChunk
from sophon.invisible_characters import is_blank
from sophon.security.personal_data import compile_names, find_names, find_personal_data
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares import AgenticLoop, LlmInvoker, MaskPersonalData, PromptToolBridge, SessionEvents, ToolExecution
from sophon_middlewares.chains import CHAINS, twelve
from sophon_middlewares.guards.personal_data import NOTE
from tests.tables import table

ADDRESS, NAME = "ada@example.com", "Ada Lovelace"
MAIL = f"Find out what {NAME} needs and write her a mail to {ADDRESS}"


def masked(services: Services, chain: Callable[[Services], Pipeline] = twelve, **options: object) -> Pipeline:
    first, *others = chain(services)
    return Pipeline.compose(first, MaskPersonalData(names=[NAME], **options), *others)  # type: ignore[arg-type]


def everything(request: ModelRequest) -> str:
    """What the provider gets of a request."""
    return json.dumps([each.to_json() for each in request.messages], ensure_ascii=False)


def assert_masked(model: FunctionModel, *purposes: str) -> None:
    assert {each.purpose for each in model.requests} == set(purposes)
    assert [each.purpose for each in model.requests if ADDRESS in everything(each) or NAME in everything(each)] == []


@tool(name="send_mail", risk=Risk.NONE)
async def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    SENT.append((to, body))
    return f"sent to {to}"


SENT: list[tuple[str, str]] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


async def answer_mail(request: ModelRequest) -> ModelResponse:
    last = request.messages[-1]
    if last.role == "tool":
        return ModelResponse(f"Done: {last.content}")
    arguments = {"to": "[EMAIL_1]", "body": "Dear [NAME_1]"}
    return ModelResponse("One moment, [NAME_1].", [ToolCall("c", "send_mail", arguments)])


async def test_tool_messages_history_and_answer_have_the_values() -> None:
    model = FunctionModel(answer_mail)
    services = Services(models=model, tools=[send_mail])
    ctx = services.turn(MAIL, session_id="s", planning="Never")
    response = await masked(services).run(ctx)

    assert [(ADDRESS, f"Dear {NAME}")] == SENT
    assert response.text == f"Done: sent to {ADDRESS}"
    stored = await services.history("s")
    assert [each.content for each in stored] == [
        MAIL, f"One moment, {NAME}.", f"sent to {ADDRESS}", f"Done: sent to {ADDRESS}",
    ]  # fmt: skip
    assert stored[1].tool_calls[0].arguments == {"to": ADDRESS, "body": f"Dear {NAME}"}
    assert NOTE in model.requests[0].messages
    assert_masked(model, "reply")

    await masked(services).run(services.turn("again", session_id="s", planning="Never"))
    assert_masked(model, "reply")


async def test_a_summary_reads_no_value_and_has_them_in_the_session() -> None:
    async def answer(request: ModelRequest) -> str:
        return "They wrote to [EMAIL_1]." if request.purpose == "compaction" else "ok"

    model = FunctionModel(answer, context_window=4000)
    services = Services(models=model)
    chain = masked(services)
    ctx = services.turn("hello", session_id="s", planning="Never")
    await chain.run(ctx)
    for number in range(6):
        text = f"{number}: {ADDRESS} {'said so much that it fills the window ' * 60}"
        ctx = services.turn(text, session_id="s", planning="Never")
        await chain.run(ctx)

    assert_masked(model, "compaction", "reply")
    assert ctx.compaction is not None
    assert ADDRESS in ctx.compaction.summary.content


async def test_what_a_later_layer_adds_is_masked() -> None:
    async def remember(ctx: Context, next: Next) -> None:
        memory = Message("system", MAIL)
        with ctx.call_layer(lambda request, call: call(request.copy_with(messages=[memory, *request.messages]))):
            await next(ctx)

    model = FunctionModel(answer_mail)
    services = Services(models=model, tools=[send_mail])
    chain = Pipeline.compose(MaskPersonalData(names=[NAME]), remember, AgenticLoop(), ToolExecution(), LlmInvoker())
    await chain.run(services.turn("hello"))

    assert [(ADDRESS, f"Dear {NAME}")] == SENT
    assert_masked(model, "reply")


@table("name", CHAINS)
async def test_it_stands_in_every_chain(name: str) -> None:
    async def answer(request: ModelRequest) -> str:
        return f"You said: {request.messages[-1].content}"

    model = FunctionModel(answer)
    services = Services(models=model)
    chain = masked(services, CHAINS[name])
    response = await chain.run(services.turn(f"I am {NAME}, {ADDRESS}, and what is the weather like in Oslo?"))

    assert f"I am {NAME}, {ADDRESS}" in response.text
    assert_masked(model, "reply")
    assert "MaskPersonalData" in chain.explain()


@table("function_calling", [True, False])
@table("size", [1, 2, 3, 5, 8, 13, 100])
async def test_a_streamed_answer_has_the_values_wherever_it_is_cut(size: int, function_calling: bool) -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse("[EMAIL_1] and [[NAME_1]], [EMAIL_9] [EMA", reasoning="it is [EMAIL_1]")

    events = EventRecorder()
    services = Services(models=FunctionModel(answer, stream=size, function_calling=function_calling), events=events)
    mask = MaskPersonalData(names=[NAME])
    chain = Pipeline.compose(SessionEvents(), mask, PromptToolBridge(), AgenticLoop(), ToolExecution(), LlmInvoker())
    response = await chain.run(services.turn(MAIL, stream=True))

    assert response.text == f"{ADDRESS} and [{NAME}], [EMAIL_9] [EMA"
    assert "".join(each.text for each in events.of(StreamChunk)) == response.text


async def test_a_model_that_writes_calls_as_text_gets_values_into_its_tools() -> None:
    async def answer(request: ModelRequest) -> str:
        if "tool_result" in request.messages[-1].content:
            return "done"
        call = {"name": "send_mail", "arguments": {"to": "[EMAIL_1]", "body": "Dear [NAME_1]"}}
        return f"<tool_call>{json.dumps(call)}</tool_call>"

    model = FunctionModel(answer, function_calling=False)
    services = Services(models=model, tools=[send_mail])
    await masked(services).run(services.turn(MAIL, planning="Never"))

    assert SENT[0] == (ADDRESS, f"Dear {NAME}")
    assert_masked(model, "reply")


async def test_an_attempt_that_fails_leaves_nothing_in_the_stream() -> None:
    failures = [ProviderUnavailable("down")]

    async def answer(request: ModelRequest) -> str:
        if request.on_text is not None and failures:
            request.on_text("[EMA")
            raise failures.pop()
        return "IL_1] [EMAIL_1]"

    events = EventRecorder()
    services = Services(models=FunctionModel(answer, stream=3), events=events, clock=VirtualClock())
    chain = Pipeline.compose(SessionEvents(), MaskPersonalData(), AgenticLoop(), ToolExecution(), LlmInvoker())
    assert (await chain.run(services.turn(MAIL, stream=True))).text == f"IL_1] {ADDRESS}"
    last = max(each.epoch for each in events.of(StreamChunk))
    assert "".join(each.text for each in events.of(StreamChunk) if each.epoch == last) == f"IL_1] {ADDRESS}"


async def test_names_may_depend_on_the_turn() -> None:
    async def answer(request: ModelRequest) -> str:
        return request.messages[-1].content

    model = FunctionModel(answer)
    services = Services(models=model)
    mask = MaskPersonalData(kinds=["email"], names=lambda ctx: {"ada": [NAME]}.get(ctx.principal, []))
    chain = Pipeline.compose(mask, LlmInvoker())
    for principal in ("ada", "bob"):
        text = f"{NAME} {ADDRESS} 10.0.0.1"
        assert (await chain.run(services.turn(text, principal=principal))).text == text
    assert [each.messages[-1].content for each in model.requests] == [
        "[NAME_1] [EMAIL_1] 10.0.0.1", f"{NAME} [EMAIL_1] 10.0.0.1",
    ]  # fmt: skip


@table(
    ("options", "reason"),
    [
        ({"kinds": ["emial"]}, "did you mean 'email'"),
        ({"names": "Ada"}, "several texts"),
        ({"kinds": "email"}, "several texts"),
        ({"names": [5]}, "5 cannot be masked"),
        ({"names": [" "]}, "cannot be masked"),
        ({"names": ['Dwayne "The Rock"']}, "cannot be masked"),
    ],
)
def test_what_cannot_be_masked_is_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        MaskPersonalData(**options)  # type: ignore[arg-type]


VALUES = (ADDRESS, NAME, "+43 664 1234567", "4111 1111 1111 1111", "10.0.0.1")
PIECES = st.one_of(
    st.sampled_from([*VALUES, "[EMAIL_1]", "[", "[NAME_", " "]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join).filter(lambda text: not is_blank(text)), st.integers(1, 9))
async def test_whatever_is_said_comes_back_and_is_never_read(text: str, size: int) -> None:
    async def echo(request: ModelRequest) -> str:
        return request.messages[-1].content

    events = EventRecorder()
    model = FunctionModel(echo, stream=size)
    services = Services(models=model, events=events)
    chain = Pipeline.compose(SessionEvents(), MaskPersonalData(names=[NAME]), LlmInvoker())
    ctx = services.turn(text, stream=True)
    response = await chain.run(ctx)

    assert response.text == ctx.text
    assert "".join(each.text for each in events.of(StreamChunk)) == ctx.text
    [sent] = [each for request in model.requests for each in request.messages if each is not NOTE]
    assert [*find_personal_data(sent.content), *find_names(sent.content, compile_names((NAME,)))] == []
