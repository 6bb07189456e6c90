"""Rights of a token as `/api/me` says them: what is offered. What may be done, the host decides with each request."""

from sophon_hosting.client_api.rights import CALL_SCOPE, OPERATOR_SCOPE
from sophon_hosting.operations.current_user import CurrentUser
from sophon_hosting.operations.permission_check import TOKEN_ONLY


def has_permission(me: CurrentUser, permission: str) -> bool:
    """Return whether the token, and the level of its user, have a permission (`parse_permission`)."""
    scope = permission.removeprefix(TOKEN_ONLY)
    if scope == permission and scope not in ("Read", CALL_SCOPE, OPERATOR_SCOPE):
        return scope in me["features"]
    if permission == OPERATOR_SCOPE and not me["operator"]:
        return False
    if me["scopes"] is None:  # with a token of few scopes, only the host knows whether the level allows to chat
        return permission != CALL_SCOPE or "Chat" in me["features"]
    return scope in me["scopes"]
