"""Settings that all channels have: who may write, and what is different in single chats."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from sophon.settings.types.field_types import (
    CaseInsensitive,
    FiniteNumber,
    Flag,
    PlatformId,
    TimeZoneName,
    WebUrl,
)
from sophon.settings.types.secret_references import SecretUrl
from sophon.settings.types.section import Field, SettingsSection

DirectPolicySetting = Annotated[Literal["Pairing", "AllowList", "Open", "Disabled"], CaseInsensitive()]
"""Access policy for direct chats: pairing code, allow list, everybody, nobody."""

GroupPolicySetting = Annotated[Literal["MentionOnly", "All", "AllowList", "Disabled"], CaseInsensitive()]
"""Which group messages are processed: mentions, all, those of listed groups, none."""

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


class SharedChannelSettings(SettingsSection):
    """What all channels have. A missing setting stops the channel with a message, and not the host."""

    enabled: Flag = Field(default=False, description="Whether the channel runs.")
    api_base: WebUrl | None = Field(default=None, description="URL of another server of the platform's API.")
    allow_from: tuple[PlatformId, ...] = Field(default=(), description="Accounts that may write without pairing.")
    approvers: tuple[PlatformId, ...] = Field(
        default=(), description="Accounts that may decide approvals besides the user of the session."
    )
    direct_policy: DirectPolicySetting = Field(
        default="Pairing",
        description="Who may write in direct chats: accounts with a pairing code, those in AllowFrom, everybody, "
        "nobody.",
    )
    debounce_seconds: FiniteNumber = Field(
        default=0.0,
        ge=0,
        le=30,
        description="Texts of a person that follow each other within so many seconds are one message; 0: never.",
    )
    ack_reaction: str = Field(
        default="",
        max_length=16,
        description="Emoji with which the bot reacts to each message that it accepts; empty: none.",
    )
    quiet_time_zone: TimeZoneName = Field(default="UTC", description="Time zone of QuietHours, such as Europe/Vienna.")
    chats: Mapping[str, ChatSettings] = Field(
        default_factory=dict[str, ChatSettings],
        description="What is different in a chat: `*` for all, by the id of a chat or person, `id/topic` for a topic.",
    )
    proxy: SecretUrl | None = Field(
        default=None,
        description="URL of a proxy for all requests to the platform: `http://user:password@proxy.example:3128`; "
        "`socks5://` needs the extra `socks`.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for each key of Chats that names none, and for a list that lets nobody in."""
        yield from find_chat_conflicts(self.chats)
        if self.enabled and self.direct_policy == "AllowList" and not (self.allow_from or self.approvers):
            yield "DirectPolicy", "AllowList lets nobody in while AllowFrom is empty; list somebody, or write Disabled"
