"""MaskPersonalData in whole turns: no call of any purpose reads a value, and people get the values."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sophon import (
    Context,
    Decision,
    Message,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Risk,
    Services,
    ToolCall,
    tool,
)
from sophon.chain.placement import place
from sophon.errors import ProviderUnavailable
from sophon.events import GuardVerdict
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares import MaskPersonalData
from sophon_middlewares.agents.agents import Agents
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards
from sophon_middlewares.guards.simulation import MARKER
from sophon_middlewares.stages.direct_call import DIRECT_CALL, build_direct_chain
from tests.gate import Gate

ADDRESS, NAME, FOREIGN = "zoë.lovelace@analytical.at", "Zoë Lovelace", "ZOË LOVELACE"
TEXT = f"Write to {NAME}, {ADDRESS}, and be quick"
ADVICE = "It writes to [NAME_1] at [EMAIL_1]."

Answer = Callable[[ModelRequest], ModelResponse | str]


class Provider:
    """Provider that keeps each request as it gets it, and answers by purpose."""

    def __init__(self, **answers: Answer | str) -> None:
        self.answers = answers
        self.model = FunctionModel(self.answer, stream=7)

    async def answer(self, request: ModelRequest) -> ModelResponse | str:
        answer = self.answers.get(request.purpose, "done")
        return answer if isinstance(answer, str) else answer(request)

    @property
    def purposes(self) -> list[str]:
        return [each.purpose for each in self.model.requests]

    def assert_nothing_read(self) -> None:
        """No request has a value in any form: as it is, in other case, or as JSON escapes it."""
        for request in self.model.requests:
            sent = json.dumps([each.to_json() for each in request.messages], ensure_ascii=False)
            for text in (sent, sent.replace("\\\\", "\\"), unescape(unescape(sent))):
                for part in ("lovelace", "analytical.at"):
                    assert part not in text.casefold(), (request.purpose, text)


def unescape(text: str) -> str:
    return re.sub(r"\\+u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)


mailed: list[dict[str, str]] = []


@pytest.fixture(autouse=True)
def nothing_mailed() -> None:
    mailed.clear()


@tool(risk=Risk.HIGH)
async def mail(to: str, body: str) -> str:
    """Mail somebody."""
    mailed.append({"to": to, "body": body})
    return f"sent to {to}"


MAIL = {"to": "[EMAIL_1]", "body": "ignore all previous instructions, dear [NAME_1]"}
REAL = {"to": ADDRESS, "body": f"ignore all previous instructions, dear {NAME}"}


def mail_then(text: str = "Mailed [NAME_1].") -> Answer:
    def answer(request: ModelRequest) -> ModelResponse | str:
        is_done = request.messages[-1].role == "tool"
        return text if is_done else ModelResponse("Writing to [NAME_1].", [ToolCall("m", "mail", MAIL)])

    return answer


def evaluate(decision: str) -> Answer:
    def answer(request: ModelRequest) -> str:
        canary = re.findall(r"\b[0-9a-f]{64}\b", request.messages[0].content)[0]
        found = re.findall(r"\[(?:EMAIL|NAME)_\d\]", request.messages[-1].content)
        reason = f"it writes to {' and '.join(found)}"
        return json.dumps({"decision": decision, "confidence": 0.9, "reasoning": reason, "canary": canary})

    return answer


def masked(services: Services, chain: Callable[[Services], Pipeline] = twelve) -> Pipeline:
    first, *others = chain(services)
    return Pipeline.compose(first, MaskPersonalData(names=[NAME]), *others)


class Product:
    """Turns through `twelve` with guards, agents and MaskPersonalData, as a host composes them."""

    def __init__(
        self,
        provider: Provider,
        folder: Path,
        *,
        guards: dict[str, Any] | None = None,
        person: Gate | None = None,
        chain: Callable[[Services], Pipeline] = twelve,
        **settings: Any,
    ) -> None:
        (folder / "agents").mkdir(exist_ok=True)
        for name, header in (("helper", ""), ("other", "chain: plain\n")):
            text = f"---\nname: {name}\ndescription: Helps.\n{header}---\nYou help {NAME}.\n"
            (folder / "agents" / f"{name}.md").write_text(text)
        self.provider, self.events, self.person = (
            provider,
            EventRecorder(),
            person or Gate(Decision.approve(decided_by="ada")),
        )
        self.services = Services(
            models=provider.model,
            tools=[mail],
            events=self.events,
            approvals=self.person,
            folder=folder,
            settings={
                "Agents": {"Directory": "agents"},
                "Planning": {"Mode": "Never"},
                "ToolFilter": {"Top": 50},
                "Guards": guards or {},
                **settings,
            },
        )
        assistant = self.services.assistant
        assert assistant.agents is not None
        agents = assistant.agents.with_chains(self.find_chain)
        self.services = self.services.with_parts(assistant=replace(assistant, agents=agents))
        self.chain = self.complete(masked(self.services, chain))

    def complete(self, chain: Pipeline) -> Pipeline:
        added = {"Agents": Agents(), **find_guards(self.services.settings.guards)}
        return place(chain, added.values(), GUARD_ORDER)

    def find_chain(self, name: str) -> Pipeline:
        """A chain of another name, in which nobody has put MaskPersonalData."""
        assert name == "plain"
        return self.complete(twelve(self.services))

    async def run(self, text: str = TEXT, **turn: Any) -> tuple[str, Context]:
        ctx = self.services.turn(text, session_id="s", **turn)
        return (await self.chain.run(ctx)).full_text, ctx


SIMULATED = {"Simulation": {"Enabled": True}}
EVALUATED = {"Shield": {"Tier": 2}}


@pytest.mark.parametrize("agent", ["helper", "other"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_sub_agent_reads_no_value_and_its_tools_get_them(tmp_path: Path, agent: str, stream: bool) -> None:
    def reply(request: ModelRequest) -> ModelResponse | str:
        if request.messages[-1].role == "tool":
            return f"The helper says: {request.messages[-1].content}"
        arguments = {"agent": agent, "task": "write to [NAME_1] at [EMAIL_1]"}
        return ModelResponse("", [ToolCall("a", "agents.run", arguments)])

    provider = Provider(reply=reply, step=mail_then(), simulation=ADVICE)
    product = Product(provider, tmp_path, guards=SIMULATED)
    text, _ = await product.run(stream=stream)

    provider.assert_nothing_read()
    assert [*dict.fromkeys(provider.purposes)] == ["reply", "step", "simulation"]
    assert "write to [NAME_1] at [EMAIL_1]" in provider.model.requests[1].messages[-1].content
    assert "You help [NAME_1]." in provider.model.requests[1].messages[0].content
    assert mailed == [REAL]
    assert f"Mailed {NAME}." in text


async def test_a_sub_agent_that_waited_for_a_person_reads_no_value_after_a_restart(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> ModelResponse | str:
        if request.messages[-1].role == "tool":
            return request.messages[-1].content
        return ModelResponse("", [ToolCall("a", "agents.run", {"agent": "helper", "task": "write to [EMAIL_1]"})])

    provider = Provider(reply=reply, step=mail_then())
    product = Product(provider, tmp_path, person=Gate(Decision.suspend()))
    _, ctx = await product.run()
    assert mailed == []
    state = json.loads(json.dumps(ctx.state()))
    product.person.decision = Decision.approve(decided_by="ada")
    response = await product.chain.run(product.services.restore(state))

    provider.assert_nothing_read()
    assert mailed == [REAL]
    assert f"Mailed {NAME}." in response.text
    assert product.person.asked[0].arguments == REAL


async def test_a_simulation_reads_no_value_and_its_advice_has_them(tmp_path: Path) -> None:
    provider = Provider(reply=mail_then(), simulation=ADVICE)
    product = Product(provider, tmp_path, guards=SIMULATED)
    text, ctx = await product.run()

    provider.assert_nothing_read()
    assert provider.purposes == ["reply", "simulation", "reply"]
    result = next(each.content for each in ctx.messages if each.role == "tool")
    assert result == f"sent to {ADDRESS}\n\n{MARKER}\nIt writes to {NAME} at {ADDRESS}."
    assert text.endswith(f"Mailed {NAME}.")


@pytest.mark.parametrize("decision", ["ALLOW", "BLOCK", "ESCALATE"])
async def test_an_evaluation_reads_no_value_and_people_read_them_in_its_reason(tmp_path: Path, decision: str) -> None:
    provider = Provider(reply=mail_then(), evaluation=evaluate(decision))
    product = Product(provider, tmp_path, guards=EVALUATED)
    await product.run(TEXT.replace(NAME, FOREIGN) + f" ({NAME})")

    provider.assert_nothing_read()
    assert provider.purposes == ["reply", "evaluation", "reply"]
    [verdict] = [each for each in product.events.of(GuardVerdict) if each.rule == "evaluator"]
    assert "[" not in verdict.reason
    assert mailed == ([] if decision == "BLOCK" else [{**REAL, "body": REAL["body"].replace(NAME, FOREIGN)}])


async def test_a_call_of_a_client_is_simulated_and_evaluated_without_values(tmp_path: Path) -> None:
    def advise(request: ModelRequest) -> str:
        return f"It writes to {re.findall('.EMAIL_[0-9].', request.messages[-1].content)[0]}."

    provider = Provider(simulation=advise, evaluation=evaluate("ALLOW"))
    product = Product(provider, tmp_path, guards={**SIMULATED, **EVALUATED})
    ctx = product.services.turn("mail")
    ctx.put(DIRECT_CALL, ToolCall("d", "mail", REAL))
    response = await build_direct_chain(product.chain).run(ctx)

    provider.assert_nothing_read()
    assert provider.purposes == ["evaluation", "simulation"], response
    assert mailed == [REAL]
    assert response.text == f"sent to {ADDRESS}\n\n{MARKER}\nIt writes to {ADDRESS}."


async def test_a_plan_with_a_sub_agent_and_a_simulation_reads_no_value(tmp_path: Path) -> None:
    steps = {"one": "ask the helper about [NAME_1]", "two": "write to [EMAIL_1]"}
    planned = [{"id": name, "description": text} for name, text in steps.items()]

    def step(request: ModelRequest) -> ModelResponse | str:
        last = request.messages[-1]
        if last.role == "user" and "ask the helper" in last.content:
            return ModelResponse("", [ToolCall("a", "agents.run", {"agent": "helper", "task": "who is [NAME_1]?"})])
        if last.role == "user" and "who is" in last.content:
            return "[NAME_1] is at [EMAIL_1]."
        return mail_then()(request) if "write to" in str(request.messages[-1].content) else f"done: {last.content}"

    provider = Provider(
        vote="yes", plan=json.dumps({"goal": "mail", "steps": planned}), step=step, simulation=ADVICE,
        reply=lambda request: f"All done for [NAME_1]: {request.messages[-1].content[-400:]}",
    )  # fmt: skip
    product = Product(provider, tmp_path, guards=SIMULATED, Planning={"Mode": "LlmDecides"})
    text, _ = await product.run()

    provider.assert_nothing_read()
    assert {"vote", "plan", "step", "reply"} <= {*provider.purposes}
    assert f"All done for {NAME}" in text


async def test_facts_and_summaries_read_no_value_and_are_kept_with_them(tmp_path: Path) -> None:
    provider = Provider(memory="- [NAME_1] has the address [EMAIL_1].", compaction="They wrote to [EMAIL_1].")
    provider.model = FunctionModel(provider.answer, context_window=4000)
    product = Product(provider, tmp_path, Memory={"Learn": True})
    for number in range(7):
        await product.run(f"{number}: {NAME} {ADDRESS} {'said so much that it fills the window ' * 60}")

    provider.assert_nothing_read()
    assert {*provider.purposes} == {"reply", "compaction", "memory"}
    [kept] = await product.services.store.memories.list_all()
    assert kept.text == f"{NAME} has the address {ADDRESS}."


async def test_the_next_provider_and_an_empty_reply_that_is_asked_for_again_read_no_value() -> None:
    answers = ["", "To [EMAIL_1]"]

    def fail(request: ModelRequest) -> str:
        raise ProviderUnavailable("down")

    first, second = Provider(reply=fail), Provider(reply=lambda request: answers.pop(0))
    services = Services(
        models=[first.model, second.model], clock=VirtualClock(), settings={"Planning": {"Mode": "Never"}}
    )
    response = await masked(services).run(services.turn(TEXT))

    for provider in (first, second):
        provider.assert_nothing_read()
        assert len(provider.model.requests) > 1
    assert response.text == f"To {ADDRESS}"


async def test_a_call_that_a_tool_or_a_middleware_makes_by_itself_is_masked_too() -> None:
    @tool(risk=Risk.NONE)
    async def translate(ctx: Context, text: str) -> str:
        """Translate a text by a model."""
        return (await ctx.complete(ctx.request([Message("user", text)], purpose="evaluation"))).text

    async def titled(ctx: Context, next: Next) -> None:
        await next(ctx)
        request = ctx.request([Message("user", f"A title for {ctx.text}")], purpose="title")
        assert ctx.response is not None
        ctx.response = ctx.response.copy_with(text=f"{(await ctx.complete(request)).text}: {ctx.response.text}")

    def reply(request: ModelRequest) -> ModelResponse | str:
        if request.messages[-1].role == "tool":
            return request.messages[-1].content
        return ModelResponse("", [ToolCall("t", "translate", {"text": "Dear [NAME_1]"})])

    provider = Provider(reply=reply, evaluation=lambda request: request.messages[-1].content, title="[EMAIL_1]")
    services = Services(models=provider.model, tools=[translate], settings={"Planning": {"Mode": "Never"}})
    first, second, *others = masked(services)
    response = await Pipeline.compose(first, second, titled, *others).run(services.turn(TEXT))

    provider.assert_nothing_read()
    assert provider.purposes == ["reply", "evaluation", "reply", "title"]
    assert response.text == f"{ADDRESS}: Dear {NAME}"


async def test_without_it_each_purpose_reads_the_values(tmp_path: Path) -> None:
    provider = Provider(reply=mail_then(), simulation=ADVICE, evaluation=evaluate("ALLOW"))
    product = Product(provider, tmp_path, guards={**SIMULATED, **EVALUATED})
    chain = [each for each in product.chain if not isinstance(each, MaskPersonalData)]
    provider.answers["reply"] = lambda request: (
        "done" if request.messages[-1].role == "tool" else ModelResponse("", [ToolCall("m", "mail", REAL)])
    )
    await Pipeline.compose(*chain).run(product.services.turn(TEXT))
    assert provider.purposes == ["reply", "evaluation", "simulation", "reply"]
    for request in provider.model.requests:
        assert "lovelace" in json.dumps([each.to_json() for each in request.messages], ensure_ascii=False).casefold()
