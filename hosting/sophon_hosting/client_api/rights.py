"""Rights of a client: what the permission level of its user and the scopes of its token let it use."""

from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias, get_args

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SophonError
from sophon.security.authorization.permission_levels import FULL_HISTORY, Feature, Level
from sophon.settings.sections.permissions import LevelsSettings, PermissionsSettings

Scope: TypeAlias = Literal["Read", "CallTools", "Operator"] | Feature
"""What an API token may be used for: to read, to call tools, for one feature, or for what operators may do."""

SCOPES: Final[tuple[str, ...]] = (
    "Read",
    *(each for each in get_args(Feature) if each != FULL_HISTORY),
    "CallTools",
    "Operator",
)
"""Scopes of tokens. What a person sees of a history follows from the level alone: no token adds or takes it."""

HUB_CHANNEL: Final = "hub"
"""Channel of messages over HTTP and Socket.IO."""

OPERATOR_SCOPE: Final = "Operator"

CALL_SCOPE: Final = "CallTools"
"""Scope of tool calls outside of a turn. `Chat` does not contain it: there a model chooses the calls."""

IMPLIED_SCOPES: Final[Mapping[str, Collection[str]]] = {
    "Chat": ("Read",),
    "Approvals": ("Read",),
    "Export": ("Read",),
    "OpenAiApi": ("Chat", "Read"),
    "CallTools": ("Read",),
    "Operator": ("Read",),
}
"""Scopes that another one contains, because it is of no use without them."""


class ScopeNeeded(SophonError):
    """Error: the token of the client lacks a scope (code `scope_needed`)."""

    code = "scope_needed"

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(f"this needs a token with the scope {scope}")


@dataclass(frozen=True, slots=True)
class ClientRights:
    """What a client may use; `scopes` are those of its API token, None for a client without one."""

    level: Level
    levels: LevelsSettings
    scopes: frozenset[str] | None = None

    @classmethod
    def resolve(
        cls,
        permissions: PermissionsSettings,
        principal: str,
        *,
        channel: str,
        is_operator: bool,
        scopes: Collection[str] | None,
    ) -> "ClientRights":
        """Return the rights of a principal on a channel, limited by the scopes of a token."""
        level = permissions.level_of(principal, channel=channel, is_operator=is_operator)
        return cls(level, permissions.levels, None if scopes is None else expand_scopes(scopes))

    def has_scope(self, scope: Scope) -> bool:
        """Return whether the client's token has a scope; a client without a token has every scope."""
        return self.scopes is None or scope in self.scopes

    def require_scope(self, scope: Scope) -> None:
        """Raise ScopeNeeded if the client's token lacks a scope."""
        if not self.has_scope(scope):
            raise ScopeNeeded(scope)

    def allows(self, feature: Feature) -> bool:
        """Return whether level and token let the client use a feature."""
        return self.levels.allows(self.level, feature) and (feature == FULL_HISTORY or self.has_scope(feature))

    @property
    def sees_full_history(self) -> bool:
        """Whether the level lets the client see histories unredacted."""
        return self.allows(FULL_HISTORY)

    def require(self, feature: Feature) -> None:
        """Raise LevelNeeded, or ScopeNeeded, if the client may not use a feature."""
        self.require_level(feature)
        if feature != FULL_HISTORY:  # no token has a scope of that name
            self.require_scope(feature)

    def require_level(self, feature: Feature) -> None:
        """Raise LevelNeeded if the level of the user may not use a feature, whatever the scopes of the token are."""
        self.levels.require(self.level, feature)

    def require_calls(self) -> None:
        """Raise LevelNeeded or ScopeNeeded if the client may not call tools: only who may chat can call any."""
        self.require_level("Chat")
        self.require_scope(CALL_SCOPE)


def expand_scopes(scopes: Collection[str]) -> frozenset[str]:
    """Return the scopes with those that they contain."""
    return frozenset(scopes).union(*(IMPLIED_SCOPES.get(scope, ()) for scope in scopes))
