"""Tables of a chain's aggregates, a module per aggregate.

A change needs a migration: see `sophon.stores.sql.schema_migration`.

A partial index has its condition for SQLite alone here; `schema_metadata.repeat_conditions` repeats it.
"""

from sophon.stores.sql.schema.conversation_tables import (
    attachment_uses,
    attachments,
    message_index,
    records,
    sessions,
    texts,
)
from sophon.stores.sql.schema.learning_tables import feedback, route_averages, trajectories
from sophon.stores.sql.schema.memory_tables import memories, vectors
from sophon.stores.sql.schema.preference_and_lease_tables import leases, preferences, probes
from sophon.stores.sql.schema.schema_metadata import metadata
from sophon.stores.sql.schema.security_tables import (
    audit,
    audit_chain,
    data_labels,
    grants,
    rate_events,
    snapshot_chains,
    snapshots,
)
from sophon.stores.sql.schema.turn_tables import journal, sub_agents, turn_traces
from sophon.stores.sql.schema.usage_tables import attempts, budget_alerts, reservations, spending

CHAIN_TABLES = tuple(metadata.tables.values())
"""The tables of the store of a chain; who stores more adds those of its `StorePart`s."""

__all__ = [
    "CHAIN_TABLES",
    "attachment_uses",
    "attachments",
    "attempts",
    "audit",
    "audit_chain",
    "budget_alerts",
    "data_labels",
    "feedback",
    "grants",
    "journal",
    "leases",
    "memories",
    "message_index",
    "metadata",
    "preferences",
    "probes",
    "rate_events",
    "records",
    "reservations",
    "route_averages",
    "sessions",
    "snapshot_chains",
    "snapshots",
    "spending",
    "sub_agents",
    "texts",
    "trajectories",
    "turn_traces",
    "vectors",
]
