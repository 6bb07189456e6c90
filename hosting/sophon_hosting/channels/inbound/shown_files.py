"""Files of chat messages that models are shown: downloaded pictures and documents become attachments of the session."""

import logging
from functools import partial
from pathlib import Path

from sophon.attachment_inspection import FileTooLarge, inspect_file
from sophon.attachments import Attachment
from sophon.errors import InputError, NotFound
from sophon.services import Services
from sophon.stores.attachments.contract import TooManyBytes
from sophon.stores.runs.contract import Run

log = logging.getLogger("sophon")

SHOWN_KINDS = frozenset({"image", "document"})
"""Kinds of files that models may be shown; the others are files of the person's folder only."""


class ShownFiles:
    """Stores the files of a run's message as attachments of its session, which belong to the owner of the session.

    The id follows from run and number, so a run that starts again stores nothing twice. A file that is not accepted
    (its kind, its size, the limit of the person) is in the folder only, where tools read it.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def attach(self, run: Run, number: int, name: str, path: Path) -> Attachment | str:
        """Return the attachment that a downloaded file has become; a sentence if there is no room, "" for other kinds.

        Raises OSError, StoreError.
        """
        services, settings = self._services, self._services.settings.attachments
        if not settings.enabled:
            return ""
        session = await services.store.sessions.find(run.session_id)
        if session is None:
            return ""
        count_text = services.gateway.tokens.count_text

        def read() -> tuple[Attachment, bytes]:
            with path.open("rb") as file:
                content = file.read(settings.max_bytes + 1)
            return inspect_file(content, name, f"{run.id}-{number}", settings, count_text), content

        try:
            attachment, content = await services.clock.run_in_thread(read)
            add = partial(services.store.attachments.add, max_total_bytes=settings.max_total_bytes)
            stored = await add(attachment, content, owner=session.owner, session_id=session.id)
        except (FileTooLarge, TooManyBytes) as error:
            return str(error)
        except (InputError, NotFound):  # of another kind; or the session was deleted meanwhile
            return ""
        return stored.attachment
