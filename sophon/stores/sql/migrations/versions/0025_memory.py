"""Columns of memory entries: which turns see them, session, entities and words; an index of the words (PostgreSQL).

SQLite's index is a virtual table that is created with the first entry.
"""

import sqlalchemy as sa
from alembic import op

from sophon.memory.keywords import index_words
from sophon.stores.sql.column_types import unescape_text

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the columns and indexes, and compute the words of the entries."""
    op.add_column("memories", sa.Column("reach", sa.Text, nullable=False, server_default="owner"))
    for name in ("agent", "session_id", "words"):
        op.add_column("memories", sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("memories", sa.Column("entities", sa.Text, nullable=True))
    op.create_index("memories_by_session", "memories", ["session_id"])
    op.create_index("vectors_by_embedder", "vectors", ["namespace", "embedder", "number"])
    connection = op.get_bind()
    rows = connection.execute(sa.text("SELECT number, scope, text FROM memories")).all()
    words = [
        {"number": row.number, "words": " ".join(index_words(unescape_text(row.text), unescape_text(row.scope)))}
        for row in rows
    ]
    if words:
        connection.execute(sa.text("UPDATE memories SET words = :words WHERE number = :number"), words)
    if connection.dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX memories_by_words ON memories USING gin (array_to_tsvector(string_to_array(words, ' ')))"
        )


def downgrade() -> None:
    """Drop the indexes and columns."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP INDEX memories_by_words")
    else:
        op.execute("DROP TABLE IF EXISTS memory_words")
    op.drop_index("vectors_by_embedder", "vectors")
    op.drop_index("memories_by_session", "memories")
    for name in ("entities", "words", "session_id", "agent", "reach"):
        op.drop_column("memories", name)
