"""Caller on an open store without a running host: changes are stored, and take effect when a host starts."""

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sophon.clock import SystemClock
from sophon.errors import InputError, SophonError
from sophon.principals import LOCAL_USER
from sophon.settings import Settings
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller, CallerEvents
from sophon_hosting.client_api.caller_connection import DirectConnection
from sophon_hosting.events.store_only_committer import StoredEvents
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

if TYPE_CHECKING:
    from sophon.stores.memories.long_term_memory import LongTermMemory

SHORT_ID_CHARACTERS = 12


class RunningHostRequired(SophonError):
    """The operation needs a running host."""

    code = "no_host"

    def __init__(self) -> None:
        super().__init__("this needs a running host; start it with `sophon serve`, or give its URL with --url")


class StoredCaller(Caller):
    """The local user on an open store. Whoever can open the store is an operator.

    Nobody has signed in, so what is made for a session belongs to whoever wrote there last. `folder` is that of the
    settings, in which programs of the settings run.
    """

    def __init__(self, store: HostStore, settings: Settings, folder: Path = Path()) -> None:
        clock = SystemClock()
        self._folder = folder
        self.events: CallerEvents = StoredEvents()
        self._set_up(User(LOCAL_USER, operator=True), store, settings, DirectConnection(clock), clock)

    @property
    def host(self) -> NoReturn:
        """Raises RunningHostRequired."""
        raise RunningHostRequired

    @property
    def running_host(self) -> None:
        """None: no host serves the user."""
        return

    @property
    def process(self) -> NoReturn:
        """Raises RunningHostRequired: nobody is served."""
        raise RunningHostRequired

    @property
    def active_runs(self) -> ActiveRuns:
        """None: no turn runs without a host."""
        return ActiveRuns()

    @property
    def is_off_the_record(self) -> bool:
        """See `Caller.is_off_the_record`."""
        return False

    @property
    def folder(self) -> Path:
        """See `Caller.folder`."""
        return self._folder

    @property
    def memory(self) -> "LongTermMemory":
        """Long-term memory of the store, without vectors."""
        from sophon.stores.memories.long_term_memory import LongTermMemory  # lazy: few operations need it

        return LongTermMemory(self.store, self.clock)

    @property
    def is_signed_in(self) -> bool:
        """See `Caller.is_signed_in`."""
        return False

    @property
    def off_the_record(self) -> None:
        """None: what is off the record is in no store."""
        return

    async def find_author(self, session_id: str | None) -> str:
        """Return whoever wrote last in the session; the local user where nobody did, on a host without users.

        Raises InputError if that is nobody: what is made would belong to no user, who would see it.
        """
        newest = await self.store.runs.list(session_id=session_id, limit=1, whole=False) if session_id else []
        if newest:
            return newest[0].owner
        if not self.settings.section(HubSettings).users:
            return LOCAL_USER
        if session_id is None:
            raise InputError("give --session: this host has several users, and this belongs to whoever wrote there")
        raise InputError(f"nobody has written in session {session_id!r}, so nobody owns what is made there")

    def new_session_id(self) -> str:
        """Return an id for a new session that a person can type."""
        return self.clock.new_id()[:SHORT_ID_CHARACTERS]

    async def open_own_session(self, session_id: str, owner: str) -> SessionSummary:
        """Return the stored session of that id; create it for its owner if it does not exist."""
        return await self.store.sessions.get_or_create(session_id, owner)

    def publish_session(self, session: SessionSummary) -> None:
        """Drop the change: no client is connected to this process."""

    async def delete_session(self, stored_id: str) -> None:
        """Delete a session; a turn of it that another host runs fails. Raises NotFound."""
        await self.store.sessions.delete(stored_id)

    async def find_position(self, task_id: str) -> None:
        """Return None: the queue is that of a running host."""

    async def cancel_task(self, task_id: str) -> Run:
        """Store a request to cancel a task. Raises NotFound."""
        return await self.store.runs.request_cancel(task_id)
