"""Index of the words of messages, which a host fills in the background.

SQLite's is a virtual table that is created with the first message, or when the host begins to fill it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Create the tables; the messages there are will be indexed from the first one on."""
    op.create_table(
        "message_index",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        op.execute("CREATE TABLE message_words (key BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)")
        op.execute("CREATE INDEX message_words_by_word ON message_words USING gin (words)")
    if connection.execute(sa.text("SELECT 1 FROM records LIMIT 1")).first() is not None:
        op.execute("INSERT INTO message_index(name, value) VALUES ('indexed_up_to', 0)")


def downgrade() -> None:
    """Drop the tables."""
    op.execute("DROP TABLE IF EXISTS message_words")
    op.drop_table("message_index")
