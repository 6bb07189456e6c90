"""Settings section of the guard Authorization."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from sophon.security.authorization.access_control import AclError, AclRule, parse_rule
from sophon.settings.types.field_types import CaseInsensitive, FiniteNumber, Flag
from sophon.settings.types.section import Field, SettingsSection

TOOL_RESOURCE = "tool:"
"""Beginning of the resource of a tool."""

EXECUTE = "execute"
"""Action of a tool call."""


class RuleConditionsSettings(SettingsSection):
    """Conditions of a rule; all of them must be met."""

    time: tuple[str, ...] | None = Field(
        default=None, min_length=2, max_length=2, description="From and to, as HH:MM in UTC; may pass midnight."
    )
    channels: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Channels of the message, such as `hub` or `telegram`."
    )
    max_cost: FiniteNumber | None = Field(
        default=None, ge=0, description="Cost of the turn so far, in USD, up to which the rule holds."
    )


class RuleSettings(SettingsSection):
    """A rule of the access control list."""

    principal: str = Field(
        min_length=1,
        description="Who: a principal, a group, `role:NAME` (each level is a role), the beginning of one with `*`, "
        "or `*`.",
    )
    resource: str = Field(min_length=1, description="`tool:NAME`, the beginning of it with `*`, or `*`.")
    action: Annotated[Literal["execute", "*"], CaseInsensitive()] = Field(
        default="execute", description="What is done: a tool is executed."
    )
    effect: Annotated[Literal["Allow", "Deny"], CaseInsensitive()] = Field(
        description="Whether it is allowed or denied; a deny wins over every allow."
    )
    conditions: RuleConditionsSettings | None = Field(default=None, description="When the rule holds; null: always.")

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield why the rule cannot be one, and a resource that no call has."""
        try:
            self.to_rule(1)
        except AclError as error:
            yield "Rule", str(error).removeprefix("rule 1: ")
        beginning = self.resource.removesuffix("*")
        if not (beginning.startswith(TOOL_RESOURCE) or (self.resource.endswith("*") and not beginning)):
            yield "Resource", f"{self.resource!r} is not a resource; write it as tool:files.read, tool:files.* or *"

    def to_rule(self, number: int) -> AclRule:
        """Return the rule. Raises AclError."""
        conditions = self.conditions
        given: dict[str, Any] = {}
        if conditions is not None:
            named = {"time": conditions.time, "channel": conditions.channels, "max_cost": conditions.max_cost}
            given = {key: value for key, value in named.items() if value is not None}
        return parse_rule(
            {
                "principal": self.principal,
                "resource": self.resource,
                "action": self.action,
                "effect": self.effect.lower(),
                "conditions": given,
            },
            number,
        )


class AuthorizationSettings(SettingsSection):
    """Whether the people on whose behalf a turn runs may use the tools that it calls."""

    enabled: Flag | None = Field(
        default=None,
        description="Whether a call is blocked whose principal has no permission for the tool, by level and Rules; "
        "null: as soon as Permissions withhold a tool from somebody, or there are Rules.",
    )
    rules: tuple[RuleSettings, ...] = Field(
        default=(),
        description="Access control list, beside the tools that Permissions.Levels allow; a deny wins, and what "
        "nothing allows is denied.",
    )
