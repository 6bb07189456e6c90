"""Storing of imported conversations as sessions of a user, each once."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final

from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.security.information_flow.taint import Taint
from sophon.stores.data_labels.contract import LabelWrite, session_key
from sophon.stores.sessions.contract import NewSession, SessionTotals
from sophon.stores.sessions.copy_limits import find_excess
from sophon.stores.sessions.provisional_title import provisional_title
from sophon.stores.sessions.record_rules import first_text_of_user
from sophon_hosting.features.imports.conversation import Conversation, Unreadable
from sophon_hosting.store.contract import HostStore

UNKNOWN_ORIGIN: Final = Taint(1, is_private=True, is_untrusted=True)
"""Label of an imported session: what its turns had read is not known here, so the worst is assumed."""

MAX_LISTED: Final = 200
"""How many conversations of each kind a report names."""

ID_CHARACTERS: Final = 24


@dataclass(frozen=True, slots=True)
class SkippedConversation:
    """A conversation that was not stored, and why not."""

    title: str
    reason: str


@dataclass(slots=True)
class ImportReport:
    """What an import has stored, or with `is_dry_run` would store: (session id, title) each; and what it has not."""

    is_dry_run: bool = False
    imported: list[tuple[str, str]] = field(default_factory=new_list)
    skipped: list[SkippedConversation] = field(default_factory=new_list)


class ConversationImport:
    """Stores conversations of exports for one user.

    The id of a session follows from its source and the user, so that a second import of it finds the first.
    `stored_ids` returns under which ids a session of the user may be stored (see `scoped_session_ids`). Conversations
    whose last change was before `kept_since` are skipped: retention would delete them at once. A model that the user
    may not choose (`may_choose`) is left to routing.
    """

    def __init__(
        self,
        store: HostStore,
        owner: str,
        now: datetime,
        *,
        kept_since: datetime | None = None,
        stored_ids: Callable[[str], Sequence[str]] = lambda session_id: (session_id,),
        may_choose: Callable[[str], bool] = lambda model: True,
    ) -> None:
        self._store, self._owner, self._now, self._may_choose = store, owner, now, may_choose
        self._kept_since, self._stored_ids = kept_since, stored_ids

    async def store(
        self, conversations: Iterable[Conversation | Unreadable], *, is_dry_run: bool = False
    ) -> ImportReport:
        """Store each conversation as a whole, or not at all, and return what was stored. Raises StoreError.

        Each is taken from `conversations` in a thread, as one may come from a file.
        """
        report, stored, remaining = ImportReport(is_dry_run), set[str](), iter(conversations)
        totals = await self._store.sessions.count(self._owner)
        while (each := await asyncio.to_thread(next, remaining, None)) is not None:
            if isinstance(each, Unreadable):
                report.skipped.append(SkippedConversation(each.title, f"it cannot be read: {each.reason}"))
                continue
            session = self._to_session(each)
            title = session.title or provisional_title(first_text_of_user(session.records))
            reason = "it is here already" if session.id in stored else await self._find_reason(each, session)
            reason = reason or find_excess(totals, len(session.records))
            if reason is None and not is_dry_run:
                await self._store.data_labels.write([LabelWrite(session_key(session.id), UNKNOWN_ORIGIN)])
                reason = None if await self._store.sessions.add(session) else "it is here already"
            if reason is None:
                stored.add(session.id)
                totals = SessionTotals(totals.sessions + 1, totals.records + len(session.records))
                report.imported.append((session.id, title))
            else:
                report.skipped.append(SkippedConversation(title or each.source_id, reason))
        return report

    async def _find_reason(self, conversation: Conversation, session: NewSession) -> str | None:
        """Return why a conversation is not stored; None if it is."""
        if not session.records:
            return "it has no messages"
        if self._kept_since is not None and session.updated_at < self._kept_since:
            return "it is older than sessions are kept here (Retention.Sessions)"
        own = self._stored_ids(conversation.source_id) if conversation.source == "sophon" else ()
        for session_id in (session.id, *own):
            found = await self._store.sessions.find(session_id)
            if found is not None and found.owner == self._owner:
                return "it is here already"
        return None

    def _to_session(self, conversation: Conversation) -> NewSession:
        times = [each.at for each in conversation.records if each.at is not None]
        given = [*times, *(each for each in (conversation.created_at, conversation.updated_at) if each is not None)]
        # A time to come would keep the session at the top of the list.
        created_at = min(conversation.created_at or min(given, default=self._now), self._now)
        updated_at = min(conversation.updated_at or max(given, default=self._now), self._now)
        model = conversation.model
        return NewSession(
            imported_session_id(conversation, self._owner),
            self._owner,
            conversation.title,
            conversation.records,
            created_at,
            max(created_at, updated_at),
            model if model is not None and self._may_choose(model) else None,
            conversation.planning,
            conversation.pinned,
            conversation.archived,
        )


def imported_session_id(conversation: Conversation, owner: str) -> str:
    """Return the id under which a conversation is stored for a user: always the same."""
    key = "\0".join((conversation.source, conversation.source_id, owner))
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"imported-{digest[:ID_CHARACTERS]}"
