"""Design 4.2: the budget holds, whoever asks, however many at once."""

import asyncio
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, Usage
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve


def limits(provider: str = "*", **values: Any) -> dict[str, Any]:
    return {"Budget": {"Providers": {provider: values}}}


async def test_fifty_turns_with_money_for_one() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0)
        return ModelResponse("ok", usage=Usage(1000, 1000))

    model = FunctionModel(answer, prices=(10.0, 30.0))
    services = Services(models=model, settings=limits(MonthlyCost=0.15))
    pipeline = twelve(services)
    responses = await asyncio.gather(*(pipeline.run(services.turn(f"hello {n}")) for n in range(50)))
    assert [each.finish_reason for each in responses].count("stop") == 1
    assert len(model.requests) == 1
    assert await services.store.usage.reserved() == 0


@pytest.mark.parametrize("purpose", ["plan", "step", "reply", "compaction", "vote"])
async def test_calls_of_every_purpose_are_billed(purpose: str) -> None:
    seen: list[str] = []

    async def answer(request: ModelRequest) -> ModelResponse:
        seen.append(request.purpose)
        usage = Usage(100, 10)
        if request.purpose == "vote":
            return ModelResponse("yes", usage=usage)
        if request.purpose == "plan":
            text = '{"goal": "g", "steps": [{"id": "a", "description": "a"}, {"id": "b", "description": "b"}]}'
            return ModelResponse(text, usage=usage)
        return ModelResponse("fine", usage=usage)

    services = Services(models=FunctionModel(answer, context_window=4000))
    pipeline = twelve(services)
    for n in range(8):
        before = len(seen)
        mode = {"plan": "Always", "step": "Always", "vote": "LlmDecides"}.get(purpose, "Never")
        response = await pipeline.run(services.turn(f"{n} " + "word " * 700, session_id="s", planning=mode))
        assert response.usage.total_tokens == 110 * (len(seen) - before)
    assert purpose in seen
