"""Delivery receipts: counts per status; a message that failed after it was sent is reported to its chat."""

import logging

from sophon_channels.contract import Channel, ChatLocation, DeliveryReceipt
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.inbound.message_lookup import MessageLookup
from sophon_hosting.channels.outbound.entries import OutboundWriter
from sophon_hosting.channels.outbound.refusals import report_refusal

log = logging.getLogger("sophon")


class DeliveryReceiptHandler:
    """Handler of one channel's delivery receipts."""

    def __init__(
        self, channel: Channel, chat_state: ChatState, writer: OutboundWriter, message_lookup: MessageLookup
    ) -> None:
        self._channel, self._chat_state = channel, chat_state
        self._writer, self._lookup = writer, message_lookup

    async def handle(self, receipt: DeliveryReceipt) -> None:
        """Count the status; log a failure, and tell the chat unless a further message would fail too.

        A notice belongs to no run, and so its failure is told to nobody: notices about notices would never end.
        """
        counts = self._channel.health.counts
        counts[receipt.status] = counts.get(receipt.status, 0) + 1
        if receipt.status != "failed":
            return
        log.warning("%s: a message was not delivered: %s %s", self._channel.name, receipt.code or "", receipt.reason)
        if receipt.chat and not receipt.is_chat_unreachable:
            session = await self._chat_state.current_session(ChatLocation(receipt.chat))
            entry = await self._lookup.find_sent(session, receipt.message_id)
            if entry is not None:
                await report_refusal(self._writer, entry, receipt.reason)
