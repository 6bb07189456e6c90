"""Time limits of an attempt, for every kind of model, in virtual time."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sophon.errors import ModelTimeout
from sophon.messages import Message
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.testing import VirtualClock
from tests.tables import table

IDLE, WHOLE = 600.0, 1200.0


class OwnModel:
    """A model of one's own: `say` is called every `every` seconds, for `seconds` in all."""

    def __init__(
        self, clock: VirtualClock, say: Callable[[ModelRequest], object], every: float, seconds: float
    ) -> None:
        self.info = ModelInfo("own", "own", streaming=True)
        self.clock, self.say, self.every, self.seconds = clock, say, every, seconds
        self.calls = 0

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.calls += 1
        for _ in range(int(self.seconds / self.every)):
            await self.clock.sleep(self.every)
            self.say(request)
        return ModelResponse("done")


def text_piece(request: ModelRequest) -> None:
    assert request.on_text is not None
    request.on_text("word ")


def blank_piece(request: ModelRequest) -> None:
    assert request.on_text is not None
    request.on_text(" ")


def reasoning_piece(request: ModelRequest) -> None:
    assert request.on_reasoning is not None
    request.on_reasoning("hm")


def argument_piece(request: ModelRequest) -> None:
    assert request.output is not None
    request.output.note('{"a"')


def nothing(request: ModelRequest) -> None:
    """Send what says nothing: a comment, an empty delta, a role."""


async def ask(clock: VirtualClock, model: Any, *, streams: bool = True, **options: Any) -> ModelResponse:
    gateway = ModelGateway([Provider("own", [model])], clock=clock, options=GatewayOptions(**options))
    listeners: dict[str, Any] = {"on_text": lambda _: None, "on_reasoning": lambda _: None} if streams else {}
    request = ModelRequest([Message("user", "Hello")], [], model.info, **listeners)
    return await gateway.call(request, gateway.candidates())


@table("say", [nothing, blank_piece])
async def test_a_stream_that_says_nothing_ends_at_the_idle_timeout(say: Any) -> None:
    clock = VirtualClock()
    with pytest.raises(ModelTimeout, match="IdleTimeout"):
        await ask(clock, OwnModel(clock, say, 1, 10_000), max_retries=0)
    assert IDLE <= clock.monotonic() <= IDLE * 1.25 + 1


@table("say", [text_piece, reasoning_piece, argument_piece])
async def test_a_slow_model_that_says_something_is_not_cut(say: Any) -> None:
    clock = VirtualClock()
    assert (await ask(clock, OwnModel(clock, say, 100, 1100))).text == "done"


async def test_a_stream_that_drips_words_ends_at_the_attempt_timeout() -> None:
    clock = VirtualClock()
    with pytest.raises(ModelTimeout, match="AttemptTimeout") as caught:
        await ask(clock, OwnModel(clock, text_piece, 1, 10_000))
    assert caught.value.visible
    assert WHOLE <= clock.monotonic() <= WHOLE + 1


async def test_a_model_that_does_not_stream_has_the_whole_attempt() -> None:
    clock = VirtualClock()
    assert (await ask(clock, OwnModel(clock, nothing, 100, 1100), streams=False)).text == "done"
    with pytest.raises(ModelTimeout, match="AttemptTimeout"):
        await ask(clock, OwnModel(clock, nothing, 100, 10_000), streams=False)


async def test_a_time_out_is_retried_only_until_the_time_of_an_attempt_is_used_up() -> None:
    clock = VirtualClock()
    model = OwnModel(clock, nothing, 1, 10_000)
    with pytest.raises(ModelTimeout):
        await ask(clock, model)
    assert model.calls == 2
    assert clock.monotonic() < 2 * WHOLE


async def test_a_provider_has_timeouts_of_its_own() -> None:
    clock = VirtualClock()
    model = OwnModel(clock, nothing, 1, 10_000)
    provider = Provider("own", [model], attempt_timeout_seconds=30, idle_timeout_seconds=8)
    gateway = ModelGateway([provider], clock=clock, options=GatewayOptions(max_retries=0))
    with pytest.raises(ModelTimeout, match="nothing for 8 s"):
        await gateway.call(
            ModelRequest([Message("user", "x")], [], model.info, on_text=lambda _: None), gateway.candidates()
        )
    assert 8 <= clock.monotonic() <= 11


async def test_a_model_that_returns_after_its_time_has_timed_out() -> None:
    clock = VirtualClock()

    class Stubborn(OwnModel):
        async def complete(self, request: ModelRequest) -> ModelResponse:
            try:
                return await super().complete(request)
            except asyncio.CancelledError:
                return ModelResponse("too late")

    with pytest.raises(ModelTimeout):
        await ask(clock, Stubborn(clock, nothing, 1, 10_000), max_retries=0)


async def test_a_cancellation_from_outside_is_not_taken_for_a_time_out() -> None:
    clock = VirtualClock(auto=False)
    call = asyncio.create_task(ask(clock, OwnModel(clock, nothing, 1, 10_000)))
    await clock.advance(5)
    others = asyncio.all_tasks() - {call}
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= others
