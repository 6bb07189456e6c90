"""Authorized host: a caller with the areas whose operations are methods yet."""

from sophon_hosting.client_api.areas.attachments import UserAttachments
from sophon_hosting.client_api.areas.imports import UserImports
from sophon_hosting.client_api.areas.replays import TurnReplays
from sophon_hosting.client_api.authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.connection import Connection
from sophon_hosting.host import Host
from sophon_hosting.off_the_record.host import OffTheRecordHost


class AuthorizedHost(Caller):
    """Caller with objects for the areas whose operations are methods yet: `authorized.imports.store()`."""

    def __init__(
        self, host: Host, user: User, *, knows_all: bool = False, connection: Connection | None = None
    ) -> None:
        super().__init__(host, user, knows_all=knows_all, connection=connection)
        off = host.off_the_record
        self._sessions_off: OffTheRecordSessions | None = None
        if isinstance(off, OffTheRecordHost):
            self._sessions_off = OffTheRecordSessions(off, user, knows_all=knows_all, connection=self.connection)
            self._sessions_off.reply = self.reply

    @property
    def off_the_record(self) -> "OffTheRecordSessions | None":
        """The same user on the host of conversations off the record; None if this host has none."""
        return self._sessions_off

    @property
    def attachments(self) -> UserAttachments:
        """The files of the user."""
        return UserAttachments(self)

    @property
    def imports(self) -> UserImports:
        """Import of conversations into the user's sessions."""
        return UserImports(self)

    @property
    def replays(self) -> TurnReplays:
        """Replays of the user's own turns."""
        return TurnReplays(self)


class OffTheRecordSessions(AuthorizedHost):
    """The conversations off the record of one user. They are in no list of sessions or tasks, except by their id.

    Operators get no more of them than of their own, except the approvals, which they decide.
    """

    @property
    def attachments(self) -> UserAttachments:
        """The files of the user off the record."""
        return UserAttachments(self, is_off_the_record=True)
