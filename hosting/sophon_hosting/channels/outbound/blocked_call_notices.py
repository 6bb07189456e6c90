"""Notices of blocked tool calls: one line in the chat that a turn came from, a few per turn."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from sophon.errors import NotFound
from sophon_channels.contract import Channel, OutboundMessage
from sophon_hosting.channels.approval_text import to_visible_line
from sophon_hosting.channels.direct_chat_recipients import recipient_of_run
from sophon_hosting.channels.outbound.chat_notices import ChatNotice
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.channels.outbound.quiet_entries import UNPROMPTED_KIND, is_prompted
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.contract import HostStore

MAX_NOTICES_PER_TURN = 3
"""A model that tries again and again does not flood the chat; the web page shows each call."""

MAX_COUNTED_TURNS = 1000
"""Number of turns whose notices are counted."""

MAX_NAME_CHARACTERS, MAX_REASON_CHARACTERS = 64, 200


def is_block(event: WireEvent) -> bool:
    """Return whether a guard has blocked a tool call."""
    return event.name == "guard_verdict" and event.data.get("verdict") == "block"


def format_block_notice(verdict: Mapping[str, Any]) -> str:
    """Return one line: `⊘ files.write was blocked by Protection: SOUL.md can only be read (protected_read_only)`."""
    tool = to_visible_line(verdict.get("tool") or "a tool call", MAX_NAME_CHARACTERS)
    guard, rule = (to_visible_line(verdict[name], MAX_NAME_CHARACTERS) for name in ("guard", "rule"))
    reason = to_visible_line(verdict["reason"], MAX_REASON_CHARACTERS)
    return f"⊘ {tool} was blocked by {guard}: {reason} ({rule})"


class BlockedCallNotices:
    """Sends the notices of one channel. A call has one notice, also if its turn is judged again after a restart."""

    def __init__(self, channel: Channel, store: HostStore, writer: OutboundWriter) -> None:
        self._channel, self._store, self._writer = channel, store, writer
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def send(self, event: WireEvent) -> None:
        """Send the notice of a blocked call to the chat of its turn, if that is on this channel."""
        count = self._counts.get(event.task_id, 0)
        if count >= MAX_NOTICES_PER_TURN:
            return
        try:
            run = await self._store.runs.get(event.task_id)
        except NotFound:
            return
        chat = str(run.origin.get("chat") or "")
        if run.channel != self._channel.name or not chat:
            return
        self._counts[event.task_id] = count + 1
        while len(self._counts) > MAX_COUNTED_TURNS:
            self._counts.popitem(last=False)
        name = f"blocked:{event.data['run_id']}:{event.data['call_id']}"
        message = OutboundMessage(format_block_notice(event.data), is_markdown=False)
        kind = "note" if is_prompted(run) else UNPROMPTED_KIND
        await self._writer.write(chat, name, message, kind, recipient=recipient_of_run(run))


BLOCKED_CALL_NOTICE: Final = ChatNotice(is_block, BlockedCallNotices)
