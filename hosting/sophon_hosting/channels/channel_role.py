"""Role of a process for one channel: whether it leads, whether it receives, and whether the channel has started."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from sophon.clock import Clock
from sophon_channels.contract import Channel
from sophon_hosting.leadership.membership import GroupMembership

START_WAIT_SECONDS: Final = 90.0
"""How long a turn with files waits for its channel to start: longer than the delay after a rejected credential."""


class ChannelRole:
    """What this process is to one channel.

    Of several processes the leader of the channel sends, polls and does the periodic work. A channel with a webhook
    receives in every process that answers HTTP (`has_http`), because the platform may call any of them.
    """

    def __init__(self, channel: Channel, membership: GroupMembership, clock: Clock, *, has_http: bool) -> None:
        self._leadership, self._duty, self._clock = membership.leadership, f"channel:{channel.name}", clock
        self.receives_everywhere = membership.is_shared and has_http and bool(channel.routes())
        """Whether this process receives without leading, too."""
        self._has_started = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """Whether this process sends to the channel."""
        return self._leadership.is_leader(self._duty)

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` whenever this process leads, until cancelled."""
        await self._leadership.lead(self._duty, work)

    def note_start(self) -> None:
        """State that the channel has started here."""
        self._has_started.set()

    def note_stop(self) -> None:
        """State that the channel has to start again."""
        self._has_started.clear()

    async def wait_until_started(self) -> None:
        """Wait until the channel has started, at most `START_WAIT_SECONDS`, if this process is to start it."""
        if not (self.is_leader or self.receives_everywhere):
            return
        with suppress(TimeoutError):
            async with self._clock.timeout(START_WAIT_SECONDS):
                await self._has_started.wait()
