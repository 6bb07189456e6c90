"""JSON of inbound messages, as the store keeps the parts of a message that waits for more."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sophon_channels.contract import ChannelAttachment, ChatLocation, InboundMessage, Person, SharedText


def message_to_json(message: InboundMessage) -> dict[str, Any]:
    """Return a message as plain JSON, in the stored format."""
    return {**asdict(message), "sent_at": message.sent_at.isoformat()}


def message_from_json(data: Mapping[str, Any]) -> InboundMessage:
    """Return the message from what `message_to_json` returned."""
    person: dict[str, Any] = {**data["person"], "listed_ids": tuple(data["person"]["listed_ids"])}
    parts: dict[str, Any] = {
        "person": Person(**person),
        "location": ChatLocation(**data["location"]),
        "sent_at": datetime.fromisoformat(data["sent_at"]),
        "attachments": tuple(ChannelAttachment(**each) for each in data["attachments"]),
        "shared": tuple(SharedText(**each) for each in data["shared"]),
    }
    return InboundMessage(**{**data, **parts})
