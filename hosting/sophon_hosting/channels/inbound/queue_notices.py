"""Notices to a chat whose message waits in the queue: sent after a moment, if it still waits."""

import asyncio
import logging
from collections.abc import Sequence

from sophon.errors import StoreError
from sophon_channels.contract import InboundMessage
from sophon_hosting.channels.outbound.entries import OutboundWriter
from sophon_hosting.host import Host, TaskReceipt

log = logging.getLogger("sophon")

NOTICE_DELAY_SECONDS = 1.0
"""How long a message must have waited: longer than an idle worker needs to take a burst of messages."""

QUEUED_MESSAGE = "⏳ Queued, {count} ahead."
"""Notice to a chat whose message waits behind others."""


class QueueNotices:
    """Queue notices of one channel: at most one per chat for messages that arrived together.

    The number is what the queue states at the time of the notice. Nothing is sent if the turn has started, or is next.
    """

    def __init__(self, host: Host, writer: OutboundWriter, channel_name: str) -> None:
        self._host, self._writer, self._channel_name = host, writer, channel_name
        self._tasks: set[asyncio.Task[None]] = set()

    def schedule(self, accepted: Sequence[tuple[InboundMessage, str, TaskReceipt]]) -> None:
        """Check the accepted messages after `NOTICE_DELAY_SECONDS`; each comes with the name of its notice."""
        waiting = [each for each in accepted if each[2].created and each[2].position > 0]
        if waiting:
            task = asyncio.create_task(self._send_later(waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Send no more notices."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_later(self, accepted: Sequence[tuple[InboundMessage, str, TaskReceipt]]) -> None:
        await self._host.services.clock.sleep(NOTICE_DELAY_SECONDS)
        notified: set[str] = set()
        for message, name, receipt in accepted:
            chat = message.location.key
            if chat in notified:
                continue
            try:
                position = await self._host.find_position(receipt.task_id)
                if position:
                    notified.add(chat)
                    text = QUEUED_MESSAGE.format(count=position)
                    await self._writer.write_reply(message.location, message.person, name, text, message.message_id)
            except StoreError as error:
                log.warning("%s: a queue notice could not be stored: %s", self._channel_name, error)
