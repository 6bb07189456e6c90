"""Settings of single chats of a channel: agent, prompt, model, language, memory and tools of their turns."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from sophon.settings.types.field_types import CaseInsensitive
from sophon.settings.types.section import Field, SettingsSection

ALL_CHATS: Final = "*"
"""Key of what holds for all chats of a channel."""


class ChatSettings(SettingsSection):
    """What is different in a chat or topic; what is not set is inherited: topic from chat, chat from `*`."""

    agent: str | None = Field(
        default=None, min_length=1, description="Agent that answers; `main` for the one without a file."
    )
    prompt: str | None = Field(
        default=None, min_length=1, max_length=4000, description="Text behind the system prompt; `none` for none."
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Model that is asked if neither message nor session names one; `auto`: the host chooses.",
    )
    language: str | None = Field(
        default=None, min_length=2, max_length=35, description="Language of the answers, as `Deutsch` or `de`; `any`."
    )
    memory: Annotated[Literal["Chat", "Session", "None"], CaseInsensitive()] | None = Field(
        default=None,
        description="`Chat`: what the person or the group has said anywhere; `Session`: in this conversation; `None`.",
    )
    tools: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Names and globs of the tools that may be used; `*` for all."
    )

    def to_overrides(self) -> dict[str, Any]:
        """Return what is set, by the names of the overrides of a chat."""
        found = {name: getattr(self, name) for name in ("agent", "prompt", "model", "language", "memory", "tools")}
        return {name: value for name, value in found.items() if value is not None}


def find_chat_conflicts(chats: Mapping[str, ChatSettings]) -> Iterator[tuple[str, str]]:
    """Yield a conflict for each key that is no `*`, chat or `chat/topic`."""
    for key in chats:
        if not key.strip("/ ") or key.startswith("/") or key.endswith("/") or key != key.strip():
            yield "Chats", f"{key!r} is no chat: write its id, `id/topic`, or `*` for all chats"
