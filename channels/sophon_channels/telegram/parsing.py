"""Parsing of Telegram updates into inbound events (Bot API 10.3, Update).

Only `message`, `edited_message`, `callback_query` and `message_reaction` are handled. Telegram reports invisible
changes as edits too; the host compares the texts. Channel posts and messages on behalf of a chat are ignored: they have
no person whose rights could be checked.

The `external_id` of an event is not its `get_update_id`: after a week without updates Telegram continues from a random
number, which might repeat one of the previous month, and a new message would be dropped as a duplicate. A message is
identified by its chat and its id in that chat; a message with the id 0 (sent with a delay) also by date and update_id.
An edit is identified by its time and its text too. A button press is identified by the id of the query, a chat
migration by the two chats: both of its service messages describe the same migration.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Literal

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import (
    ButtonPress,
    ChannelAttachment,
    ChatLocation,
    ChatMigrated,
    InboundEvent,
    InboundMessage,
    MessageEdited,
    MessageReaction,
    Person,
)
from sophon_channels.json_fields import JsonObject, get_int, get_object, get_objects, get_text
from sophon_channels.telegram.mentions import BotIdentity, is_mentioned, is_named, strip_mention
from sophon_channels.telegram.message_content import describe_shared, read_rich_message, read_wordless_content
from sophon_channels.telegram.message_field_treatments import MESSAGE_KINDS, find_unreadable_kind
from sophon_channels.text.single_line import to_single_line

LATE_THRESHOLD = timedelta(minutes=10)
"""A message delivered later than this is marked as late; Telegram keeps undelivered updates for 24 hours."""

_DIRECT_CHAT_TYPE = "private"

_GROUP_CHAT_TYPES = frozenset({"group", "supergroup"})

_KINDS: tuple[tuple[str, Literal["image", "audio", "video", "document"]], ...] = (
    ("document", "document"),
    ("audio", "audio"),
    ("voice", "audio"),
    ("video", "video"),
    ("video_note", "video"),
    ("live_photo", "video"),
)


def parse_update(update: JsonObject, bot: BotIdentity, now: datetime) -> list[InboundEvent]:
    """Parse an update; return no event if it is unknown, malformed, or from a bot. Never raises. Pure."""
    query, message = get_object(update, "callback_query"), get_object(update, "message")
    event: InboundEvent | None = None
    if query:
        event = _parse_press(query)
    elif reaction := get_object(update, "message_reaction"):
        event = _parse_reaction(reaction)
    elif edited := get_object(update, "edited_message"):
        event = _parse_edit(edited, get_int(update, "update_id"), bot, now)
    elif message:
        event = _parse_migration(message) or _parse_message(message, get_int(update, "update_id"), bot, now)
    return [] if event is None else [event]


def get_update_id(update: JsonObject) -> int | None:
    """Return the update's number, which determines the polling offset; None if it has none."""
    return get_int(update, "update_id")


def _parse_message(
    message: JsonObject, update_number: int | None, bot: BotIdentity, now: datetime
) -> InboundMessage | None:
    person, place = _parse_person(get_object(message, "from")), _parse_location(message)
    message_id = get_int(message, "message_id")
    if person is None or place is None or message_id is None or get_object(message, "sender_chat"):
        return None
    content = strip_mention(message, bot) or read_rich_message(message) or read_wordless_content(message)
    files, shared, unreadable = parse_attachments(message), describe_shared(message), find_unreadable_kind(message)
    if not content.strip() and not files and not shared and not unreadable:
        return None
    quotation, forwarded = parse_quotation(message, bot), is_forwarded(message)
    sent_at = _parse_date(message) or now
    delayed = f":{update_number}:{int(sent_at.timestamp())}" if message_id == 0 else ""
    return InboundMessage(
        external_id=f"message:{place.chat}:{message_id}{delayed}",
        person=person,
        location=place,
        text=content,
        message_id=str(message_id),
        sent_at=sent_at,
        is_mention=is_mentioned(message, bot) or (not forwarded and is_named(message, bot)),
        quoted_text=quotation.text,
        media_group_id=get_text(message, "media_group_id") or None,
        attachments=files,
        is_late=now - sent_at > LATE_THRESHOLD,
        is_forwarded=forwarded,
        quoted_author=quotation.author,
        is_quote_foreign=quotation.is_foreign,
        forwarded_from=describe_forward(message),
        shared=shared,
        unreadable=unreadable,
        reply_to_message_id=quotation.message_id,
    )


def _parse_edit(
    message: JsonObject, update_number: int | None, bot: BotIdentity, now: datetime
) -> MessageEdited | None:
    """Return an edit; that of a message with the id 0 cannot be assigned to it, and is none."""
    edited = _parse_message(message, update_number, bot, now)
    if edited is None or get_int(message, "message_id") == 0:
        return None
    digest = hashlib.sha256(edited.text.encode(errors="replace")).hexdigest()[:10]
    return MessageEdited(f"edit:{edited.external_id}:{get_int(message, 'edit_date')}:{digest}", edited)


def _parse_press(query: JsonObject) -> ButtonPress | None:
    person, press_id, data = _parse_person(get_object(query, "from")), get_text(query, "id"), get_text(query, "data")
    if person is None or not press_id or not data:
        return None
    message = get_object(query, "message")  # absent if Telegram withholds it: then the location is the direct chat
    prompt_id = get_int(message, "message_id")
    return ButtonPress(
        external_id=f"press:{press_id}",
        person=person,
        location=_parse_location(message) or ChatLocation(person.id),
        data=data,
        press_id=press_id,
        prompt_message_id=None if prompt_id is None else str(prompt_id),
    )


def _parse_reaction(reaction: JsonObject) -> MessageReaction | None:
    """Return a reaction of a person; anonymous ones, of a chat, are those of nobody."""
    person, place = _parse_person(get_object(reaction, "user")), _parse_location(reaction)
    message_id = get_int(reaction, "message_id")
    if person is None or place is None or message_id is None:
        return None
    emojis = tuple(get_text(each, "emoji") for each in get_objects(reaction, "new_reaction"))
    return MessageReaction(
        external_id=f"reaction:{place.chat}:{message_id}:{person.id}:{get_int(reaction, 'date')}",
        person=person,
        location=place,
        message_id=str(message_id),
        emojis=tuple(filter(None, emojis)),
        chat=place.chat,
    )


def _parse_migration(message: JsonObject) -> ChatMigrated | None:
    chat = get_int(get_object(message, "chat"), "id")
    migrated_to, migrated_from = get_int(message, "migrate_to_chat_id"), get_int(message, "migrate_from_chat_id")
    if chat is None or (migrated_to is None and migrated_from is None):
        return None
    old_chat, new_chat = (chat, migrated_to) if migrated_to is not None else (migrated_from, chat)
    return ChatMigrated(f"moved:{old_chat}:{new_chat}", str(old_chat), str(new_chat))


def _parse_person(user: JsonObject) -> Person | None:
    number = get_int(user, "id")
    if number is None or user.get("is_bot"):
        return None
    name = " ".join(part for part in (get_text(user, "first_name"), get_text(user, "last_name")) if part)
    return Person(str(number), to_single_line(name or get_text(user, "username")))


def _parse_location(message: JsonObject) -> ChatLocation | None:
    chat = get_object(message, "chat")
    number, kind = get_int(chat, "id"), get_text(chat, "type")
    if number is None or (kind != _DIRECT_CHAT_TYPE and kind not in _GROUP_CHAT_TYPES):
        return None
    # Replies in ordinary groups have a message_thread_id too; only messages of a topic have is_topic_message.
    thread = get_int(message, "message_thread_id") if message.get("is_topic_message") is True else None
    return ChatLocation(
        chat=str(number),
        kind="direct" if kind == _DIRECT_CHAT_TYPE else "group",
        thread=None if thread is None else str(thread),
        title=to_single_line(get_text(chat, "title")),
    )


def _parse_date(message: JsonObject) -> datetime | None:
    seconds = get_int(message, "date")
    if seconds is None or not 0 < seconds < 2**35:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def parse_attachments(message: JsonObject) -> tuple[ChannelAttachment, ...]:
    """Return the photo in its largest size, the document, audio, voice message or video of a message. An animation
    counts only without the document of the same id that Telegram sends with it.
    """
    if not get_object(message, "document") and (animation := get_object(message, "animation")):
        message = {**message, "document": animation}
    files = [
        _attachment(get_object(message, key), kind, is_voice=key == "voice")
        for key, kind in _KINDS
        if get_object(message, key)
    ]
    if sizes := get_objects(message, "photo"):
        files.append(_attachment(max(sizes, key=_area), "image", "image/jpeg"))
    return tuple(attachment for attachment in files if attachment.id)


def _area(photo: JsonObject) -> int:
    return (get_int(photo, "width") or 0) * (get_int(photo, "height") or 0)


def _attachment(
    file: JsonObject,
    kind: Literal["image", "audio", "video", "document"],
    media_type: str = "",
    *,
    is_voice: bool = False,
) -> ChannelAttachment:
    return ChannelAttachment(
        id=get_text(file, "file_id"),
        kind=kind,
        name=get_text(file, "file_name"),
        media_type=get_text(file, "mime_type") or media_type,
        size=get_int(file, "file_size"),
        is_voice=is_voice,
    )


@dataclass(frozen=True, slots=True)
class Quotation:
    """Text to which a message replies. `is_foreign`: neither the bot nor the sender of the message wrote it.
    `message_id` is the id of the message in this chat, "" if it is in another.
    """

    text: str = ""
    author: str = ""
    is_foreign: bool = True
    message_id: str = ""


def parse_quotation(message: JsonObject, bot: BotIdentity) -> Quotation:
    """Return what the message replies to: the chosen stretch, else the whole text; a message of another chat too. Pure.

    The reply to a topic's first service message, which every message of a topic is, quotes nothing.
    """
    replied_to, external = get_object(message, "reply_to_message"), get_object(message, "external_reply")
    chosen = get_text(get_object(message, "quote"), "text")
    if external:
        return Quotation(chosen or _text_of(external), describe_origin(get_object(external, "origin")))
    if not replied_to or "forum_topic_created" in replied_to:
        return Quotation(chosen)
    author = get_object(replied_to, "from")
    author_id = get_int(author, "id")
    text, passed_on = _text_of(replied_to), is_forwarded(replied_to)
    is_known = author_id is not None and author_id in (bot.id, get_int(get_object(message, "from"), "id"))
    return Quotation(
        text=chosen or text,
        author=describe_forward(replied_to) if passed_on else _author_name(author, replied_to),
        is_foreign=passed_on or not is_known or chosen not in text or bool(get_object(replied_to, "sender_chat")),
        message_id=str(get_int(replied_to, "message_id") or ""),
    )


def is_forwarded(message: JsonObject) -> bool:
    """Return whether somebody other than the sender wrote the message: a forward, or the words of an inline bot."""
    return bool(
        get_object(message, "forward_origin") or get_int(message, "forward_date") or get_object(message, "via_bot")
    )


def describe_forward(message: JsonObject) -> str:
    """Return who wrote a forwarded message, "" if Telegram does not state it; also from the fields before Bot API 7.0.
    Pure.
    """
    if origin := get_object(message, "forward_origin"):
        return describe_origin(origin)
    if author := get_object(message, "forward_from") or get_object(message, "forward_from_chat"):
        return _name(author)
    if name := get_text(message, "forward_sender_name"):
        return to_single_line(name)
    bot = get_object(message, "via_bot")
    return f"the bot {_name(bot)}" if bot else ""


def describe_origin(origin: JsonObject) -> str:
    """Return the author that a `MessageOrigin` states, one line. Pure."""
    for key in ("sender_user", "sender_chat", "chat"):
        if author := get_object(origin, key):
            signature = to_single_line(get_text(origin, "author_signature"))
            return f"{_name(author)} ({signature})" if signature else _name(author)
    return to_single_line(get_text(origin, "sender_user_name"))


def _author_name(author: JsonObject, message: JsonObject) -> str:
    return _name(get_object(message, "sender_chat") or author)


def _name(author: JsonObject) -> str:
    name = " ".join(part for key in ("title", "first_name", "last_name") if (part := get_text(author, key)))
    username = to_single_line(get_text(author, "username"))
    return to_single_line(name) or (f"@{username}" if username else "")


def _text_of(message: JsonObject) -> str:
    """Return the text of a quoted message; for one without text, what it shares, or what kind it is."""
    text = get_text(message, "text") or get_text(message, "caption") or read_rich_message(message)
    shared = "\n".join(f"{each.kind}: {each.text}" for each in describe_shared(message))
    if text or shared:
        return "\n".join(part for part in (text, shared) if part)
    kinds = (
        name for name in message if name in MESSAGE_KINDS and MESSAGE_KINDS[name].treatment in ("read", "answered")
    )
    return read_wordless_content(message) or next((f"({name.replace('_', ' ')})" for name in kinds), "")
