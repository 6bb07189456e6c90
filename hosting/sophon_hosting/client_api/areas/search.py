"""Search in the messages of a user."""

from dataclasses import replace

from sophon.history_redaction import redact_text_for_reader
from sophon.stores.message_search.contract import MessageHits
from sophon_hosting.client_api.user_access import UserAccess


class UserSearch:
    """The search of one user, in the user's own sessions. Conversations off the record are in another store."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    async def find_messages(self, query: str, *, limit: int = 20, cursor: str | None = None) -> MessageHits:
        """Return a page of messages; without FullHistory, nothing is found by what is redacted. Raises InputError."""
        access = self._access
        access.rights.require_scope("Read")
        to_shown = None if access.view is None else redact_text_for_reader
        hits = await access.host.services.store.message_search.search(
            access.user.id, query, limit=limit, cursor=cursor, to_shown=to_shown
        )
        items = [
            replace(
                hit,
                session_id=access.sessions.to_client_id(hit.session_id),
                title=hit.title if to_shown is None else to_shown(hit.title),
            )
            for hit in hits.items
        ]
        return replace(hits, items=items)
