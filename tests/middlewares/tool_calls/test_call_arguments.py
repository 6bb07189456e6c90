"""Variables and placeholders in a turn: guards and tools see concrete arguments, the transcript what was written."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.approvals import ApprovalRequest, Decision
from sophon.builtin_tools.variables import find_variables
from sophon.context import Context
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import find_guards
from tests.tables import table

PAGE = "A long page. " * 20


class Gate:
    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []

    async def request(self, request: ApprovalRequest) -> Decision:
        self.shown.append(dict(request.arguments))
        return Decision.approve()


class Turn:
    """A turn whose model makes the given rounds of calls."""

    def __init__(self, **settings: Any) -> None:
        self.sent: list[str] = []
        self.gate, self.clock = Gate(), VirtualClock()
        self.rounds: list[Sequence[ToolCall]] = []

        @tool(risk=Risk.NONE, external=True)
        async def fetch(url: str) -> str:
            """Fetch a page."""
            return PAGE

        @tool(risk=Risk.HIGH)
        async def send(text: str, to: str = "ada") -> str:
            """Send a text."""
            self.sent.append(text)
            return "sent"

        guards = {"Integrity": {"Enabled": True}, "InformationFlow": {"Enabled": False}}
        self.services = Services(
            models=FunctionModel(self.answer),
            tools=[fetch, send],
            approvals=self.gate,
            clock=self.clock,
            settings={"Guards": guards, "Tools": {"Variables": True}, **settings},
        )
        self.chain = twelve(self.services, find_guards(self.services.settings.guards))
        self.before_round: Callable[[int], None] = lambda _: None

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        number = sum(bool(each.tool_calls) for each in request.messages)
        self.before_round(number)
        return ModelResponse("", [*self.rounds[number]]) if number < len(self.rounds) else "done"

    async def run(self, *rounds: Sequence[ToolCall], text: str = "go") -> tuple[Context, list[str]]:
        self.rounds = [*rounds]
        ctx = self.services.turn(text)
        await self.chain.run(ctx)
        return ctx, [each.content for each in ctx.messages if each.role == "tool"]


def call(number: int, name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(f"c{number}", name, arguments)


FETCH, SET = call(1, "fetch", url="https://sophon.dev/"), call(2, "variables.set", name="page", result_of="fetch")


async def test_a_result_is_sent_without_being_repeated_and_the_person_sees_the_concrete_call() -> None:
    turn = Turn()
    ctx, results = await turn.run([FETCH], [SET], [call(3, "send", text="It says: {{page}}")])
    assert turn.sent == [f"It says: {PAGE}"]
    assert turn.gate.shown == [{"text": f"It says: {PAGE}"}]
    assert results[2] == "sent"
    assert [each.arguments for message in ctx.messages for each in message.tool_calls][2] == {
        "text": "It says: {{page}}"
    }
    assert "fetch https://sophon.dev/" in ctx.tally.untrusted_sources


async def test_an_unknown_name_runs_nothing_and_names_the_known_ones() -> None:
    turn = Turn()
    _, results = await turn.run([FETCH], [SET], [call(3, "send", text="{{page}} {{pgae}}")])
    assert (turn.sent, turn.gate.shown) == ([], [])
    assert results[2].startswith("error: there is no variable {{pgae}}; the variables of this turn are: page.")


async def test_a_value_is_substituted_once_also_by_a_resumed_turn() -> None:
    turn = Turn(Approval={"OnTimeout": "Park"})
    parked = [Decision.suspend()]
    ask = turn.gate.request

    async def request(request: ApprovalRequest) -> Decision:
        return parked.pop() if parked else await ask(request)

    turn.gate.request = request  # type: ignore[method-assign]
    turn.rounds = [
        [call(0, "variables.set", name="b", value="secret")],
        [call(1, "variables.set", name="a", value=r"\{{b}}")],
        [call(3, "send", text="{{a}}")],
    ]
    ctx = turn.services.turn("go")
    await turn.chain.run(ctx)
    assert ctx.response is not None
    assert ctx.response.finish_reason == "suspended"
    again = turn.services.restore(ctx.state())
    await turn.chain.run(again)
    assert turn.sent == ["{{b}}"]
    assert {name: each.value for name, each in find_variables(again).items()} == {"a": "{{b}}", "b": "secret"}


async def test_a_variable_expires_after_an_hour() -> None:
    turn = Turn()
    ctx, _ = await turn.run([call(1, "variables.set", name="a", value="A")])
    assert [*find_variables(ctx)] == ["a"]
    await turn.clock.advance(timedelta(hours=1).total_seconds())
    assert find_variables(ctx) == {}


async def test_too_much_is_refused_and_what_was_kept_stays() -> None:
    turn = Turn()
    ctx, results = await turn.run(
        [call(1, "variables.set", name="a", value="A")],
        [call(2, "variables.set", name="a", value="x" * 60_001), call(3, "variables.set", name="a b", value="A")],
        [call(4, "variables.set", name="c", result_of="fetch")],
    )
    assert "at most 32 variables of 60000 characters" in results[1]
    assert "cannot be a name" in results[2]
    assert "'fetch' has no result" in results[3]
    assert find_variables(ctx)["a"].value == "A"


async def test_without_the_setting_braces_are_plain_text() -> None:
    turn = Turn(Tools={"Variables": False})
    await turn.run([call(1, "send", text="{{page}}")])
    assert turn.sent == ["{{page}}"]


@table(
    ("text", "settings", "is_sent"),
    [
        ("write to ada", {}, False),
        ("write to ada@example.com", {}, True),
        ("write to ada", {"Tools": {"RefusePlaceholders": False}}, True),
    ],
)
async def test_a_placeholder_is_refused_before_anybody_is_asked(
    text: str, settings: dict[str, Any], is_sent: bool
) -> None:
    turn = Turn(**settings)
    _, [fetched, result] = await turn.run(
        [call(1, "fetch", url="https://example.com/")], [call(2, "send", text="Hi", to="ada@example.com")], text=text
    )
    assert "A long page." in fetched
    assert bool(turn.sent) == bool(turn.gate.shown) == is_sent
    assert ("holds the placeholder 'example.com'" in result) is not is_sent
