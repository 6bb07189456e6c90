"""The store contract: repositories, one per aggregate. `SqlStore` implements it, for chains `InMemoryStore` does.

All methods may be called from many turns concurrently. Times are aware and in UTC;
money is integer micro-USD. When an awaited method returns, its effect is as durable as the store can make it.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The classes of the SQL store are named only: a chain in one's own process loads no SQLAlchemy.
    from sophon.stores.attachments.sql import AttachmentStore
    from sophon.stores.audit.sql import AuditStore
    from sophon.stores.data_labels.contract import DataLabelStore
    from sophon.stores.grants.contract import GrantStore
    from sophon.stores.health import StoreHealth
    from sophon.stores.leases.sql import LeaseStore
    from sophon.stores.maintenance import StoreMaintenance
    from sophon.stores.memories.contract import MemoryStore
    from sophon.stores.preferences.contract import PreferenceStore
    from sophon.stores.rate_windows.contract import RateWindowStore
    from sophon.stores.route_averages.sql import RouteAverageStore
    from sophon.stores.sessions.contract import SessionStore
    from sophon.stores.snapshots.sql import SnapshotStore
    from sophon.stores.sub_agents.sql import SubAgentStore
    from sophon.stores.texts.sql import TextStore
    from sophon.stores.tool_call_journal.contract import Journal
    from sophon.stores.traces.sql import TraceStore
    from sophon.stores.trajectories.sql import TrajectoryStore
    from sophon.stores.usage.contract import UsageStore
    from sophon.stores.vectors.contract import VectorStore


class Store(ABC):
    """The repositories of one store, its health and its maintenance. Open it before use; closing twice is
    allowed. Every method of a repository may raise StoreUnavailable.
    """

    attachments: "AttachmentStore"
    audit: "AuditStore"
    data_labels: "DataLabelStore"
    grants: "GrantStore"
    health: "StoreHealth"
    journal: "Journal"
    leases: "LeaseStore"
    maintenance: "StoreMaintenance"
    memories: "MemoryStore"
    preferences: "PreferenceStore"
    rate_windows: "RateWindowStore"
    route_averages: "RouteAverageStore"
    sessions: "SessionStore"
    snapshots: "SnapshotStore"
    sub_agents: "SubAgentStore"
    texts: "TextStore"
    traces: "TraceStore"
    trajectories: "TrajectoryStore"
    usage: "UsageStore"
    vectors: "VectorStore"
    in_memory: bool

    @abstractmethod
    async def open(self) -> None:
        """Connect and migrate the schema."""

    @abstractmethod
    async def close(self) -> None:
        """Complete pending writes, then release all resources."""
