"""The in-memory store, composed of its repositories."""

from sophon.clock import Clock, SystemClock
from sophon.stores.api_tokens.in_memory import InMemoryApiTokenStore
from sophon.stores.approvals.in_memory import InMemoryApprovalStore
from sophon.stores.attachments.in_memory import InMemoryAttachmentStore
from sophon.stores.audit.in_memory import InMemoryAuditStore
from sophon.stores.channel_state.in_memory import InMemoryChannelStateStore
from sophon.stores.data_labels.in_memory import InMemoryDataLabelStore
from sophon.stores.events.in_memory import InMemoryEventLog
from sophon.stores.goals.in_memory import InMemoryGoalStore
from sophon.stores.grants.in_memory import InMemoryGrantStore
from sophon.stores.health import StoreHealth
from sophon.stores.leases.in_memory import InMemoryLeaseStore
from sophon.stores.maintenance.in_memory import InMemoryMaintenance
from sophon.stores.memories.contract import MemoryStore
from sophon.stores.memories.in_memory import InMemoryMemoryStore
from sophon.stores.message_search.in_memory import InMemoryMessageSearch
from sophon.stores.outbox.in_memory import InMemoryOutbox
from sophon.stores.persons.in_memory import InMemoryPersonStore
from sophon.stores.preferences.contract import PreferenceStore
from sophon.stores.preferences.in_memory import InMemoryPreferenceStore
from sophon.stores.rate_windows.in_memory import InMemoryRateWindowStore
from sophon.stores.route_averages.in_memory import InMemoryRouteAverageStore
from sophon.stores.runs.contract import Precondition, Run
from sophon.stores.runs.in_memory import InMemoryRunStore
from sophon.stores.schedules.in_memory import InMemoryScheduleStore
from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.snapshots.in_memory import InMemorySnapshotStore
from sophon.stores.sub_agents.in_memory import InMemorySubAgentStore
from sophon.stores.texts.in_memory import InMemoryTextStore
from sophon.stores.tool_call_journal.in_memory import InMemoryJournal
from sophon.stores.traces.in_memory import InMemoryTraceStore
from sophon.stores.trajectories.in_memory import InMemoryTrajectoryStore
from sophon.stores.usage.contract import UsageStore
from sophon.stores.usage.in_memory import InMemoryUsageStore
from sophon.stores.vectors.contract import TRAJECTORIES
from sophon.stores.vectors.in_memory import InMemoryVectorStore


class InMemoryStore:
    """Store in plain dicts and lists. `clock` dates what is written; default: the system clock.

    `usage`, `memories` and `preferences` replace its own: a host's conversations off the record share those of
    the host.

    It belongs to one event loop: no method awaits anything, so each is atomic without a lock. Closing it deletes
    nothing.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        usage: UsageStore | None = None,
        memories: MemoryStore | None = None,
        preferences: PreferenceStore | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self.sessions = InMemorySessionStore(clock)
        self.api_tokens = InMemoryApiTokenStore()
        self.message_search = InMemoryMessageSearch(self.sessions.iterate_messages)
        own_usage = InMemoryUsageStore()
        self.usage: UsageStore = own_usage if usage is None else usage
        self.sessions.on_delete(own_usage.forget_session)
        self.attachments = InMemoryAttachmentStore(clock, self.sessions.__contains__)
        self.sessions.on_delete(self.attachments.forget_session)
        self.sessions.on_fork(self.attachments.copy_session)
        self.sessions.on_change_owner(self.attachments.change_owner)
        self.audit = InMemoryAuditStore()
        self.sessions.on_delete(self.audit.forget_session)
        self.data_labels = InMemoryDataLabelStore()
        self.sessions.on_delete(self.data_labels.forget_session)
        self.sessions.on_fork(self.data_labels.copy_session)
        self.goals = InMemoryGoalStore(self.sessions)
        self.sessions.on_delete(self.goals.forget_session)
        self.grants = InMemoryGrantStore()
        self.sessions.on_delete(self.grants.forget_session)
        self.schedules = InMemoryScheduleStore()
        self.sessions.on_delete(self.schedules.forget_session)
        self.traces = InMemoryTraceStore()
        self.sessions.on_delete(self.traces.forget_session)
        self.trajectories = InMemoryTrajectoryStore()
        self.sessions.on_delete(self.trajectories.forget_session)
        self.sub_agents = InMemorySubAgentStore()
        self.sessions.on_delete(self.sub_agents.forget_session)
        self.vectors = InMemoryVectorStore()
        self.sessions.on_delete(self.vectors.forget_session)
        runs: dict[str, Run] = {}
        self._runs = runs
        self.journal = InMemoryJournal(runs)
        self.leases = InMemoryLeaseStore(clock)
        own_memories = InMemoryMemoryStore(clock, self.vectors)
        self.memories: MemoryStore = own_memories if memories is None else memories
        self.sessions.on_delete(own_memories.forget_session)
        self.texts = InMemoryTextStore(self.sessions.__contains__)
        self.sessions.on_delete(self.texts.forget_session)
        self.events = InMemoryEventLog(clock, self.sessions, self.texts)
        self.goals.event_log = self.events
        self.channel_state = InMemoryChannelStateStore(clock)
        own_preferences = InMemoryPreferenceStore()
        self.preferences: PreferenceStore = own_preferences if preferences is None else preferences
        self.health = StoreHealth("memory://")
        self.maintenance = InMemoryMaintenance()
        self.rate_windows = InMemoryRateWindowStore(clock)
        self.snapshots = InMemorySnapshotStore()
        self.route_averages = InMemoryRouteAverageStore()
        self.outbox = InMemoryOutbox(clock, runs, self.events)
        self.events.add_outbound = self.outbox.add
        self.runs = InMemoryRunStore(
            clock,
            runs,
            self.sessions,
            self.outbox,
            self.events,
            self.journal,
            self.usage,
            self.audit,
            self.rate_windows,
            self.data_labels,
            self.snapshots,
            self.trajectories,
            self.traces,
            self.vectors,
            self.route_averages,
            self.sub_agents,
            self.attachments,
            lambda request, at: self.approvals.add(request, at),
            lambda run_id, decision, at: self.approvals.decide_open(run_id, decision, at),
            self._find_version,
        )
        self.sessions.check_fence = self.journal.check_fence = self.runs.check_fence
        self.sessions.has_unfinished = self._has_unfinished
        self.approvals = InMemoryApprovalStore(runs, self.runs.signal, self.events)
        self.sessions.on_delete(self.approvals.forget_session)
        self.sessions.is_needed = lambda session_id: (
            self.goals.needs_session(session_id)
            or self.schedules.needs_session(session_id)
            or any(run.session_id == session_id and not run.is_finished for run in runs.values())
        )
        self.persons = InMemoryPersonStore(
            {
                "attachments": lambda person, _: self.attachments.forget_person(person),
                "grants": lambda person, _: self.grants.forget_person(person),
                "preferences": lambda person, _: own_preferences.forget_person(person),
                "goals": lambda person, _: self.goals.forget_person(person),
                "tokens": lambda person, _: self.api_tokens.forget_person(person),
                "trajectories": lambda person, _: self._forget_trajectories(person),
                "traces": lambda person, _: self.traces.forget_person(person),
                "feedback": lambda person, _: self.trajectories.forget_feedback(person),
                "schedules": lambda person, _: self.schedules.forget_person(person),
                "sub_agents": lambda person, _: self.sub_agents.forget_person(person),
                "snapshots": lambda person, _: self.snapshots.forget_owner(person),
                "messages": lambda person, _: self.outbox.forget_recipient(person),
                "accounts": own_usage.forget_payer,
            }
        )

    def _has_unfinished(self, session_id: str) -> bool:
        return any(map(self.runs.has_unfinished, [session_id, *self.goals.list_work_sessions(session_id)]))

    def _find_version(self, precondition: Precondition) -> int | None:
        """Return the version in which is stored what a run is accepted for; None if it is not stored."""
        match precondition.kind:
            case "goal":
                return self.goals.find_version(precondition.id)
            case "schedule":
                return self.schedules.find_version(precondition.id)
            case "run":
                run = self._runs.get(precondition.id)
                return None if run is None else run.starts

    def _forget_trajectories(self, person: str) -> int:
        own = self.trajectories.forget_person(person)
        for run_id in own:
            self.vectors.remove(TRAJECTORIES, run_id)
        return len(own)

    async def open(self) -> None:
        """Do nothing: there is nothing to connect to."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
