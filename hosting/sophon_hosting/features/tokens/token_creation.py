"""Creation and description of API tokens, for the command line and for operators over HTTP."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from sophon.errors import InputError
from sophon.principals import hub_user_principal
from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token, generate_token_id
from sophon.security.authorization.permission_levels import LevelLabel
from sophon.settings import Settings
from sophon_hosting.client_api.authentication.token_authentication import find_operators
from sophon_hosting.client_api.rights import HUB_CHANNEL, OPERATOR_SCOPE, SCOPES
from sophon_hosting.settings.hub import HubSettings, HubUserSettings
from sophon_hosting.store.api_tokens.api_token import ApiToken

DEFAULT_DAYS: Final = 90
MAX_DAYS: Final = 3650
MAX_NAME_CHARACTERS: Final = 100

TokenStatus: TypeAlias = Literal["valid", "expired", "revoked"]


def build_api_token(
    owner: HubUserSettings, scopes: Sequence[str], *, name: str, days: int | None, now: datetime
) -> tuple[ApiToken, str]:
    """Return a new token and its secret, which nobody can read afterwards. `days` None: it does not expire.

    Raises InputError for a scope that is unknown or not the owner's.
    """
    secret = generate_api_token()
    token = ApiToken(
        id=generate_token_id(),
        digest=digest_api_token(secret),
        principal=hub_user_principal(owner.id),
        name=name,
        scopes=parse_scopes(scopes, is_operator=owner.operator),
        created_at=now,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    return token, secret


def find_user(hub: HubSettings, user_id: str) -> HubUserSettings:
    """Return a user of the settings. Raises InputError."""
    for user in hub.users:
        if user.id == user_id:
            return user
    if not hub.users:
        raise InputError("there are no Hub.Users: every client is an operator, whom a token would not limit")
    raise InputError(f"{user_id!r} is none of Hub.Users: {', '.join(user.id for user in hub.users)}")


def parse_scopes(given: Sequence[str], *, is_operator: bool) -> tuple[str, ...]:
    """Return the scopes of a token in their order, whatever their case. Raises InputError."""
    by_name = {scope.casefold(): scope for scope in SCOPES}
    for each in given:
        if each.casefold() not in by_name:
            raise InputError(f"the scope {each!r} is none of {', '.join(SCOPES)}")
    found = {by_name[each.casefold()] for each in given}
    if OPERATOR_SCOPE in found and not is_operator:
        raise InputError(f"the scope {OPERATOR_SCOPE}: the user is no operator, and a token gives no right")
    return tuple(scope for scope in SCOPES if scope in found)


def describe_status(token: ApiToken, now: datetime) -> TokenStatus:
    """Return `valid`, `expired` or `revoked`."""
    return "revoked" if token.revoked_at is not None else "valid" if token.is_valid(now) else "expired"


def find_level(settings: Settings, token: ApiToken) -> LevelLabel | Literal["none"]:
    """Return the permission level that the token's user has now; "none" for a user who is not in the settings."""
    if all(hub_user_principal(user.id) != token.principal for user in settings.section(HubSettings).users):
        return "none"
    is_operator = token.principal in find_operators(settings.section(HubSettings))
    return settings.permissions.level_of(token.principal, channel=HUB_CHANNEL, is_operator=is_operator).label
