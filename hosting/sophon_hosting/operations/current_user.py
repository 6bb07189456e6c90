"""Operation that every client has: who it is, and what it may use."""

from sophon._python.lazy_typed_dict import TypedDict
from sophon._version import __version__
from sophon.security.authorization.permission_levels import FEATURES, Feature, LevelLabel
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.request import NoFields
from sophon_hosting.operations.table import Table

table = Table("host")


class CurrentUser(TypedDict):
    """The user of the request, what the user may use, and the version of the host; `scopes` of the token, null if the
    user has logged in without one.
    """

    user: str
    operator: bool
    version: str
    level: LevelLabel
    features: list[Feature]
    scopes: list[str] | None


@table.operation("GET /api/me", needs=())
async def get_current_user(caller: Caller, request: NoFields) -> CurrentUser:
    """Return the user of the request and what the user may use, and the version of the host.

    `features` are those of the permission `level`; `scopes` are those of an API token, null without one.
    """
    user, rights = caller.user, caller.rights
    return {
        "user": user.id,
        "operator": user.operator,
        "version": __version__,
        "level": rights.level.label,
        "features": [feature for feature in FEATURES if rights.allows(feature)],
        "scopes": None if rights.scopes is None else sorted(rights.scopes),
    }
