"""What Meta delivers, as arrivals: every entry, change, message and status; whatever is odd costs only itself.

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

Kind: TypeAlias = Literal["image", "audio", "video", "document", "other"]

MEDIA: dict[str, Kind] = {
    "image": "image",
    "audio": "audio",
    "voice": "audio",
    "video": "video",
    "document": "document",
    "sticker": "image",
}
STATUSES: dict[str, Literal["sent", "delivered", "read", "failed"]] = {
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "failed": "failed",
}


def arrivals(body: object, number_id: str, now: datetime) -> list[Arrival]:
    """All that a webhook's body tells about our number. Pure but for a line in the log for what is left out."""
    found: list[Arrival] = []
    for entry in objects(as_fields(body), "entry"):
        for change in objects(entry, "changes"):
            value = sub(change, "value")
            if text(change, "field") == "messages" and text(sub(value, "metadata"), "phone_number_id") == number_id:
                found += _messages(value, now)
                found += _statuses(value)
    return found


def _messages(value: Fields, now: datetime) -> Iterator[Arrival]:
    contacts = _contacts(value)
    for message in objects(value, "messages"):
        if text(message, "group_id") or text(sub(message, "context"), "group_id"):
            log.info("WhatsApp: a message from a group is left out; groups are not supported")
            continue
        arrival = _arrival(message, contacts, now)
        if arrival is not None:
            yield arrival


def _arrival(message: Fields, contacts: Mapping[str, Fields], now: datetime) -> Arrival | None:
    external_id, kind = text(message, "id"), text(message, "type")
    if kind == "system" and external_id:
        return _moved(message, external_id)
    person, chat = _people(message, contacts)
    if not (person.id and chat and external_id):
        return None
    press = _press(message, kind)
    if press is not None:
        prompt = text(sub(message, "context"), "id") or None
        return Pressed(external_id, person, Place(chat), press, external_id, prompt)
    words, files = _content(message, kind)
    if not words and not files:
        log.info("WhatsApp: a message of the kind %r is left out", kind[:40])
        return None
    at = _time(text(message, "timestamp"), now)
    return Written(
        external_id,
        person,
        Place(chat),
        words,
        external_id,
        at,
        mentioned=True,
        attachments=files,
        late=now - at > LATE_AFTER,
    )


def _people(message: Fields, contacts: Mapping[str, Fields]) -> tuple[Person, str]:
    """Who wrote, by the id that stays when a number or a name changes, else by the number; and what an answer is sent
    to: the number, or for somebody who hides it their user id. What the message leaves out its contact may tell.
    """
    number, user = text(message, "from"), text(message, "from_user_id")
    contact = contacts.get(user) or contacts.get(number) or NOTHING
    number, user = number or text(contact, "wa_id"), user or text(contact, "user_id")
    return Person(user or number, text(sub(contact, "profile"), "name")), number or user


def _contacts(value: Fields) -> dict[str, Fields]:
    """The contacts by each of their ids."""
    contacts = objects(value, "contacts")
    return {identity: each for each in contacts for key in ("user_id", "wa_id") if (identity := text(each, key))}


def _press(message: Fields, kind: str) -> str | None:
    """A button of ours, a row of a list, or a quick reply of a template."""
    if kind == "button":
        return text(sub(message, "button"), "payload") or None
    if kind == "interactive":
        interactive = sub(message, "interactive")
        return text(sub(interactive, "button_reply"), "id") or text(sub(interactive, "list_reply"), "id") or None
    return None


def _content(message: Fields, kind: str) -> tuple[str, tuple[Attachment, ...]]:
    if kind == "text":
        return text(sub(message, "text"), "body"), ()
    if kind in MEDIA:
        media = sub(message, kind)
        identity = text(media, "id")
        file = Attachment(
            identity,
            MEDIA[kind],
            text(media, "filename"),
            text(media, "mime_type"),
            digest=text(media, "sha256"),
        )
        return text(media, "caption"), (file,) if identity else ()
    if kind == "location":
        return _location(sub(message, "location")), ()
    if kind == "contacts":
        names = [text(sub(each, "name"), "formatted_name") for each in objects(message, "contacts")]
        return f"[contacts: {', '.join(name for name in names if name) or 'without names'}]", ()
    return "", ()


def _location(place: Fields) -> str:
    named = ", ".join(part for part in (text(place, "name"), text(place, "address")) if part)
    where = ", ".join(
        str(degrees) for key in ("latitude", "longitude") if (degrees := _degrees(place, key)) is not None
    )
    return f"[location: {', '.join(part for part in (named, where) if part) or 'without a place'}]"


def _degrees(place: Fields, key: str) -> float | None:
    value = place.get(key)
    return value if isinstance(value, float) else whole(place, key)


def _moved(message: Fields, external_id: str) -> Moved | None:
    """Somebody's user id changes with their number; the chat goes with it: a number to a number where one is told."""
    system, number = sub(message, "system"), text(message, "from")
    if text(system, "type") not in ("user_changed_user_id", "user_changed_number"):
        return None
    old, user = number or text(message, "from_user_id"), text(system, "user_id")
    told = text(system, "wa_id") or text(system, "new_wa_id")
    new = (told or user) if number else (user or told)
    return Moved(external_id, old, new) if old and new and old != new else None


def _statuses(value: Fields) -> Iterator[Delivery]:
    for status in objects(value, "statuses"):
        known, platform_id = STATUSES.get(text(status, "status")), text(status, "id")
        if known is None or not platform_id:
            continue
        errors = objects(status, "errors")
        error = errors[0] if errors else NOTHING
        reason = text(sub(error, "error_data"), "details") or text(error, "title")
        yield Delivery(f"{platform_id}:{known}", platform_id, known, whole(error, "code"), reason)


def _time(stamp: str, now: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(int(stamp), UTC)
    except (ValueError, OverflowError, OSError):
        return now
