"""In-memory text store: only what events refer to, because messages and runs share their strings anyway."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.sessions.records import session_not_found


class InMemoryTextStore:
    """The large texts of an `InMemoryStore`; see `TextStore`."""

    def __init__(self, sessions: InMemorySessionStore) -> None:
        self._sessions = sessions
        self._texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        sessions.on_delete(self._forget)

    async def get(self, session_id: str, text_id: str) -> str | None:
        """See `TextStore.get`."""
        return self._texts.get(session_id, {}).get(text_id)

    async def add(self, session_id: str, texts: Mapping[str, str]) -> None:
        """See `TextStore.add`."""
        if session_id not in self._sessions:
            raise session_not_found(session_id, self._sessions)
        if texts:
            known = self._texts[session_id]
            for text_id, text in texts.items():
                known.setdefault(text_id, text)

    def keep_only(self, session_id: str, text_ids: Collection[str]) -> None:
        """Drop the texts of a session that are not among `text_ids`."""
        known = self._texts.get(session_id)
        if known is not None:
            self._texts[session_id] = {each: text for each, text in known.items() if each in text_ids}

    def _forget(self, session_id: str) -> None:
        self._texts.pop(session_id, None)
