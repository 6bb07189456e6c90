"""Host of the conversations off the record: the chain, worker and queue of a host over a store in memory."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

from sophon.chain.placement import place
from sophon.errors import NotFound
from sophon.events import EventSink, NullEventSink
from sophon.security.off_the_record_tools import is_offered_off_the_record
from sophon.services import Services
from sophon.tools.declared_action_types import acts_despite_name
from sophon.tools.registry import Toolbox, ToolRegistry
from sophon.tools.tool import Tool
from sophon.turn.system_prompt import OFF_THE_RECORD_NOTICE
from sophon_hosting.background_loops import CreateLoops
from sophon_hosting.host import Host
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.observability.log_context import OFF_THE_RECORD, log_context
from sophon_hosting.off_the_record.errors import SWEEP_INTERVAL_SECONDS, OffTheRecordFull
from sophon_hosting.off_the_record.session_ids import new_off_the_record_id
from sophon_hosting.off_the_record.store import build_off_the_record_store
from sophon_hosting.runs.answer_entries import OutboundBuilder, build_answer_entries
from sophon_hosting.runs.session_deletion import Busy
from sophon_hosting.shutdown import SHUTDOWN_GRACE_SECONDS
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.factory import extend_store
from sophon_middlewares.chains.additions import GUARD_ORDER
from sophon_middlewares.guards.off_the_record import OffTheRecord

MAX_SESSIONS = 64
"""Conversations off the record at the same time."""

MAX_SESSIONS_PER_USER = 8

MAX_TASKS_PER_SESSION = 200
"""Messages to one of them: all of its texts are in memory."""

IDLE_TIME: Final = timedelta(hours=1)
"""Time without a message or answer after which one ends."""


class OffTheRecordHost(Host):
    """Host whose conversations are in memory only; ends them when they are idle. Restart, and they are gone.

    `services` are those of the host, of which a view is used: another store, the tools that only read, a further
    instruction, no memory extraction and titles. Not bound to the host's queue: a full one does not stop it, and it
    runs `MaxConcurrentTasks` turns of its own.
    """

    is_off_the_record = True

    def __init__(
        self,
        services: Services,
        *,
        approvers: Collection[str] = (),
        several_users: bool = False,
        events: EventSink | None = None,
        build_outbound: OutboundBuilder = build_answer_entries,
        session_prefixes: Collection[str] = (),
        loops: Iterable[CreateLoops] = (),
    ) -> None:
        reading = ToolRegistry(tool for tool in services.registry if _is_offered(tool))
        own = (services.assistant.instructions, OFF_THE_RECORD_NOTICE)
        instructions = "\n".join(part for part in own if part)
        super().__init__(
            services.with_parts(
                store=build_off_the_record_store(extend_store(services.store), services.clock),
                toolbox=Toolbox(reading, accepts=_is_offered),
                events=events if events is not None else NullEventSink(),
                assistant=replace(services.assistant, instructions=instructions),
                learning=replace(services.learning, is_enabled=False),
            ),
            lambda view: build_pipelines(view).map(lambda chain: place(chain, [OffTheRecord()], GUARD_ORDER)),
            approvers=approvers,
            several_users=several_users,
            build_outbound=build_outbound,
            session_prefixes=session_prefixes,
            loops=loops,
        )
        self._sweep: asyncio.Task[None] | None = None

    def new_session_id(self) -> str:
        """Return the id of a new session; `is_generated_id` knows it after a restart, too."""
        return new_off_the_record_id(self.services.clock)

    async def start(self) -> None:
        """Start the worker, whose tasks log no details, and the sweep of idle sessions."""
        with log_context(**{OFF_THE_RECORD: "yes"}):
            await super().start()
            self._sweep = asyncio.create_task(self._end_idle_sessions_forever())

    async def shutdown(self, *, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> None:
        """Shut down: running turns have `grace_seconds` to end; all conversations end with the process."""
        if self._sweep is not None:
            self._sweep.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweep
            self._sweep = None
        await super().shutdown(grace_seconds=grace_seconds)

    async def check_message(self, owner: str, session_ids: Sequence[str]) -> None:
        """Raise OffTheRecordFull if a message finds no room; see `Host.check_message`."""
        found = [await host_store(self.services).sessions.find(each) for each in session_ids]
        own = next((each for each in found if each is not None and each.owner == owner), None)
        await (self.check_room(owner) if own is None else self.check_length(own.id))

    async def check_room(self, owner: str) -> None:
        """Raise OffTheRecordFull if the owner, or everybody together, has as many sessions as may be."""
        sessions = await host_store(self.services).sessions.list()
        if len(sessions) >= MAX_SESSIONS or sum(each.owner == owner for each in sessions) >= MAX_SESSIONS_PER_USER:
            raise OffTheRecordFull(
                "there are too many conversations off the record", "delete one, or wait until one has been idle"
            )

    async def check_length(self, session_id: str) -> None:
        """Raise OffTheRecordFull if a session has had as many messages as may be."""
        runs = await host_store(self.services).runs.list(
            session_id=session_id, limit=MAX_TASKS_PER_SESSION, whole=False
        )
        if len(runs) >= MAX_TASKS_PER_SESSION:
            raise OffTheRecordFull(
                f"this conversation off the record has had {len(runs)} messages", "go on in a new one"
            )

    async def end_idle_sessions(self) -> int:
        """Delete the sessions that have been idle for `IDLE_TIME`; return how many."""
        ended, before = 0, self.services.clock.now() - IDLE_TIME
        for session in await host_store(self.services).sessions.list():
            if session.updated_at <= before and not await host_store(self.services).runs.list_unfinished(session.id):
                with suppress(NotFound, Busy):  # deleted meanwhile, or a message has just come
                    await self.delete_session(session.id)
                    ended += 1
        return ended

    async def _end_idle_sessions_forever(self) -> None:
        while True:
            await self.services.clock.sleep(SWEEP_INTERVAL_SECONDS)
            await self.end_idle_sessions()


def _is_offered(tool: Tool) -> bool:
    return is_offered_off_the_record(tool.name) and not acts_despite_name(tool)
