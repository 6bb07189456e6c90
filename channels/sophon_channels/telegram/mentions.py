"""Whether a message of Telegram speaks to the bot, and its text without the address on it."""

from collections.abc import Iterator
from dataclasses import dataclass

from sophon_channels.fields import Fields, objects, sub, text, whole


@dataclass(frozen=True, slots=True)
class Identity:
    """The bot itself: its number, and its name without `@` ("" as long as nobody asked Telegram for it)."""

    id: int
    username: str = ""


def is_mentioned(message: Fields, bot: Identity) -> bool:
    """It names the bot, answers it, or is a command that is not another bot's."""
    answered = sub(message, "reply_to_message")
    # In a forum every message "answers" the service message that made its topic.
    if "forum_topic_created" not in answered and whole(sub(answered, "from"), "id") == bot.id:
        return True
    return any(_names(kind, value, user, bot) for kind, value, user in _entities(message))


def spoken(message: Fields, bot: Identity) -> str:
    """The text or caption; `/stop@bot now` is `/stop now`, and `@bot, deploy` is `deploy`.

    A message of the name alone stays as it is.
    """
    written = _written(message)
    for kind, value, _ in _entities(message):
        if not written.startswith(value) or not value:
            continue
        if kind == "bot_command" and _is_for(value, bot):
            return value.partition("@")[0] + written[len(value) :]
        if kind == "mention" and _is_name_of(value, bot):
            return written[len(value) :].lstrip(" ,:\n") or written
    return written


def _written(message: Fields) -> str:
    return text(message, "text") or text(message, "caption")


def _names(kind: str, value: str, user: int | None, bot: Identity) -> bool:
    if kind == "mention":
        return _is_name_of(value, bot)
    if kind == "text_mention":
        return user == bot.id
    return kind == "bot_command" and _is_for(value, bot)


def _is_name_of(mention: str, bot: Identity) -> bool:
    return bool(bot.username) and mention.casefold() == f"@{bot.username}".casefold()


def _is_for(command: str, bot: Identity) -> bool:
    _, at, name = command.partition("@")
    return not at or _is_name_of(f"@{name}", bot)


def _entities(message: Fields) -> Iterator[tuple[str, str, int | None]]:
    """Kind, text and user of each entity; Telegram counts them in UTF-16 units."""
    key, entities = ("text", "entities") if text(message, "text") else ("caption", "caption_entities")
    raw = message.get(key)
    units = raw.encode("utf-16-le", "surrogatepass") if isinstance(raw, str) else b""
    for entity in objects(message, entities):
        offset, length = whole(entity, "offset"), whole(entity, "length")
        if offset is not None and length is not None and offset >= 0 and length > 0:
            value = units[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")
            yield text(entity, "type"), value, whole(sub(entity, "user"), "id")
