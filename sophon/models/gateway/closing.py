"""Closing of all models of a gateway: one that fails or hangs does not keep the others open."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from sophon.clock import Clock
from sophon.errors import ModelTimeout
from sophon.models.model import Model

log = logging.getLogger("sophon")

CLOSE_TIMEOUT_SECONDS = 5.0
"""Time that the models have to close, all together."""


async def close_all(models: Sequence[Model], clock: Clock) -> list[Exception]:
    """Close the models concurrently and return their failures in the given order.

    What has not closed in time is cancelled and not waited for, because a hanging model may ignore that too.
    """
    if not models:
        return []
    tasks = [asyncio.create_task(_close(model)) for model in models]
    try:
        async with clock.timeout(CLOSE_TIMEOUT_SECONDS):
            await asyncio.wait(tasks)
    except TimeoutError:
        pass
    finally:
        for task in tasks:
            task.cancel()
    return [failure for model, task in zip(models, tasks, strict=True) if (failure := _failure(model, task))]


async def _close(model: Any) -> Exception | None:
    try:
        await model.aclose()
    except Exception as error:  # noqa: BLE001 - returned, so that every failure is retrieved
        return error
    return None


def _failure(model: Model, task: asyncio.Task[Exception | None]) -> Exception | None:
    if task.done() and not task.cancelled():
        return task.result()
    info = model.info
    log.warning("the model %s did not close within %g seconds", info.id, CLOSE_TIMEOUT_SECONDS)
    return ModelTimeout(f"{info.id} did not close within {CLOSE_TIMEOUT_SECONDS:g} seconds", model=info.name)
