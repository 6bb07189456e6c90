"""Who is asked, and in which order: the session's choice, a plan step's hint, then priority."""

import pytest

from sophon import Context, ModelRequest, Next, Pipeline, Response, Services
from sophon.attachments import Attachment
from sophon.context import Step
from sophon.errors import NoProvider, ProviderUnavailable
from sophon.images import Image
from sophon.messages import Message
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.provider import Candidate, Provider
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares import AgenticLoop, Budget, CapabilityRouting, LlmInvoker, SessionEvents, ToolExecution
from sophon_middlewares.outer.capability_routing.capability_routing import PriorityRouting, RouteRequest, has_pictures
from tests.tables import table


def model(name: str, *capabilities: str) -> FunctionModel:
    async def answer(request: ModelRequest) -> str:
        return name

    return FunctionModel(answer, name=name, capabilities=capabilities)


A = Provider("a", [model("a1"), model("a2", "reasoning")], priority=1)
B = Provider("b", [model("b1", "vision"), model("b2", "code", "Code-Generation")], priority=2)
C = Provider("c", [model("c1"), model("c2", "reasoning", "code", "code_generation")], priority=3)
ELIGIBLE = [Candidate(each, each.models[0]) for each in (A, B, C)]


@table(
    ("chosen", "capability", "order"),
    [
        (None, None, "a1 b1 c1"),
        (None, "vision", "b1 a1 c1"),
        (None, "code", "b2 a1 c2"),
        (None, "reasoning", "a2 b1 c2"),
        (None, "telepathy", "a1 b1 c1"),
        (None, "Reasoning", "a2 b1 c2"),
        ((B, 1), None, "b2 a1 c1"),
        ((C, 0), "vision", "c1 a1 b1"),
        ((A, 0), None, "a1 b1 c1"),
    ],
)
def test_choice_then_capability_then_priority(chosen, capability: str | None, order: str) -> None:
    wanted = Candidate(chosen[0], chosen[0].models[chosen[1]]) if chosen else None
    route = PriorityRouting().route(RouteRequest("text", wanted, capability), ELIGIBLE)
    assert [candidate.info.name for candidate in route] == order.split()


async def look(ctx: Context, next: Next) -> None:
    assert ctx.route is not None
    ctx.response = Response(" ".join(candidate.info.name for candidate in ctx.route))


ROUTE = Pipeline.compose(CapabilityRouting(), look)


def services(*providers: Provider) -> Services:
    given = providers or (
        Provider("a", A.models, priority=1),
        Provider("b", B.models, priority=2),
        Provider("c", C.models, priority=3),
    )
    return Services(models=given, clock=VirtualClock())


async def test_the_senders_model_comes_first() -> None:
    assert (await ROUTE.run(services().turn("go", model="b2"))).text == "b2 a1 c1"


async def test_a_plan_steps_hint_is_followed_and_the_senders_model_beats_it() -> None:
    host = services()
    assert (await ROUTE.run(host.turn("go").child("x", Step("s", model_hint="code")))).text == "b2 a1 c2"
    assert (await ROUTE.run(host.turn("go", model="a1").child("x", Step("s", model_hint="code")))).text == "a1 b1 c1"


async def test_a_provider_that_is_off_spent_or_resting_is_not_asked() -> None:
    host = services()
    _, b, c = host.gateway.providers
    b.active = False
    assert (await ROUTE.run(host.turn("go"))).text == "a1 c1"
    b.active = True
    for _ in range(20):
        c.breaker.record_failure(0.0)
    ctx = host.turn("go")
    ctx.excluded_providers["a"] = "spent"
    assert (await ROUTE.run(ctx)).text == "b1"


async def test_a_dead_provider_is_probed_by_turns_of_the_default_strategy_and_then_left_alone_again() -> None:
    calls: list[float] = []
    clock = VirtualClock(auto=False)

    async def fail(request: ModelRequest) -> str:
        calls.append(clock.monotonic() - began)
        raise ProviderUnavailable("down")

    dead = Provider("dead", [FunctionModel(fail, name="d")], priority=1)
    settings = {"Failover": {"MaxRetries": 0}}
    host = Services(models=[dead, Provider("b", [model("b1")], priority=2)], clock=clock, settings=settings)
    pipeline, began = Pipeline.compose(CapabilityRouting(), LlmInvoker()), clock.monotonic()
    for _ in range(3):
        assert (await pipeline.run(host.turn("go"))).text == "b1"
    for _ in range(60):
        clock.advance(5)
        assert (await pipeline.run(host.turn("go"))).text == "b1"
    assert calls == [0, 0, 0, 60, 90, 120, 150, 180, 240, 270, 300]


async def test_a_chosen_model_whose_provider_must_not_be_asked_gives_way() -> None:
    ctx = services().turn("go", model="a2")
    ctx.excluded_providers["a"] = "spent"
    assert (await ROUTE.run(ctx)).text == "b1 c1"


async def test_a_sessions_model_that_is_gone_leaves_the_choice_to_the_rule() -> None:
    ctx = services().turn("go")
    ctx.model = "retired"
    assert (await ROUTE.run(ctx)).text == "a1 b1 c1"


async def test_when_nobody_can_be_asked_the_error_says_why_for_each() -> None:
    off, resting = Provider("off", [model("m")], active=False), Provider("resting", [model("n")])
    refused, spent = (
        Provider("refused", [model("o")], keys=ApiKeyPool(["k"], clock=VirtualClock())),
        Provider("spent", [model("p")]),
    )
    assert refused.keys is not None
    refused.keys.disable_key("k")
    for _ in range(20):
        resting.breaker.record_failure(0.0)
    ctx = services(off, resting, refused, spent).turn("go")
    ctx.excluded_providers["spent"] = "its budget is gone"

    with pytest.raises(NoProvider) as caught:
        await ROUTE.run(ctx)

    for fact in (
        "off: not active",
        "resting: circuit breaker open",
        "refused: all of its keys",
        "spent: its budget is gone",
    ):
        assert fact in str(caught.value)


async def test_without_any_provider_the_error_says_what_to_do() -> None:
    with pytest.raises(NoProvider, match="add one to Providers"):
        await ROUTE.run(Services(models=[]).turn("go"))


async def test_another_rule_can_stand_in() -> None:
    class Backwards:
        def route(self, wish: RouteRequest, eligible):
            return list(reversed(eligible))

    chain = Pipeline.compose(CapabilityRouting(strategy=Backwards()), look)
    assert (await chain.run(services().turn("go"))).text == "c1 b1 a1"


async def test_the_next_of_the_route_answers_when_the_first_fails() -> None:
    async def down(request: ModelRequest) -> str:
        raise ProviderUnavailable("down")

    first = Provider("first", [FunctionModel(down, name="x", capabilities=["code"])], priority=1)
    second = Provider("second", [model("plain"), model("coder", "code")], priority=2)
    host = services(first, second)
    chain = Pipeline.compose(
        SessionEvents(), Budget(), CapabilityRouting(), AgenticLoop(), ToolExecution(), LlmInvoker()
    )

    assert (await chain.run(host.turn("go"))).text == "plain"
    assert (await chain.run(host.turn("go").child("x", Step("s", model_hint="code")))).text == "coder"


IMAGE = Image("image/png", b"png")
PHOTO = Attachment("a", "photo.png", "image/png", 3)
NOTES = Attachment("b", "notes.txt", "text/plain", 3)


@table(
    ("message", "sees"),
    [
        (Message("user", "look", images=(IMAGE,)), True),
        (Message("user", "look", attachments=(NOTES, PHOTO)), True),
        (Message("user", "read", attachments=(NOTES,)), False),
        (Message("user", "hello"), False),
    ],
)
async def test_a_message_with_pictures_asks_a_model_that_sees(message: Message, sees: bool) -> None:
    services = Services(models=[model("blind"), model("seeing", "vision")], settings={"Planning": {"Mode": "Never"}})
    ctx = services.turn("look")
    ctx.messages[-1] = message
    await CapabilityRouting()(ctx, _end)
    assert [each.info.name for each in ctx.route] == (["seeing", "blind"] if sees else ["blind", "seeing"])


async def test_pictures_do_not_overrule_the_choice_of_the_session() -> None:
    services = Services(models=[model("blind"), model("seeing", "vision")])
    ctx = services.turn("look", images=[IMAGE], model="blind")
    await CapabilityRouting()(ctx, _end)
    assert ctx.route[0].info.name == "blind"


async def test_pictures_of_an_earlier_message_do_not_count() -> None:
    assert not has_pictures(
        [Message("user", "look", images=(IMAGE,)), Message("assistant", "ok"), Message("user", "x")]
    )
    assert has_pictures([Message("user", "look", images=(IMAGE,)), Message("tool", "ok", tool_call_id="c")])


async def _end(ctx: Context) -> None:
    pass
