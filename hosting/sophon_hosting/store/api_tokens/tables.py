"""Table of the API tokens."""

from sqlalchemy import Column, Table, Text, UniqueConstraint

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import metadata

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
