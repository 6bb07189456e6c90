"""A version of the schema after the newest one, made by a test as a developer makes one: proves that it can be done."""

import shutil
from pathlib import Path

import pytest

from sophon.stores.sql import schema_migration
from sophon.stores.sql.schema_migration import newest_version

NEXT = "9998"
MIGRATION = f'''
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{newest_version()}"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("colour", sa.Text, nullable=False, server_default="blue"))
    op.execute("UPDATE sessions SET title = 'migrated'")
'''


def know_next_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let this process know a migration more; returns the folder of all of them."""
    migrations = folder / "migrations"
    shutil.copytree(schema_migration.MIGRATIONS, migrations, ignore=shutil.ignore_patterns("__pycache__"))
    (migrations / "versions" / f"{NEXT}_colours.py").write_text(MIGRATION)
    monkeypatch.setattr(schema_migration, "MIGRATIONS", migrations)
    monkeypatch.setattr(schema_migration, "REVISIONS", (*schema_migration.REVISIONS, NEXT))
    return migrations
