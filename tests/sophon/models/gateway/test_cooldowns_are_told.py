"""A provider that is not called for a while: until when is said, and an operator ends it."""

import asyncio
from typing import Any

import pytest

from sophon.errors import AuthenticationFailed, ModelError, NotFound, Overloaded, RateLimited
from sophon.events import AgentStatus
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.gateway.retry_after import read_retry_after
from sophon.testing import EventRecorder, VirtualClock
from tests.tables import table


def gateway_of(clock: VirtualClock, model: Any, *keys: str) -> ModelGateway:
    return ModelGateway([Provider("p1", [model], keys=ApiKeyPool(keys or ("sk-one",), clock))], clock=clock)


async def failure(gateway: ModelGateway, request: Any, emit: Any = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await gateway.call(request, [gateway.find("p1")], emit=emit)
    return caught.value


async def test_a_wait_of_days_is_an_hour_and_the_error_and_an_event_say_until_when(
    adapters: Any, server: Any, kit: Any
) -> None:
    clock, model, seen = VirtualClock(), await adapters.at(server), EventRecorder()
    server.refuses(429, "slow down", Retry_After="100000")
    gateway = gateway_of(clock, model)
    error = await failure(gateway, kit.request(model), seen.emit)
    assert isinstance(error, RateLimited)
    assert error.unavailable_until == "2026-01-01T01:00:00Z"
    assert str(error).endswith("; try again after 2026-01-01T01:00:00Z")
    assert [each.detail for each in seen.of(AgentStatus)] == [
        "p1/small: rate_limited; not called again before 2026-01-01T01:00:00Z"
    ]


async def test_without_retries_the_error_says_it_too(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After="1800")
    provider = Provider("p1", [model], keys=ApiKeyPool(("sk-one",), clock))
    gateway = ModelGateway([provider], clock=clock, options=GatewayOptions(max_retries=0))
    assert (await failure(gateway, kit.request(model))).unavailable_until == "2026-01-01T00:30:00Z"


async def test_a_later_call_says_it_too_and_after_the_hour_the_key_is_used_again(
    adapters: Any, server: Any, kit: Any
) -> None:
    clock, model = VirtualClock(auto=False), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After="100000")
    server.says("Good day")
    gateway = gateway_of(clock, model)
    await failure(gateway, kit.request(model))
    await clock.advance(600)
    error = await failure(gateway, kit.request(model))
    assert error.unavailable_until == "2026-01-01T01:00:00Z"
    assert gateway.statistics()[0].available_in_seconds == 3000
    assert len(server.seen) == 1
    await clock.advance(3000)
    assert (await gateway.call(kit.request(model), gateway.candidates())).text == "Good day"


async def test_a_reset_ends_a_cool_down(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After="100000")
    server.says("Good day")
    gateway = gateway_of(clock, model)
    await failure(gateway, kit.request(model))
    before = gateway.reset_provider("p1")
    assert before.keys is not None
    assert (before.keys.cooling, before.available_in_seconds) == (1, 3600)
    assert gateway.statistics()[0].available_in_seconds == 0
    assert (await gateway.call(kit.request(model), gateway.candidates())).text == "Good day"


async def test_a_reset_wakes_a_turn_that_waits_for_the_provider(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(auto=False), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After="20")
    server.says("Good day")
    gateway, waiting = gateway_of(clock, model), asyncio.Event()
    before = clock.monotonic()

    def wake(event: object) -> None:
        if isinstance(event, AgentStatus):
            waiting.set()

    call = asyncio.ensure_future(gateway.call(kit.request(model), gateway.candidates(), emit=wake))
    await waiting.wait()
    await asyncio.sleep(0)
    gateway.reset_provider("p1")
    assert (await call).text == "Good day"
    assert clock.monotonic() == before


async def test_a_reset_enables_a_rejected_key(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(401, "Incorrect API key")
    server.says("Good day")
    gateway = gateway_of(clock, model)
    assert isinstance(await failure(gateway, kit.request(model)), AuthenticationFailed)
    assert gateway.statistics()[0].health == "no_keys"
    gateway.reset_provider("p1")
    assert (await gateway.call(kit.request(model), gateway.candidates())).text == "Good day"


async def test_a_reset_closes_the_circuit(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    gateway = gateway_of(clock, model)
    for _ in range(3):
        gateway.providers[0].breaker.record_failure(clock.monotonic())
    statistics = gateway.statistics()[0]
    assert (statistics.health, statistics.circuit, statistics.available_in_seconds) == ("benched", "open", 60)
    gateway.reset_provider("p1")
    assert (gateway.statistics()[0].health, gateway.statistics()[0].circuit) == ("active", "closed")


async def test_an_unknown_provider_is_not_reset(adapters: Any, server: Any) -> None:
    with pytest.raises(NotFound, match="did you mean 'p1'"):
        gateway_of(VirtualClock(), await adapters.at(server)).reset_provider("p2")


async def test_an_overload_is_told_in_the_same_way(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(529, "overloaded", Retry_After="1800")
    error = await failure(gateway_of(clock, model), kit.request(model))
    assert isinstance(error, Overloaded)
    assert error.unavailable_until == "2026-01-01T00:30:00Z"


@pytest.mark.parametrize(
    ("value", "slept"),
    [
        ("Thu, 01 Jan 2026 00:00:20 GMT", 20),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0),
        ("-5", 0),
        ("2.5", 2.5),
        ("nan", 60),
        ("inf", 60),
        ("soon", 60),
        ("", 60),
    ],
)
async def test_every_form_of_retry_after_has_a_wait(
    adapters: Any, server: Any, kit: Any, value: str, slept: float
) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After=value)
    server.says("Good day")
    gateway = gateway_of(clock, model)
    response = await gateway.call(kit.request(model), gateway.candidates())
    assert response.text == "Good day"
    # Without a time that the provider asked for, the back-off, and the key's own cool-down of a minute is cut short.
    assert clock.slept == ([pytest.approx(slept)] if slept != 60 else [pytest.approx(0.25, rel=0.21)])


@pytest.mark.parametrize("value", ["1e300", "9" * 300, "1e999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_wait_without_end_is_an_hour(adapters: Any, server: Any, kit: Any, value: str) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After=value)
    server.says("Good day")
    gateway = gateway_of(clock, model)
    if value == "1e999":  # not a number that anything can be computed with
        assert (await gateway.call(kit.request(model), gateway.candidates())).text == "Good day"
    else:
        assert (await failure(gateway, kit.request(model))).unavailable_until == "2026-01-01T01:00:00Z"


@table(
    ("headers", "expected"),
    [
        ({"retry-after-ms": "1500.5"}, 1.5005),
        ({"retry-after-ms": "nan", "retry-after": "7"}, "7"),
        ({"retry-after-ms": "-20"}, -0.02),
        ({}, None),
    ],
)
def test_milliseconds_are_read_before_seconds(headers: dict[str, str], expected: float | str | None) -> None:
    assert read_retry_after(headers) == (pytest.approx(expected) if isinstance(expected, float) else expected)
