"""Access of one user to a host: who asks, with which rights, and what of histories they see."""

from typing import Protocol, cast

from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.conversation_mode import OffTheRecordLookup
from sophon_hosting.events.wire_event import EventListener


class OffTheRecordOperations(OffTheRecordLookup, Protocol):
    """What a user does on the host off the record, as far as no id decides it (see `conversation_mode`)."""

    def new_session_id(self) -> str: ...
    def unsubscribe(self, session_id: str, listener: EventListener) -> None: ...
    async def ensure_own_session(self, session_id: str) -> SessionSummary: ...


class UserAccess(Caller):
    """Caller whose operations are methods, each with its permission check."""

    @property
    def operations_off_the_record(self) -> OffTheRecordOperations | None:
        """The same operations on the host of conversations off the record; None if this host has none."""
        return cast(OffTheRecordOperations | None, self.off_the_record)
