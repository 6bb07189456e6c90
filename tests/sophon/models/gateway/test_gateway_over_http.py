"""The gateway over real adapters and real HTTP: waiting, rotating, failing over, and what it costs."""

from typing import Any

import pytest

from sophon.errors import AuthenticationFailed, BadRequest, ModelError, ModelTimeout, ProviderUnavailable
from sophon.events import ModelAttempt
from sophon.messages import Usage
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.gateway import ModelGateway
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.models.providers.openai.model import OpenAIModel
from sophon.testing import EventRecorder, VirtualClock
from tests.loop_time import LoopTime


def gateway_of(clock: VirtualClock, *models: Any, keys: tuple[str, ...] = ("sk-one",)) -> ModelGateway:
    providers = [
        Provider(f"p{place}", [model], priority=place, keys=ApiKeyPool(keys, clock))
        for place, model in enumerate(models)
    ]
    return ModelGateway(providers, clock=clock)


async def ask(gateway: ModelGateway, request: Any) -> Any:
    return await gateway.call(request, gateway.candidates())


def keys_seen(server: Any) -> list[str]:
    return [seen.key for seen in server.seen]


async def test_a_rate_limit_waits_as_long_as_the_provider_asked(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After="17")
    server.says("Good day")
    response = await ask(gateway_of(clock, model), kit.request(model))
    assert response.text == "Good day"
    assert clock.slept == [17]


async def test_a_retry_after_as_a_date_is_waited_for(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(429, "slow down", Retry_After="Thu, 01 Jan 2026 00:00:20 GMT")
    server.says("Good day")
    await ask(gateway_of(clock, model), kit.request(model))
    assert clock.slept == [pytest.approx(20)]


async def test_a_500_is_retried_and_then_failed_over(adapters: Any, serve: Any, kit: Any) -> None:
    clock, broken, sound = VirtualClock(), await serve(), await serve()
    first, second = await adapters.at(broken), await adapters.at(sound)
    for _ in range(4):
        broken.refuses(500)
    sound.says("Good day")
    response = await ask(gateway_of(clock, first, second), kit.request(first))
    assert response.text == "Good day"
    assert (len(broken.seen), len(sound.seen)) == (4, 1)
    assert clock.slept == pytest.approx([0.25, 0.5, 1.0], rel=0.21)


@pytest.mark.parametrize("status", [401, 429, 529])
async def test_a_key_that_is_refused_or_limited_gives_way_to_the_next(
    adapters: Any, server: Any, kit: Any, status: int
) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    server.refuses(status)
    server.says("Good day")
    response = await ask(gateway_of(clock, model, keys=("sk-one", "sk-two")), kit.request(model))
    assert response.text == "Good day"
    assert keys_seen(server) == ["sk-one", "sk-two"]
    assert clock.slept == []


async def test_a_refused_key_is_not_used_again(adapters: Any, server: Any, kit: Any) -> None:
    clock, model = VirtualClock(), await adapters.at(server)
    gateway = gateway_of(clock, model)
    server.refuses(401, "Incorrect API key")
    for _ in range(2):
        with pytest.raises(AuthenticationFailed):
            await gateway.call(kit.request(model), [gateway.find("p0")])
    assert len(server.seen) == 1


async def test_after_visible_text_nothing_is_repeated(adapters: Any, serve: Any, kit: Any) -> None:
    clock, broken, sound = VirtualClock(), await serve(), await serve()
    first, second, heard = await adapters.at(broken), await adapters.at(sound), []
    broken.streams("Good", end="cut")
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(gateway_of(clock, first, second), kit.request(first, on_text=heard.append))
    assert caught.value.visible
    assert (heard, len(broken.seen), len(sound.seen)) == (["Good"], 1, 0)


async def test_a_connection_cut_before_any_text_is_asked_again(adapters: Any, server: Any, kit: Any) -> None:
    clock, model, heard = VirtualClock(), await adapters.at(server), []
    server.streams(kit.chunk(role="assistant", content=""), end="cut")
    server.streams("Good day", kit.stop, kit.usage)
    response = await ask(gateway_of(clock, model), kit.request(model, on_text=heard.append))
    assert (response.text, heard) == ("Good day", ["Good day"])


async def test_a_slow_first_byte_is_failed_over(adapters: Any, serve: Any, kit: Any) -> None:
    clock, slow, sound = VirtualClock(), await serve(), await serve()
    first, second = await adapters.at(slow), await adapters.at(sound)
    for _ in range(4):
        slow.hangs()
    sound.says("Good day")
    gateway = gateway_of(clock, first, second)
    with LoopTime() as slow.time:
        assert (await ask(gateway, kit.request(first))).text == "Good day"
    assert gateway.statistics()[0].last_error == ModelTimeout.code


async def test_usage_is_what_the_provider_says_and_cost_what_the_catalog_says(
    adapters: Any, server: Any, kit: Any
) -> None:
    model = await adapters.at(server, prices=(2.0, 10.0))
    server.streams("Good day", kit.stop, kit.usage)
    response = await ask(gateway_of(VirtualClock(), model), kit.request(model, on_text=lambda _: None))
    assert response.usage == Usage(11, 7, cost_micros=92, cached_input_tokens=0 if adapters.kind == "ollama" else 4)
    assert response.model.id == "p0/small"


async def test_without_a_report_of_usage_it_is_estimated(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    body = kit.whole({"role": "assistant", "content": "Good day to you"}, usage=None)
    server.answers(body)
    response = await ask(gateway_of(VirtualClock(), model), kit.request(model))
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0


@pytest.mark.parametrize("end", ["close", "cut", "hang"])
async def test_the_arguments_of_a_call_that_was_cut_off_are_charged(server: Any, kit: Any, end: str) -> None:
    model = OpenAIModel(ModelInfo("small", "p1"), base_url=server.url, timeout_seconds=30)
    arguments = '{"text": "' + "word " * 400
    server.streams(kit.call_piece(0, arguments, "f", "x"), end=end)
    gateway, attempts = gateway_of(VirtualClock(), model), EventRecorder()
    request = kit.request(model, on_text=lambda _: None)
    with pytest.raises(ModelError), LoopTime() as server.time:
        await gateway.call(request, gateway.candidates(), emit=attempts.emit)
    await model.aclose()
    first = attempts.of(ModelAttempt)[0].usage
    assert first.output_tokens == gateway.tokens.count_text("f" + arguments)
    assert first.input_tokens == gateway.tokens.count_request(request)


async def test_the_usage_of_an_answer_that_was_withheld_is_charged(
    filtered_adapters: Any, server: Any, kit: Any
) -> None:
    model = await filtered_adapters.at(server)
    server.answers(kit.whole({"role": "assistant", "content": ""}, "content_filter"))
    gateway, attempts = gateway_of(VirtualClock(), model), EventRecorder()
    with pytest.raises(BadRequest):
        await gateway.call(kit.request(model), gateway.candidates(), emit=attempts.emit)
    usage = attempts.of(ModelAttempt)[0].usage
    assert (usage.input_tokens, usage.output_tokens) == (11, 7)


@pytest.mark.parametrize("half", [{"completion_tokens": 3}, {"prompt_tokens": 12}])
async def test_the_missing_half_of_a_usage_report_is_estimated(server: Any, kit: Any, half: dict[str, int]) -> None:
    model = OpenAIModel(ModelInfo("small", "p0"), base_url=server.url)
    server.answers(kit.whole({"role": "assistant", "content": "Good day"}, usage=half))
    gateway, request = gateway_of(VirtualClock(), model), kit.request(model)
    usage = (await ask(gateway, request)).usage
    await model.aclose()
    counted = (gateway.tokens.count_request(request), gateway.tokens.count_text("Good day"))
    expected = (half.get("prompt_tokens", counted[0]), half.get("completion_tokens", counted[1]))
    assert (usage.input_tokens, usage.output_tokens) == expected
