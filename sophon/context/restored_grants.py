"""Grants of a restored turn: an approval counts only if it still counts under the policy of the moment."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophon.context.state import TurnState
    from sophon.context.turn_services import TurnServices


def drop_void_grants(turn: "TurnState", services: "TurnServices") -> None:
    """Remove the grants of pending calls whose approval may not be used any more; such a call is asked about again.

    Since the turn was stored, users, channels or operators may have been added or removed, or the call's tool may have
    become riskier.
    """
    for call in turn.pending:
        grant, tool = turn.grants.get(call.id), services.registry.get(call.name)
        if grant is None or tool is None:
            continue
        if not services.security.operator_policy.counts(tool.risk, asker=turn.principal, decider=grant.decided_by):
            del turn.grants[call.id]
