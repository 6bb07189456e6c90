"""Reactions that acknowledge accepted messages, in the background: the platform may be slow."""

import asyncio
import logging

from sophon_channels.contract import Channel, InboundMessage, ReactingChannel

log = logging.getLogger("sophon")

MAX_PENDING = 100
"""Reactions that may wait for the platform; further messages get none."""


class AckReactions:
    """Acknowledging reactions of one channel with one emoji; none if it is empty, or the channel cannot react.

    A reaction is best effort, and not stored: a message that is delivered again, or a kill, makes no second one, and
    what acknowledges a message for certain is its answer.
    """

    def __init__(self, channel: Channel, emoji: str) -> None:
        self._name, self._emoji = channel.name, emoji
        self._channel = channel if isinstance(channel, ReactingChannel) else None
        self._pending: set[asyncio.Task[None]] = set()

    def start(self, message: InboundMessage) -> None:
        """React to a message in the background."""
        if not self._emoji or self._channel is None or len(self._pending) >= MAX_PENDING:
            return
        task = asyncio.create_task(self._react(self._channel, message))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def stop(self) -> None:
        """Cancel the reactions that were not sent."""
        for task in self._pending:
            task.cancel()
        await asyncio.gather(*self._pending, return_exceptions=True)

    async def _react(self, channel: ReactingChannel, message: InboundMessage) -> None:
        try:
            await channel.send_reaction(message.location, message.message_id, self._emoji)
        except Exception:
            log.exception("%s: a message could not be acknowledged", self._name)
