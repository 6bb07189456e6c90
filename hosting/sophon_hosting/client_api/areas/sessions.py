"""Sessions of a user: read, create, change, delete."""

from dataclasses import replace

from sophon.errors import InputError, NotFound
from sophon.security.permission_levels import FULL_HISTORY
from sophon.stores.sessions.contract import SessionKind, SessionPage, SessionSummary
from sophon.turn_options import parse_planning_mode
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.conversation_mode import by_session
from sophon_hosting.client_api.user_access import OffTheRecordOperations, UserAccess


class SessionOperations(UserAccess):
    """The operations on sessions, each with its permission check."""

    async def has_session(self, session_id: str) -> bool:
        """Return whether the user may read a stored session of that name."""
        try:
            await self.sessions.find(session_id)
        except (NotFound, Forbidden):
            return False
        return True

    async def open_off_the_record(self) -> SessionSummary:
        """Begin a conversation off the record, without a message. Raises InputError, OffTheRecordFull."""
        off = self._sessions_off_the_record()
        return await off.ensure_own_session(off.new_session_id())

    async def ensure_own_session(self, session_id: str) -> SessionSummary:
        """Return a session of the user, for a message that follows; create it if it does not exist.

        Raises InputError, Forbidden (operators).
        """
        self.rights.require("Chat")
        return self.sessions.to_client_session(await self.sessions.find_or_create_own(session_id, has_message=True))

    @by_session
    async def get_session(self, session_id: str) -> SessionSummary:
        """Return a session. Raises NotFound."""
        self.rights.require_scope("Read")
        return self._to_client_session(await self.sessions.find(session_id))

    async def list_sessions(
        self,
        *,
        all_users: bool = False,
        search: str = "",
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        kind: SessionKind | None = None,
    ) -> SessionPage:
        """Return a page of the user's sessions, newest first, as `SessionStore.list_page` does.

        With `all_users` (operators only) those of all users. Raises InputError for an invalid cursor.
        """
        self.rights.require_scope("Read")
        owner = self.owner_filter(all_users)
        if owner is None and search:
            self.rights.require(FULL_HISTORY)  # it searches in titles, which are hidden
        page = await self.store.sessions.list_page(
            owner, search=search, limit=limit, offset=offset, cursor=cursor, kind=kind
        )
        return replace(page, items=[self._to_client_session(session) for session in page.items])

    def _to_client_session(self, session: SessionSummary) -> SessionSummary:
        shown = session if self.view is None else self.view.session(session, is_own=session.owner == self.user.id)
        return self.sessions.to_client_session(shown)

    @by_session
    async def rename_session(self, session_id: str, title: str) -> SessionSummary:
        """Set the title of a session and return the session. Raises NotFound."""
        self.rights.require("Chat")
        stored_id = await self.sessions.find_stored_id(session_id)
        await self.store.sessions.rename(stored_id, title)
        return await self._publish_change(session_id, stored_id)

    @by_session
    async def mark_session(
        self, session_id: str, *, pinned: bool | None = None, archived: bool | None = None
    ) -> SessionSummary:
        """Pin or archive a session, or no longer, and return it. Raises NotFound."""
        self.rights.require("Chat")
        stored_id = await self.sessions.find_stored_id(session_id)
        await self.store.sessions.mark(stored_id, pinned=pinned, archived=archived)
        return await self._publish_change(session_id, stored_id)

    async def _publish_change(self, session_id: str, stored_id: str) -> SessionSummary:
        """Tell all clients who may see a session and its branches what is shown of it now; return it."""
        for each in await self.store.sessions.list_family(stored_id):
            self.host.session_changes.publish(each)
        return await self.get_session(session_id)

    @by_session
    async def set_session_model(self, session_id: str, model: str | None) -> SessionSummary:
        """Set the model of a session; None restores routing. Raises NotFound (session or model)."""
        self.rights.require("ChooseModel")
        stored_id = await self.sessions.find_stored_id(session_id)
        if model is not None:
            self.host.services.gateway.find(model)
        await self.store.sessions.set_model(stored_id, model)
        return await self.get_session(session_id)

    @by_session
    async def set_session_planning(self, session_id: str, planning: str | None) -> SessionSummary:
        """Set the planning mode of a session; None restores that of the settings. Raises NotFound, InputError."""
        self.rights.require("Chat")
        stored_id = await self.sessions.find_stored_id(session_id)
        await self.store.sessions.set_planning(stored_id, parse_planning_mode(planning))
        return await self.get_session(session_id)

    @by_session
    async def delete_session(self, session_id: str) -> None:
        """Do what `Host.delete_session` does. Raises NotFound, Busy."""
        self.rights.require("Chat")
        await self.host.delete_session(await self.sessions.find_stored_id(session_id))

    def _sessions_off_the_record(self) -> OffTheRecordOperations:
        if self.operations_off_the_record is None:
            raise InputError("this host has no conversations off the record")
        return self.operations_off_the_record
