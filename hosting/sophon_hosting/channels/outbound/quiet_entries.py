"""Quiet entries: what is held back in the quiet hours of a channel that cannot send without a sound."""

from datetime import datetime
from typing import Final

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon_channels.contract import Channel, HoldingChannel
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

UNPROMPTED_KIND: Final = "unprompted"
"""Kind of a notice of the host that follows from no message of a person, such as that of a paused goal."""


class QuietEntries:
    """Finds out until when an entry of one channel is held back.

    Held is what a run says that no message of a person has started: schedules, reports of goals, incoming webhooks; and
    notices of `UNPROMPTED_KIND`. Answers to a person, approvals and what may have arrived already are sent.
    """

    def __init__(self, channel: Channel, store: HostStore, clock: Clock) -> None:
        self._channel, self._store, self._clock = channel, store, clock

    async def find_hold(self, entry: OutboundEntry) -> datetime | None:
        """Return the end of the quiet hours for an entry that is held back, None for one that is sent now."""
        if not isinstance(self._channel, HoldingChannel) or entry.status == "ambiguous":
            return None
        end = self._channel.find_quiet_end(self._clock.now())
        if end is None:
            return None
        return end if entry.kind == UNPROMPTED_KIND or await self._is_of_unprompted_run(entry) else None

    async def _is_of_unprompted_run(self, entry: OutboundEntry) -> bool:
        if entry.run_id is None:
            return False
        try:
            return not is_prompted(await self._store.runs.get(entry.run_id))
        except NotFound:
            return False


def is_prompted(run: Run) -> bool:
    """Return whether a message of a person in the chat has started a run: its answer replies to that message."""
    return bool(run.origin.get("reply_to"))
