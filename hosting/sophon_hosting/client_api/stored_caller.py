"""Caller on an open store without a running host: changes are stored, and take effect when a host starts."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sophon.agents.catalog import AgentCatalog, AgentSet
from sophon.approvals import Decision, turn_id_from_request
from sophon.clock import SystemClock
from sophon.composition.configured_parts import create_custom_tool_store, find_agent_folder
from sophon.errors import InputError, SophonError
from sophon.operator_policy import OperatorPolicy
from sophon.principals import LOCAL_USER, STORE_OPERATOR
from sophon.settings import Settings
from sophon.stores.sessions.contract import SessionSummary
from sophon.stores.sub_agents.contract import SubAgentRun
from sophon.stores.vectors.contract import POLICIES
from sophon_hosting.client_api.caller import Caller, CallerEvents
from sophon_hosting.client_api.connection import DirectConnection
from sophon_hosting.client_api.token_authentication import User, find_operators
from sophon_hosting.events.stored_events import StoredEvents
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.approval_service import DecisionRefused, check_decider, check_grant, check_kind
from sophon_hosting.store.approvals.contract import ApprovalRecord
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

if TYPE_CHECKING:
    from sophon.skills.custom_tools import CustomToolStore
    from sophon.stores.memories.library import LongTermMemory

SHORT_ID_CHARACTERS = 12


class RunningHostRequired(SophonError):
    """The operation needs a running host."""

    code = "no_host"

    def __init__(self) -> None:
        super().__init__("this needs a running host; start it with `sophon serve`, or give its URL with --url")


def open_custom_tools(settings: Settings, folder: Path) -> "CustomToolStore":
    """Return the custom tools of the settings. Raises InputError if they are off."""
    store = create_custom_tool_store(settings, folder)
    if store is None:
        raise InputError("custom tools are off: set CustomTools.Enabled")
    return store


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
    def custom_tools(self) -> "CustomToolStore":
        """Custom tools of the settings. Raises InputError if they are off."""
        return open_custom_tools(self.settings, self._folder)

    def refresh_custom_tools(self) -> None:
        """Do nothing: no turn of this process has tools."""

    @property
    def memory(self) -> "LongTermMemory":
        """Long-term memory of the store, without vectors."""
        from sophon.stores.memories.library import LongTermMemory  # lazy: few operations need it

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
        if not self.settings.hub.users:
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

    async def decide_approval(self, approval_id: str, decision: Decision) -> ApprovalRecord:
        """Store the decision, checked as the local user's: with four eyes their own call needs another operator.

        Whether edited arguments fit the tool, and whether the approval has expired, is checked by a host alone.
        """
        store, settings = self.store, self.settings
        record = await store.approvals.get(approval_id)
        asker = (await store.runs.get(turn_id_from_request(record.request))).owner
        operators = find_operators(settings.hub) | {LOCAL_USER}
        policy = OperatorPolicy(operators, several_users=True, four_eyes=settings.approval.four_eyes)
        check_decider(policy, record, replace(decision, decided_by=LOCAL_USER), asker=asker)
        if record.decision is None:
            check_kind(record.request, decision)
            check_grant(record.request, decision)
        stored = await store.approvals.decide(approval_id, replace(decision, decided_by=STORE_OPERATOR), self.now())
        if not stored.was_decided_now and (earlier := stored.decision) is not None:
            by = earlier.decided_by or "somebody"
            raise DecisionRefused("already_decided", f"{by} has already decided this: {earlier.verdict}", by)
        return stored

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

    async def cancel_sub_agent(self, row: SubAgentRun) -> str:
        """Store a request to cancel a sub-agent; return its state, `cancelling` until it has ended."""
        return "cancelling" if await self.store.sub_agents.request_cancel(row.id) else row.state

    async def read_agents(self) -> AgentSet | None:
        """Return the agents that are defined in files; None if agents are off."""
        agents = self.settings.agents
        if not agents.enabled:
            return None
        catalog = AgentCatalog(find_agent_folder(self.settings, self._folder), has_worker=agents.worker)
        return await self.clock.run_in_thread(catalog.read)

    async def reset_routing(self) -> int:
        """Delete what routing has observed from the store; return the number of averages."""
        await self.store.vectors.delete(POLICIES)
        return await self.store.route_averages.reset()
