"""Permission check of an operation: what it needs by its declaration, against the rights of who asks."""

from collections.abc import Sequence
from typing import Final, cast, get_args

from sophon.security.authorization.permission_levels import Feature
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.rights import CALL_SCOPE, OPERATOR_SCOPE, SCOPES, Scope

TOKEN_ONLY: Final = "token: "  # noqa: S105 - no password
"""Prefix of a permission that restricts API tokens alone: every level has it."""

_FEATURES: Final = frozenset(get_args(Feature))


def parse_permission(text: str) -> str:
    """Return a permission that exists. Raises ValueError.

    `Read`: a token with that scope; every level may read what is its own. A feature, as `Chat`: the level and the scope
    of that name. `CallTools`: the level of `Chat` and the scope. `Operator`: an operator, whose token may act as one.
    `token: Approvals`: the scope alone.
    """
    if text not in _FEATURES and text.removeprefix(TOKEN_ONLY) not in SCOPES:
        raise ValueError(f"there is no permission {text!r}")
    return text


def check_permission(caller: Caller, permission: str) -> None:
    """Raise LevelNeeded, ScopeNeeded or Forbidden unless the caller has the permission."""
    rights = caller.rights
    if permission == OPERATOR_SCOPE:
        rights.require_scope(OPERATOR_SCOPE)
        if not caller.user.operator:
            raise Forbidden("only an operator may do this")
    elif permission == CALL_SCOPE:
        rights.require_calls()
    elif permission in _FEATURES:
        rights.require(cast(Feature, permission))
    else:
        rights.require_scope(cast(Scope, permission.removeprefix(TOKEN_ONLY)))


def describe_permissions(permissions: Sequence[str]) -> str:
    """Return a sentence about the permissions that every caller needs."""
    if not permissions:
        return "For everybody who is signed in."
    if OPERATOR_SCOPE in permissions:
        return "For operators."
    *others, last = [_describe(each) for each in permissions]
    return f"Needs {', '.join(others)}{' and ' if others else ''}{last}."


def _describe(permission: str) -> str:
    name = permission.removeprefix(TOKEN_ONLY)
    return f"`{name}`, of a token" if permission.startswith(TOKEN_ONLY) else f"`{name}`"
