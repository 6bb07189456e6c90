"""Tools that answer a message without a model: only where routing asks them, and only for those who may use them."""

from typing import Any

import pytest

from sophon import ModelRequest, Risk, Services, tool
from sophon.errors import CompositionError
from sophon.events import RouteChosen, StageCompleted
from sophon.learning import explain_route
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import clawft, twelve


def ping(text: str) -> str | None:
    if text == "break":
        raise RuntimeError("broken")
    return "pong" if text == "ping" else None


@tool(answer=ping, risk=Risk.NONE)
async def pinger(host: str) -> str:
    """Ping a host."""
    return f"{host} is there"


async def answer(request: ModelRequest) -> str:
    return "a model"


def build(events: EventRecorder | None = None, **settings: Any) -> Services:
    return Services(
        models=FunctionModel(answer),
        tools=[pinger],
        clock=VirtualClock(),
        events=events,
        settings={"Routing": {"Strategy": "Intelligent"}, **settings},
    )


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({}, "ping", "pong"),
        ({}, "hello", "a model"),
        ({"Routing": {"Strategy": "Tiered"}}, "ping", "a model"),
        ({"Tools": {"Disabled": ["pinger"]}}, "ping", "a model"),
        ({"Guards": {"Authorization": {"Enabled": True}}}, "ping", "pong"),
        (
            {
                "Guards": {
                    "Authorization": {
                        "Enabled": True,
                        "Rules": [
                            {"Principal": "ada", "Resource": "tool:pinger", "Action": "execute", "Effect": "deny"}
                        ],
                    }
                }
            },
            "ping",
            "a model",
        ),
    ],
)
@pytest.mark.parametrize("compose", [twelve, clawft])
async def test_a_tool_answers_where_it_may(settings: Any, text: str, expected: str, compose: Any) -> None:
    services = build(**settings)
    response = await compose(services).run(services.turn(text, principal="ada"))
    assert (response.text, response.finish_reason) == (expected, "stop")


async def test_no_model_is_asked_and_the_trace_says_so() -> None:
    events = EventRecorder()
    services = build(events)
    response = await clawft(services).run(services.turn("ping"))
    assert response.usage.total_tokens == 0
    assert [(each.model, each.tier) for each in events.of(RouteChosen)] == [("", "booster")]
    assert [each.stage for each in events.of(StageCompleted)] == ["classifier", "scorer", "learner"]
    assert "answer      pong" in await explain_route("ping", services)


async def test_a_tool_whose_answer_fails_is_left_out_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    services = build()
    for text in ("break", "ping"):
        assert (await twelve(services).run(services.turn(text))).text == "a model"
    assert [record.message.count("is not called again") for record in caplog.records] == [1]


@pytest.mark.parametrize("traits", [{"risk": Risk.HIGH, "answer": ping}, {"answer": "pong"}])
def test_a_tool_of_some_risk_must_not_answer_by_itself(traits: dict[str, Any]) -> None:
    with pytest.raises(CompositionError, match=r"answer (is .pong.; it )?must be a function"):

        @tool(**traits)
        async def wrong() -> str:
            """Do something."""
            return ""
