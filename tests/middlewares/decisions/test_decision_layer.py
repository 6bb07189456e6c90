"""Messages that rules answer, and those that they leave to a model."""

import pytest

from sophon import ModelRequest, Pipeline, Risk, Services, tool
from sophon.approvals import Decision
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import DecisionMade, StreamChunk, ToolCallCompleted
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares import DecisionLayer
from sophon_middlewares.chains import twelve
from sophon_middlewares.decisions.decision_layer import write_answer
from tests.gate import Gate
from tests.tables import table

ASKED: list[str] = []


async def answer(request: ModelRequest) -> str:
    ASKED.append(request.messages[-1].content)
    return "a model"


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    ASKED.clear()


@tool(name="web.search", risk=Risk.HIGH)
async def web_search(query: str) -> str:
    """Search."""
    return f"found {query}"


def chain(services: Services) -> Pipeline:
    parts = list(twelve(services))
    at = next(index for index, each in enumerate(parts) if type(each).__name__ == "Planning")
    return Pipeline.compose(*parts[:at], DecisionLayer(), *parts[at:])


def services(events: EventRecorder, **settings: object) -> Services:
    return Services(
        models=FunctionModel(answer), tools=[web_search], clock=VirtualClock(), events=events, settings=settings
    )


async def test_a_fast_path_answers_without_a_model() -> None:
    events = EventRecorder()
    found = services(events, Planning={"Mode": "Always"})
    ctx = found.turn("What time is it in Tokyo?", stream=True)
    response = await chain(found).run(ctx)
    assert ASKED == []
    assert response.text == "2026-01-01T09:00:00+09:00 (Thursday)"
    assert "".join(event.text for event in events.of(StreamChunk)) == response.text
    [made] = events.of(DecisionMade)
    assert (made.strategy, made.fast_path) == ("direct", "datetime.now")
    [completed] = events.of(ToolCallCompleted)
    assert completed.tool == "datetime.now"


@table(("decision", "text", "asked"), [("approve", "found cats", 0), ("reject", "a model", 1)])
async def test_a_fast_path_is_asked_about_like_any_call(decision: str, text: str, asked: int) -> None:
    ASKED.clear()
    person = Gate(Decision.approve() if decision == "approve" else Decision.reject("no"))
    found = Services(models=FunctionModel(answer), tools=[web_search], clock=VirtualClock(), approvals=person)
    response = await chain(found).run(found.turn("search for cats"))
    assert (response.text, len(person.asked), len(ASKED)) == (text, 1, asked)


@table(
    "settings",
    [
        {"Tools": {"Disabled": ["datetime.now"]}},
        {
            "Guards": {
                "Authorization": {
                    "Enabled": True,
                    "Rules": [
                        {"Principal": "ada", "Resource": "tool:datetime.now", "Action": "execute", "Effect": "deny"}
                    ],
                }
            }
        },
    ],
)
async def test_without_the_tool_a_model_answers(settings: dict[str, object]) -> None:
    events = EventRecorder()
    found = services(events, **settings)
    response = await chain(found).run(found.turn("What time is it?", principal="ada"))
    assert (response.text, events.of(DecisionMade)[0].fast_path) == ("a model", "")


@tool(tags=("mail_send",), risk=Risk.HIGH)
async def gmail(recipients: list[str], message: str) -> str:
    """Send a mail."""
    return f"sent {message!r} to {recipients}"


@tool(tags=("weather",))
async def weather_history(location: str, year: int) -> str:
    """Look into the past."""
    return "it rained"


@tool(tags=("weather",), external=True)
async def forecast(city: str, days: int = 1) -> str:
    """Look into the future."""
    return f"sun in {city}"


@table(
    ("text", "said"),
    [
        ("email bob@example.com that I am late", "sent 'I am late' to ['bob@example.com']"),
        ("what's the weather in Oslo?", "sun in Oslo"),
        ("what will the weather be like in Oslo tomorrow?", "a model"),
        ("check my inbox", "a model"),
    ],
)
async def test_a_tool_with_the_tag_of_a_family_answers_it_if_it_takes_its_arguments(text: str, said: str) -> None:
    found = Services(
        models=FunctionModel(answer),
        tools=[gmail, weather_history, forecast],
        clock=VirtualClock(),
        approvals=Gate(Decision.approve()),
    )
    assert (await chain(found).run(found.turn(text))).text == said


async def test_a_first_message_that_says_too_little_is_asked_about() -> None:
    events = EventRecorder()
    found = services(events)
    response = await chain(found).run(found.turn("👍", session_id="s"))
    assert (ASKED, events.of(DecisionMade)[0].low_intent, response.finish_reason) == ([], True, "stop")
    later = await chain(found).run(found.turn("👍", session_id="s"))
    assert later.text == "a model"


async def test_a_middleware_that_calls_next_again_gets_the_same_answer() -> None:
    async def twice(ctx: Context, next: Next) -> None:
        await next(ctx)
        await next(ctx)

    found = services(EventRecorder())
    parts = list(chain(found))
    response = await Pipeline.compose(parts[0], twice, *parts[1:]).run(found.turn("search for cats"))
    assert response.text in ("found cats", "a model")


async def keep(request: ModelRequest) -> str:
    ASKED.append("\n".join(message.content for message in request.messages if message.role == "system"))
    return "a model"


@tool(name="schedules.add", risk=Risk.MEDIUM)
async def schedules_add(text: str) -> str:
    """Add."""
    return f"added {text}"


@tool(name="goals.create", risk=Risk.HIGH)
async def goals_create(goal: str) -> str:
    """Create a goal."""
    return f"goal: {goal}"


def hinted(*tools: object, **settings: object) -> tuple[Services, EventRecorder]:
    events = EventRecorder()
    return Services(
        models=FunctionModel(keep), tools=tools, clock=VirtualClock(), events=events, settings=settings
    ), events


async def test_the_model_is_told_which_tools_suit_a_schedule() -> None:
    found, _ = hinted(schedules_add)
    ctx = found.turn("Every morning tell me the news", session_id="s")
    await chain(found).run(ctx)
    assert "interval: daily" in ASKED[0]
    assert "Tools for it: schedules.add." in ASKED[0]
    assert "schedules.list" not in ASKED[0], "a tool that does not exist is not named"
    assert "tell me the news" not in ASKED[0], "words of the message never become instructions"
    assert [each.role for each in await found.history("s")] == ["user", "assistant"], "a hint is not stored"


async def test_without_a_tool_the_model_is_told_that_there_is_none() -> None:
    found, _ = hinted()
    await chain(found).run(found.turn("Create an agent that monitors the bitcoin price"))
    assert "No tool for it is available" in ASKED[0]


@table(("approves", "text"), [(True, "goal: Research tea and write a report"), (False, "a model")])
async def test_a_goal_goes_to_its_tool_through_approval(approves: bool, text: str) -> None:
    person = Gate(Decision.approve() if approves else Decision.reject("no"))
    found = Services(models=FunctionModel(answer), tools=[goals_create], clock=VirtualClock(), approvals=person)
    response = await chain(found).run(found.turn("Research tea and write a report"))
    assert (response.text, [each.tool for each in person.asked]) == (text, ["goals.create"])


@table(("mode", "plans"), [("Auto", True), ("Never", False)])
async def test_without_that_tool_a_goal_is_planned(mode: str, plans: bool) -> None:
    purposes: list[str] = []

    async def note(request: ModelRequest) -> str:
        purposes.append(request.purpose)
        return "nothing"

    found = Services(models=FunctionModel(note), clock=VirtualClock(), settings={"Planning": {"Mode": mode}})
    await chain(found).run(found.turn("Research tea and write a report"))
    assert ("plan" in purposes) is plans


async def test_a_text_of_a_schedule_has_no_fast_path() -> None:
    for options in (
        {"text": "[SCHEDULED TASK: x] search for cats"},
        {"text": "search for cats", "channel": "schedule"},
    ):
        found = services(EventRecorder())
        assert (await chain(found).run(found.turn(**options))).text == "a model"


async def test_a_forwarded_text_has_no_fast_path() -> None:
    events = EventRecorder()
    found = services(events)
    ctx = found.turn("search for cats")
    ctx.tally.untrusted_sources.append("forwarded")
    assert (await chain(found).run(ctx)).text == "a model"
    assert [(each.strategy, each.fast_path) for each in events.of(DecisionMade)] == [("direct", "")]


async def test_a_failure_in_the_layer_leaves_the_message_to_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken rule")

    monkeypatch.setattr("sophon_middlewares.decisions.decision_layer.find_family", fail)
    found = services(EventRecorder())
    assert (await chain(found).run(found.turn("What time is it?"))).text == "a model"


async def test_families_of_the_settings_answer() -> None:
    lights = {"Name": "lights", "Tool": "web.search", "Patterns": ["turn (?P<state>on|off) the light"]}
    paths = {"Added": [{**lights, "Arguments": {"query": "light {state}"}}]}
    found = Services(
        models=FunctionModel(answer),
        tools=[web_search],
        clock=VirtualClock(),
        approvals=Gate(Decision.approve()),
        settings={"Decisions": {"FastPaths": paths}},
    )
    assert (await chain(found).run(found.turn("Turn ON the light!"))).text == "found light ON"


def test_the_result_of_a_goal_becomes_a_sentence_and_schedules_become_lines() -> None:
    made = write_answer("goals.create", '{"goal": "g1", "state": "planning", "title": "Tea"}')
    assert made == "This is a goal now: Tea (g1). I work on it in the background and report here."
    noted = write_answer("goals.create", '{"goal": "g1", "title": "Tea"}\n\nnote: 3 are left')
    assert noted == f"{made}\n\nnote: 3 are left"
    assert write_answer("goals.create", "[]") == "[]"
    rows = '[{"id": "s1", "text": "tea", "runs": "daily", "state": "paused"}]'
    assert write_answer("schedules.list", rows) == "- tea: daily, paused (s1)"
    assert write_answer("schedules.list", "There are no schedules.") == "There are no schedules."
    assert write_answer("web.search", '{"title": "Tea"}') == '{"title": "Tea"}'
