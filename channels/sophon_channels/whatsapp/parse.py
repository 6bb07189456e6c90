"""Parsing of Cloud API webhooks into inbound events: all entries, changes, messages, statuses; malformed parts are
skipped.

Source: reference/channels.md; "messages webhook reference" and "Business-scoped user IDs" of Meta's documentation.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from sophon_channels.contract import Arrival, Attachment, Delivery, Moved, Person, Place, Pressed, Written
from sophon_channels.fields import NOTHING, Fields, as_fields, objects, sub, text, whole

log = logging.getLogger("sophon")

LATE_AFTER = timedelta(hours=1)
"""A message delivered later than this is marked as late."""

Kind: TypeAlias = Literal["image", "audio", "video", "document", "other"]
"""Kind of an attachment."""

MEDIA: dict[str, Kind] = {
    "image": "image",
    "audio": "audio",
    "voice": "audio",
    "video": "video",
    "document": "document",
    "sticker": "image",
}
"""Kind of the attachment by message type."""
STATUSES: dict[str, Literal["sent", "delivered", "read", "failed"]] = {
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "failed": "failed",
}
"""The statuses that are handled."""


def arrivals(body: object, number_id: str, now: datetime) -> list[Arrival]:
    """Parse the body of a webhook; return the events of our number. Pure, apart from a log line for what is skipped."""
    events: list[Arrival] = []
    for entry in objects(as_fields(body), "entry"):
        for change in objects(entry, "changes"):
            value = sub(change, "value")
            if text(change, "field") == "messages" and text(sub(value, "metadata"), "phone_number_id") == number_id:
                events += _parse_messages(value, now)
                events += _parse_statuses(value)
    return events


def _parse_messages(value: Fields, now: datetime) -> Iterator[Arrival]:
    contacts = _contacts_by_id(value)
    for message in objects(value, "messages"):
        if text(message, "group_id") or text(sub(message, "context"), "group_id"):
            log.info("WhatsApp: skipped a message from a group; groups are not supported")
            continue
        event = _parse_message(message, contacts, now)
        if event is not None:
            yield event


def _parse_message(message: Fields, contacts: Mapping[str, Fields], now: datetime) -> Arrival | None:
    external_id, kind = text(message, "id"), text(message, "type")
    if kind == "system" and external_id:
        return _parse_migration(message, external_id)
    person, chat = _sender_and_chat(message, contacts)
    if not (person.id and chat and external_id):
        return None
    callback_data = _parse_callback_data(message, kind)
    if callback_data is not None:
        prompt_id = text(sub(message, "context"), "id") or None
        return Pressed(external_id, person, Place(chat), callback_data, external_id, prompt_id)
    content, files = _parse_content(message, kind)
    if not content and not files:
        log.info("WhatsApp: skipped a message of the type %r", kind[:40])
        return None
    sent_at = _parse_time(text(message, "timestamp"), now)
    return Written(
        external_id,
        person,
        Place(chat),
        content,
        external_id,
        sent_at,
        mentioned=True,
        attachments=files,
        late=now - sent_at > LATE_AFTER,
    )


def _sender_and_chat(message: Fields, contacts: Mapping[str, Fields]) -> tuple[Person, str]:
    """Return the sender and the chat that a reply is sent to.

    The sender's id is the user id, which survives a change of number or name, else the number. The chat is the number,
    or the user id of a person who hides the number. Ids that the message lacks are taken from its contact.
    """
    number, user = text(message, "from"), text(message, "from_user_id")
    contact = contacts.get(user) or contacts.get(number) or NOTHING
    number, user = number or text(contact, "wa_id"), user or text(contact, "user_id")
    return Person(user or number, text(sub(contact, "profile"), "name")), number or user


def _contacts_by_id(value: Fields) -> dict[str, Fields]:
    """Return the contacts by each of their ids."""
    contacts = objects(value, "contacts")
    return {
        contact_id: contact
        for contact in contacts
        for key in ("user_id", "wa_id")
        if (contact_id := text(contact, key))
    }


def _parse_callback_data(message: Fields, kind: str) -> str | None:
    """Return the data of a reply button, a list row, or a template's quick reply; None for other messages."""
    if kind == "button":
        return text(sub(message, "button"), "payload") or None
    if kind == "interactive":
        interactive = sub(message, "interactive")
        return text(sub(interactive, "button_reply"), "id") or text(sub(interactive, "list_reply"), "id") or None
    return None


def _parse_content(message: Fields, kind: str) -> tuple[str, tuple[Attachment, ...]]:
    if kind == "text":
        return text(sub(message, "text"), "body"), ()
    if kind in MEDIA:
        media = sub(message, kind)
        media_id = text(media, "id")
        file = Attachment(
            media_id,
            MEDIA[kind],
            text(media, "filename"),
            text(media, "mime_type"),
            digest=text(media, "sha256"),
        )
        return text(media, "caption"), (file,) if media_id else ()
    if kind == "location":
        return _describe_location(sub(message, "location")), ()
    if kind == "contacts":
        names = [text(sub(contact, "name"), "formatted_name") for contact in objects(message, "contacts")]
        return f"[contacts: {', '.join(name for name in names if name) or 'without names'}]", ()
    return "", ()


def _describe_location(place: Fields) -> str:
    label = ", ".join(part for part in (text(place, "name"), text(place, "address")) if part)
    coordinates = ", ".join(
        str(degrees) for key in ("latitude", "longitude") if (degrees := _coordinate(place, key)) is not None
    )
    return f"[location: {', '.join(part for part in (label, coordinates) if part) or 'without a place'}]"


def _coordinate(place: Fields, key: str) -> float | None:
    value = place.get(key)
    return value if isinstance(value, float) else whole(place, key)


def _parse_migration(message: Fields, external_id: str) -> Moved | None:
    """Return the migration when a person's user id or number has changed; the chat's key changes with it, from number
    to number if the new number is known.
    """
    system, number = sub(message, "system"), text(message, "from")
    if text(system, "type") not in ("user_changed_user_id", "user_changed_number"):
        return None
    old_chat, new_user = number or text(message, "from_user_id"), text(system, "user_id")
    new_number = text(system, "wa_id") or text(system, "new_wa_id")
    new_chat = (new_number or new_user) if number else (new_user or new_number)
    return Moved(external_id, old_chat, new_chat) if old_chat and new_chat and old_chat != new_chat else None


def _parse_statuses(value: Fields) -> Iterator[Delivery]:
    for status in objects(value, "statuses"):
        known_status, platform_id = STATUSES.get(text(status, "status")), text(status, "id")
        if known_status is None or not platform_id:
            continue
        errors = objects(status, "errors")
        error = errors[0] if errors else NOTHING
        reason = text(sub(error, "error_data"), "details") or text(error, "title")
        yield Delivery(f"{platform_id}:{known_status}", platform_id, known_status, whole(error, "code"), reason)


def _parse_time(stamp: str, now: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(int(stamp), UTC)
    except (ValueError, OverflowError, OSError):
        return now
