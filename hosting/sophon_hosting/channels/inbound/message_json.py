"""JSON of inbound messages, as the store keeps the parts of a message that waits for more."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sophon_channels.contract import ChannelAttachment, ChatLocation, InboundMessage, Person, SharedText


def message_to_json(message: InboundMessage) -> dict[str, Any]:
    """Return a message as plain JSON, in the stored format."""
    return {
        "external_id": message.external_id,
        "person": asdict(message.person),
        "place": asdict(message.location),
        "text": message.text,
        "message_id": message.message_id,
        "at": message.sent_at.isoformat(),
        "mentioned": message.is_mention,
        "quoted": message.quoted_text,
        "album": message.media_group_id,
        "attachments": tuple(asdict(file) for file in message.attachments),
        "late": message.is_late,
        "forwarded": message.is_forwarded,
        "quoted_author": message.quoted_author,
        "quote_is_foreign": message.is_quote_foreign,
        "quoted_message_id": message.quoted_message_id,
        "forwarded_from": message.forwarded_from,
        "shared": tuple(asdict(text) for text in message.shared),
        "unreadable": message.unreadable,
        "edited": message.is_edited,
        "reply_to": message.reply_to_message_id,
    }


def message_from_json(data: Mapping[str, Any]) -> InboundMessage:
    """Return the message from what `message_to_json` returned."""
    return InboundMessage(
        external_id=data["external_id"],
        person=_person_from_json(data["person"]),
        location=ChatLocation(**data["place"]),
        text=data["text"],
        message_id=data["message_id"],
        sent_at=datetime.fromisoformat(data["at"]),
        is_mention=data["mentioned"],
        quoted_text=data["quoted"],
        media_group_id=data["album"],
        attachments=tuple(ChannelAttachment(**file) for file in data["attachments"]),
        is_late=data["late"],
        # What follows is missing in groups that an earlier version stored.
        is_forwarded=data.get("forwarded", False),
        quoted_author=data.get("quoted_author", ""),
        is_quote_foreign=data.get("quote_is_foreign", True),
        quoted_message_id=data.get("quoted_message_id", ""),
        forwarded_from=data.get("forwarded_from", ""),
        shared=tuple(SharedText(**text) for text in data.get("shared", ())),
        unreadable=data.get("unreadable", ""),
        is_edited=data.get("edited", False),
        reply_to_message_id=data.get("reply_to", ""),
    )


def _person_from_json(data: Mapping[str, Any]) -> Person:
    return replace(Person(**data), listed_ids=tuple(data.get("listed_ids", ())))
