"""`/api/sessions/import`: conversations of a file become sessions of the user."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from aiohttp import web

from sophon.clock import Clock
from sophon_hosting.client_api.areas.imports import ImportRunning
from sophon_hosting.client_api.client_errors import TooLarge
from sophon_hosting.conversation_import.export_file import MAX_FILE_BYTES
from sophon_hosting.conversation_import.export_reader import ExportReader
from sophon_hosting.features.imports.results import import_report_to_json
from sophon_hosting.http.connections.request_limits import IMPORT_PATH
from sophon_hosting.http.json_io import RequestQuery, get_authorized_host, json_response, parse_query
from sophon_hosting.http.uploads import read_chunks


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


IMPORTS = web.AppKey("imports", ImportSlots)


class ImportQuery(RequestQuery):
    """Query of an import; with `dry_run` nothing is stored."""

    dry_run: bool = False


routes = web.RouteTableDef()


@routes.post(IMPORT_PATH)
async def import_sessions(request: web.Request) -> web.Response:
    """Store the conversations of the body, a file, and say which were not. Raises InputError, TooLarge, ImportRunning,
    ImportsBusy.

    Each conversation is stored as a whole or not at all; those of an import that ended early are skipped by the next.
    """
    query, authorized_host = parse_query(request, ImportQuery), get_authorized_host(request)
    authorized_host.imports.check_import()
    slots = request.app[IMPORTS]
    with slots.reserve(authorized_host.user.id):
        size = max(request.content_length or 0, MAX_FILE_BYTES + 1)
        too_large = TooLarge("the file", size, MAX_FILE_BYTES, "bytes")
        with NamedTemporaryFile(prefix="sophon-import-") as file:
            async for chunk in read_chunks(request, MAX_FILE_BYTES, too_large):
                file.write(chunk)
            file.flush()
            async with slots.reader.open(Path(file.name)) as conversations:
                report = await authorized_host.imports.store(conversations, is_dry_run=query.dry_run)
    return json_response({"ok": True, **import_report_to_json(report)})
