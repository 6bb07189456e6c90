"""Table definitions. A change needs a migration in `migrations/versions/` and its number in
`schema_migration.REVISIONS`.

Statements are built from these tables; only migrations create them. A partial index has its condition for SQLite alone
here, because an option of another dialect would import that dialect into every process; the migrations name both.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime

# SQLite generates row numbers only for a column that is declared INTEGER.
_RowNumber = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()

sessions = Table(
    "sessions",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("owner", SafeText, nullable=False),
    Column("title", SafeText, nullable=False),
    Column("model", SafeText),
    Column("last_seq", BigInteger, nullable=False),
    Column("said", BigInteger, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("planning", Text),
    # Of a copy: the session and the seq up to which it was copied. Branches of one conversation have the same family.
    Column("forked_from", SafeText),
    Column("forked_at", BigInteger),
    Column("family", SafeText),
    Column("provisional_title", SafeText, nullable=False, server_default=""),
    Column("pinned", Boolean, nullable=False, server_default=false()),
    Column("archived", Boolean, nullable=False, server_default=false()),
    Index("sessions_by_update", "updated_at", "number"),
    Index("sessions_by_owner", "owner", "updated_at", "number"),
    # Partial: most sessions are neither copies nor branches, and need no entry.
    Index("sessions_by_family", "family", sqlite_where=text("family IS NOT NULL")),
    Index("sessions_by_source", "forked_from", sqlite_where=text("forked_from IS NOT NULL")),
)

# Keys of `records`, `events` and `traces`: see `row_keys`. A session's deletion deletes their rows.
records = Table(
    "records",
    metadata,
    Column("key", _RowNumber, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("run_id", SafeText, nullable=False),
    Column("message", JsonText),
    Column("data", JsonText, nullable=False),
    Column("said", Boolean, nullable=False),
    Column("at", UtcTime, nullable=False),
)

# State of the index of messages, whose own table only migrations and `message_search.sqlite_table` create.
message_index = Table(
    "message_index",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

# Large texts, each stored once per session under the hash of its content. `parts` instead of `text`: the text consists
# of pieces and of other texts of the session.
texts = Table(
    "texts",
    metadata,
    Column("session", _RowNumber, ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True),
    Column("id", SafeText, primary_key=True),
    Column("text", SafeText),
    Column("parts", JsonText),
)

# One row per provider and day (amount in tokens) and per provider and month (in micro-USD), open reservations included:
# a reservation is compared with one row, however many attempts are stored. The accounts of a payer, `payer:NAME`, and
# of a task type, `task_type:NAME`, are in micro-USD in both rows.
spending = Table(
    "spending",
    metadata,
    Column("provider", SafeText, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("amount", BigInteger, nullable=False),
)

reservations = Table(
    "claims",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider", SafeText, nullable=False),
    Column("day", Text, nullable=False),
    Column("month", Text, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("host", SafeText, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("process", Text, nullable=False),
    Column("payer", SafeText, nullable=False, server_default=""),
    Column("task_type", Text, nullable=False, server_default=""),
)

# A row per alert that was sent: one for each share of a limit and day or month.
budget_alerts = Table(
    "budget_alerts",
    metadata,
    Column("provider", SafeText, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("name", Text, primary_key=True),
)

attempts = Table(
    "attempts",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("day", Text, nullable=False),
    Column("month", Text, nullable=False),
    Column("provider", SafeText, nullable=False),
    Column("model", SafeText, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("run_id", SafeText, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cached_input_tokens", BigInteger, nullable=False),
    Column("cost_micros", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("unpriced_tokens", BigInteger, nullable=False, server_default="0"),
    Column("calls", BigInteger, nullable=False, server_default="1"),
    Index("attempts_by_day", "day"),
    Index("attempts_by_session", "session_id"),
)

IS_OPEN = text("decision IS NULL")
"""Condition of the open approvals' index: the open ones are few among those that were ever decided."""

approvals = Table(
    "approvals",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, nullable=False),
    Column("request", JsonText, nullable=False),
    Column("asked_at", UtcTime, nullable=False),
    Column("decision", JsonText),
    Column("decided_at", UtcTime),
    Index("approvals_by_session", "session_id"),
    Index("approvals_open", "asked_at", "number", sqlite_where=IS_OPEN),
)

# `turn` is the first part of the run id: it selects a turn with its plan steps.
journal = Table(
    "journal",
    metadata,
    Column("turn", SafeText, primary_key=True),
    Column("run_id", SafeText, primary_key=True),
    Column("call_id", SafeText, primary_key=True),
    Column("tool", SafeText, nullable=False),
    Column("result", JsonText),
)

memories = Table(
    "memories",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("scope", SafeText, nullable=False),
    Column("category", Text, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("origin", SafeText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("sources", JsonText, nullable=True),
    Column("reach", Text, nullable=False, server_default="owner"),
    Column("agent", SafeText, nullable=False, server_default=""),
    Column("session_id", SafeText, nullable=False, server_default=""),
    # What the index finds. SQLite's is a virtual table: `sophon.stores.memories.sqlite_index`.
    Column("words", Text, nullable=False, server_default=""),
    Column("entities", JsonText, nullable=True),
    Column("relations", JsonText, nullable=True),
    Index("memories_by_scope", "scope"),
    Index("memories_by_session", "session_id"),
)

IS_SIGNALLED = text("signalled")
"""Condition of the signalled runs' index; as a literal, because no database uses a partial index for a parameter."""

IS_UNFINISHED = text("finished_at IS NULL")
"""Condition of the unfinished runs' index."""

IS_UNSUCCESSFUL = text("status IN ('failed', 'cancelled')")
"""Condition of the index of the runs that ended without success: a turn that succeeds changes no page for it."""

# AUTOINCREMENT, so that a run's order is never reused. A run has no outcome while `finished_at` is NULL. `signalled`
# runs are few, so the host asks for them often: see `RunStore.list_pending`.
runs = Table(
    "runs",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("owner", SafeText, nullable=False),
    Column("channel", SafeText, nullable=False),
    Column("origin", JsonText, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("options", JsonText, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("finished_at", UtcTime),
    Column("starts", BigInteger, nullable=False),
    Column("checkpoint", JsonText),
    Column("waiting_for", JsonText, nullable=False),
    Column("response", JsonText),
    Column("error", JsonText),
    Column("cancel_requested", Boolean, nullable=False),
    Column("signalled", Boolean, nullable=False, server_default=false()),
    Index("runs_by_session", "session_id", "number"),
    Index("runs_by_owner", "owner", "number"),
    Index("runs_unfinished", "status", "number", sqlite_where=IS_UNFINISHED),
    Index("runs_unfinished_of_session", "session_id", "number", sqlite_where=IS_UNFINISHED),
    Index("runs_unsuccessful", "status", "number", sqlite_where=IS_UNSUCCESSFUL),
    Index("runs_signalled", "number", sqlite_where=IS_SIGNALLED),
    sqlite_autoincrement=True,
)

# What the checkpoints of an unfinished run refer to: see `LogWrite`. Without a row id, so that a row is written once.
checkpoint_logs = Table(
    "checkpoint_logs",
    metadata,
    Column("run", _RowNumber, ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    Column("log", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("entry", JsonText, nullable=False),
    sqlite_with_rowid=False,
)

inbound = Table(
    "inbound",
    metadata,
    Column("channel", SafeText, primary_key=True),
    Column("account", SafeText, primary_key=True),
    Column("external_id", SafeText, primary_key=True),
    Column("run", _RowNumber, ForeignKey("runs.number", ondelete="CASCADE"), nullable=False),
    Index("inbound_by_run", "run"),
)

# `open` is derived from the status (neither sent nor dead); it is indexed because every delivery loop selects by it.
IS_DEAD_LETTER = text("status = 'dead'")
"""Condition of the dead letters' index; as a literal, because no database uses a partial index for a parameter."""

outbound = Table(
    "outbound",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("run_id", SafeText, ForeignKey("runs.id", ondelete="CASCADE")),
    Column("channel", SafeText, nullable=False),
    Column("account", SafeText, nullable=False),
    Column("chat", SafeText, nullable=False),
    Column("kind", SafeText, nullable=False),
    Column("payload", JsonText, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("not_before", UtcTime),
    Column("status", Text, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("doubtful", Boolean, nullable=False),
    Column("last_error", SafeText, nullable=False),
    Column("platform_id", SafeText),
    Column("created_at", UtcTime, nullable=False),
    Column("interruptions", BigInteger, nullable=False, server_default="0"),
    Column("refusals", BigInteger, nullable=False, server_default="0"),
    Column("retried_at", UtcTime),
    Column("recipient", SafeText, nullable=False, server_default=""),
    Column("dead_reason", Text, nullable=False, server_default=""),
    Column("delivered", Boolean, nullable=False, server_default=false()),
    Index("outbound_by_run", "run_id"),
    Index("outbound_by_platform_id", "platform_id"),
    Index("outbound_by_status", "status", "created_at"),
    Index("outbound_open", "channel", "open", "account", "chat", "number"),
    Index("outbound_dead", "number", sqlite_where=IS_DEAD_LETTER),
    sqlite_autoincrement=True,
)

# `last_seq` is at least the seq of the last event that was dropped, so that numbering continues after all of them were.
# It changes when events are dropped: what an append changes for it would be one more page of every transaction.
event_logs = Table(
    "event_logs",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("session_id", SafeText, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("last_seq", BigInteger, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("key", _RowNumber, primary_key=True, autoincrement=False),
    Column("name", SafeText, nullable=False),
    Column("task_id", SafeText, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
)

# Apart from the events, because traces have no seq; those in their keys say in which order they were stored.
traces = Table(
    "traces",
    metadata,
    Column("key", _RowNumber, primary_key=True, autoincrement=False),
    Column("name", SafeText, nullable=False),
    Column("task_id", SafeText, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
)

channel_state = Table(
    "notes",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("channel", SafeText, nullable=False),
    Column("account", SafeText, nullable=False),
    Column("kind", SafeText, nullable=False),
    Column("key", SafeText, nullable=False),
    Column("value", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
    UniqueConstraint("channel", "account", "kind", "key", name="notes_are_unique"),
    Index("notes_by_kind", "kind", "at"),
)

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

# One row: the newest entry of the chain, and the newest one that was deleted. PostgreSQL locks it to append.
audit_chain = Table(
    "audit_chain",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("last_number", BigInteger, nullable=False),
    Column("last_hash", Text, nullable=False),
    Column("anchor_number", BigInteger, nullable=False),
    Column("anchor_hash", Text, nullable=False),
)

# What the sliding windows of the next process start with.
rate_events = Table(
    "rate_events",
    metadata,
    Column("number", _RowNumber, primary_key=True),
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

# How a model did, as exponential moving averages; NULL before the first observation.
route_averages = Table(
    "route_averages",
    metadata,
    Column("model", SafeText, primary_key=True),
    Column("tier", SafeText, primary_key=True),
    Column("task_type", Text, primary_key=True),
    Column("calls", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("scored", BigInteger, nullable=False),
    Column("cost_micros", Double),
    Column("latency_ms", Double),
    Column("quality", Double),
    Column("updated_at", UtcTime, nullable=False),
    Column("rated", BigInteger, nullable=False, server_default="0"),
    Column("said", Double),
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

# The newest entry of each owner's chain, and the newest one that was deleted. PostgreSQL locks it to add.
snapshot_chains = Table(
    "snapshot_chains",
    metadata,
    Column("owner", SafeText, primary_key=True),
    Column("last_number", BigInteger, nullable=False),
    Column("last_hash", Text, nullable=False),
    Column("anchor_number", BigInteger, nullable=False),
    Column("anchor_hash", Text, nullable=False),
)

grants = Table(
    "grants",
    metadata,
    Column("number", _RowNumber, primary_key=True),
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

# What finished turns were asked and how well they answered; `data` holds what no query asks for.
trajectories = Table(
    "trajectories",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("run_id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("task_type", SafeText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("quality", Double, nullable=False),
    Column("feedback", Double),
    Column("data", JsonText, nullable=False),
    Index("trajectories_by_session", "session_id"),
    Index("trajectories_by_quality", "quality", "number"),
)

# The sub-agents of turns.
sub_agents = Table(
    "sub_agents",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("task_id", SafeText, nullable=False),
    Column("parent_id", SafeText, nullable=False),
    Column("agent", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("task", SafeText, nullable=False),
    Column("state", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    Column("detail", SafeText, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Index("sub_agents_by_task", "task_id"),
    Index("sub_agents_by_session", "session_id"),
    Index("sub_agents_by_principal", "principal", "state"),
)

# How turns went; `data` is the whole trace, the columns are what reports and queries ask for.
turn_traces = Table(
    "turn_traces",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("run_id", SafeText, nullable=False, unique=True),
    Column("session_id", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("ended_at", UtcTime, nullable=False),
    Column("day", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("working_ms", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost_micros", BigInteger, nullable=False),
    Column("data", JsonText, nullable=False),
    Index("turn_traces_by_session", "session_id"),
    Index("turn_traces_by_end", "ended_at"),
)

# What one person said about the answer of one run.
feedback = Table(
    "feedback",
    metadata,
    Column("run_id", SafeText, primary_key=True),
    Column("principal", SafeText, primary_key=True),
    Column("session_id", SafeText, nullable=False),
    Column("value", Double, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("source", SafeText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Index("feedback_by_session", "session_id"),
    Index("feedback_by_time", "at"),
)

# `blob` holds `dimensions` little-endian float32 numbers.
vectors = Table(
    "vectors",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("key", SafeText, nullable=False),
    Column("embedder", SafeText, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("blob", LargeBinary, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("session_id", SafeText, nullable=False),
    UniqueConstraint("namespace", "key", name="vector_keys_are_unique"),
    Index("vectors_by_session", "session_id"),
    Index("vectors_by_embedder", "namespace", "embedder", "number"),
)

# `data` is the whole goal; the other columns are for queries. A change names the `version` that it is of.
goals = Table(
    "goals",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("owner", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("work_session_id", SafeText, nullable=False),
    Column("state", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("finished_at", UtcTime),
    Column("version", BigInteger, nullable=False),
    Column("data", JsonText, nullable=False),
    Index("goals_by_owner", "owner", "state"),
    Index("goals_by_state", "state", "priority"),
    Index("goals_by_session", "session_id"),
    Index("goals_by_work_session", "work_session_id"),
)

# `digest` is that of a token, which itself is nowhere.
api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", SafeText, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("name", SafeText, nullable=False),
    Column("scopes", JsonText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("last_used_at", UtcTime),
    Column("revoked_at", UtcTime),
    UniqueConstraint("digest", name="api_token_digests_are_unique"),
)

# `wake_at` is null unless the schedule is active, so that the index has only what the scheduler looks for.
schedules = Table(
    "schedules",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("owner", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("channel", SafeText, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("expression", SafeText, nullable=False),
    Column("time_zone", SafeText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("created_by", SafeText, nullable=False),
    Column("origin", JsonText, nullable=False),
    Column("title", SafeText, nullable=False),
    Column("misfire", Text, nullable=False),
    Column("quiet_hours", SafeText, nullable=False),
    Column("quiet_action", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", SafeText, nullable=False),
    Column("due_at", UtcTime),
    Column("wake_at", UtcTime),
    Column("attempts", BigInteger, nullable=False),
    Column("last_due_at", UtcTime),
    Column("last_outcome", Text),
    Column("last_reason", SafeText, nullable=False),
    Column("last_task_id", SafeText, nullable=False),
    Column("version", BigInteger, nullable=False),
    Index("schedules_by_wake", "wake_at", "number"),
    Index("schedules_by_owner", "owner"),
    Index("schedules_by_session", "session_id"),
)

# How people want to be answered.
preferences = Table(
    "preferences",
    metadata,
    Column("person", SafeText, primary_key=True),
    Column("data", JsonText, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)

# Files that people attach to messages. The bytes stand last, so that SQLite reads no page of them for the facts.
attachments = Table(
    "attachments",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("owner", SafeText, nullable=False),
    Column("name", SafeText, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Index("attachments_by_owner", "owner"),
    Index("attachments_by_time", "created_at"),
)

# A file without a row here is unsent, and expires.
attachment_uses = Table(
    "attachment_uses",
    metadata,
    Column("session", _RowNumber, ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True),
    Column("attachment", _RowNumber, ForeignKey("attachments.number", ondelete="CASCADE"), primary_key=True),
    Index("attachment_uses_by_attachment", "attachment"),
)

# A row per lease that was acquired; its number is the token, which a lease of the same name never has again.
leases = Table(
    "leases",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("name", SafeText, nullable=False, unique=True),
    Column("holder", SafeText, nullable=False),
    Column("until", UtcTime, nullable=False),
    Column("schema_version", Text, nullable=False),
    Column("details", JsonText),
    sqlite_autoincrement=True,
)

# One row; it is written to find out whether the database can be written.
probes = Table(
    "probes",
    metadata,
    Column("number", _RowNumber, primary_key=True),
    Column("at", UtcTime, nullable=False),
)
