"""Signals of runs between host processes: the store has a cancellation or a decision for a run that runs elsewhere."""

import logging
from collections.abc import Awaitable, Callable

from sophon.failure_log import log_failure
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.fanout.contract import HostFanout, HostMessage, RunSignalled

log = logging.getLogger("sophon")


class RunSignals:
    """Sends and receives the signals of runs; a lost one costs a reconcile interval.

    `notice` looks into the store for a run of this process.
    """

    def __init__(self, fanout: HostFanout, notice: Callable[[str], Awaitable[None]]) -> None:
        self._fanout, self._notice = fanout, notice
        self._tasks = BackgroundTasks()

    def send(self, run_id: str, reason: str) -> None:
        """Tell the process that runs the run, if there is one; never blocks and never raises."""
        self._fanout.publish(RunSignalled(run_id, reason))

    def start(self) -> None:
        """Receive the signals of other processes until `stop`."""
        self._fanout.subscribe(self._receive)

    async def stop(self) -> None:
        """Receive no more signals."""
        self._fanout.unsubscribe(self._receive)
        await self._tasks.stop()

    def _receive(self, message: HostMessage) -> None:
        if isinstance(message, RunSignalled):
            self._tasks.start(self._look(message.run_id))

    async def _look(self, run_id: str) -> None:
        try:
            await self._notice(run_id)
        except Exception as error:  # noqa: BLE001 - logged; the reconciler looks again
            log_failure(log, error, "what another process has stored for run %s is read later", run_id)
