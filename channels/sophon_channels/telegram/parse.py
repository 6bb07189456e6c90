"""What Telegram delivers, as arrivals (Bot API 10.3, Update).

Only `message` and `callback_query` count. An edited message is ignored: it fires for changes that nobody sees too, and
a run that was started by the first wording cannot be called back honestly; whoever wants another answer writes again.
Channel posts, and messages in the name of a chat, have no person whose right could be checked.

The identity of an arrival is not its `update_id`: after a week of silence these go on from a random number, and might
hit one of last month's, so that a new message would be dropped as a repeat. A message is known by its chat and its id
in that chat; a message that is sent with a delay has the id 0, and is known by date and update_id as well. A press is
known by the id of the query, a move by the two chats: both of its service messages are one move.
"""

from datetime import UTC, datetime, timedelta

from sophon_channels.contract import Arrival, Moved, Person, Place, Pressed, Written
from sophon_channels.fields import Fields, sub, text, whole
from sophon_channels.telegram.files import attachments
from sophon_channels.telegram.mentions import Identity, is_mentioned, spoken

ALLOWED_UPDATES = ("message", "callback_query")

LATE_AFTER = timedelta(minutes=10)
"""Telegram keeps for 24 hours what it could not deliver."""

_PRIVATE = "private"
_GROUPS = frozenset({"group", "supergroup"})


def arrivals(update: Fields, bot: Identity, now: datetime) -> list[Arrival]:
    """What an update tells; nothing for what is unknown, malformed, or written by a bot. Never raises. Pure."""
    query, message = sub(update, "callback_query"), sub(update, "message")
    found: Arrival | None = None
    if query:
        found = _pressed(query)
    elif message:
        found = _moved(message) or _written(message, whole(update, "update_id"), bot, now)
    return [] if found is None else [found]


def update_id(update: Fields) -> int | None:
    """Its number, for the offset."""
    return whole(update, "update_id")


def _written(message: Fields, number: int | None, bot: Identity, now: datetime) -> Written | None:
    person, place = _person(sub(message, "from")), _place(message)
    message_id = whole(message, "message_id")
    if person is None or place is None or message_id is None or sub(message, "sender_chat"):
        return None
    said, files = spoken(message, bot) or _told(message), attachments(message)
    if not said.strip() and not files:
        return None
    at = _date(message) or now
    delayed = f":{number}:{int(at.timestamp())}" if message_id == 0 else ""
    return Written(
        external_id=f"message:{place.chat}:{message_id}{delayed}",
        person=person,
        place=place,
        text=said,
        message_id=str(message_id),
        at=at,
        mentioned=is_mentioned(message, bot),
        quoted=_quoted(message),
        album=text(message, "media_group_id") or None,
        attachments=files,
        late=now - at > LATE_AFTER,
    )


def _pressed(query: Fields) -> Pressed | None:
    """A press on one of the bot's buttons. Where Telegram keeps the message to itself, the place is the direct chat."""
    person, press_id, data = _person(sub(query, "from")), text(query, "id"), text(query, "data")
    if person is None or not press_id or not data:
        return None
    message = sub(query, "message")
    prompt_id = whole(message, "message_id")
    return Pressed(
        external_id=f"press:{press_id}",
        person=person,
        place=_place(message) or Place(person.id),
        data=data,
        press_id=press_id,
        prompt_id=None if prompt_id is None else str(prompt_id),
    )


def _moved(message: Fields) -> Moved | None:
    here = whole(sub(message, "chat"), "id")
    new, old = whole(message, "migrate_to_chat_id"), whole(message, "migrate_from_chat_id")
    if here is None or (new is None and old is None):
        return None
    source, target = (here, new) if new is not None else (old, here)
    return Moved(f"moved:{source}:{target}", str(source), str(target))


def _person(user: Fields) -> Person | None:
    number = whole(user, "id")
    if number is None or user.get("is_bot"):
        return None
    name = " ".join(part for part in (text(user, "first_name"), text(user, "last_name")) if part)
    return Person(str(number), name or text(user, "username"))


def _place(message: Fields) -> Place | None:
    chat = sub(message, "chat")
    number, kind = whole(chat, "id"), text(chat, "type")
    if number is None or (kind != _PRIVATE and kind not in _GROUPS):
        return None
    # Answers in ordinary groups carry a message_thread_id too; only a topic's messages say that they are of a topic.
    thread = whole(message, "message_thread_id") if message.get("is_topic_message") is True else None
    return Place(
        chat=str(number),
        kind="direct" if kind == _PRIVATE else "group",
        thread=None if thread is None else str(thread),
        title=text(chat, "title"),
    )


def _date(message: Fields) -> datetime | None:
    seconds = whole(message, "date")
    if seconds is None or not 0 < seconds < 2**35:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _quoted(message: Fields) -> str:
    """The stretch that was quoted, else all of what is answered."""
    answered = sub(message, "reply_to_message")
    return text(sub(message, "quote"), "text") or text(answered, "text") or text(answered, "caption")


def _told(message: Fields) -> str:
    """In words, what some messages say without any."""
    place, contact = sub(message, "location"), sub(message, "contact")
    if place:
        name = " ".join(text(sub(message, "venue"), key) for key in ("title", "address")).strip()
        return f"Location: {name} {place.get('latitude')}, {place.get('longitude')}".replace("  ", " ")
    if contact:
        return f"Contact: {text(contact, 'first_name')} {text(contact, 'last_name')} {text(contact, 'phone_number')}"
    return text(sub(message, "sticker"), "emoji") or text(sub(message, "dice"), "emoji")
