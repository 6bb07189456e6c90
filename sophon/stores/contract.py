"""The store contract: repositories, one per aggregate. `SqlStore` implements it, for chains `InMemoryStore` does.

All methods may be called from many turns concurrently. Times are aware and in UTC;
money is integer micro-USD. When an awaited method returns, its effect is as durable as the store can make it.
"""

from typing import Protocol

from sophon.stores.api_tokens.contract import ApiTokenStore
from sophon.stores.approvals.contract import ApprovalStore
from sophon.stores.attachments.contract import AttachmentStore
from sophon.stores.audit.contract import AuditStore
from sophon.stores.channel_state.contract import ChannelStateStore
from sophon.stores.data_labels.contract import DataLabelStore
from sophon.stores.events.contract import EventLog
from sophon.stores.goals.contract import GoalStore
from sophon.stores.grants.contract import GrantStore
from sophon.stores.health import StoreHealth
from sophon.stores.leases.contract import LeaseStore
from sophon.stores.maintenance.contract import StoreMaintenance
from sophon.stores.memories.contract import MemoryStore
from sophon.stores.message_search.contract import MessageSearch
from sophon.stores.outbox.contract import Outbox
from sophon.stores.persons.contract import PersonStore
from sophon.stores.preferences.contract import PreferenceStore
from sophon.stores.rate_windows.contract import RateWindowStore
from sophon.stores.route_averages.contract import RouteAverageStore
from sophon.stores.runs.contract import RunStore
from sophon.stores.schedules.contract import ScheduleStore
from sophon.stores.sessions.contract import SessionStore
from sophon.stores.snapshots.contract import SnapshotStore
from sophon.stores.sub_agents.contract import SubAgentStore
from sophon.stores.texts.contract import TextStore
from sophon.stores.tool_call_journal.contract import Journal
from sophon.stores.traces.contract import TraceStore
from sophon.stores.trajectories.contract import TrajectoryStore
from sophon.stores.usage.contract import UsageStore
from sophon.stores.vectors.contract import VectorStore


class Store(Protocol):
    """The repositories of one store, its health and its maintenance. Open it before use; closing twice is
    allowed. Every method of a repository may raise StoreUnavailable.
    """

    @property
    def sessions(self) -> SessionStore: ...
    @property
    def usage(self) -> UsageStore: ...
    @property
    def approvals(self) -> ApprovalStore: ...
    @property
    def api_tokens(self) -> ApiTokenStore: ...
    @property
    def attachments(self) -> AttachmentStore: ...
    @property
    def audit(self) -> AuditStore: ...
    @property
    def goals(self) -> GoalStore: ...
    @property
    def grants(self) -> GrantStore: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def leases(self) -> LeaseStore: ...
    @property
    def memories(self) -> MemoryStore: ...
    @property
    def message_search(self) -> MessageSearch: ...
    @property
    def persons(self) -> PersonStore: ...
    @property
    def preferences(self) -> PreferenceStore: ...
    @property
    def rate_windows(self) -> RateWindowStore: ...
    @property
    def route_averages(self) -> RouteAverageStore: ...
    @property
    def runs(self) -> RunStore: ...
    @property
    def schedules(self) -> ScheduleStore: ...
    @property
    def snapshots(self) -> SnapshotStore: ...
    @property
    def sub_agents(self) -> SubAgentStore: ...
    @property
    def traces(self) -> TraceStore: ...
    @property
    def trajectories(self) -> TrajectoryStore: ...
    @property
    def vectors(self) -> VectorStore: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def events(self) -> EventLog: ...
    @property
    def texts(self) -> TextStore: ...
    @property
    def channel_state(self) -> ChannelStateStore: ...
    @property
    def data_labels(self) -> DataLabelStore: ...
    @property
    def health(self) -> StoreHealth: ...
    @property
    def maintenance(self) -> StoreMaintenance: ...

    @property
    def in_memory(self) -> bool: ...

    async def open(self) -> None:
        """Connect and migrate the schema."""
        ...

    async def close(self) -> None:
        """Complete pending writes, then release all resources."""
        ...
