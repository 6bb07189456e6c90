"""Tables of sessions, their records, large texts, attached files, and the state of the index of messages."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, LargeBinary, Table, Text, false, text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

sessions = Table(
    "sessions",
    metadata,
    Column("number", RowNumber, primary_key=True),
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

# Keys of `records`, `events` and `traces`: see `column_types`. A session's deletion deletes their rows.
records = Table(
    "records",
    metadata,
    Column("key", RowNumber, primary_key=True, autoincrement=False),
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
    Column("session", RowNumber, ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True),
    Column("id", SafeText, primary_key=True),
    Column("text", SafeText),
    Column("parts", JsonText),
)

# Files that people attach to messages. The bytes stand last, so that SQLite reads no page of them for the facts.
attachments = Table(
    "attachments",
    metadata,
    Column("number", RowNumber, primary_key=True),
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
    Column("session", RowNumber, ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True),
    Column("attachment", RowNumber, ForeignKey("attachments.number", ondelete="CASCADE"), primary_key=True),
    Index("attachment_uses_by_attachment", "attachment"),
)
