"""Lost starts: how often each run was started by a process that then died, for a queue that dies with its process."""

import logging
from collections.abc import Sequence

from sophon.errors import StoreError
from sophon.failure_log import log_failure
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

CHANNEL, KIND = "host", "lost_starts"


class LostStarts:
    """Counts the lost starts of runs in the store, where a queue in memory cannot.

    `Run.starts` alone does not say it: a turn also starts again after each decision of a person, and after a shutdown
    that did not wait for it. So the number of starts that are accounted for is kept beside the count.
    """

    def __init__(self, store: HostStore) -> None:
        self._runs, self._state = store.runs, store.channel_state
        self._counts: dict[str, int] | None = None
        """Lost starts by run; None before `count`."""

    async def count(self, runs: Sequence[Run]) -> dict[str, int]:
        """Return the lost starts of each of these runs, which are all that run by the store. Raises StoreError.

        Call it once in a process, before it starts any: whatever was started since the last call was lost.
        """
        known = {each.key: each.value for each in await self._state.list(KIND, CHANNEL)}
        self._counts, changed = {}, list[ChannelStateEntry]()
        for run in runs:
            before = known.pop(run.id, {"lost": 0, "starts": 0})
            is_lost = run.starts > before["starts"]
            self._counts[run.id] = before["lost"] + is_lost
            if is_lost:
                changed.append(_note(run, self._counts[run.id]))
        await self._state.put_many(changed)
        for run_id in known:  # it has ended, or waits for a person
            await self._state.remove(CHANNEL, "", KIND, run_id)
        return self._counts

    async def excuse(self) -> None:
        """Account for what this process leaves running at a shutdown: those starts are not lost."""
        if self._counts is None:
            return
        try:
            runs = [await self._runs.find(each.id) for each in await self._runs.list_running()]
            left = [run for run in runs if run is not None]
            await self._state.put_many([_note(run, self._counts.get(run.id, 0)) for run in left])
        except StoreError as error:
            log_failure(log, error, "the turns that this shutdown interrupts count as lost")


def _note(run: Run, lost: int) -> ChannelStateEntry:
    return ChannelStateEntry(CHANNEL, "", KIND, run.id, {"lost": lost, "starts": run.starts})
