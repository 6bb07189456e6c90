"""The load of the machine: processes that want to run, on average of a minute."""

import asyncio
import os
from collections import deque

from sophon.clock import Clock
from sophon.events import Emit
from sophon_hosting.background_tasks import end_tasks
from sophon_machine_load.events import LoadMeasured

INTERVAL_SECONDS = 60.0
MAX_SAMPLES = 60


def measure_load() -> float:
    """Return the load of the last minute."""
    return round(os.getloadavg()[0], 2)


class LoadRecorder:
    """Measures the load each minute in the background, emits it, and keeps the samples of the last hour."""

    def __init__(self, clock: Clock, emit: Emit) -> None:
        self._clock, self._emit = clock, emit
        self._task: asyncio.Task[None] | None = None
        self.samples: deque[float] = deque(maxlen=MAX_SAMPLES)

    @property
    def is_running(self) -> bool:
        """Whether it measures."""
        return self._task is not None

    def start(self) -> None:
        """Start to measure."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; does nothing if it did not start."""
        await end_tasks(self._task)
        self._task = None

    async def _run(self) -> None:
        while True:
            self.samples.append(measure_load())
            self._emit(LoadMeasured(load=self.samples[-1]))
            await self._clock.sleep(INTERVAL_SECONDS)
