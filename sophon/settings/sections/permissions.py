"""Settings section of the permissions: which level people have, and what a level may use."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SophonError
from sophon.security.authorization.permission_levels import (
    FEATURES,
    FULL_HISTORY,
    LEVELS_BY_LABEL,
    Feature,
    Level,
    LevelLabel,
    resolve_level,
)
from sophon.settings.types.field_types import CaseInsensitive, FiniteNumber, Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection

LevelSetting = Annotated[LevelLabel, CaseInsensitive()]

FeatureSetting = Annotated[Feature, CaseInsensitive()]

EVERYONE = "*"
"""Key in Permissions.Users for all principals without an entry of their own."""

WIDER_CHANNELS: Mapping[str, str] = {"cli": "local", "heartbeat": "hub", "webhook": "hub"}
"""Channels of turns without a level of their own, and the channel whose level holds for them: a webhook or a heartbeat
acts for a user of the hub, and must not give what the hub denies."""

LEVEL_ROLES = frozenset(LEVELS_BY_LABEL)
"""Names of the roles that everybody of a level has."""

_DEFAULT_TOOLS: Mapping[Level, tuple[str, ...]] = {Level.ZERO_TRUST: (), Level.USER: ("*",), Level.ADMIN: ("*",)}
_DEFAULT_FEATURES: Mapping[Level, tuple[Feature, ...]] = {
    Level.ZERO_TRUST: ("Chat",),
    Level.USER: FEATURES,
    Level.ADMIN: FEATURES,
}


@dataclass(frozen=True, slots=True)
class RoutingPermissions:
    """What routing may choose for a person. Costs are in USD; None means no limit, for `max_tier` every tier."""

    level: Level = Level.USER
    max_tier: str | None = None
    may_escalate: bool = False
    escalation_threshold: float = 1.0
    daily_cost: float | None = None
    monthly_cost: float | None = None
    max_output_tokens: int | None = None


LEVEL_TIERS: Mapping[Level, str] = {Level.ZERO_TRUST: "free", Level.USER: "standard", Level.ADMIN: "elite"}
"""Highest tier of each level, where there is a tier of that name. Source: clawft, permissions."""

_LEVEL_DEFAULTS: Mapping[Level, RoutingPermissions] = {
    Level.ZERO_TRUST: RoutingPermissions(
        Level.ZERO_TRUST,
        daily_cost=0.10,
        monthly_cost=2.0,
        max_output_tokens=1024,
    ),
    Level.USER: RoutingPermissions(
        Level.USER,
        may_escalate=True,
        escalation_threshold=0.6,
        daily_cost=5.0,
        monthly_cost=100.0,
        max_output_tokens=4096,
    ),
    Level.ADMIN: RoutingPermissions(Level.ADMIN, may_escalate=True, escalation_threshold=0.0, max_output_tokens=16384),
}
"""What each level may use where tiers are used and the settings say nothing. Source: clawft, permissions."""


class RoutingPermissionsSettings(SettingsSection):
    """What routing may choose; null: what the next layer says."""

    max_tier: str | None = Field(
        default=None,
        description="Highest tier of models; null: that of the level (`free`, `standard`, `elite`) if there is a tier "
        "of that name, else the first for ZeroTrust and every tier for the others.",
    )
    escalation: Flag | None = Field(
        default=None, description="Whether complex messages may get a tier above MaxTier; null: not for ZeroTrust."
    )
    escalation_threshold: FiniteNumber | None = Field(
        default=None, ge=0, le=1, description="Complexity above which they do; null: 0.6 for User, 0 for Admin."
    )
    daily_cost: FiniteNumber | None = Field(
        default=None,
        ge=0,
        description="USD per day and person; 0 means no limit; null: where tiers are used 0.10 for ZeroTrust and 5 for "
        "User, else no limit.",
    )
    monthly_cost: FiniteNumber | None = Field(
        default=None,
        ge=0,
        description="USD per month and person; 0 means no limit; null: where tiers are used 2 for ZeroTrust and 100 "
        "for User, else no limit.",
    )


class UserPermissionsSettings(RoutingPermissionsSettings):
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


class LevelPermissionsSettings(RoutingPermissionsSettings):
    """What a permission level may use."""

    max_output_tokens: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Tokens of a reply where tiers are used; null: 1024 for ZeroTrust, 4096 for User, 16384 for Admin.",
    )

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


class LevelNeeded(SophonError):
    """Error: the permission level of the user is too low for a feature (code `level_needed`).

    `level` is the lowest level that may use it, None if no level may.
    """

    code = "level_needed"

    def __init__(self, feature: str, level: Level | None, own: Level) -> None:
        self.feature, self.level = feature, level.label if level is not None else None
        needed = f"needs the level {level.label}" if level is not None else "is open to no level"
        super().__init__(f"{feature} {needed}; yours is {own.label}")


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

    def require(self, level: Level, feature: Feature) -> None:
        """Raise LevelNeeded if a level may not use a feature."""
        if not self.allows(level, feature):
            raise LevelNeeded(feature, self.find_needed_level(feature), level)

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
        description="Levels by channel, such as `telegram`; `hub` is HTTP and Socket.IO, and webhooks and heartbeats "
        "unless `webhook` and `heartbeat` are there; `local` the terminal.",
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
        channel = channel if channel in self.channels else WIDER_CHANNELS.get(channel, channel)
        return resolve_level(
            is_operator=is_operator,
            own=_to_level(own.level if own is not None else None),
            chat=_to_level(self.chats[chat].level if chat in self.chats else None),
            channel=_to_level(self.channels[channel].level if channel in self.channels else None),
            everyone=_to_level(everyone.level if everyone is not None else None),
            ceiling=LEVELS_BY_LABEL[self.ceiling],
        )

    def routing_of(self, principal: str, level: Level, *, uses_tiers: bool) -> RoutingPermissions:
        """Return what routing may choose for a principal of a level: their own entry, everyone's, then the level's.

        The defaults of the levels apply only where tiers are used.
        """
        entry, default = self.levels.entry(level), _LEVEL_DEFAULTS[level] if uses_tiers else RoutingPermissions(level)
        users = (self.users.get(principal), self.users.get(EVERYONE) if principal != EVERYONE else None)
        layers: list[RoutingPermissionsSettings] = [each for each in users if each is not None]
        layers.append(entry)
        may_escalate = next((each.escalation for each in layers if each.escalation is not None), default.may_escalate)
        thresholds = (each.escalation_threshold for each in layers if each.escalation_threshold is not None)
        return RoutingPermissions(
            level,
            next((each.max_tier for each in layers if each.max_tier is not None), None),
            may_escalate,
            next(thresholds, default.escalation_threshold),
            _find_limit((each.daily_cost for each in layers), default.daily_cost),
            _find_limit((each.monthly_cost for each in layers), default.monthly_cost),
            entry.max_output_tokens or default.max_output_tokens,
        )

    @cached_property
    def hides_history(self) -> bool:
        """Whether a level that somebody may have lacks the feature FullHistory."""
        return any(not self.levels.allows(level, FULL_HISTORY) for level in self._list_given_levels())

    @property
    def restricts_tools(self) -> bool:
        """Whether somebody may use fewer tools than all by their level."""
        return any("*" not in self.levels.list_tools(level) for level in self._list_given_levels())

    def _list_given_levels(self) -> list[Level]:
        """Return the levels that somebody may have."""
        given = {self.ceiling, "User", "Admin", *(each.level for each in self.users.values())}
        given |= {each.level for each in (*self.channels.values(), *self.chats.values())}
        return [level for level in Level if level.label in given]

    @cached_property
    def has_cost_limits(self) -> bool:
        """Whether the settings name a daily or monthly cost of anybody."""
        return any(True for _ in self.list_cost_limits())

    def list_cost_limits(self) -> Iterator[tuple[str, float]]:
        """Yield the path and the USD of each cost limit that the settings name."""
        for path, entry in self._list_entries():
            for name, cost in (("DailyCost", entry.daily_cost), ("MonthlyCost", entry.monthly_cost)):
                if cost:
                    yield f"Permissions.{path}.{name}", cost

    def _list_entries(self) -> Iterator[tuple[str, RoutingPermissionsSettings]]:
        yield from ((f"Users.{name}", each) for name, each in self.users.items())
        yield from ((f"Levels.{level.label}", self.levels.entry(level)) for level in Level)

    def list_max_tiers(self) -> Iterator[tuple[str, str]]:
        """Yield the path of each entry that names a tier, and the tier."""
        for path, entry in self._list_entries():
            if entry.max_tier is not None:
                yield path, entry.max_tier

    def roles_of(self, principal: str) -> tuple[str, ...]:
        """Return the roles of a principal, those of everyone included, as rules name them."""
        entries = (self.users.get(principal), self.users.get(EVERYONE))
        return tuple(f"role:{role}" for entry in entries if entry is not None for role in entry.roles)


def _find_limit(values: Iterable[float | None], default: float | None) -> float | None:
    """Return the first value that is set, else the default; 0 means no limit."""
    return next((each for each in values if each is not None), default) or None


def _to_level(label: str | None) -> Level | None:
    return None if label is None else LEVELS_BY_LABEL[label]
