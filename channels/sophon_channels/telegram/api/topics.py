"""Topics that are gone: what was to be sent to one is sent to the chat, and says so.

Source: reference/channels.md, "Forum topics". Telegram refuses to send to a deleted topic, and to one that is closed.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from sophon_channels.telegram.rendering import MAX_CAPTION_LENGTH, REPEAT_MARK, TEXT_LIMIT, TOPIC_MARK
from sophon_channels.text.utf16 import utf16_length

MAX_REDIRECTED_MESSAGES = 1000
"""Number of redirected messages that are remembered, so that an edit keeps the mark."""


def redirect_to_chat(payload: Mapping[str, Any], topic: str) -> dict[str, Any]:
    """Return the payload for the chat itself: with a first line that names the topic, without the reply. Pure.

    Parts that an earlier version has split may leave no space for the line, and are sent without it.
    """
    redirected = {key: value for key, value in payload.items() if key != "reply_to"}
    mark, plain = TOPIC_MARK.format(topic=topic), str(payload.get("plain", ""))
    limit = MAX_CAPTION_LENGTH if "file" in payload else TEXT_LIMIT
    if utf16_length(mark + plain + REPEAT_MARK) > limit:
        return redirected
    redirected["plain"] = mark + plain
    if payload.get("html"):
        redirected["html"] = mark + payload["html"]
    return redirected


class RedirectedMessages:
    """The topics of the messages that were sent to the chat instead; the newest are remembered."""

    def __init__(self) -> None:
        self._topics: OrderedDict[tuple[str, str], str] = OrderedDict()

    def record(self, chat: str, message_id: str | None, topic: str) -> None:
        """Record a redirected message."""
        if message_id is not None:
            self._topics[chat, message_id] = topic
            while len(self._topics) > MAX_REDIRECTED_MESSAGES:
                self._topics.popitem(last=False)

    def find_topic(self, chat: str, message_id: str) -> str | None:
        """Return the topic for which the message was; None if it was not redirected, as far as is remembered."""
        return self._topics.get((chat, message_id))
