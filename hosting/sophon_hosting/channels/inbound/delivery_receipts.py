"""Delivery receipts: counts per status; a message that failed after it was sent becomes a dead letter."""

import logging
from collections import OrderedDict
from collections.abc import Sequence

from sophon.errors import IllegalTransition, NotFound
from sophon_channels.contract import Channel, DeliveryReceipt
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.outbound.closed_reply_windows import reason_from_receipt
from sophon_hosting.channels.outbound.retry_rules import UndeliveredReason
from sophon_hosting.channels.outbound.undelivered_answers import UndeliveredAnswers
from sophon_hosting.store.contract import HostStore

log = logging.getLogger("sophon")

MAX_EARLY_RECEIPTS = 1000
"""Number of remembered receipts of messages whose send is not stored yet; the oldest is forgotten."""


class DeliveryReceiptHandler:
    """Handler of one channel's delivery receipts, and `DeliveryListener` in front of `UndeliveredAnswers`.

    A receipt may arrive before the response to the send is stored; it is applied then.
    """

    def __init__(self, channel: Channel, store: HostStore, undelivered: UndeliveredAnswers) -> None:
        self._channel, self._outbox, self._undelivered = channel, store.outbox, undelivered
        self._early: OrderedDict[str, DeliveryReceipt] = OrderedDict()

    async def handle(self, receipt: DeliveryReceipt) -> None:
        """Count the status, and apply it to the entry that was sent as this message."""
        counts = self._channel.health.counts
        counts[receipt.status] = counts.get(receipt.status, 0) + 1
        if receipt.status == "sent":
            return
        if receipt.status == "failed":
            log.warning(
                "%s: a message was not delivered: %s %s", self._channel.name, receipt.code or "", receipt.reason
            )
        name, account = self._channel.name, self._channel.account
        entry = await self._outbox.find_by_platform_id(name, account, receipt.message_id)
        if entry is not None:
            await self._apply(entry, receipt)
            return
        self._early[receipt.message_id] = receipt
        while len(self._early) > MAX_EARLY_RECEIPTS:
            self._early.popitem(last=False)

    async def give_up(self, entry: OutboundEntry, reason: UndeliveredReason, error: str) -> Sequence[OutboundEntry]:
        """See `DeliveryListener.give_up`."""
        return await self._undelivered.give_up(entry, reason, error)

    async def handle_undelivered(self, entries: Sequence[OutboundEntry], reason: UndeliveredReason) -> None:
        """See `DeliveryListener.handle_undelivered`."""
        await self._undelivered.handle_undelivered(entries, reason)

    async def handle_sent(self, entry: OutboundEntry) -> None:
        """See `DeliveryListener.handle_sent`; applies a receipt that came before."""
        await self._undelivered.handle_sent(entry)
        receipt = self._early.pop(entry.platform_id or "", None)
        if receipt is not None:
            await self._apply(entry, receipt)

    async def _apply(self, entry: OutboundEntry, receipt: DeliveryReceipt) -> None:
        """Record the delivery, or give up the entry as after a refused send. A repeated receipt has no effect."""
        if entry.status != "sent" or entry.delivered:
            return
        try:
            if receipt.status != "failed":
                await self._outbox.mark_delivered(entry.id)
                return
            reason = reason_from_receipt(self._channel, receipt)
            error = receipt.reason or f"the platform reports the error {receipt.code}"
            dead = await self._undelivered.give_up(entry, reason, error)
        except (IllegalTransition, NotFound):  # another receipt was first, or its session was deleted
            return
        counts = self._channel.health.counts
        counts["undelivered"] = counts.get("undelivered", 0) + len(dead)
        await self._undelivered.handle_undelivered(dead, reason)
