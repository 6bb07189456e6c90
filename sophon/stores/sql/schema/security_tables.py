"""Tables of the audit log, rate windows, data labels, approvals in advance, and snapshots of files."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# `texts` and `salts` are NULL once blanked. The number is that of the chain, which is never used twice.
audit = Table(
    "audit",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", UtcTime, nullable=False),
    Column("event", Text, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("run_id", SafeText, nullable=False),
    Column("call_id", SafeText, nullable=False),
    Column("chat", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("tool", SafeText, nullable=False),
    Column("capability", SafeText, nullable=False),
    Column("risk", Text, nullable=False),
    Column("guard", SafeText, nullable=False),
    Column("rule", SafeText, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("duration_ms", BigInteger, nullable=False),
    Column("digests", JsonText, nullable=False),
    Column("texts", JsonText),
    Column("salts", JsonText),
    Column("previous_hash", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Index("audit_by_session", "session_id", "number"),
    Index("audit_by_principal", "principal", "number"),
)

# One row: the newest entry of the chain, and the newest one that was deleted.
audit_chain = Table(
    "audit_chain",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("last_number", BigInteger, nullable=False),
    Column("last_hash", Text, nullable=False),
    Column("anchor_number", BigInteger, nullable=False),
    Column("anchor_hash", Text, nullable=False),
)

# What the sliding windows of the next process start with.
rate_events = Table(
    "rate_events",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("scope", SafeText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Index("rate_events_by_scope", "scope", "number"),
    Index("rate_events_by_time", "at"),
)

# `key` names a session, or by a digest a file, a folder or a memory entry. A key without taint has no row.
data_labels = Table(
    "data_labels",
    metadata,
    Column("key", SafeText, primary_key=True),
    Column("label", Integer, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("untrusted", Boolean, nullable=False),
)

grants = Table(
    "grants",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("scope", Text, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("tool", SafeText, nullable=False),
    Column("risk", Text, nullable=False),
    Column("pattern", JsonText, nullable=False),
    Column("description", SafeText, nullable=False),
    Column("granted_by", SafeText, nullable=False),
    Column("granted_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("revoked_at", UtcTime),
    Column("chat", SafeText, nullable=False, server_default=""),
    Index("grants_by_principal", "principal", "tool"),
    Index("grants_by_session", "session_id"),
    Index("grants_by_expiry", "expires_at"),
)

# The numbers are those of the owner's chain, which are never used twice.
snapshots = Table(
    "snapshots",
    metadata,
    Column("owner", SafeText, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("id", SafeText, nullable=False, unique=True),
    Column("at", UtcTime, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("run_id", SafeText, nullable=False),
    Column("call_id", SafeText, nullable=False),
    Column("tool", SafeText, nullable=False),
    Column("files", JsonText, nullable=False),
    Column("previous_hash", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# The newest entry of each owner's chain, and the newest one that was deleted.
snapshot_chains = Table(
    "snapshot_chains",
    metadata,
    Column("owner", SafeText, primary_key=True),
    Column("last_number", BigInteger, nullable=False),
    Column("last_hash", Text, nullable=False),
    Column("anchor_number", BigInteger, nullable=False),
    Column("anchor_hash", Text, nullable=False),
)
