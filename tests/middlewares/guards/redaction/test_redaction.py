"""Redaction: no secret leaves a turn, and no marker is written over one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from sophon import Context, ModelRequest, ModelResponse, Next, Pipeline, Response, Risk, Services, ToolCall, tool
from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.placement import place
from sophon.events import Reasoning, ReasoningChunk, StreamChunk, ToolCallCompleted, ToolCallStarted
from sophon.messages import Message as ChatMessage
from sophon.models.model import Call, Purpose
from sophon.security import KNOWN_SECRETS
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock
from sophon_hosting.host_chain import build_named_chain
from sophon_middlewares import (
    AgenticLoop,
    Audit,
    LlmInvoker,
    MaskPersonalData,
    Redaction,
    ReplyRedaction,
    ToolExecution,
)
from sophon_middlewares.chains import CHAINS, twelve
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards
from sophon_middlewares.guards.redaction.model_redaction import redact_turn
from sophon_middlewares.tool_calls import result_redaction
from tests.middlewares.guards.conftest import GuardedTurn, shell_call, write_call
from tests.tables import table

SECRET = "ghp_" + "a1B2c3D4" * 5
ENV_FILE = f"HOST=db\nGITHUB_TOKEN={SECRET}\n"


@pytest.fixture
def env_file(turn: GuardedTurn) -> Path:
    path = turn.folder / "data" / "files" / "app.env"
    path.write_text(ENV_FILE)
    return path


def read_call(path: str = "app.env") -> ToolCall:
    return ToolCall("c1", "files.read", {"path": path})


def everything(events: EventRecorder) -> str:
    return "\n".join(str(each.to_wire()) for each in events.events)


async def test_a_secret_in_a_result_reaches_neither_model_nor_events_nor_audit(
    turn: GuardedTurn, env_file: Path
) -> None:
    [result] = await turn.run([Audit(), Redaction()], [read_call()])

    assert "GITHUB_TOKEN=[REDACTED]" in result
    assert SECRET not in everything(turn.events)
    assert [each.result for each in turn.events.of(ToolCallCompleted)] == ["HOST=db\nGITHUB_TOKEN=[REDACTED]\n"]
    entries = await turn.services.store.audit.list_after(0)
    assert [each.texts["output"] for each in entries if "output" in each.texts] == [
        "HOST=db\nGITHUB_TOKEN=[REDACTED]\n"
    ]


async def test_without_the_guard_the_model_reads_the_secret(turn: GuardedTurn, env_file: Path) -> None:
    [result] = await turn.run([], [read_call()])

    assert SECRET in result


@tool(name="connect")
async def connect(token: str, headers: dict[str, str]) -> str:
    """Connect."""
    return f"connected with {len(token)} characters, {headers['Authorization'][:6]}"


async def test_a_tool_gets_the_secret_that_a_person_gave_for_it_and_events_do_not_show_it(turn: GuardedTurn) -> None:
    arguments = {"token": "hunter22-hunter22-hunter22-hunter22", "headers": {"Authorization": f"Bearer {SECRET}"}}
    [result] = await turn.run([Redaction()], [ToolCall("c1", "connect", arguments)], tools=[connect])

    assert result == "connected with 35 characters, Bearer"
    [started] = turn.events.of(ToolCallStarted)
    assert started.arguments == {"token": "[REDACTED]", "headers": {"Authorization": "Bearer [REDACTED]"}}


async def test_the_person_decides_on_the_exact_arguments(turn: GuardedTurn) -> None:
    await turn.run([Redaction()], [write_call("new.env", ENV_FILE)])

    [asked] = turn.gate.asked
    assert asked.arguments["content"] == ENV_FILE
    assert (turn.folder / "data" / "files" / "new.env").read_text() == ENV_FILE


async def test_a_result_that_cannot_be_redacted_is_withheld(
    turn: GuardedTurn, env_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(text: str) -> str:
        raise ValueError(text)

    async def broken(ctx: Context, next: object) -> None:
        ctx.redactor = fail
        await next(ctx)  # type: ignore[operator]

    results = await turn.run([broken, Redaction()], [read_call()])

    assert result_redaction.WITHHELD in results[0]
    assert SECRET not in everything(turn.events)
    assert "could not be redacted" in caplog.text


async def test_a_large_result_is_redacted_as_a_whole(turn: GuardedTurn, env_file: Path) -> None:
    env_file.write_text("x y\n" * 20_000 + ENV_FILE)
    call = ToolCall("c1", "files.read", {"path": "app.env", "limit": 200_000})
    events = turn.events
    await turn.run([Redaction()], [call])

    assert SECRET not in everything(events)


BLOCKED = [
    write_call("app.env", "HOST=db2\nGITHUB_TOKEN=[REDACTED]\n"),
    write_call("copy.env", "GITHUB_TOKEN=[REDACTED]\n"),
    ToolCall("c1", "files.write", {"path": "app.env", "content": "X=[REDACTED]", "append": True}),
    shell_call("cat > app.env <<'EOF'\nGITHUB_TOKEN=[REDACTED]\nEOF"),
    shell_call("echo 'GITHUB_TOKEN=[REDACTED]' | tee app.env"),
    shell_call("sed -i 's/ghp_.*/[REDACTED]/' app.env"),
    shell_call("sh -c 'echo [REDACTED] >> app.env'"),
    shell_call("patch -p1 <<'EOF'\n--- a/app.env\n+++ b/app.env\n@@ -1 +1 @@\n-HOST=db\n+T=[REDACTED]\nEOF"),
]


def label(call: ToolCall) -> str:
    return " ".join(map(str, call.arguments.values())).replace("\n", "~")


@pytest.mark.parametrize("call", BLOCKED, ids=label)
async def test_a_marker_is_not_written_over_a_secret(turn: GuardedTurn, env_file: Path, call: ToolCall) -> None:
    [result] = await turn.run([Redaction()], [call])

    assert result.startswith("blocked by Redaction (marker_write): [REDACTED] stands for a secret"), result
    assert env_file.read_text() == ENV_FILE
    assert turn.gate.asked == []


async def test_without_the_guard_the_secret_is_lost(turn: GuardedTurn, env_file: Path) -> None:
    await turn.run([], [BLOCKED[0]])

    assert SECRET not in env_file.read_text()


@pytest.mark.parametrize(
    "call",
    [
        write_call("notes.md", "The log shows [REDACTED] in place of a key, always."),
        shell_call("echo 'again [REDACTED]' >> notes.md"),
        shell_call("grep '[REDACTED]' notes.md"),
        write_call("app.env", "HOST=db2\n"),
        shell_call("sed -i s/db/db2/ app.env"),
    ],
    ids=label,
)
async def test_a_file_that_holds_the_marker_and_a_text_without_it_can_be_written(
    turn: GuardedTurn, env_file: Path, call: ToolCall
) -> None:
    (env_file.parent / "notes.md").write_text("The log shows [REDACTED] in place of a key.")
    [result] = await turn.run([Redaction()], [call])

    assert not result.startswith(("blocked", "error")), result


async def test_a_command_that_may_write_the_marker_anywhere_asks_a_person(turn: GuardedTurn) -> None:
    await turn.run([Redaction()], [shell_call("python3 -c \"print('[REDACTED]')\"")])

    assert turn.verdicts() == [("c1", "Redaction", "escalate", "marker_unclear")]


async def test_a_guard_that_fails_blocks_the_call(turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sophon_middlewares.guards.redaction.redaction.may_hold_marker", lambda *_: 1 / 0)
    [result] = await turn.run([Redaction()], [write_call("a.txt")])

    assert result.startswith("blocked by Redaction (guard_failed): the check failed")


class FailingOnce:
    """Model whose first attempt breaks off after a part of a word, which nobody has seen."""

    def __init__(self) -> None:
        self.attempts = 0

    async def __call__(self, request: ModelRequest) -> ModelResponse:
        self.attempts += 1
        assert request.on_text is not None
        if self.attempts == 1:
            request.on_text("Hel")
            raise ConnectionError("reset")
        request.on_text("Good day")
        return ModelResponse("Good day")


@table("function_calling", [True, False])
async def test_what_is_held_back_of_a_failed_attempt_is_not_shown(function_calling: bool) -> None:
    events = EventRecorder()
    model = FunctionModel(FailingOnce(), function_calling=function_calling)
    services = Services(models=model, events=events, clock=VirtualClock())
    chain = twelve(services, find_guards(services.settings.guards))
    response = await chain.run(services.turn("hi", session_id="s", stream=True))

    assert response.text == "Good day"
    assert "".join(each.text for each in events.of(StreamChunk)) == "Good day"


async def test_a_call_in_the_text_of_a_model_keeps_its_arguments(turn: GuardedTurn) -> None:
    block = f'Now {SECRET}: <tool_call>{{"name": "length", "arguments": {{"text": "{SECRET}"}}}}</tool_call>'
    replies = iter([block, "done"])

    async def answer(request: ModelRequest) -> str:
        return next(replies)

    seen: list[str] = []

    @tool(name="length")
    async def length(text: str) -> str:
        """Return the length."""
        seen.append(text)
        return str(len(text))

    services = Services(models=FunctionModel(answer, function_calling=False), tools=[length])
    ctx = services.turn("hi", session_id="s")
    await twelve(services, find_guards(services.settings.guards)).run(ctx)

    assert seen == [SECRET]
    assert [each.content.strip() for each in ctx.messages if each.tool_calls] == ["Now [REDACTED]:"]


async def test_a_model_reads_no_secret_of_the_settings_nor_of_an_earlier_result(known: str) -> None:
    model = FunctionModel(Streaming(["ok"]))
    services = Services(models=model)
    turn = services.turn(f"set my key {SECRET}, not {known}", session_id="s")
    turn.messages[:0] = [
        ChatMessage("user", "read it"),
        ChatMessage("assistant", "", [ToolCall("c1", "files.read", {"path": "a"})]),
        ChatMessage("tool", ENV_FILE, tool_call_id="c1"),
    ]
    await Pipeline.compose(AgenticLoop(), Redaction(), ToolExecution(), LlmInvoker()).run(turn)

    [request] = model.requests
    assert [each.content for each in request.messages] == [
        "read it",
        "",
        "HOST=db\nGITHUB_TOKEN=[REDACTED]\n",
        f"set my key {SECRET}, not [REDACTED]",
    ]
    assert turn.messages[3].content == f"set my key {SECRET}, not {known}"


@pytest.fixture
def known() -> Iterator[str]:
    before = KNOWN_SECRETS.values
    KNOWN_SECRETS.add("correct-horse-battery")
    yield "correct-horse-battery"
    KNOWN_SECRETS.restore(before)


async def test_the_turn_without_the_guard_is_not_changed(turn: GuardedTurn) -> None:
    ctx = turn.build([])
    with redact_turn(ctx), redact_turn(ctx):
        assert len(ctx.call_layers) == 1
    assert ctx.redactor is None
    assert ctx.call_layers == []


class Streaming:
    """Model that streams a text in given chunks, with reasoning, and keeps what it was sent."""

    def __init__(self, chunks: list[str], *, reasoning: str = "", calls: list[ToolCall] | None = None) -> None:
        self.chunks, self.reasoning, self.calls = chunks, reasoning, calls or []
        self.requests: list[ModelRequest] = []

    async def __call__(self, request: ModelRequest) -> ModelResponse:
        self.requests.append(request)
        if request.on_reasoning is not None:
            for character in self.reasoning:
                request.on_reasoning(character)
        if request.on_text is not None:
            for chunk in self.chunks:
                request.on_text(chunk)
        return ModelResponse("".join(self.chunks), reasoning=self.reasoning, reasoning_fields={"kept": None})


@table("cut", range(1, len(SECRET)))
async def test_a_secret_cut_over_chunks_never_leaves_a_stream(cut: int) -> None:
    events = EventRecorder()
    model = Streaming(["Your key ", SECRET[:cut], SECRET[cut:], " is fine."], reasoning=f"It is {SECRET}.")
    services = Services(models=FunctionModel(model), events=events)
    chain = twelve(services, find_guards(services.settings.guards))
    response = await chain.run(services.turn("hi", session_id="s", stream=True))

    assert response.text == "Your key [REDACTED] is fine."
    assert "".join(each.text for each in events.of(StreamChunk)) == response.text
    assert "".join(each.text for each in events.of(ReasoningChunk)) == "It is [REDACTED]."
    assert [each.text for each in events.of(Reasoning)] == ["It is [REDACTED]."]
    assert SECRET not in everything(events)
    assert SECRET not in str(await services.history("s"))


@table("name", ["wasp", "openparallax"])
@table("in_host", [False, True])
async def test_a_chain_whose_document_redacts_does_so_in_a_program_too(name: str, in_host: bool) -> None:
    @tool(name="look", risk=Risk.NONE, group="math")
    async def look() -> str:
        """Look at the settings of the application."""
        return ENV_FILE

    calls = [[ToolCall("l", "load_tools", {"groups": ["math"]})]] if name == "openparallax" else []
    model = ScriptedModel([*calls, [ToolCall("c", "look", {})], f"the token is {SECRET}"])
    services = Services(models=model, tools=[look], clock=VirtualClock())
    chain = build_named_chain(services, name) if in_host else CHAINS[name](services)
    ctx = services.turn("look at the settings of the application")
    response = await chain.run(ctx)

    assert response.text == "the token is [REDACTED]"
    assert "GITHUB_TOKEN=[REDACTED]" in "".join(each.content for each in ctx.messages)
    assert SECRET not in "".join(each.content for request in model.requests for each in request.messages)
    for guard in ("Redaction", "ReplyRedaction"):
        assert [get_middleware_name(each) for each in chain].count(guard) == 1
        assert f" {guard} " in chain.explain()


async def test_votes_and_plans_are_asked_without_the_secrets_of_the_settings_and_of_results() -> None:
    before = KNOWN_SECRETS.values
    KNOWN_SECRETS.add("correct-horse-battery")

    async def answer(request: ModelRequest) -> str:
        plan = {"goal": "g", "steps": [{"id": "a", "description": f"use {SECRET}"}, {"id": "b", "description": "end"}]}
        return {"vote": "yes", "plan": json.dumps(plan)}.get(request.purpose, "done")

    model = FunctionModel(answer)
    services = Services(models=model, settings={"Planning": {"Mode": "LlmDecides", "MaxDepth": 1}})
    ctx = services.turn("log in with correct-horse-battery")
    ctx.messages[:0] = [
        ChatMessage("user", "look"),
        ChatMessage("assistant", "", [ToolCall("c", "look", {})]),
        ChatMessage("tool", ENV_FILE, tool_call_id="c"),
        ChatMessage("assistant", "I looked"),
    ]
    await twelve(services, find_guards(services.settings.guards)).run(ctx)
    KNOWN_SECRETS.restore(before)

    asked = [(each.purpose, "".join(message.content for message in each.messages)) for each in model.requests]
    assert [purpose for purpose, _ in asked] == ["vote", "plan", "step", "step", "reply"]
    assert not any("correct-horse-battery" in text for _, text in asked)
    assert not any(SECRET in text for _, text in asked[:2])
    assert any(f"use {SECRET}" in text for _, text in asked[2:]), "a plan keeps the arguments of later calls"


@pytest.mark.parametrize("name", [*CHAINS])
async def test_a_summary_holds_no_secret_for_the_model_nor_in_the_session(name: str, known: str) -> None:
    async def answer(request: ModelRequest) -> str:
        is_summary = request.purpose == "compaction"
        return f"they said {SECRET} and {known}" if is_summary else "ok " * 300

    model = FunctionModel(answer, context_window=4000)
    services = Services(models=model)
    chain = CHAINS[name](services, find_guards(services.settings.guards))
    for _ in range(12):
        await chain.run(services.turn("hello " + "pad " * 250, session_id="s", planning="Never"))

    assert "compaction" in {each.purpose for each in model.requests}
    sent = "".join(message.content for request in model.requests for message in request.messages)
    compaction = (await services.store.sessions.load_history("s")).compaction
    assert compaction is not None
    for text in (sent, compaction.summary.content):
        assert "they said [REDACTED] and [REDACTED]" in text
        assert SECRET not in text
        assert known not in text


async def test_a_summary_that_a_layer_adds_and_one_that_is_summed_up_again_are_redacted(known: str) -> None:
    async def add_summary(request: ModelRequest, call: Call) -> ModelResponse:
        summary = ChatMessage("user", f"it was {SECRET}", origin="compaction")
        return await call(request.copy_with(messages=[summary, *request.messages]))

    model = FunctionModel(Streaming(["ok"]))
    ctx = Services(models=model).turn("hi")
    with ctx.call_layer(add_summary), redact_turn(ctx):
        await ctx.complete(ctx.request([ChatMessage("user", f"my key {SECRET}")], purpose="reply"))
        await ctx.complete(ctx.request([ChatMessage("user", f"it was {SECRET}")], purpose="compaction"))

    assert [[each.content for each in request.messages] for request in model.requests] == [
        ["it was [REDACTED]", f"my key {SECRET}"],
        ["it was [REDACTED]"],
    ]


@pytest.mark.parametrize("purpose", get_args(Purpose))
async def test_a_call_of_any_purpose_is_redacted_wherever_in_a_chain_it_is_made(purpose: Purpose, known: str) -> None:
    async def ask(ctx: Context, next: Next) -> None:
        request = ctx.request([ChatMessage("user", f"my key is {known}")], purpose=purpose)
        ctx.response = Response((await ctx.complete(request)).text)

    model = FunctionModel(Streaming([f"It is {SECRET}."]))
    services = Services(models=model)
    chain = place(
        Pipeline.compose(ask, *twelve(services)[1:]), find_guards(services.settings.guards).values(), GUARD_ORDER
    )
    response = await chain.run(services.turn("hi"))

    assert [each.content for each in model.requests[0].messages] == ["my key is [REDACTED]"]
    assert response.text == f"It is {SECRET if purpose == 'plan' else '[REDACTED]'}."


async def test_the_arguments_of_an_earlier_call_are_sent_without_the_secrets_of_the_settings(known: str) -> None:
    model = FunctionModel(Streaming(["ok"]))
    turn = Services(models=model).turn("again")
    call = ToolCall("c", "log_in", {"as": {known: [f"key {known}", 3]}, "token": SECRET})
    turn.messages[:0] = [ChatMessage("assistant", "", [call]), ChatMessage("tool", "done", tool_call_id="c")]
    await Pipeline.compose(AgenticLoop(), Redaction(), ToolExecution(), LlmInvoker()).run(turn)

    [sent] = model.requests[0].messages[0].tool_calls
    assert sent.arguments == {"as": {"[REDACTED]": ["key [REDACTED]", 3]}, "token": SECRET}
    assert turn.messages[0].tool_calls == [call]


async def test_a_secret_with_an_address_in_it_is_found_before_the_address_is_masked() -> None:
    async def ask(ctx: Context, next: Next) -> None:
        request = ctx.request([ChatMessage("user", "log in with ada@example.com:battery")], purpose="title")
        ctx.response = Response((await ctx.complete(request)).text)

    before = KNOWN_SECRETS.values
    KNOWN_SECRETS.add("ada@example.com:battery")
    model = FunctionModel(Streaming(["ok"]))
    await Pipeline.compose(MaskPersonalData(), ReplyRedaction(), ask).run(Services(models=model).turn("hi"))
    KNOWN_SECRETS.restore(before)
    assert [each.content for each in model.requests[0].messages] == ["log in with [REDACTED]"]
