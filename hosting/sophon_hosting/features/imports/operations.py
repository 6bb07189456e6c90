"""Import of conversations: those of a file become sessions of the user."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

from sophon.clock import Clock
from sophon.errors import NotFound, SophonError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import TooLarge
from sophon_hosting.features.imports.conversation_import import ConversationImport
from sophon_hosting.features.imports.export_file import MAX_FILE_BYTES
from sophon_hosting.features.imports.export_reader import ExportReader, ImportsBusy
from sophon_hosting.features.imports.results import ImportReportView, import_report_to_json
from sophon_hosting.operations.request import Doc, Request, Upload
from sophon_hosting.operations.table import Table
from sophon_hosting.queue.errors import TryLater
from sophon_hosting.settings.retention import RetentionSettings

table = Table("imports")


class ImportRunning(TryLater):
    """Error: another file of the user is imported (code `import_running`)."""

    code = "import_running"

    def __init__(self) -> None:
        self.retry_after_seconds = 5
        SophonError.__init__(self, "another file of yours is imported; try again when that has ended")


class ImportSlots:
    """One import of a user at a time; and the reader of the files of all users, of which few are parsed at once."""

    def __init__(self, clock: Clock) -> None:
        self._users: set[str] = set()
        self.reader = ExportReader(clock)

    @contextmanager
    def reserve(self, user_id: str) -> Generator[None]:
        """Hold the slot of a user while a file is read and stored. Raises ImportRunning."""
        if user_id in self._users:
            raise ImportRunning
        self._users.add(user_id)
        try:
            yield
        finally:
            self._users.remove(user_id)


class NewImport(Request):
    """An export of Sophon, ChatGPT or Claude: JSON or zip."""

    file: Upload
    dry_run: Annotated[bool, Doc("Say what would be imported, and store nothing.")] = False


@table.operation(
    "POST /api/sessions/import",
    needs="Chat",
    ok=True,
    errors=(TooLarge, ImportRunning, ImportsBusy),
    upload_bytes=lambda settings: MAX_FILE_BYTES,
)
async def import_sessions(caller: Caller, request: NewImport) -> ImportReportView:
    """Store the conversations of the body, a file, and say which were not.

    Each conversation is stored as a whole or not at all; those of an import that ended early are skipped by the next.
    The file has at most 64 MiB; of each list, the first 200 are in the answer by name.
    """
    slots = caller.process.part(ImportSlots, lambda: ImportSlots(caller.clock))
    with slots.reserve(caller.user.id):
        size = max(request.file.length or 0, MAX_FILE_BYTES + 1)
        too_large = TooLarge("the file", size, MAX_FILE_BYTES, "bytes")
        with NamedTemporaryFile(prefix="sophon-import-") as file:
            async for chunk in request.file.chunks(MAX_FILE_BYTES, too_large):
                file.write(chunk)
            file.flush()
            async with slots.reader.open(Path(file.name)) as conversations:
                report = await _importing(caller).store(conversations, is_dry_run=request.dry_run)
    return import_report_to_json(report)


def _importing(caller: Caller) -> ConversationImport:
    now, days = caller.now(), caller.settings.section(RetentionSettings).sessions

    def may_choose(model: str) -> bool:
        if not caller.rights.allows("ChooseModel"):
            return False
        try:
            caller.host.services.gateway.find(model)
        except NotFound:
            return False
        return True

    return ConversationImport(
        caller.store,
        caller.user.id,
        now,
        kept_since=None if days is None else now - timedelta(days=days),
        stored_ids=caller.sessions.possible_stored_ids,
        may_choose=may_choose,
    )
