"""Operations off the record that the areas hand on to, as a protocol, so that no area imports the authorized host."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.runs.contract import Run, RunStatus
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.client_api.conversation_mode import OffTheRecordLookup
from sophon_hosting.events.wire_event import EventListener
from sophon_hosting.host import TaskReceipt


class OffTheRecordOperations(OffTheRecordLookup, Protocol):
    """What a user does on the host off the record, as far as no id decides it (see `conversation_mode`)."""

    def new_session_id(self) -> str: ...
    def unsubscribe(self, session_id: str, listener: EventListener) -> None: ...
    async def ensure_own_session(self, session_id: str) -> SessionSummary: ...
    async def accept_message(
        self, message: ClientMessage, *, before_accept: Callable[[str], Awaitable[None]] | None = None
    ) -> TaskReceipt: ...
    async def list_tasks(
        self,
        *,
        session_id: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[Run]: ...
    async def list_approvals(
        self, *, session_id: str | None = None, open_only: bool = True, all_users: bool = False
    ) -> list[ApprovalRecord]: ...
