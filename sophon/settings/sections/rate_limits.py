"""Settings section of the guard RateLimit: how often tools are used and messages are sent."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from sophon.settings.types.field_types import Duration, Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection

HOUR = timedelta(hours=1)
MAX_COOLDOWN = timedelta(days=7)


class LevelLimitSettings(SettingsSection):
    """How often a person's turns may use each tool of a capability level within an hour; null means no limit."""

    controlled: WholeNumber | None = Field(default=100, ge=1, description="Tools of medium risk, such as memory.write.")
    restricted: WholeNumber | None = Field(
        default=30, ge=1, description="Tools of high risk, such as files.write, and system.execute."
    )
    privileged: WholeNumber | None = Field(default=20, ge=1, description="Other tools of critical risk.")


class ToolLimitSettings(SettingsSection):
    """Limits of one tool."""

    per_hour: WholeNumber | None = Field(
        default=None, ge=1, description="Uses by a person's turns within an hour; null: the limit of the tool's level."
    )
    cooldown: Duration | None = Field(
        default=None, description="Time from one use by a person's turns to the next, at most 7 days."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for a cool-down that is too long, and for an entry that limits nothing."""
        if self.cooldown is not None and self.cooldown > MAX_COOLDOWN:
            yield "Cooldown", "at most 7 days"
        if self.cooldown is None and self.per_hour is None:
            yield "PerHour", "an entry without PerHour and Cooldown limits nothing; give one of them"


class RateLimitSettings(SettingsSection):
    """Limits on how often tools are used and messages are sent, in sliding windows; null means no limit."""

    enabled: Flag = Field(default=True, description="Whether tool calls and messages beyond the limits are refused.")
    levels: LevelLimitSettings = Field(
        default_factory=LevelLimitSettings.defaults,
        description="How often each tool is used within an hour, by capability level.",
    )
    tools: Mapping[str, ToolLimitSettings] = Field(
        default_factory=dict[str, ToolLimitSettings], description="Limits of single tools, by name."
    )
    calls_per_minute: WholeNumber | None = Field(
        default=1000,
        ge=1,
        description="Tool calls of all turns together within a minute, without those of the level safe.",
    )
    person_calls_per_minute: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Tool calls of one person's turns within a minute, without those of the level safe.",
    )
    messages_per_minute: WholeNumber | None = Field(
        default=30, ge=1, description="Messages that one person sends over channels within a minute."
    )
    client_messages_per_minute: WholeNumber | None = Field(
        default=None, ge=1, description="Messages that one user sends over the hub and the API within a minute."
    )
    all_messages_per_minute: WholeNumber | None = Field(
        default=None, ge=1, description="Messages of all senders together within a minute."
    )

    def find_longest_period(self) -> timedelta:
        """Return the length of the longest window."""
        return max([HOUR, *(each.cooldown for each in self.tools.values() if each.cooldown is not None)])
