"""Group history: what was written in a group since the last turn, as context of the next one.

Only messages that the platform delivers to the bot, and only of groups that the settings name. They are words of others
in the turn's text (`turn_text`), whoever wrote them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon_channels.contract import Channel, ChatLocation, InboundMessage
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.channels.chat_state import HEARD_KIND, HEARD_RETENTION, ChatState
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore

MAX_MESSAGE_CHARACTERS = 500
"""Characters of one message that are kept."""


@dataclass(frozen=True, slots=True)
class HeardMessages:
    """What a turn is shown: the text, "" if there is nothing, and the ids of the messages in it."""

    text: str = ""
    ids: frozenset[str] = frozenset()


class GroupHistory:
    """History of the groups of one channel. `limits` maps ids of groups to numbers of messages."""

    def __init__(
        self, channel: Channel, store: HostStore, clock: Clock, chat_state: ChatState, limits: Mapping[str, int]
    ) -> None:
        self._channel, self._notes, self._clock = channel, store.channel_state, clock
        self._chat_state, self._limits = chat_state, limits
        self._lock = asyncio.Lock()

    async def record(self, message: InboundMessage) -> None:
        """Keep a message that is no turn; of a group without history nothing is kept."""
        limit = await self._find_limit(message.location)
        text = _describe(message)
        if not limit or not text:
            return
        heard = {"id": message.external_id, "author": to_single_line(message.person.name), "text": text}
        async with self._lock:
            kept = [each for each in await self._load(message.location) if each["id"] != message.external_id]
            kept.append({**heard, "at": message.sent_at.isoformat()})
            await self._store(message.location, kept[-limit:])

    async def read(self, location: ChatLocation) -> HeardMessages:
        """Return what was written since the last turn, oldest first."""
        limit = await self._find_limit(location)
        if not limit:
            return HeardMessages()
        kept = (await self._load(location))[-limit:]
        text = "\n".join(f"{each['author'] or 'somebody'}: {each['text']}" for each in kept)
        return HeardMessages(text, frozenset(str(each["id"]) for each in kept))

    async def forget(self, location: ChatLocation, ids: frozenset[str]) -> None:
        """Delete messages that a turn has been shown."""
        if ids:
            async with self._lock:
                await self._store(location, [each for each in await self._load(location) if each["id"] not in ids])

    async def _find_limit(self, location: ChatLocation) -> int:
        if location.kind != "group" or not self._limits:
            return 0
        chats = await self._chat_state.chat_ids(location.chat)
        return next((self._limits[chat] for chat in chats if chat in self._limits), 0)

    async def _load(self, location: ChatLocation) -> list[dict[str, Any]]:
        note = await self._notes.get(self._channel.name, self._channel.account, HEARD_KIND, location.key)
        oldest = self._clock.now() - HEARD_RETENTION
        kept: Sequence[dict[str, Any]] = note.value["messages"] if note is not None else ()
        return [each for each in kept if datetime.fromisoformat(each["at"]) > oldest]

    async def _store(self, location: ChatLocation, messages: Sequence[dict[str, Any]]) -> None:
        name, account = self._channel.name, self._channel.account
        if messages:
            value = {"messages": list(messages)}
            await self._notes.put(ChannelStateEntry(name, account, HEARD_KIND, location.key, value))
        else:
            await self._notes.remove(name, account, HEARD_KIND, location.key)


def _describe(message: InboundMessage) -> str:
    """Return a message in one line: its text, what it shares, its files."""
    parts = [message.text, *(f"({each.kind}: {each.text})" for each in message.shared)]
    parts += [f"({file.kind}{f' {file.name}' if file.name else ''})" for file in message.attachments]
    line = to_single_line(" ".join(part for part in parts if part.strip()))
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[:MAX_MESSAGE_CHARACTERS]} [...]"
