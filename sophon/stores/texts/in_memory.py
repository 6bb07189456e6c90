"""In-memory text store: only what events refer to, because messages and runs share their strings anyway."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from sophon.errors import NotFound


class InMemoryTextStore:
    """The large texts of an `InMemoryStore`; see `TextStore`. `has_session` tells whether a session exists."""

    def __init__(self, has_session: Callable[[str], bool]) -> None:
        self._has_session = has_session
        self._texts: defaultdict[str, dict[str, str]] = defaultdict(dict)

    async def get(self, session_id: str, text_id: str) -> str | None:
        """See `TextStore.get`."""
        return self._texts.get(session_id, {}).get(text_id)

    async def add(self, session_id: str, texts: Mapping[str, str]) -> None:
        """See `TextStore.add`."""
        if not self._has_session(session_id):
            raise NotFound("session", session_id)
        if texts:
            known = self._texts[session_id]
            for text_id, text in texts.items():
                known.setdefault(text_id, text)

    def keep_only(self, session_id: str, text_ids: Collection[str]) -> None:
        """Drop the texts of a session that are not among `text_ids`."""
        known = self._texts.get(session_id)
        if known is not None:
            self._texts[session_id] = {each: text for each, text in known.items() if each in text_ids}

    def forget_session(self, session_id: str) -> None:
        """Drop the texts of a deleted session."""
        self._texts.pop(session_id, None)
