"""Import of conversations of a user from a file."""

from collections.abc import Iterable
from datetime import timedelta

from sophon.errors import NotFound, SophonError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.conversation_import.conversation import Conversation, Unreadable
from sophon_hosting.conversation_import.importing import ConversationImport, ImportReport
from sophon_hosting.queue.errors import TryLater


class ImportRunning(TryLater):
    """Error: another file of the user is imported (code `import_running`)."""

    code = "import_running"

    def __init__(self) -> None:
        self.retry_after_seconds = 5
        SophonError.__init__(self, "another file of yours is imported; try again when that has ended")


class UserImports:
    """Imports into the user's own sessions."""

    def __init__(self, access: Caller) -> None:
        self._access = access

    def check_import(self) -> None:
        """Raise LevelNeeded or ScopeNeeded if the user may not import."""
        self._access.rights.require("Chat")

    async def store(
        self, conversations: Iterable[Conversation | Unreadable], *, is_dry_run: bool = False
    ) -> ImportReport:
        """Store the conversations of a file, each once. Raises StoreError."""
        self.check_import()
        access, now = self._access, self._access.now()
        days = access.host.services.settings.retention.sessions
        importing = ConversationImport(
            access.store,
            access.user.id,
            now,
            kept_since=None if days is None else now - timedelta(days=days),
            stored_ids=access.sessions.possible_stored_ids,
            may_choose=self._may_choose,
        )
        return await importing.store(conversations, is_dry_run=is_dry_run)

    def _may_choose(self, model: str) -> bool:
        if not self._access.rights.allows("ChooseModel"):
            return False
        try:
            self._access.host.services.gateway.find(model)
        except NotFound:
            return False
        return True
