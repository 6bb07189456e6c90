"""Permissions of a turn: which tools its principal may use, by permission level and access control list."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.extensions import Key
from sophon.security.authorization.access_control import Acl, AclDecision, AclRule
from sophon.security.authorization.permission_levels import FULL_HISTORY, Level
from sophon.settings import Settings
from sophon.settings.sections.authorization import EXECUTE, TOOL_RESOURCE, RuleSettings
from sophon.settings.sections.permissions import LevelsSettings, RoutingPermissions
from sophon.tools.tool import Tool
from sophon.turn.chat_overrides import CHAT_OVERRIDES

MICROS_PER_UNIT = 1_000_000

RESTRICTED_TOOLS: Key[list[str]] = Key("skills.restricted_tools", dump=list, load=list)
"""Names of the tools to which the skills that were loaded restrict the turn; not set without such a skill."""

SKILL_TOOLS = frozenset({"load_skills", "read_skill_file", "load_tools"})
"""Tools that no skill restricts."""


@dataclass(frozen=True, slots=True)
class ToolPermissions:
    """What the principal of a turn may use at one moment.

    `memberships` are what rules may name the principal by: the group it wrote in, its level, its roles.
    """

    acl: Acl
    principal: str
    level: Level
    memberships: tuple[str, ...]
    at: datetime
    channel: str
    cost: float | None

    def decide(self, tool: str) -> AclDecision:
        """Return whether the principal may use a tool, and the number of the rule that decided."""
        return self.acl.decide(
            self.principal,
            f"{TOOL_RESOURCE}{tool}",
            EXECUTE,
            memberships=self.memberships,
            at=self.at,
            channel=self.channel,
            cost=self.cost,
        )

    def filter(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return those of the tools that the principal may use."""
        return [tool for tool in tools if self.decide(tool.name).allowed]


def find_tool_permissions(ctx: Context) -> ToolPermissions:
    """Return what the principal of the turn may use now."""
    return build_tool_permissions(
        ctx.settings,
        ctx.principal,
        level=find_level(ctx),
        at=ctx.services.clock.now(),
        channel=ctx.channel,
        chat=chat_of_turn(ctx),
        cost=find_cost(ctx),
    )


def build_tool_permissions(
    settings: Settings,
    principal: str,
    *,
    level: Level,
    at: datetime,
    channel: str,
    chat: str = "",
    cost: float | None = 0.0,
) -> ToolPermissions:
    """Return what a principal may use at a moment; `cost` is that of the turn so far."""
    permissions = settings.permissions
    return ToolPermissions(
        acl=_find_tool_acl(settings.guards.authorization.rules, permissions.levels),
        principal=principal,
        level=level,
        memberships=(*([chat] if chat else []), level.role, *permissions.roles_of(principal)),
        at=at,
        channel=channel,
        cost=cost,
    )


def chat_of_turn(ctx: Context) -> str:
    """Return the principal of the group that reads the answer; "" for nobody but the person."""
    return ctx.data_owner if ctx.group else ""


def find_level(ctx: Context) -> Level:
    """Return the permission level of the principal of the turn."""
    return ctx.settings.permissions.level_of(
        ctx.principal,
        channel=ctx.channel,
        chat=chat_of_turn(ctx),
        is_operator=ctx.services.security.operator_policy.is_operator(ctx.principal),
    )


def may_read_full_history(ctx: Context) -> bool:
    """Return whether the model may read what earlier turns of the session have read, for the principal of the turn."""
    permissions = ctx.settings.permissions
    return not permissions.hides_history or permissions.levels.allows(find_level(ctx), FULL_HISTORY)


def find_routing_permissions(ctx: Context, *, uses_tiers: bool) -> RoutingPermissions:
    """Return what routing may choose for the principal of the turn; the defaults of levels are for tiers only."""
    permissions = ctx.settings.permissions
    return permissions.routing_of(ctx.principal, find_level(ctx), uses_tiers=uses_tiers)


def filter_permitted(ctx: Context, tools: Iterable[Tool]) -> Sequence[Tool]:
    """Return those of the tools that the principal may use, within what the chat, the agent and loaded skills allow.

    While the guard Authorization is off, the principal may use all of them.
    """
    if ctx.services.assistant.custom_tools:
        tools = [tool for tool in tools if not is_owned_by_other(ctx, tool)]
    if ctx.services.assistant.agents is not None:
        from sophon.turn.agent import filter_by_agents  # lazy: most hosts have no agents

        tools = filter_by_agents(ctx, tools)
    overrides = ctx.root.get(CHAT_OVERRIDES)
    if overrides is not None and overrides.restricts_tools:
        tools = overrides.filter_tools(tools)
    allowed = find_allowed_tools(ctx)
    if allowed is not None:
        tools = [tool for tool in tools if tool.name in allowed]
    if not ctx.settings.guards.authorization.enabled:
        return tuple(tools)  # the tools of a registry are a tuple, which is not copied
    return find_tool_permissions(ctx).filter(tools)


def is_owned_by_other(ctx: Context, tool: Tool) -> bool:
    """Return whether the tool is a custom tool of another principal."""
    return tool.owner is not None and tool.owner != ctx.principal


def find_allowed_tools(ctx: Context) -> frozenset[str] | None:
    """Return the names of the tools that loaded skills allow, in the turn and those whose step it is; None: all."""
    allowed: frozenset[str] | None = None
    turn: Context | None = ctx
    while turn is not None:
        names = turn.get(RESTRICTED_TOOLS)
        if names is not None:
            allowed = SKILL_TOOLS.union(names) if allowed is None else allowed.intersection(names) | SKILL_TOOLS
        turn = turn.parent
    return allowed


_acls: list[tuple[tuple[RuleSettings, ...], LevelsSettings, Acl]] = []
"""The access control lists that were built last, with the settings that each is of."""

MAX_ACLS = 8


def _find_tool_acl(rules: tuple[RuleSettings, ...], levels: LevelsSettings) -> Acl:
    """Return the access control list of these settings. They are compared by identity: to hash them takes 30 us."""
    for known_rules, known_levels, acl in _acls:
        if known_rules is rules and known_levels is levels:
            return acl
    acl = build_tool_acl(rules, levels)
    _acls[:] = [(rules, levels, acl), *_acls[: MAX_ACLS - 1]]
    return acl


def build_tool_acl(rules: tuple[RuleSettings, ...], levels: LevelsSettings) -> Acl:
    """Return the access control list: the rules of the settings, then an allow for each tool pattern of each level."""
    granted = [
        AclRule(level.role, f"{TOOL_RESOURCE}{pattern}", EXECUTE, "allow")
        for level in Level
        for pattern in levels.list_tools(level)
    ]
    return Acl([*(rule.to_rule(number) for number, rule in enumerate(rules, 1)), *granted])


def find_cost(ctx: Context) -> float | None:
    """Return what the turn has cost so far, in dollars; None if the price of a model is not known."""
    metered, usage = ctx.tally.metered, ctx.tally.usage
    if metered.unpriced_tokens or usage.unpriced_tokens:
        return None
    return max(metered.cost_micros, usage.cost_micros) / MICROS_PER_UNIT
