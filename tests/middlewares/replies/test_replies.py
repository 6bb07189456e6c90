"""Stages of a reply: corrective round, announced actions, outcomes of addresses."""

from collections.abc import Sequence

from sophon import ModelRequest, Pipeline, Risk, Services, tool
from sophon.approvals import Decision
from sophon.errors import ToolError
from sophon.events import StageCompleted, StreamChunk, StreamReset
from sophon.messages import ToolCall
from sophon.models.model import ModelResponse
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_hosting.host_chain import build_configured_chain
from tests.gate import Gate
from tests.tables import table

ALL = {"Replies": {"Validator": {"Enabled": True}, "Announcer": {"Enabled": True}, "UrlOutcomes": True}}


@tool(name="mail.send", risk=Risk.HIGH)
async def mail_send(to: str, body: str) -> str:
    """Send a mail."""
    return "sent"


@tool(name="page.read", risk=Risk.NONE)
async def page_read(url: str) -> str:
    """Read a page."""
    if "b.example" in url:
        raise ToolError("404")
    return "text"


def host(
    model: object, *, events: EventRecorder | None = None, approve: bool = True, **settings: object
) -> tuple[Services, Pipeline]:
    services = Services(
        models=model,
        tools=[mail_send, page_read],
        clock=VirtualClock(),
        events=events,
        approvals=Gate(Decision.approve() if approve else Decision.reject("no")),
        settings={**ALL, **settings},
    )
    return services, build_configured_chain(services)


def calls(*found: tuple[str, dict[str, object]]) -> ModelResponse:
    return ModelResponse("", [ToolCall(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(found)])


def verdicts(events: EventRecorder, stage: str) -> Sequence[object]:
    return [each.data for each in events.of(StageCompleted) if each.stage == stage]


async def test_a_faulty_reply_is_corrected_once_and_only_the_second_is_kept() -> None:
    seen: list[ModelRequest] = []

    async def answer(request: ModelRequest) -> str:
        seen.append(request)
        return "I'll check that now." if len(seen) == 1 else "It is the Danube."

    events = EventRecorder()
    services, chain = host(FunctionModel(answer), events=events)
    ctx = services.turn("Which river?", session_id="s", stream=True)
    response = await chain.run(ctx)
    assert (response.text, len(seen)) == ("It is the Danube.", 2)
    assert [each.role for each in seen[1].messages][-2:] == ["assistant", "user"]
    assert "announces work instead of doing it" in seen[1].messages[-1].content
    assert [each.content for each in await services.history("s")] == ["Which river?", "It is the Danube."]
    assert len(events.of(StreamReset)) == 1
    assert "".join(e.text for e in events.of(StreamChunk) if e.epoch == 2) == response.text
    assert response.detail["validation"] == ["incomplete"]
    assert_valid_transcript(ctx.messages)


async def test_there_is_one_corrective_round_however_the_second_reply_is() -> None:
    asked: list[str] = []

    async def answer(request: ModelRequest) -> str:
        asked.append(request.messages[-1].content)
        return "I'll check that now."

    services, chain = host(FunctionModel(answer))
    response = await chain.run(services.turn("Which river?"))
    assert (len(asked), response.text) == (2, "I'll check that now.")
    assert response.detail["validation"] == ["incomplete", "incomplete"]


async def test_a_second_reply_that_is_empty_leaves_the_first() -> None:
    count = 0

    async def answer(request: ModelRequest) -> str:
        nonlocal count
        count += 1
        return "The river is the" if count == 1 else ""

    services, chain = host(FunctionModel(answer))
    ctx = services.turn("Which river?", session_id="s")
    response = await chain.run(ctx)
    assert (response.text, response.finish_reason) == ("The river is the", "stop")
    assert [each.content for each in await services.history("s")][1:] == ["The river is the"]


async def test_a_corrective_round_may_call_tools() -> None:
    model = ScriptedModel(
        ["I'll look it up now.", calls(("page.read", {"url": "https://a.example"})), "The page says: text."]
    )
    services, chain = host(model)
    ctx = services.turn("Read it")
    assert (await chain.run(ctx)).text == "The page says: text."
    assert_valid_transcript(ctx.messages)


async def test_a_claim_of_a_denied_action_is_replaced_by_what_happened() -> None:
    events = EventRecorder()
    send = {"to": "ada@example.org", "body": "See you tomorrow"}
    model = ScriptedModel([calls(("mail.send", send)), "Fine. I've sent the email."])
    services, chain = host(model, events=events, approve=False)
    response = await chain.run(services.turn("Send a mail to ada@example.org"))
    assert response.text == "Fine.\n\nActions:\n- mail.send: denied (denied: no)"
    assert verdicts(events, "announcer") == [{"removed": 1, "hidden": 1}]


async def test_an_action_that_ran_is_listed() -> None:
    model = ScriptedModel([calls(("mail.send", {"to": "a@b.c", "body": "x"})), "I've sent the email."])
    services, chain = host(model)
    response = await chain.run(services.turn("Send a mail to a@b.c", session_id="s"))
    assert response.text == "I've sent the email.\n\nActions:\n- mail.send: done"
    assert (await services.history("s"))[-1].content == response.text


async def test_of_several_addresses_those_that_failed_are_listed() -> None:
    pages = [("page.read", {"url": f"https://{name}.example"}) for name in "ab"]
    services, chain = host(ScriptedModel([calls(*pages), "One page could not be read."]))
    response = await chain.run(services.turn("Read both"))
    assert "- https://a.example: done\n- https://b.example: failed (error: " in response.text


async def test_the_stages_act_in_the_published_order() -> None:
    events = EventRecorder()
    services, chain = host(ScriptedModel(["Hello."]), events=events)
    await chain.run(services.turn("hello"))
    assert [each.stage for each in events.of(StageCompleted)] == ["url_outcomes", "validator", "announcer"]


async def test_without_the_settings_nothing_is_changed() -> None:
    off = {"Validator": {"Enabled": False}, "Announcer": {"Enabled": False}, "UrlOutcomes": False}
    services, chain = host(ScriptedModel(["I've sent the email, and"]), Replies=off)
    assert (await chain.run(services.turn("hello"))).text == "I've sent the email, and"
    assert not {type(each).__name__ for each in chain} & {"ResponseValidator", "ActionAnnouncer", "UrlOutcomes"}


async def test_a_refusal_stays_as_it_is() -> None:
    async def refuse(ctx: object, next: object) -> None:
        from sophon import Response

        ctx.response = Response("I've sent the email.", "budget_exceeded")

    services, chain = host(ScriptedModel([]))
    parts = list(chain)
    at = next(index for index, each in enumerate(parts) if type(each).__name__ == "Planning")
    response = await Pipeline.compose(*parts[:at], refuse, *parts[at:]).run(services.turn("hello"))
    assert response.text == "I've sent the email."


async def test_actions_of_plan_steps_are_those_of_the_turn() -> None:
    plan = (
        '{"goal": "g", "steps": [{"id": "a", "description": "send it", "tool_hints": ["mail.send"]}, '
        '{"id": "b", "description": "read it", "depends_on": ["a"]}]}'
    )

    async def answer(request: ModelRequest) -> ModelResponse:
        last = request.messages[-1]
        if request.purpose == "plan":
            return ModelResponse(plan)
        if request.purpose == "step" and last.role == "user" and "send it" in last.content:
            return calls(("mail.send", {"to": "a@b.c", "body": "x"}))
        return ModelResponse("I've sent the email.")

    services, chain = host(FunctionModel(answer), Planning={"Mode": "Always"})
    response = await chain.run(services.turn("Send a mail to a@b.c, then read the page"))
    assert response.text == "I've sent the email.\n\nActions:\n- mail.send: done"


async def test_a_state_that_an_earlier_turn_made_is_no_false_claim_and_new_work_is() -> None:
    script = [
        calls(("mail.send", {"to": "ada@tea.house", "body": "See you at noon"})),
        "Ich habe die Mail verschickt.",
        "Deine Mail ist verschickt.",
        "Ich habe die Mail eben verschickt.",
    ]
    settings = {"Replies": {"Announcer": {"Enabled": True}}}
    services, chain = host(ScriptedModel(script), **settings)
    texts = [
        (await chain.run(services.turn(text, session_id="s"))).text
        for text in ("schick Ada eine Mail", "ist sie raus?", "schick noch eine")
    ]
    assert texts == [
        f"{script[1]}\n\nActions:\n- mail.send: done",
        script[2],
        "Das habe ich nicht getan: keine solche Aktion ist gelaufen.",
    ]


@table(("sources", "stays"), [(["results of a goal's steps"], True), ([], False)])
async def test_the_report_of_a_goal_may_say_what_its_steps_did(sources: list[str], stays: bool) -> None:
    services, chain = host(ScriptedModel(["The sum is 42. I have sent the mail to Ada."]))
    ctx = services.turn("[AUTO-DETECTED: goal completed]\nAnswer the user's request from these results.")
    ctx.tally.untrusted_sources += sources
    response = await chain.run(ctx)
    assert ("I have sent the mail" in response.text) is stays
