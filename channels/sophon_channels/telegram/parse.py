"""Parsing of Telegram updates into inbound events (Bot API 10.3, Update).

Only `message` and `callback_query` are handled. Edited messages are ignored: Telegram also reports invisible changes,
and a run that was started by the first version cannot be undone. Channel posts and messages on behalf of a chat are
ignored: they have no person whose rights could be checked.

The `external_id` of an event is not its `update_id`: after a week without updates Telegram continues from a random
number, which might repeat one of the previous month, and a new message would be dropped as a duplicate. A message is
identified by its chat and its id in that chat; a message with the id 0 (sent with a delay) also by date and update_id.
A button press is identified by the id of the query, a chat migration by the two chats: both of its service messages
describe the same migration.
"""

from datetime import UTC, datetime, timedelta

from sophon_channels.contract import Arrival, Moved, Person, Place, Pressed, Written
from sophon_channels.fields import Fields, sub, text, whole
from sophon_channels.telegram.files import attachments
from sophon_channels.telegram.mentions import Identity, is_mentioned, spoken

LATE_AFTER = timedelta(minutes=10)
"""A message delivered later than this is marked as late; Telegram keeps undelivered updates for 24 hours."""

_DIRECT_CHAT_TYPE = "private"
_GROUP_CHAT_TYPES = frozenset({"group", "supergroup"})


def arrivals(update: Fields, bot: Identity, now: datetime) -> list[Arrival]:
    """Parse an update; return no event if it is unknown, malformed, or from a bot. Never raises. Pure."""
    query, message = sub(update, "callback_query"), sub(update, "message")
    event: Arrival | None = None
    if query:
        event = _parse_press(query)
    elif message:
        event = _parse_migration(message) or _parse_message(message, whole(update, "update_id"), bot, now)
    return [] if event is None else [event]


def update_id(update: Fields) -> int | None:
    """Return the update's number, which determines the polling offset; None if it has none."""
    return whole(update, "update_id")


def _parse_message(message: Fields, update_number: int | None, bot: Identity, now: datetime) -> Written | None:
    person, place = _parse_person(sub(message, "from")), _parse_location(message)
    message_id = whole(message, "message_id")
    if person is None or place is None or message_id is None or sub(message, "sender_chat"):
        return None
    content, files = spoken(message, bot) or _describe_content(message), attachments(message)
    if not content.strip() and not files:
        return None
    sent_at = _parse_date(message) or now
    delayed = f":{update_number}:{int(sent_at.timestamp())}" if message_id == 0 else ""
    return Written(
        external_id=f"message:{place.chat}:{message_id}{delayed}",
        person=person,
        place=place,
        text=content,
        message_id=str(message_id),
        at=sent_at,
        mentioned=is_mentioned(message, bot),
        quoted=_quoted_text(message),
        album=text(message, "media_group_id") or None,
        attachments=files,
        late=now - sent_at > LATE_AFTER,
    )


def _parse_press(query: Fields) -> Pressed | None:
    person, press_id, data = _parse_person(sub(query, "from")), text(query, "id"), text(query, "data")
    if person is None or not press_id or not data:
        return None
    message = sub(query, "message")  # absent if Telegram withholds it: then the location is the direct chat
    prompt_id = whole(message, "message_id")
    return Pressed(
        external_id=f"press:{press_id}",
        person=person,
        place=_parse_location(message) or Place(person.id),
        data=data,
        press_id=press_id,
        prompt_id=None if prompt_id is None else str(prompt_id),
    )


def _parse_migration(message: Fields) -> Moved | None:
    chat = whole(sub(message, "chat"), "id")
    migrated_to, migrated_from = whole(message, "migrate_to_chat_id"), whole(message, "migrate_from_chat_id")
    if chat is None or (migrated_to is None and migrated_from is None):
        return None
    old_chat, new_chat = (chat, migrated_to) if migrated_to is not None else (migrated_from, chat)
    return Moved(f"moved:{old_chat}:{new_chat}", str(old_chat), str(new_chat))


def _parse_person(user: Fields) -> Person | None:
    number = whole(user, "id")
    if number is None or user.get("is_bot"):
        return None
    name = " ".join(part for part in (text(user, "first_name"), text(user, "last_name")) if part)
    return Person(str(number), name or text(user, "username"))


def _parse_location(message: Fields) -> Place | None:
    chat = sub(message, "chat")
    number, kind = whole(chat, "id"), text(chat, "type")
    if number is None or (kind != _DIRECT_CHAT_TYPE and kind not in _GROUP_CHAT_TYPES):
        return None
    # Replies in ordinary groups have a message_thread_id too; only messages of a topic have is_topic_message.
    thread = whole(message, "message_thread_id") if message.get("is_topic_message") is True else None
    return Place(
        chat=str(number),
        kind="direct" if kind == _DIRECT_CHAT_TYPE else "group",
        thread=None if thread is None else str(thread),
        title=text(chat, "title"),
    )


def _parse_date(message: Fields) -> datetime | None:
    seconds = whole(message, "date")
    if seconds is None or not 0 < seconds < 2**35:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _quoted_text(message: Fields) -> str:
    """Return the quoted part of the message that this replies to, else its whole text."""
    replied_to = sub(message, "reply_to_message")
    return text(sub(message, "quote"), "text") or text(replied_to, "text") or text(replied_to, "caption")


def _describe_content(message: Fields) -> str:
    """Return a text for message types that have none: location, contact, sticker, dice."""
    location, contact = sub(message, "location"), sub(message, "contact")
    if location:
        name = " ".join(text(sub(message, "venue"), key) for key in ("title", "address")).strip()
        return f"Location: {name} {location.get('latitude')}, {location.get('longitude')}".replace("  ", " ")
    if contact:
        keys = ("first_name", "last_name", "phone_number")
        return f"Contact: {' '.join(text(contact, key) for key in keys)}"
    return text(sub(message, "sticker"), "emoji") or text(sub(message, "dice"), "emoji")
