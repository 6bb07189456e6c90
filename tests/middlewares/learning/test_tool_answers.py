"""Tools that answer a message without a model: only where routing asks them, and only for those who may use them."""

from typing import Any

import pytest

from sophon import ModelRequest, Risk, Services, tool
from sophon.errors import CompositionError, InputError
from sophon.events import RouteChosen, StageCompleted
from sophon.learning import explain_route
from sophon.routing.message_tags import MESSAGE_TAGS
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import clawft, twelve
from tests.tables import table


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


@table(
    ("settings", "text", "expected"),
    [
        ({}, "ping", "pong"),
        ({}, "hello", "a model"),
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
@table("compose", [twelve, clawft])
async def test_a_tool_answers_where_it_may(settings: Any, text: str, expected: str, compose: Any) -> None:
    services = build(**settings)
    response = await compose(services).run(services.turn(text, principal="ada"))
    assert (response.text, response.finish_reason) == (expected, "stop")


@table(("compose", "expected"), [(twelve, "a model"), (clawft, "pong")])
async def test_with_other_strategies_it_answers_in_clawft_only(compose: Any, expected: str) -> None:
    services = build(Routing={"Strategy": "Tiered"})
    assert (await compose(services).run(services.turn("ping"))).text == expected


async def test_no_model_is_asked_and_the_trace_says_so() -> None:
    events = EventRecorder()
    services = build(events)
    response = await clawft(services).run(services.turn("ping"))
    assert response.usage.total_tokens == 0
    assert [(each.model, each.tier) for each in events.of(RouteChosen)] == [("", "booster")]
    assert [each.stage for each in events.of(StageCompleted)] == ["classifier", "scorer", "learner"]
    assert "answer      pong" in await explain_route("ping", services)


async def test_a_tool_whose_answer_fails_leaves_that_message_to_a_model(caplog: pytest.LogCaptureFixture) -> None:
    services = build()
    for text, answer in (("break", "a model"), ("ping", "pong"), ("break", "a model")):
        assert (await twelve(services).run(services.turn(text))).text == answer
    assert [record.message.count("the message goes to a model") for record in caplog.records] == [1]


@table("traits", [{"risk": Risk.HIGH, "answer": ping}, {"answer": "pong"}])
def test_a_tool_of_some_risk_must_not_answer_by_itself(traits: dict[str, Any]) -> None:
    with pytest.raises(CompositionError, match=r"answer (is .pong.; it )?must be a function"):

        @tool(**traits)
        async def wrong() -> str:
            """Do something."""
            return ""


VAR = "Convert var to const:\n```js\nvar x = 1;\n```"


@table("strategy", ["Priority", "Tiered", "CostAware"])
@table(
    ("tags", "expected"),
    [(["AGENT_BOOSTER_AVAILABLE"], "```js\nconst x = 1;\n```"), (["other"], "a model"), ([], "a model")],
)
async def test_the_booster_tag_of_a_message_reaches_the_router_whatever_the_strategy(
    strategy: str, tags: list[str], expected: str
) -> None:
    events = EventRecorder()
    services = build(events, Routing={"Strategy": strategy})
    response = await twelve(services).run(services.turn(VAR, tags=tags))
    assert response.text == expected
    tiers = [(each.tier, each.reason.split(":")[0]) for each in events.of(RouteChosen)]
    assert (("booster", "AGENT_BOOSTER_AVAILABLE") in tiers) is (expected != "a model")


async def test_a_tagged_message_that_no_booster_answers_goes_to_a_model() -> None:
    services = build(Routing={})
    response = await twelve(services).run(services.turn("hello", tags=["AGENT_BOOSTER_AVAILABLE"]))
    assert response.text == "a model"


@table(
    ("text", "expected"),
    [
        (VAR, "```js\nconst x = 1;\n```"),
        ("2 * 21", "42"),
        ("12 - 10", "2"),
        ("what is 10 - 12?", "-2"),
        ("hi", "a model"),
    ],
)
async def test_in_clawft_boosters_answer_with_nothing_set(text: str, expected: str) -> None:
    services = build(Routing={})
    assert (await clawft(services).run(services.turn(text))).text == expected


@table("text", ["10 - 12", "14.30 - 16.00", "2026-01-31", "24/7", "555-1234", "9-5"])
async def test_a_range_a_date_or_a_number_to_call_is_no_arithmetic(text: str) -> None:
    services = build(Routing={})
    assert (await clawft(services).run(services.turn(text))).text == "a model"


@table("tags", ["text", [1], [""], ["x" * 65], list("abcdefghijklmnopq")])
def test_tags_are_a_list_of_a_few_short_texts(tags: Any) -> None:
    with pytest.raises(InputError, match="tags"):
        build().turn("hello", tags=tags)


def test_the_tags_of_a_turn_that_waits_are_kept() -> None:
    services = build()
    ctx = services.turn("hello", tags=["a"])
    assert services.restore(ctx.state()).get(MESSAGE_TAGS) == ["a"]
