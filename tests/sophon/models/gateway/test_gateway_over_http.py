"""The gateway over real adapters and real HTTP: waiting, rotating, failing over, and what it costs."""

from typing import Any

import pytest

from sophon.errors import BadRequest, ModelError
from sophon.events import ModelAttempt
from sophon.messages import Usage
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
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


async def test_a_connection_cut_before_any_text_is_asked_again(adapters: Any, server: Any, kit: Any) -> None:
    clock, model, heard = VirtualClock(), await adapters.at(server), []
    server.streams(kit.chunk(role="assistant", content=""), end="cut")
    server.streams("Good day", kit.stop, kit.usage)
    response = await ask(gateway_of(clock, model), kit.request(model, on_text=heard.append))
    assert (response.text, heard) == ("Good day", ["Good day"])


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
