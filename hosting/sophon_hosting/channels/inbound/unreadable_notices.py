"""Notices about messages that cannot be read: a sentence in the chat instead of silence, at most one per chat and kind
in a while.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from sophon.clock import Clock
from sophon_channels.contract import InboundMessage
from sophon_channels.message_kind_treatments import format_unreadable_notice
from sophon_hosting.channels.outbound.message_entries import OutboundWriter

VOICE_KIND = "voice messages"
"""Kind of content that cannot be read where no transcription is set."""
NOTICE_INTERVAL = timedelta(minutes=10)
"""Minimum interval between two notices of one kind in a chat."""


class UnreadableNotices:
    """Notices of one channel. The caller has checked that the sender may write; in a group nobody gets a notice who
    did not address the bot.
    """

    def __init__(self, writer: OutboundWriter, clock: Clock) -> None:
        self._writer, self._clock = writer, clock
        self._last_notices: dict[tuple[str, str], datetime] = {}

    async def send(self, message: InboundMessage, name: str) -> None:
        """Send the notice for a message, unless it is not due; `name` is the notice's own, see `build_entries`."""
        key, now = (message.location.key, message.unreadable), self._clock.now()
        if (message.location.kind == "group" and not message.is_mention) or not self._is_due(key, now):
            return
        text = format_unreadable_notice(message.unreadable)
        await self._writer.write_reply(message.location, message.person, name, text, message.message_id)
        self._last_notices[key] = now

    def _is_due(self, key: tuple[str, str], now: datetime) -> bool:
        self._last_notices = {each: at for each, at in self._last_notices.items() if now - at < NOTICE_INTERVAL}
        return key not in self._last_notices


def without_voice(message: InboundMessage) -> InboundMessage:
    """Return a message that consists of voice messages only as one that cannot be read. Pure."""
    is_voice_only = bool(message.attachments) and all(file.is_voice for file in message.attachments)
    if not is_voice_only or message.text.strip() or message.shared:
        return message
    return replace(message, attachments=(), unreadable=VOICE_KIND)


def has_readable_content(message: InboundMessage) -> bool:
    """Return whether a model can do something with the message. Pure."""
    return bool(message.text.strip() or message.attachments or message.shared)
