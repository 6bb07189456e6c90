"""Tables of preferences of people, leases of processes, and the row that probes the database."""

from sqlalchemy import Column, Table, Text

from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata

# How people want to be answered.
preferences = Table(
    "preferences",
    metadata,
    Column("person", SafeText, primary_key=True),
    Column("data", JsonText, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)

# A row per lease that was acquired; its number is the token, which a lease of the same name never has again.
leases = Table(
    "leases",
    metadata,
    Column("number", RowNumber, primary_key=True),
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
    Column("number", RowNumber, primary_key=True),
    Column("at", UtcTime, nullable=False),
)
