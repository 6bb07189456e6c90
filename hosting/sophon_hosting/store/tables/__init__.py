"""Tables of a host: runs, approvals, events, the outbox and the state of channels.

They refer to each other and to those of a chain (`sophon.stores.sql.schema`). A store has all of them or none.
"""

from sophon_hosting.store.tables.channel_tables import IS_DEAD_LETTER, channel_state, outbound
from sophon_hosting.store.tables.event_tables import event_logs, events, traces
from sophon_hosting.store.tables.run_tables import (
    IS_SIGNALLED,
    IS_UNFINISHED,
    IS_UNSUCCESSFUL,
    approvals,
    checkpoint_logs,
    inbound,
    runs,
)

HOST_TABLES = (approvals, runs, checkpoint_logs, inbound, event_logs, events, traces, outbound, channel_state)

__all__ = [
    "HOST_TABLES",
    "IS_DEAD_LETTER",
    "IS_SIGNALLED",
    "IS_UNFINISHED",
    "IS_UNSUCCESSFUL",
    "approvals",
    "channel_state",
    "checkpoint_logs",
    "event_logs",
    "events",
    "inbound",
    "outbound",
    "runs",
    "traces",
]
