"""Codes of approvals in chats: notes in the store of which prompt a code stands for, and which edited version."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import Channel, ChatLocation
from sophon_channels.short_codes import generate_code, normalize_code
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.channel_state.sql import ChannelStateStore

PROMPT_KIND, CODE_KIND = "asked", "code"
"""Kinds of the stored notes: a prompt by approval id, an approval id by code."""


@dataclass(frozen=True, slots=True)
class CodedApproval:
    """What a code in a chat stands for: an approval, or with `arguments` an edited version of its call, which may be
    approved before `until` and was shown in `parts` messages.
    """

    code: str
    approval_id: str
    arguments: Mapping[str, Any] | None
    until: datetime
    parts: int


class ApprovalCodes:
    """Notes of the prompts of one channel and of their codes. Its methods raise StoreError."""

    def __init__(self, store: ChannelStateStore, channel: Channel, chat_state: ChatState) -> None:
        self._store, self._channel, self._chat_state = store, channel, chat_state

    async def create(self, approval_id: str, chat: str) -> str:
        """Return the code of a prompt, always the same, and store it."""
        note = self._note(PROMPT_KIND, approval_id, {"code": generate_code(), "chat": chat, "parts": 1})
        await self._store.add(note)
        code = await self.find_code(approval_id)
        await self._store.put(self._note(CODE_KIND, code, {"approval": approval_id, "chat": chat}))
        return code

    async def find_code(self, approval_id: str) -> str:
        """Return the code of an approval's prompt, "" if there is none."""
        prompt = await self.find_prompt(approval_id)
        return str(prompt.value["code"]) if prompt is not None else ""

    async def find(self, code: str, location: ChatLocation) -> CodedApproval | None:
        """Return what a code stands for, None if it was not given in this chat."""
        note = await self._get(CODE_KIND, normalize_code(code))
        if note is None:
            return None
        if str(note.value["chat"]).partition("/")[0] not in await self._chat_state.chat_ids(location.chat):
            return None
        until = str(note.value.get("until") or "")
        return CodedApproval(
            note.key,
            str(note.value["approval"]),
            note.value.get("arguments"),
            datetime.fromisoformat(until) if until else datetime.max.replace(tzinfo=UTC),
            int(note.value.get("parts", 0)),
        )

    async def find_approval_id(self, code: str) -> str:
        """Return the id of the approval for which a code was given in any chat of the channel, "" if for none."""
        note = await self._get(CODE_KIND, normalize_code(code))
        return str(note.value["approval"]) if note is not None else ""

    async def find_prompt(self, approval_id: str) -> ChannelStateEntry | None:
        """Return the note of an approval's prompt: `code`, `chat`, `parts`, and `told` once the decision was shown."""
        return await self._get(PROMPT_KIND, approval_id)

    async def list_prompts(self) -> Sequence[ChannelStateEntry]:
        """Return the notes of all prompts."""
        return await self._store.list(PROMPT_KIND, self._channel.name, self._channel.account)

    async def store_prompt(self, approval_id: str, value: Mapping[str, object]) -> None:
        """Replace the note of an approval's prompt."""
        await self._store.put(self._note(PROMPT_KIND, approval_id, dict(value)))

    async def store_version(
        self, approval_id: str, code: str, chat: str, arguments: Mapping[str, Any], until: datetime, parts: int
    ) -> None:
        """Store an edited version of a call, under a code of its own, so that what is approved is what was shown."""
        value = {"arguments": dict(arguments), "until": until.isoformat(), "parts": parts}
        await self._store.put(self._note(CODE_KIND, code, {"approval": approval_id, "chat": chat, **value}))

    async def drop_version(self, code: str) -> None:
        """Forget an edited version, which cannot be approved any more."""
        await self._store.remove(self._channel.name, self._channel.account, CODE_KIND, code)

    async def _get(self, kind: str, key: str) -> ChannelStateEntry | None:
        return await self._store.get(self._channel.name, self._channel.account, kind, key)

    def _note(self, kind: str, key: str, value: dict[str, object]) -> ChannelStateEntry:
        return ChannelStateEntry(self._channel.name, self._channel.account, kind, key, value)
