"""Quotations and forwards of a Telegram message: the text, and who wrote it."""

from sophon.lazy_dataclass import dataclass
from sophon_channels.json_fields import JsonObject, get_int, get_object, get_text
from sophon_channels.telegram.mentions import BotIdentity
from sophon_channels.telegram.message_content import describe_shared, read_rich_message, read_wordless_content
from sophon_channels.telegram.message_kinds import MESSAGE_KINDS
from sophon_channels.text.single_line import to_single_line


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
