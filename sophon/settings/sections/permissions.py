"""Settings section of the permissions: which level people have, and what a level may use."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from sophon.security.permission_levels import FEATURES, LEVELS_BY_LABEL, Feature, Level, LevelLabel, resolve_level
from sophon.settings.types.field_types import CaseInsensitive
from sophon.settings.types.section import Field, SettingsSection

LevelSetting = Annotated[LevelLabel, CaseInsensitive()]

FeatureSetting = Annotated[Feature, CaseInsensitive()]

EVERYONE = "*"
"""Key in Permissions.Users for all principals without an entry of their own."""

LEVEL_ROLES = frozenset(LEVELS_BY_LABEL)
"""Names of the roles that everybody of a level has."""

_DEFAULT_TOOLS: Mapping[Level, tuple[str, ...]] = {Level.ZERO_TRUST: (), Level.USER: ("*",), Level.ADMIN: ("*",)}
_DEFAULT_FEATURES: Mapping[Level, tuple[Feature, ...]] = {
    Level.ZERO_TRUST: ("Chat",),
    Level.USER: FEATURES,
    Level.ADMIN: FEATURES,
}


class UserPermissionsSettings(SettingsSection):
    """Permissions of one principal, or of everyone."""

    level: LevelSetting | None = Field(default=None, description="Permission level; null: that of the next layer.")
    roles: tuple[str, ...] = Field(default=(), description="Roles, which rules name as `role:NAME`.")

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each role that a rule could not name, or that only a level gives."""
        for role in self.roles:
            if role in LEVEL_ROLES:
                yield "Roles", f"{role!r} is the role of a level, which Level sets"
            elif not role.strip() or role.endswith(EVERYONE):
                yield "Roles", f"{role!r} is not a name of a role"


class PlacePermissionsSettings(SettingsSection):
    """Permissions on a channel, or in a chat."""

    level: LevelSetting = Field(description="Permission level.")


class LevelPermissionsSettings(SettingsSection):
    """What a permission level may use."""

    tools: tuple[str, ...] | None = Field(
        default=None,
        description="Tools, each a name or the beginning of one with `*`; null: none for ZeroTrust, else all. Read by "
        "the guard Authorization, whose rules can allow more and deny.",
    )
    features: tuple[FeatureSetting, ...] | None = Field(
        default=None,
        description="Features of the HTTP and Socket.IO interfaces; null: Chat for ZeroTrust, else all. Without "
        "FullHistory, histories are redacted: arguments and results of tools, reasoning, secrets.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each name of a tool that is no pattern."""
        for pattern in self.tools or ():
            if not pattern or EVERYONE in pattern[:-1]:
                yield "Tools", f"{pattern!r} is not a name of a tool; * may stand only at the end"


class LevelsSettings(SettingsSection):
    """What each permission level may use."""

    zero_trust: LevelPermissionsSettings = Field(
        default_factory=LevelPermissionsSettings.defaults, description="Level of people who are not trusted."
    )
    user: LevelPermissionsSettings = Field(
        default_factory=LevelPermissionsSettings.defaults, description="Level of everybody who has no other."
    )
    admin: LevelPermissionsSettings = Field(
        default_factory=LevelPermissionsSettings.defaults, description="Level of operators."
    )

    def entry(self, level: Level) -> LevelPermissionsSettings:
        """Return the entry of a level."""
        return (self.zero_trust, self.user, self.admin)[level]

    def list_tools(self, level: Level) -> tuple[str, ...]:
        """Return the patterns of the tools of a level."""
        tools = self.entry(level).tools
        return _DEFAULT_TOOLS[level] if tools is None else tools

    def allows(self, level: Level, feature: Feature) -> bool:
        """Return whether a level may use a feature."""
        features = self.entry(level).features
        return feature in (_DEFAULT_FEATURES[level] if features is None else features)

    def find_needed_level(self, feature: Feature) -> Level | None:
        """Return the lowest level that may use a feature; None if none may."""
        return next((level for level in Level if self.allows(level, feature)), None)


class PermissionsSettings(SettingsSection):
    """Permission levels of people, and what a level may use."""

    users: Mapping[str, UserPermissionsSettings] = Field(
        default_factory=dict[str, UserPermissionsSettings],
        description="Permissions by principal, such as `ada` or `telegram:5`; `*` applies to everyone else.",
    )
    channels: Mapping[str, PlacePermissionsSettings] = Field(
        default_factory=dict[str, PlacePermissionsSettings],
        description="Levels by channel, such as `telegram`; `hub` is HTTP and Socket.IO, `local` the terminal.",
    )
    chats: Mapping[str, PlacePermissionsSettings] = Field(
        default_factory=dict[str, PlacePermissionsSettings],
        description="Levels by principal of a group, such as `telegram:chat:-100`; limits every member.",
    )
    ceiling: LevelSetting = Field(
        default="User", description="Highest level of people who have no entry in Users and are no operators."
    )
    levels: LevelsSettings = Field(
        default_factory=LevelsSettings.defaults, description="What each permission level may use."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each level above the ceiling that is given to people without naming them, and misplaced keys."""
        ceiling = LEVELS_BY_LABEL[self.ceiling]
        entries = [
            *([("Users.*", self.users[EVERYONE].level)] if EVERYONE in self.users else []),
            *((f"Channels.{name}", each.level) for name, each in self.channels.items()),
            *((f"Chats.{name}", each.level) for name, each in self.chats.items()),
        ]
        for key, level in entries:
            if level is not None and LEVELS_BY_LABEL[level] > ceiling:
                yield f"{key}.Level", f"{level} is above Permissions.Ceiling ({self.ceiling}); name the users instead"
        for name in self.chats:
            if ":" not in name:
                yield f"Chats.{name}", "it is no principal of a group; write it as telegram:chat:-100"

    def level_of(self, principal: str, *, channel: str, chat: str = "", is_operator: bool = False) -> Level:
        """Return the level of a principal on a channel; `chat` is the principal of the group that reads the answer."""
        own, everyone = self.users.get(principal), self.users.get(EVERYONE)
        return resolve_level(
            is_operator=is_operator,
            own=_to_level(own.level if own is not None else None),
            chat=_to_level(self.chats[chat].level if chat in self.chats else None),
            channel=_to_level(self.channels[channel].level if channel in self.channels else None),
            everyone=_to_level(everyone.level if everyone is not None else None),
            ceiling=LEVELS_BY_LABEL[self.ceiling],
        )

    def roles_of(self, principal: str) -> tuple[str, ...]:
        """Return the roles of a principal, those of everyone included, as rules name them."""
        entries = (self.users.get(principal), self.users.get(EVERYONE))
        return tuple(f"role:{role}" for entry in entries if entry is not None for role in entry.roles)


def _to_level(label: str | None) -> Level | None:
    return None if label is None else LEVELS_BY_LABEL[label]
