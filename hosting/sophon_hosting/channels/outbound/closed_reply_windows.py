"""Closed windows: platforms that take no free text until the person writes again, only a message that tells them so."""

from sophon_channels.contract import DeliveryReceipt, EntrySender, SendUndeliverable, WindowReopeningChannel
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.outbound.retry_rules import UndeliveredReason

REOPENING_KIND = "reopening"
"""Kind of the outbound entry that tells a person of an answer that is kept."""


def find_reason(channel: EntrySender, result: SendUndeliverable) -> UndeliveredReason:
    """Return why an entry is given up; `window_closed` only if the channel can tell the person of it."""
    if result.is_window_closed and can_reopen(channel):
        return "window_closed"
    return "chat_gone" if result.is_chat_gone else "rejected"


def reason_from_receipt(channel: EntrySender, receipt: DeliveryReceipt) -> UndeliveredReason:
    """Do as `find_reason`, for a failure that the platform reports after it took the message."""
    if receipt.is_window_closed and can_reopen(channel):
        return "window_closed"
    return "chat_gone" if receipt.is_chat_unreachable else "rejected"


def can_reopen(channel: EntrySender) -> bool:
    """Return whether the channel has a message for closed windows."""
    return isinstance(channel, WindowReopeningChannel) and channel.render_reopening("") is not None


def build_reopening(channel: EntrySender, entry: OutboundEntry, entry_id: str, recipient: str) -> list[OutboundEntry]:
    """Return the entry that tells the person of `entry`, which cannot be sent now; none if the channel has none."""
    beginning = str(entry.payload.get("text") or entry.payload.get("file_name") or "")
    payload = channel.render_reopening(beginning) if isinstance(channel, WindowReopeningChannel) else None
    if payload is None:
        return []
    return [
        OutboundEntry(
            entry_id, None, entry.channel, entry.account, entry.chat, REOPENING_KIND, payload, recipient=recipient
        )
    ]
