"""History of the sessions of a user: records, texts, events and traces."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sophon.errors import NotFound
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon.traces.trace import Trace
from sophon_hosting.client_api.conversation_mode import by_session
from sophon_hosting.client_api.history_view import find_own_text
from sophon_hosting.client_api.session_scope import to_client_logged_event
from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.events.large_fields import cut_payload


class HistoryOperations(UserAccess):
    """The operations that read what a session has stored, redacted for users without FullHistory."""

    @by_session
    async def list_records(
        self,
        session_id: str,
        after_seq: int = 0,
        *,
        before_seq: int | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
    ) -> list[SessionRecord]:
        """Return records of a session as `SessionStore.list_records` does. Raises NotFound."""
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        records = await self.store.sessions.list_records(
            session.id, after_seq, before=before_seq, limit=limit, max_bytes=max_bytes
        )
        if self.view is None:
            return records
        is_own = session.owner == self.user.id
        return [self.view.record(record, is_own=is_own) for record in records]

    async def get_record(self, session_id: str, seq: int) -> SessionRecord:
        """Return one record of a session. Raises NotFound."""
        records = await self.list_records(session_id, seq - 1, limit=1)
        if not records or records[0].seq != seq:
            raise NotFound("message", str(seq))
        return records[0]

    @by_session
    async def get_text(self, session_id: str, text_id: str) -> str:
        """Return a large text of a session, to which an event refers. Raises NotFound.

        Without FullHistory, only the text of a message in one of the user's own sessions.
        """
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        if self.view is None:
            text = await self.store.texts.get(session.id, text_id)
        elif session.owner == self.user.id:
            text = find_own_text(await self.store.sessions.list_records(session.id), text_id)
        else:
            text = None
        if text is None:
            raise NotFound("text", text_id)
        return text

    @by_session
    async def cut_large_fields(self, session_id: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a payload that belongs to a session with its large fields cut, and store the texts they refer to."""
        cut = cut_payload(payload, session_id)
        if cut.texts:
            await self.store.texts.add(await self.sessions.find_stored_id(session_id), cut.texts)
        return cut.data

    @by_session
    async def list_events(self, session_id: str, after_seq: int = 0, limit: int = 1000) -> list[LoggedEvent]:
        """Return the stored events of a session after a seq; old ones are trimmed. Raises NotFound."""
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        rows = await self.store.events.list_after(session.id, after_seq, limit)
        return self._to_client_logged_events(session, rows)

    @by_session
    async def list_traces(self, session_id: str, task_id: str) -> list[LoggedEvent]:
        """Return the traces of a task in one of the user's sessions. Raises NotFound."""
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        return self._to_client_logged_events(session, await self.store.events.list_traces(session.id, task_id))

    def to_client_trace(self, trace: Trace) -> Trace:
        """Return the trace of a turn as the client sees it."""
        if self.view is not None:
            trace = self.view.trace(trace, is_own=trace.principal == self.user.id)
        return replace(trace, session_id=self.sessions.to_client_id(trace.session_id))

    def _to_client_logged_events(self, session: SessionSummary, rows: Sequence[LoggedEvent]) -> list[LoggedEvent]:
        view, is_own = self.view, session.owner == self.user.id
        shown = rows if view is None else [view.logged_event(row, is_own=is_own) for row in rows]
        return [to_client_logged_event(row, session.id, self.user.id) for row in shown]
