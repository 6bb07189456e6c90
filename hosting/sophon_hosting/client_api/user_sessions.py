"""Sessions as one user knows them: lookup and creation by the user's ids, with the same answers for what is somebody
else's and for what does not exist.
"""

import unicodedata
from collections.abc import Collection
from dataclasses import replace
from typing import NoReturn

from sophon.errors import InputError, NotFound
from sophon.stores.sessions.contract import SessionStore, SessionSummary
from sophon.stores.sessions.copy_limits import check_room_for_session
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.scoped_session_ids import (
    SCOPE_SEPARATOR,
    is_channel_session_id,
    to_client_session_id,
    to_scoped_session_id,
)
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.runs.contract import Run

MAX_ID_CHARACTERS = 128
"""Maximum length of session ids and message ids that clients choose."""

SESSION_TRIES = 5
"""How often a session is looked up that others delete and take at the same time."""

NO_SESSION = ""
"""Session id that no session has, to filter by."""


class UserSessions:
    """The sessions that one user may name. `scoped_session_ids` says which id names which stored session.

    `knows_all`: the user is an operator, who reads everything somewhere; what belongs to others raises Forbidden. The
    ids of the sessions of chats are reserved for the `channels`. A stored id with a scope is known to operators only:
    for others it names nothing.
    """

    def __init__(self, store: SessionStore, user: User, *, knows_all: bool, channels: Collection[str] = ()) -> None:
        self._store, self._user, self._knows_all, self._channels = store, user, knows_all, channels

    async def find(self, session_id: str) -> SessionSummary:
        """Return a session that the user may read; the user's own before another's. Raises NotFound, Forbidden."""
        found = await self.find_any(session_id)
        if found is None:
            raise NotFound("session", session_id)
        if found.owner != self._user.id and not self._user.operator:
            self.refuse("session", session_id)
        return found

    async def find_any(self, session_id: str) -> SessionSummary | None:
        """Return the session that an id names, whoever owns it; the user's own before another's.

        Makes the same two queries whether the id is somebody else's or nobody's.
        """
        plain, scoped = [
            await self._store.find(each) for each in (session_id, to_scoped_session_id(session_id, self._user.id))
        ]
        if not self._may_name(session_id):
            return None
        return next((each for each in (plain, scoped) if each is not None and each.owner == self._user.id), plain)

    async def find_stored_id(self, session_id: str) -> str:
        """Return the id under which a session is stored. Raises NotFound, Forbidden (operators)."""
        return (await self.find(session_id)).id

    async def find_or_create(self, session_id: str) -> SessionSummary:
        """Return the stored session to join; create it if it does not exist. Raises InputError, Forbidden."""
        if not self._user.operator:
            return await self.find_or_create_own(session_id)
        try:
            return await self.find(session_id)
        except NotFound:
            return await self.find_or_create_own(session_id)

    async def find_or_create_own(self, session_id: str, *, has_message: bool = False) -> SessionSummary:
        """Return the stored session of the user; create it if the user has none of that name.

        Raises InputError for who has as many as one may begin without a message, unless it `has_message`.
        """
        validate_id("session_id", session_id)
        scoped_id = to_scoped_session_id(session_id, self._user.id)
        plain = await self._store.find(session_id)
        if plain is not None and plain.owner == self._user.id:
            return plain
        scoped = await self._store.find(scoped_id)
        if scoped is not None and scoped.owner == self._user.id:
            return scoped
        if not has_message:
            await check_room_for_session(self._store, self._user.id)
        if not is_channel_session_id(session_id, self._channels):
            # Of two users who create the same id at once, the store gives it to the first; the other one's is scoped.
            plain = await self._store.get_or_create(session_id, self._user.id)
            if plain.owner == self._user.id:
                return plain
        if plain is not None and self._knows_all:
            # Each id has to name one session for who opens those of others, too.
            raise Forbidden(f"the session {session_id!r} belongs to another user: choose another id")
        return await self._store.get_or_create(scoped_id, self._user.id)

    async def choose_copy_id(self, session_id: str, owner: str) -> str:
        """Return the stored id for a new copy, which belongs to `owner`. Raises InputError if the owner has that id."""
        validate_id("session_id", session_id)
        scoped = to_scoped_session_id(session_id, owner)
        owners = [await self._owner_of(session_id), await self._owner_of(scoped)]
        if owner in owners:
            raise InputError(f"session {session_id!r} exists already; choose another id")
        is_free = owners[0] is None and not is_channel_session_id(session_id, self._channels)
        return session_id if is_free else scoped

    async def filter_id(self, session_id: str | None) -> str | None:
        """Return the stored id to filter by; an id that names no session of the user matches nothing."""
        if session_id is None:
            return None
        try:
            return await self.find_stored_id(session_id)
        except (NotFound, Forbidden):
            return session_id if self._may_name(session_id) else NO_SESSION

    def possible_stored_ids(self, session_id: str) -> tuple[str, ...]:
        """Return the ids under which a session of the user may be stored; none for an id that the user cannot know."""
        return (session_id, to_scoped_session_id(session_id, self._user.id)) if self._may_name(session_id) else ()

    def to_client_id(self, stored_id: str) -> str:
        """Return the id of a session as the user knows it."""
        return to_client_session_id(stored_id, self._user.id)

    def to_client_session(self, session: SessionSummary) -> SessionSummary:
        """Return the session with the id that the user knows."""
        session_id = self.to_client_id(session.id)
        source, family = (
            None if each is None else self.to_client_id(each) for each in (session.forked_from, session.family)
        )
        if (session_id, source, family) == (session.id, session.forked_from, session.family):
            return session
        return replace(session, id=session_id, forked_from=source, family=family)

    def to_client_run(self, run: Run) -> Run:
        """Return the run with the session id that the user knows."""
        session_id = self.to_client_id(run.session_id)
        return run if session_id == run.session_id else replace(run, session_id=session_id)

    def to_client_approval(self, record: ApprovalRecord) -> ApprovalRecord:
        """Return the approval with the session id that the user knows."""
        session_id = self.to_client_id(record.request.session_id)
        if session_id == record.request.session_id:
            return record
        return replace(record, request=replace(record.request, session_id=session_id))

    def refuse(self, kind: str, name: str) -> NoReturn:
        """Raise for an object of another user what is raised for one that does not exist; Forbidden for operators."""
        if self._knows_all:
            raise Forbidden(f"this {kind} belongs to another user")
        raise NotFound(kind, name)

    def _may_name(self, session_id: str) -> bool:
        return self._user.operator or SCOPE_SEPARATOR not in session_id

    async def _owner_of(self, stored_id: str) -> str | None:
        session = await self._store.find(stored_id)
        return session.owner if session is not None else None


def validate_id(field_name: str, value: str | None) -> None:
    """Raise InputError for an id that is empty, too long, or contains invisible characters or a scope."""
    if value is None:
        return
    if not 1 <= len(value) <= MAX_ID_CHARACTERS:
        raise InputError(f"{field_name} has {len(value)} characters; 1 to {MAX_ID_CHARACTERS} are allowed")
    if any(unicodedata.category(character)[0] in "CZ" and character != " " for character in value):
        raise InputError(f"{field_name} contains invisible characters")
    if SCOPE_SEPARATOR in value:
        raise InputError(f"{field_name} contains {SCOPE_SEPARATOR!r}, which is reserved")
