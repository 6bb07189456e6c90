"""Settings of a Telegram bot."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from sophon._python.value_rules import ValueRules
from sophon.settings.types.field_types import (
    CaseInsensitive,
    Flag,
    PlatformId,
    TimeOfDay,
    WholeNumber,
)
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field
from sophon_channels.channel_settings import GroupPolicySetting, SharedChannelSettings


class TelegramSettings(SharedChannelSettings):
    """Telegram channel."""

    token: Secret | None = Field(default=Secret("TELEGRAM_TOKEN", "$env"), description="Bot token, from BotFather.")
    local: Flag = Field(
        default=False,
        description="Whether the server of ApiBase runs with `--local` on this machine: files are read from its disk, "
        "and may have 2,000 MB.",
    )
    mode: Annotated[Literal["Polling", "Webhook"], CaseInsensitive()] = Field(
        default="Polling", description="Poll for updates, or receive them at `/webhooks/telegram`."
    )
    webhook_secret: Secret | None = Field(
        default=None, description="Secret token that Telegram sends with webhook requests; required in that mode."
    )
    group_policy: GroupPolicySetting = Field(
        default="MentionOnly",
        description="Which group messages are processed: mentions, all, those of AllowedGroups, none.",
    )
    allowed_groups: tuple[PlatformId, ...] = Field(default=(), description="Groups that the policy AllowList permits.")
    mention_patterns: tuple[Annotated[str, ValueRules(min_length=1, max_length=64)], ...] = Field(
        default=(),
        max_length=20,
        description="Words that mention the bot in a group besides its username, literally and in any case.",
    )
    group_history: Mapping[str, Annotated[WholeNumber, ValueRules(ge=1, le=50)]] = Field(
        default_factory=dict[str, int],
        description="How many messages that were not addressed to the bot a turn sees, by the id of the group.",
    )
    quiet_hours: tuple[TimeOfDay, ...] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="From and to, as HH:MM; may pass midnight. Messages, approvals too, are delivered without a sound.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield those of every channel, for a list that lets no group in, a blank word, and Local without a server."""
        yield from super().find_conflicts()
        if self.enabled and self.group_policy == "AllowList" and not self.allowed_groups:
            yield "GroupPolicy", "AllowList lets no group in while AllowedGroups is empty; list one, or write Disabled"
        if any(not word.strip() for word in self.mention_patterns):
            yield "MentionPatterns", "a blank word would mention the bot in every message"
        if self.local and self.api_base is None:
            yield "Local", "only a server of one's own runs with --local; set ApiBase"
