"""Design 4.2: the budget holds, whoever asks, however many at once."""

import asyncio
from typing import Any

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
