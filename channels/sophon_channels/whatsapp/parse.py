"""What Meta delivers, as arrivals: every entry, change, message and status; whatever is odd costs only itself.

Source: reference/channels.md; "messages webhook reference" and "Business-scoped user IDs" of Meta's documentation.
"""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from sophon_channels.contract import Arrival, Attachment, Delivery, Moved, Person, Place, Pressed, Written
from sophon_channels.fields import NOTHING, Fields, as_fields, objects, sub, text

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
    names = _names(value)
    for message in objects(value, "messages"):
        if text(message, "group_id") or text(sub(message, "context"), "group_id"):
            log.info("WhatsApp: a message from a group is left out; groups are not supported")
            continue
        arrival = _arrival(message, names, now)
        if arrival is not None:
            yield arrival


def _arrival(message: Fields, names: dict[str, str], now: datetime) -> Arrival | None:
    identity, chat = _person(message), _chat(message)
    external_id = text(message, "id")
    if not (identity and chat and external_id):
        return None
    person = Person(identity, names.get(identity) or names.get(text(message, "from")) or "")
    kind = text(message, "type")
    if kind == "system":
        return _moved(message, external_id)
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


def _person(message: Fields) -> str:
    """The id that stays when a number or a name changes; the number where there is none yet."""
    return text(message, "from_user_id") or text(message, "from")


def _chat(message: Fields) -> str:
    """What an answer is sent to: the number, or for somebody who hides it their user id."""
    return text(message, "from") or text(message, "from_user_id")


def _names(value: Fields) -> dict[str, str]:
    found: dict[str, str] = {}
    for contact in objects(value, "contacts"):
        name = text(sub(contact, "profile"), "name")
        for key in ("user_id", "wa_id"):
            if identity := text(contact, key):
                found[identity] = name
    return found


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
    where = f"{place.get('latitude')}, {place.get('longitude')}"
    return f"[location: {named + ', ' if named else ''}{where}]"


def _moved(message: Fields, external_id: str) -> Moved | None:
    """Somebody's user id changes with their number; the chat goes with it."""
    system = sub(message, "system")
    old, new = _chat(message), text(system, "user_id") or text(system, "wa_id") or text(system, "new_wa_id")
    known = text(system, "type") in ("user_changed_user_id", "user_changed_number")
    return Moved(external_id, old, new) if known and old and new and old != new else None


def _statuses(value: Fields) -> Iterator[Delivery]:
    for status in objects(value, "statuses"):
        known, platform_id = STATUSES.get(text(status, "status")), text(status, "id")
        if known is None or not platform_id:
            continue
        errors = objects(status, "errors")
        error = errors[0] if errors else NOTHING
        code = error.get("code")
        reason = text(sub(error, "error_data"), "details") or text(error, "title")
        number = code if isinstance(code, int) and not isinstance(code, bool) else None
        yield Delivery(f"{platform_id}:{known}", platform_id, known, number, reason)


def _time(stamp: str, now: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(int(stamp), UTC)
    except (ValueError, OverflowError, OSError):
        return now
