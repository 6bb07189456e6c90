"""Messages that rules answer, and those that they leave to a model."""

import pytest

from sophon import ModelRequest, Pipeline, Risk, Services, tool
from sophon.approvals import ApprovalRequest, Decision
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import DecisionMade, StreamChunk, ToolCallCompleted
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares import DecisionLayer
from sophon_middlewares.chains import twelve

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


class Person:
    def __init__(self, decision: Decision) -> None:
        self.decision, self.asked = decision, list[ApprovalRequest]()

    async def request(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request)
        return self.decision


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


@pytest.mark.parametrize(("decision", "text", "asked"), [("approve", "found cats", 0), ("reject", "a model", 1)])
async def test_a_fast_path_is_asked_about_like_any_call(decision: str, text: str, asked: int) -> None:
    person = Person(Decision.approve() if decision == "approve" else Decision.reject("no"))
    found = Services(models=FunctionModel(answer), tools=[web_search], clock=VirtualClock(), approvals=person)
    response = await chain(found).run(found.turn("search for cats"))
    assert (response.text, len(person.asked), len(ASKED)) == (text, 1, asked)


@pytest.mark.parametrize(
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
