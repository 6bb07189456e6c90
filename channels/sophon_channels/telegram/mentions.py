"""Mentions: whether a Telegram message addresses the bot, and its text without the mention."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.chat_commands import parse_command
from sophon_channels.json_fields import JsonObject, get_int, get_object, get_objects, get_text

_UNSPACED = "\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that are written without spaces, or attach endings to a name: Thai, Chinese, Japanese, Korean."""

_LETTER = rf"[^\W{_UNSPACED}]"
"""A character that continues a word."""


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's user id, its username without `@` ("" while unknown), and the words of `MentionPatterns`."""

    id: int
    username: str = ""
    patterns: tuple[str, ...] = ()


def is_mentioned(message: JsonObject, bot: BotIdentity) -> bool:
    """Return whether the message mentions the bot, replies to it, or is a command not addressed to another bot."""
    replied_to = get_object(message, "reply_to_message")
    # In a forum every message is a "reply" to the service message that created its topic.
    if "forum_topic_created" not in replied_to and get_int(get_object(replied_to, "from"), "id") == bot.id:
        return True
    return any(_addresses(kind, value, user, bot) for kind, value, user in _entities(message))


def is_named(message: JsonObject, bot: BotIdentity) -> bool:
    """Return whether the message contains a word of `MentionPatterns`, and is not a command to another bot."""
    text = _text_or_caption(message)
    command = parse_command(text) if bot.patterns else None
    return not (command is not None and command.bot_name) and contains_mention(text, bot.patterns)


def strip_mention(message: JsonObject, bot: BotIdentity) -> str:
    """Return the text or caption without the mention of the bot: `/stop@bot now` becomes `/stop now`, and `@bot,
    deploy` becomes `deploy`.

    A message that is only the mention is returned unchanged.
    """
    full_text = _text_or_caption(message)
    command = parse_command(full_text)
    if command is not None and command.bot_name and _is_mention_of(f"@{command.bot_name}", bot):
        return full_text.replace(f"@{command.bot_name}", "", 1)
    for kind, value, _ in _entities(message):
        if not full_text.startswith(value) or not value:
            continue
        if kind == "bot_command" and _is_command_for(value, bot):
            return value.partition("@")[0] + full_text[len(value) :]
        if kind == "mention" and _is_mention_of(value, bot):
            return full_text[len(value) :].lstrip(" ,:\n") or full_text
    return full_text


def _text_or_caption(message: JsonObject) -> str:
    return get_text(message, "text") or get_text(message, "caption")


def _addresses(kind: str, value: str, user: int | None, bot: BotIdentity) -> bool:
    if kind == "mention":
        return _is_mention_of(value, bot)
    if kind == "text_mention":
        return user == bot.id
    return kind == "bot_command" and _is_command_for(value, bot)


def _is_mention_of(mention: str, bot: BotIdentity) -> bool:
    return bool(bot.username) and mention.casefold() == f"@{bot.username}".casefold()


def _is_command_for(command: str, bot: BotIdentity) -> bool:
    _, separator, name = command.partition("@")
    return not separator or _is_mention_of(f"@{name}", bot)


def _entities(message: JsonObject) -> Iterator[tuple[str, str, int | None]]:
    """Yield type, text and user id of each entity; Telegram counts positions in UTF-16 units."""
    key, entities = ("text", "entities") if get_text(message, "text") else ("caption", "caption_entities")
    raw = message.get(key)
    units = raw.encode("utf-16-le", "surrogatepass") if isinstance(raw, str) else b""
    for entity in get_objects(message, entities):
        offset, length = get_int(entity, "offset"), get_int(entity, "length")
        if offset is not None and length is not None and offset >= 0 and length > 0:
            value = units[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")
            yield get_text(entity, "type"), value, get_int(get_object(entity, "user"), "id")


def contains_mention(text: str, words: Sequence[str]) -> bool:
    """Return whether the text contains one of the words, as a whole word and in any case. Pure.

    A part of a username, of an address or of a path is no such word.
    """
    return bool(words) and _compile(tuple(words)).search(_fold(text)) is not None


@lru_cache(maxsize=64)
def _compile(words: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(_fold(word)) for word in words)
    return re.compile(rf"(?<!{_LETTER})(?<![@/.-])(?:{alternatives})(?!{_LETTER})(?![@/.:-]+{_LETTER})")


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
