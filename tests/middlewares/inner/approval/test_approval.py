"""The gate: who is asked about what, and that the answer is bound to exactly that call."""

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from sophon import Context, Decision, Next, Pipeline, Risk, Services, ToolCall, tool
from sophon.approvals import ApprovalRequest, Grant, RejectingGate, compute_call_digest
from sophon.errors import ChainError, CompositionError, InputError
from sophon.events import AgentStatus, ApprovalRequested, ApprovalResolved, Event, ToolCallCompleted, ToolCallStarted
from sophon.operator_policy import OperatorPolicy
from sophon.settings import ApprovalSettings
from sophon.testing import EventRecorder, ScriptedModel, VirtualClock
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ToolExecution
from sophon_middlewares.inner.approval.approval import requires_approval
from tests.gate import Gate
from tests.tables import table

ran: list[object] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@tool(risk=Risk.HIGH, approval_note="mails cannot be called back")
async def send(to: str, copies: int = 1) -> str:
    """Send something."""
    ran.append((to, copies))
    return f"sent to {to}"


@tool(risk=Risk.HIGH, editable=False)
async def fixed(to: str) -> str:
    """Send something that nobody may change."""
    ran.append(to)
    return "sent"


@tool
async def look() -> str:
    """Look."""
    ran.append("look")
    return "seen"


SEND = ToolCall("c1", "send", {"to": "Ada"})

ASKS = [
    # risk, ask from, auto-approve up to, approved with the plan, asks
    (Risk.NONE, "High", None, None, False),
    (Risk.MEDIUM, "High", None, None, False),
    (Risk.HIGH, "High", None, None, True),
    (Risk.CRITICAL, "High", None, None, True),
    (Risk.HIGH, "Critical", None, None, False),
    (Risk.LOW, "Low", None, None, True),
    (Risk.HIGH, "High", "High", None, False),
    (Risk.CRITICAL, "High", "High", None, True),
    (Risk.HIGH, "High", None, Risk.HIGH, False),
    (Risk.CRITICAL, "High", None, Risk.HIGH, True),
    (Risk.HIGH, "High", None, Risk.MEDIUM, True),
    (Risk.MEDIUM, "High", None, Risk.LOW, True),
    (Risk.MEDIUM, "High", "Medium", Risk.LOW, False),
    (Risk.MEDIUM, "High", None, Risk.MEDIUM, False),
    (Risk.LOW, "High", None, Risk.NONE, False),
    (Risk.LOW, "Low", None, Risk.NONE, True),
    (Risk.CRITICAL, "High", None, Risk.CRITICAL, True),
    (Risk.CRITICAL, "High", "Critical", Risk.CRITICAL, False),
]


@table(("risk", "ask_from", "auto", "approved", "asks"), ASKS)
def test_who_is_asked(risk: Risk, ask_from: str, auto: str | None, approved: Risk | None, asks: bool) -> None:
    settings = ApprovalSettings.model_validate({"AskFrom": ask_from, "AutoApproveUpTo": auto})

    assert requires_approval(risk, settings, approved) is asks


async def test_an_approved_call_runs_once(inner: Pipeline, events: EventRecorder) -> None:
    gate = Gate(Decision.approve(decided_by="owner"))
    with ScriptedModel([[SEND], "done"]) as model:
        await inner.run(Services(models=model, tools=[send], approvals=gate, events=events).turn("hi"))

    assert ran == [("Ada", 1)]
    assert [r.decision for r in events.of(ApprovalResolved)] == ["approve"]
    assert events.of(ApprovalResolved)[0].approval_id == events.of(ApprovalRequested)[0].approval_id


async def test_the_question_holds_the_real_arguments_and_the_hosts_own_words(inner: Pipeline) -> None:
    gate = Gate(Decision.approve())
    with ScriptedModel([[SEND], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=gate, clock=VirtualClock()).turn("hi")
        await inner.run(ctx)

    asked = gate.asked[0]
    assert (asked.kind, asked.tool, asked.arguments, asked.risk) == ("tool", "send", {"to": "Ada"}, Risk.HIGH)
    assert (asked.run_id, asked.call_id, asked.editable) == (ctx.run_id, "c1", True)
    assert "send" in asked.preview
    assert "Ada" in asked.preview
    assert asked.preview.endswith("\nNote: mails cannot be called back")
    assert asked.expires_at is not None
    assert (asked.expires_at - ctx.services.clock.now()).total_seconds() == 300


async def test_a_rejected_call_is_told_to_the_model_with_the_reason(inner: Pipeline, events: EventRecorder) -> None:
    gate = Gate(Decision.reject("not today"))
    with ScriptedModel([[SEND], "as you wish"]) as model:
        ctx = Services(models=model, tools=[send], approvals=gate, events=events).turn("hi")
        response = await inner.run(ctx)

    assert (ran, response.text) == ([], "as you wish")
    assert [m.content for m in ctx.messages if m.role == "tool"] == ["denied: not today"]
    assert [c.outcome for c in events.of(ToolCallCompleted)] == ["denied"]


async def test_an_edited_call_runs_as_edited_and_the_result_says_so(inner: Pipeline) -> None:
    gate = Gate(Decision.edit({"to": "Bob", "copies": 2}))
    with ScriptedModel([[SEND], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=gate).turn("hi")
        await inner.run(ctx)

    assert ran == [("Bob", 2)]
    assert ctx.messages[1].tool_calls == [SEND]
    assert '"to":"Bob"' in ctx.messages[2].content
    assert "sent to Bob" in ctx.messages[2].content


async def test_an_edit_that_does_not_fit_the_schema_runs_nothing(inner: Pipeline) -> None:
    gate = Gate(Decision.edit({"copies": "many"}))
    with ScriptedModel([[SEND], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=gate).turn("hi")
        await inner.run(ctx)

    assert ran == []
    assert "edited arguments do not fit" in ctx.messages[2].content


async def test_a_tool_that_is_not_editable_is_not_edited(inner: Pipeline) -> None:
    gate = Gate(Decision.edit({"to": "Bob"}))
    with ScriptedModel([[ToolCall("c1", "fixed", {"to": "Ada"})], "done"]) as model:
        ctx = Services(models=model, tools=[fixed], approvals=gate).turn("hi")
        await inner.run(ctx)

    assert ran == []
    assert not gate.asked[0].editable


async def test_nobody_is_asked_about_a_call_that_cannot_run(inner: Pipeline) -> None:
    gate = Gate(Decision.approve())
    wrong = [ToolCall("c1", "send", {"whom": "Ada"}), ToolCall("c2", "sned", {}), ToolCall("c3", "send", {}, "broken")]
    with ScriptedModel([wrong, "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=gate).turn("hi")
        await inner.run(ctx)

    assert (gate.asked, ran) == ([], [])
    texts = [m.content for m in ctx.messages if m.role == "tool"]
    assert "to: field required" in texts[0]
    assert "near names: send" in texts[1]
    assert "broken" in texts[2]


async def test_the_embedded_default_rejects_because_nobody_can_be_asked(inner: Pipeline) -> None:
    with ScriptedModel([[SEND], "done"]) as model:
        services = Services(models=model, tools=[send])
        ctx = services.turn("hi")
        await inner.run(ctx)

    assert isinstance(services.approvals, RejectingGate)
    assert "nobody can be asked" in ctx.messages[2].content


async def test_a_chain_without_the_gate_runs_no_tool_of_high_risk() -> None:
    with ScriptedModel([[SEND], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=Gate(Decision.approve())).turn("hi")
        await Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)

    assert ran == []
    assert "nobody has approved this call" in ctx.messages[2].content


async def test_a_call_that_changes_after_its_approval_is_refused(events: EventRecorder) -> None:
    async def tamper(ctx: Context, next: Next) -> None:
        ctx.pending = [ToolCall(call.id, call.name, {"to": "Mallory"}) for call in ctx.pending]
        await next(ctx)

    gate = Gate(Decision.approve())
    chain = Pipeline.compose(AgenticLoop(), Approval(), tamper, ToolExecution(), LlmInvoker())
    with ScriptedModel([[SEND], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=gate, events=events).turn("hi")
        await chain.run(ctx)

    assert ran == []
    assert "not the one that was approved" in ctx.messages[2].content


SILENCE = [
    ("Deny", "stop", "denied: nobody decided within 5 minutes"),
    ("Halt", "rejected", None),
    ("Park", "suspended", None),
]


@pytest.mark.parametrize(("policy", "reason", "text"), SILENCE)
async def test_silence_runs_nothing(inner: Pipeline, policy: str, reason: str, text: str | None) -> None:
    class Silent:
        async def request(self, request: ApprovalRequest) -> Decision:
            await clock.sleep(24 * 3600)
            return Decision.approve()

    clock = VirtualClock()
    script = [[SEND], "done"] if policy == "Deny" else [[SEND]]
    with ScriptedModel(script) as model:
        settings = {"Approval": {"OnTimeout": policy}}
        ctx = Services(models=model, tools=[send], approvals=Silent(), clock=clock, settings=settings).turn("hi")
        response = await inner.run(ctx)

    assert (ran, response.finish_reason, clock.monotonic()) == ([], reason, 300)
    assert text is None or ctx.messages[2].content == text


async def test_a_suspended_turn_goes_through_json_and_runs_each_tool_once(inner: Pipeline) -> None:
    gate = Gate.suspending()
    with ScriptedModel([[ToolCall("c0", "look"), SEND], "done"]) as model:
        services = Services(models=model, tools=[send, look], approvals=gate)
        ctx = services.turn("hi")
        waiting = await inner.run(ctx)
        state = json.loads(json.dumps(ctx.state()))
        resumed = services.restore(state)
        response = await inner.run(resumed)

    assert (waiting.finish_reason, [c.name for c in waiting.tool_calls]) == ("suspended", ["send"])
    assert (response.finish_reason, ran) == ("stop", ["look", ("Ada", 1)])
    assert gate.asked[0].id == gate.asked[1].id
    assert [m.tool_call_id for m in resumed.messages if m.role == "tool"] == ["c0", "c1"]


async def test_waiting_for_a_person_does_not_count_as_time_at_work(inner: Pipeline) -> None:
    class Slow:
        async def request(self, request: ApprovalRequest) -> Decision:
            await clock.sleep(200)
            return Decision.approve()

    clock = VirtualClock()
    with ScriptedModel([[SEND], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=Slow(), clock=clock).turn("hi")
        await inner.run(ctx)

    assert (clock.monotonic(), ctx.stopwatch.seconds) == (200, 0)


async def test_a_turn_says_that_it_waits_as_often_as_it_does_and_asks_once(
    inner: Pipeline, events: EventRecorder
) -> None:
    gate = Gate(Decision.suspend(), Decision.suspend(), Decision.approve())
    with ScriptedModel([[SEND], "done"]) as model:
        services = Services(models=model, tools=[send], approvals=gate, events=events)
        ctx = services.turn("hi")
        while (await inner.run(ctx)).finish_reason == "suspended":
            ctx = services.restore(json.loads(json.dumps(ctx.state())))

    said = [type(each) for each in events.events if is_waiting(each) or isinstance(each, ApprovalResolved)]
    assert said == [AgentStatus, AgentStatus, ApprovalResolved]
    assert (len(gate.asked), len(events.of(ApprovalRequested)), ran) == (3, 1, [("Ada", 1)])


def is_waiting(event: Event) -> bool:
    return isinstance(event, AgentStatus) and event.status == "waiting_approval"


def test_a_request_of_other_arguments_is_another_request() -> None:
    one = ApprovalRequest.from_call(SEND, "run", Risk.HIGH)
    other = ApprovalRequest.from_call(ToolCall("c1", "send", {"to": "Bob"}), "run", Risk.HIGH)

    assert one.id == ApprovalRequest.from_call(SEND, "run", Risk.HIGH).id
    assert len({one.id, other.id, ApprovalRequest.from_call(SEND, "run2", Risk.HIGH).id}) == 3


@table(
    ("risk", "ask_from", "asks"),
    [
        (Risk.HIGH, "High", True),
        (Risk.MEDIUM, "High", False),
        (Risk.MEDIUM, "Medium", True),
        (Risk.HIGH, "Critical", False),
    ],
)
def test_a_plan_step_covers_no_tool_that_it_does_not_name(risk: Risk, ask_from: str, asks: bool) -> None:
    settings = ApprovalSettings.model_validate({"AskFrom": ask_from})

    assert requires_approval(risk, settings, Risk.CRITICAL, named=False) is asks


async def _approve_and_change(ctx: Context, next: Next) -> None:
    for call in ctx.pending:
        call.arguments["to"] = "Mallory"  # type: ignore[index]
    await next(ctx)


async def test_arguments_that_change_in_place_after_the_approval_are_refused() -> None:
    gate = Gate(Decision.approve())
    chain = Pipeline.compose(AgenticLoop(), Approval(), _approve_and_change, ToolExecution(), LlmInvoker())
    with ScriptedModel([[ToolCall("c1", "send", {"to": "Ada"})], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=gate).turn("hi")
        await chain.run(ctx)

    assert ran == []
    assert "not the one that was approved" in ctx.messages[2].content


async def test_a_gate_cannot_change_the_call_that_it_was_asked_about(inner: Pipeline) -> None:
    class Meddler:
        async def request(self, request: ApprovalRequest) -> Decision:
            request.arguments["to"] = "Mallory"  # type: ignore[index]
            return Decision.approve()

    with ScriptedModel([[ToolCall("c1", "send", {"to": "Ada"})], "done"]) as model:
        await inner.run(Services(models=model, tools=[send], approvals=Meddler()).turn("hi"))

    assert ran == [("Ada", 1)]


async def test_a_change_while_the_approved_call_starts_does_not_reach_the_tool(inner: Pipeline) -> None:
    arguments = {"to": "Ada"}

    class Changer:
        def emit(self, event: object) -> None:
            if isinstance(event, ToolCallStarted):
                arguments["to"] = "Mallory"
                event.arguments["to"] = "Mallory"  # type: ignore[index]

    with ScriptedModel([[ToolCall("c1", "send", arguments)], "done"]) as model:
        services = Services(models=model, tools=[send], approvals=Gate(Decision.approve()), events=Changer())
        await inner.run(services.turn("hi"))

    assert ran == [("Ada", 1)]


async def test_edited_arguments_are_those_of_the_moment_of_the_decision(inner: Pipeline) -> None:
    deep: dict[str, object] = {"to": "Bob", "copies": 2}
    decision = Decision("edit", arguments=deep)

    async def change(ctx: Context, next: Next) -> None:
        if ctx.settling:
            deep["to"] = "Mallory"
        await next(ctx)

    chain = Pipeline.compose(AgenticLoop(), Approval(), change, ToolExecution(), LlmInvoker())
    with ScriptedModel([[SEND], "done"]) as model:
        await chain.run(Services(models=model, tools=[send], approvals=Gate(decision)).turn("hi"))

    assert ran == [("Bob", 2)]


GRANTS = [
    # risk of the tool, who approved, operators, several users, kept
    (Risk.CRITICAL, "ada", {"boss"}, True, False),
    (Risk.CRITICAL, "boss", {"boss"}, True, True),
    (Risk.CRITICAL, "", {"boss"}, True, False),
    (Risk.CRITICAL, "", set(), False, False),
    (Risk.CRITICAL, "anybody", set(), False, True),
    (Risk.HIGH, "", {"boss"}, True, True),
    (Risk.HIGH, "ada", {"boss"}, True, True),
    (Risk.HIGH, "was-boss", {"boss"}, True, False),
]


@table(("risk", "by", "operators", "several", "kept"), GRANTS)
def test_an_approval_in_a_checkpoint_counts_only_if_its_author_may_give_it_now(
    risk: Risk, by: str, operators: set[str], several: bool, kept: bool
) -> None:
    ran.clear()
    risky = tool(name="risky", description="x", risk=risk)(lambda: "ok")
    services = Services(tools=[risky])
    ctx = services.turn("hi", principal="ada")
    ctx.pending = [ToolCall("c1", "risky", {})]
    ctx.grants["c1"] = Grant(compute_call_digest(ctx.run_id, ctx.pending[0]), decided_by=by)
    state = json.loads(json.dumps(ctx.state()))
    services.security = replace(services.security, operator_policy=OperatorPolicy(frozenset(operators), several))

    assert ("c1" in services.restore(state).grants) is kept


async def test_silence_ends_in_time_although_the_clock_jumps(inner: Pipeline) -> None:
    class Hanging:
        async def request(self, request: ApprovalRequest) -> Decision:
            await anyio.sleep_forever()
            raise AssertionError

    clock = VirtualClock(auto=False)
    with ScriptedModel([[SEND], "done"]) as model:
        ctx = Services(models=model, tools=[send], approvals=Hanging(), clock=clock).turn("hi")
        async with anyio.create_task_group() as group:
            group.start_soon(inner.run, ctx)
            await clock.advance(1)
            clock.jump(24 * 3600)
            await clock.advance(30)

    assert (ran, ctx.response and ctx.response.text) == ([], "done")


@table(("url", "is_named"), [("https://api.example.com/x", True), ("https://sophon.dev/x", False), ("", False)])
async def test_the_question_names_the_credential_that_the_host_would_add_and_never_its_value(
    url: str, is_named: bool
) -> None:
    gate = Gate(Decision.reject("no"))
    call = ToolCall("c", "http.send", {"method": "POST", "url": url, "body": "x"})
    credential = {"Secret": "sesame-open-1234", "Hosts": ["api.example.com"]}
    services = Services(
        models=ScriptedModel([[call], "done"]), approvals=gate, settings={"Vault": {"github": credential}}
    )
    await Pipeline.compose(AgenticLoop(), Approval(), ToolExecution(), LlmInvoker()).run(services.turn("hi"))

    [request] = gate.asked
    assert ("adds the credential 'github' of its vault" in request.preview) is is_named
    assert "sesame" not in repr(request)


@table("path", ["/etc/passwd", "~/x", "../x", "a\\b", "x\0y"])
async def test_a_path_that_no_files_folder_has_is_refused_before_anybody_is_asked(path: str) -> None:
    call = ToolCall("c", "files.write", {"path": path, "content": "x"})
    recorder = EventRecorder()
    ctx = Services(models=ScriptedModel([[call], "done"]), events=recorder).turn("hi")
    await Pipeline.compose(AgenticLoop(), Approval(), ToolExecution(), LlmInvoker()).run(ctx)

    [result] = [each.content for each in ctx.messages if each.role == "tool"]
    assert result.startswith("error: invalid arguments for files.write: path: ")
    assert recorder.of(ApprovalRequested) == []


@table("answer", [True, None, "approve", Decision])
async def test_what_a_gate_returns_must_be_a_decision(answer: object) -> None:
    ran.clear()

    class Careless:
        async def request(self, request: ApprovalRequest) -> object:
            return answer

    services = Services(
        models=ScriptedModel([[ToolCall("c", "send", {"to": "a"})]]),
        tools=[send],
        approvals=Careless(),  # type: ignore[arg-type] - the mistake
    )
    chain = Pipeline.compose(AgenticLoop(), Approval(), ToolExecution(), LlmInvoker())
    with pytest.raises(ChainError, match=r"the approval gate Careless returned .* not a Decision"):
        await chain.run(services.turn("hi"))
    assert ran == []


def test_a_verdict_that_there_is_not_and_arguments_that_are_no_dict_are_refused() -> None:
    with pytest.raises(InputError, match="'approved' is no verdict"):
        Decision("approved")  # type: ignore[arg-type] - the mistake
    with pytest.raises(InputError, match="the arguments of a call are a dict"):
        Decision.edit("x")  # type: ignore[arg-type] - the mistake


async def test_a_note_that_is_no_text_names_the_tool(inner: Pipeline) -> None:
    def note(ctx: Context, arguments: Any) -> Any:
        return 5

    @tool(risk=Risk.HIGH, approval_note=note)
    async def pay(amount: str) -> str:
        """Pay."""
        return amount

    model = ScriptedModel([[ToolCall("1", "pay", {"amount": "1"})]])
    services = Services(models=model, tools=[pay], approvals=Gate())
    with pytest.raises(CompositionError, match="tool 'pay': approval_note returned 5; it must return a text"):
        await inner.run(services.turn("pay"))


async def test_a_question_that_was_put_counts_once_however_often_the_turn_is_resumed() -> None:
    suspend, approve = Decision.suspend(), Decision.approve()
    gate = Gate(suspend, suspend, approve)
    services = Services(
        models=ScriptedModel([[SEND], "sent", [SEND]]),
        tools=[send],
        approvals=gate,
        clock=VirtualClock(),
        settings={"Approval": {"QuestionsPerHour": 1}},
    )
    chain = Pipeline.compose(AgenticLoop(), Approval(), ToolExecution(), LlmInvoker())
    ctx = services.turn("send it", principal="ann")
    for _ in range(2):
        assert (await chain.run(ctx)).finish_reason == "suspended"
        ctx = services.restore(ctx.state())
    assert (await chain.run(ctx)).text == "sent"
    other = services.turn("send it again", principal="ann")
    with pytest.raises(AssertionError, match="a call more"):
        await chain.run(other)
    assert [each.content for each in other.messages if each.role == "tool"] == [
        "denied: a person was asked as often in the last hour as Approval.QuestionsPerHour (1) allows, and is asked no "
        "more until it is over"
    ]
    assert (len(gate.asked), ran) == (3, [("Ada", 1)])
