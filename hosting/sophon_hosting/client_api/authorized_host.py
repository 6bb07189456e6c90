"""Authorized host: a caller with the area whose operations are methods yet."""

from sophon_hosting.client_api.areas.replays import TurnReplays
from sophon_hosting.client_api.caller import Caller


class AuthorizedHost(Caller):
    """Caller who may replay turns."""

    @property
    def replays(self) -> TurnReplays:
        """Replays of the user's own turns."""
        return TurnReplays(self)
