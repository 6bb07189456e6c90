from typing import Any

import pytest

from sophon import Services
from sophon.clock import Clock
from sophon.errors import ModelTimeout
from sophon.events import AgentStatus
from sophon.messages import Message
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import clawdesk, twelve
from tests.tables import table


class RequestLimit(Exception):
    status_code = 429

    def __init__(self, retry_after: float) -> None:
        super().__init__("slow down")
        self.retry_after = retry_after


class SlowModel:
    """Answers after `seconds`, having written a first piece after `first`."""

    def __init__(self, clock: Clock, seconds: float, first: float | None = None, piece: str = "From ") -> None:
        self.info, self._piece = ModelInfo("slow", "own"), piece
        self.calls = 0
        self._clock, self._seconds, self._first = clock, seconds, first

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.calls += 1
        if self._first is not None and request.on_text is not None:
            await self._clock.sleep(self._first)
            request.on_text(self._piece)
        await self._clock.sleep(self._seconds - (self._first or 0))
        return ModelResponse("From the slow one")


async def answer(request: ModelRequest) -> str:
    return "From the second"


async def ask(
    clock: VirtualClock,
    *models: Any,
    streams: bool = False,
    options: GatewayOptions | None = None,
    first: float | None = None,
    cooling: float = 0.0,
    waits: int | None = None,
    emit: Any = None,
) -> str:
    """Ask the models in their order; the key of the last one cools down for `cooling` seconds."""
    providers = [
        Provider(f"p{number}", [model], number, first_output_timeout_seconds=first)
        for number, model in enumerate(models)
    ]
    if cooling:
        providers[-1].keys = ApiKeyPool(["key"], clock)
        providers[-1].keys.cool_down("key", cooling, is_provider_requested=True)
    gateway = ModelGateway(providers, clock=clock, options=options)
    request = ModelRequest(
        [Message("user", "Hello")], [], models[0].info, on_text=(lambda _: None) if streams else None
    )
    return (await gateway.call(request, gateway.candidates(), rate_limit_waits=waits, emit=emit)).text


def limited_model(*retry_after: float) -> FunctionModel:
    """A model that answers its first calls with a rate limit."""
    left = list(retry_after)

    async def limited(request: ModelRequest) -> str:
        if left:
            raise RequestLimit(left.pop(0))
        return "From the first"

    return FunctionModel(limited)


@table("streams", [True, False])
async def test_a_provider_that_is_silent_for_a_minute_gives_way_to_the_next_after_one_attempt(streams: bool) -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, 100_000)
    assert await ask(clock, slow, FunctionModel(answer), streams=streams) == "From the second"
    assert (slow.calls, clock.monotonic()) == (1, pytest.approx(60, abs=1))


@table("blank", [" \n", "\u200b"])
async def test_what_nobody_can_see_is_no_beginning(blank: str) -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, 500, 10, blank)
    assert await ask(clock, slow, FunctionModel(answer), streams=True) == "From the second"
    assert clock.monotonic() == pytest.approx(60, abs=1)


@table(("seconds", "first"), [(59, None), (300, 50)])
async def test_a_reply_that_began_within_the_minute_may_take_longer_and_is_not_reported_as_silent(
    seconds: float, first: float | None
) -> None:
    clock, events = VirtualClock(), EventRecorder()
    slow = SlowModel(clock, seconds, first)
    assert await ask(clock, slow, FunctionModel(answer), streams=True, emit=events.emit) == "From the slow one"
    assert await ask(clock, slow, streams=True, emit=events.emit) == "From the slow one"
    assert events.of(AgentStatus) == []


async def test_without_timeouts_a_reply_that_has_begun_has_no_further_limit() -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, 3000, 50)
    options = GatewayOptions(attempt_timeout_seconds=None, idle_timeout_seconds=None)
    assert await ask(clock, slow, FunctionModel(answer), streams=True, options=options) == "From the slow one"


async def test_a_slow_provider_may_have_a_longer_limit_of_its_own() -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, 500)
    assert await ask(clock, slow, FunctionModel(answer), first=600) == "From the slow one"


@table(("retry_after", "waited", "text"), [(30, 0, "From the second"), (8, 8, "From the first")])
async def test_a_wait_above_eight_seconds_moves_on_to_the_next_provider(
    retry_after: float, waited: float, text: str
) -> None:
    clock = VirtualClock()
    assert await ask(clock, limited_model(retry_after), FunctionModel(answer)) == text
    assert clock.monotonic() == pytest.approx(waited)


@table(
    ("limits", "waits", "waited", "text"),
    [
        ([30], 1, 30, "From the first"),
        ([30, 30], 1, 30, "From the second"),  # one wait at the same provider, then the next
        ([2, 2], 1, 2, "From the second"),
        ([30, 30], 2, 60, "From the first"),
        ([2], 0, 0, "From the second"),
        ([90], 1, 0, "From the second"),
        ([2, 2], None, 4, "From the first"),
    ],
)
async def test_a_rate_limit_is_waited_out_as_often_as_the_settings_say(
    limits: list[float], waits: int | None, waited: float, text: str
) -> None:
    clock = VirtualClock()
    assert await ask(clock, limited_model(*limits), FunctionModel(answer), waits=waits) == text
    assert clock.monotonic() == pytest.approx(waited)


@table(("chain", "waited", "text"), [(clawdesk, 30, "From the first"), (twelve, 0, "From the second")])
async def test_clawdesk_waits_once_at_the_same_provider_and_twelve_moves_on(
    chain: Any, waited: float, text: str
) -> None:
    clock = VirtualClock()
    services = Services(models=[limited_model(30), FunctionModel(answer, name="second")], clock=clock)
    assert (await chain(services).run(services.turn("Hello"))).text == text
    assert clock.monotonic() == pytest.approx(waited, abs=1)


@table(
    ("cooling", "waited", "text"),
    [
        (300, 30, "From the first"),  # nobody else can be called any sooner
        (40, 30, "From the first"),
        (20, 20, "From the second"),
        (5, 5, "From the second"),
    ],
)
async def test_a_candidate_whose_keys_cool_down_is_none_until_they_can_be_used(
    cooling: float, waited: float, text: str
) -> None:
    clock = VirtualClock()
    assert await ask(clock, limited_model(30), FunctionModel(answer), cooling=cooling) == text
    assert clock.monotonic() == pytest.approx(waited)


@table(("cooling", "text"), [(300, "From the slow one"), (30, "From the second")])
async def test_a_silent_provider_gives_way_only_to_one_that_can_be_called_by_then(cooling: float, text: str) -> None:
    clock = VirtualClock()
    assert await ask(clock, SlowModel(clock, 500), FunctionModel(answer), cooling=cooling) == text


@table(("cooling", "text"), [(1000, "From the first"), (0, "From the second")])
async def test_a_time_out_is_tried_again_at_the_same_provider_while_no_other_can_be_called(
    cooling: float, text: str
) -> None:
    left = [ModelTimeout("too slow")]

    async def slow_once(request: ModelRequest) -> str:
        if left:
            raise left.pop()
        return "From the first"

    assert await ask(VirtualClock(), FunctionModel(slow_once), FunctionModel(answer), cooling=cooling) == text


@table("streams", [True, False])
async def test_whoever_watches_hears_after_a_minute_that_the_only_provider_is_silent(streams: bool) -> None:
    clock, events = VirtualClock(), EventRecorder()
    assert await ask(clock, SlowModel(clock, 500), streams=streams, emit=events.emit) == "From the slow one"
    limit = 600 if streams else 1200  # IdleTimeout, AttemptTimeout
    assert [each.detail for each in events.of(AgentStatus)] == [
        f"p0/slow has written nothing for 60 s; it is waited for up to {limit} s"
    ]
