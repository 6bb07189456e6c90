"""Signals of runs between host processes: the store has a cancellation or a decision for a run that runs elsewhere."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sophon.failure_log import log_failure
from sophon_hosting.fanout.contract import HostFanout, HostMessage, RunSignalled

log = logging.getLogger("sophon")


class RunSignals:
    """Sends and receives the signals of runs; a lost one costs a reconcile interval.

    `notice` looks into the store for a run of this process.
    """

    def __init__(self, fanout: HostFanout, notice: Callable[[str], Awaitable[None]]) -> None:
        self._fanout, self._notice = fanout, notice
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, run_id: str, reason: str) -> None:
        """Tell the process that runs the run, if there is one; never blocks and never raises."""
        self._fanout.publish(RunSignalled(run_id, reason))

    def start(self) -> None:
        """Receive the signals of other processes until `stop`."""
        self._fanout.subscribe(self._receive)

    async def stop(self) -> None:
        """Receive no more signals."""
        self._fanout.unsubscribe(self._receive)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _receive(self, message: HostMessage) -> None:
        if isinstance(message, RunSignalled):
            task = asyncio.create_task(self._look(message.run_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _look(self, run_id: str) -> None:
        try:
            await self._notice(run_id)
        except Exception as error:  # noqa: BLE001 - logged; the reconciler looks again
            log_failure(log, error, "what another process has stored for run %s is read later", run_id)
