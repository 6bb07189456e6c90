from typing import Any

import pytest

from sophon.clock import Clock
from sophon.messages import Message
from sophon.models.gateway.gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.testing import FunctionModel, VirtualClock


class RequestLimit(Exception):
    status_code = 429

    def __init__(self, retry_after: float) -> None:
        super().__init__("slow down")
        self.retry_after = retry_after


class SlowModel:
    """Answers after `seconds`, having written a first piece after `first`."""

    def __init__(self, clock: Clock, seconds: float, first: float | None = None) -> None:
        self.info = ModelInfo("slow", "own")
        self.calls = 0
        self._clock, self._seconds, self._first = clock, seconds, first

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.calls += 1
        if self._first is not None and request.on_text is not None:
            await self._clock.sleep(self._first)
            request.on_text("From ")
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
) -> str:
    providers = [
        Provider(f"p{number}", [model], number, first_output_timeout_seconds=first)
        for number, model in enumerate(models)
    ]
    gateway = ModelGateway(providers, clock=clock, options=options)
    request = ModelRequest(
        [Message("user", "Hello")], [], models[0].info, on_text=(lambda _: None) if streams else None
    )
    return (await gateway.call(request, gateway.candidates())).text


@pytest.mark.parametrize("streams", [True, False])
async def test_a_provider_that_is_silent_for_a_minute_gives_way_to_the_next_after_one_attempt(streams: bool) -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, 100_000)
    assert await ask(clock, slow, FunctionModel(answer), streams=streams) == "From the second"
    assert (slow.calls, clock.monotonic()) == (1, pytest.approx(60, abs=1))


@pytest.mark.parametrize(("seconds", "first"), [(59, None), (300, 50)])
async def test_a_reply_that_began_within_the_minute_may_take_longer(seconds: float, first: float | None) -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, seconds, first)
    assert await ask(clock, slow, FunctionModel(answer), streams=True) == "From the slow one"


async def test_without_timeouts_a_reply_that_has_begun_has_no_further_limit() -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, 3000, 50)
    options = GatewayOptions(attempt_timeout_seconds=None, idle_timeout_seconds=None)
    assert await ask(clock, slow, FunctionModel(answer), streams=True, options=options) == "From the slow one"


async def test_the_only_provider_may_take_longer_than_a_minute_to_begin() -> None:
    clock = VirtualClock()
    assert await ask(clock, SlowModel(clock, 500), streams=True) == "From the slow one"


async def test_a_slow_provider_may_have_a_longer_limit_of_its_own() -> None:
    clock = VirtualClock()
    slow = SlowModel(clock, 500)
    assert await ask(clock, slow, FunctionModel(answer), first=600) == "From the slow one"


@pytest.mark.parametrize(("retry_after", "waited", "text"), [(30, 0, "From the second"), (8, 8, "From the first")])
async def test_a_wait_above_eight_seconds_moves_on_to_the_next_provider(
    retry_after: float, waited: float, text: str
) -> None:
    clock, calls = VirtualClock(), 0

    async def limited(request: ModelRequest) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RequestLimit(retry_after)
        return "From the first"

    assert await ask(clock, FunctionModel(limited), FunctionModel(answer)) == text
    assert clock.monotonic() == pytest.approx(waited)


async def test_a_wait_of_thirty_seconds_is_waited_for_if_no_other_provider_is_left() -> None:
    clock, calls = VirtualClock(), 0

    async def limited(request: ModelRequest) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RequestLimit(30)
        return "From the first"

    assert await ask(clock, FunctionModel(limited)) == "From the first"
    assert clock.monotonic() == pytest.approx(30)
