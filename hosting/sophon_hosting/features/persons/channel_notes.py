"""What the channels keep of a person: names, pairing, linked ids, the sessions of direct chats, pieces of messages."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.channel_state.sql import ChannelStateStore

NOTE_KINDS: Final = (
    *("person", "alias", "link", "pairing", "session"),
    *("undelivered", "file", "preview", "asked", "code", "piece", "moved", "overrides"),
)
"""Kinds of notes that may name a person, or hold what they wrote."""


async def find_notes(notes: ChannelStateStore, person: str, sessions: Collection[str]) -> list[ChannelStateEntry]:
    """Return the notes about a person of a channel, such as `telegram:5`, and about their sessions. Raises StoreError.

    A person of no channel has none. Ids that the person's links name count as the person's.
    """
    channel, is_of_channel, person_id = person.partition(":")
    if not is_of_channel:
        return []
    stored = [each for kind in NOTE_KINDS for each in await notes.list(kind, channel)]
    ids = {person_id.removeprefix("chat:")}
    for each in stored:
        if each.kind == "link" and each.key in ids:
            ids.update(value for value in each.value.values() if isinstance(value, str) and value)
        if each.kind == "alias" and ids & set(_texts(each.value)):
            ids.add(each.key)
    return [each for each in stored if _is_about(each, ids, {person, *sessions})]


def _is_about(note: ChannelStateEntry, ids: Collection[str], names: Collection[str]) -> bool:
    if note.key in ids or note.key.partition("/")[0] in ids:
        return True
    # Ids of platforms are short numbers: in a value they count only where the value says whom it is about.
    about = {str(note.value.get(name)) for name in ("person", "chat", "sender", "recipient")}
    return (
        bool(about & set(ids))
        or any(text in names or text in ids for text in _senders(note.value))
        or any(text in names for text in _texts(note.value))
    )


def _senders(value: Mapping[str, Any]) -> Iterable[str]:
    """Yield the ids of the senders of a message that is kept in pieces."""
    for part in value.values():
        if isinstance(part, Mapping) and isinstance(part.get("id"), str):  # pyright: ignore[reportUnknownMemberType]
            yield str(part["id"])  # pyright: ignore[reportUnknownArgumentType]


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(part)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list | tuple):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(part)  # pyright: ignore[reportUnknownArgumentType]
