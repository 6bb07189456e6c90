"""Table of permissions in docs/trust-model.md, made of what the survey has found."""

from pathlib import Path

from sophon_hosting.operations.table import Registry
from sophon_hosting.reference.markdown_tables import render_table, replace_table
from tests.hosting.permissions.survey import Permissions, Survey, list_probes

PAGE = Path(__file__).parents[3] / "docs" / "trust-model.md"
HEADER = ["feature", "operation", "user", "operator", "`ZeroTrust`", "scope of a token"]


async def render_permissions(survey: Survey, registry: Registry) -> str:
    """Return the table; a feature is named in its first row."""
    rows: list[list[str]] = []
    last = ""
    for feature, operation, field in list_probes(registry):
        found = await survey.find_permissions(operation, field)
        name = operation.name.replace("_", " ")
        label = f"{name}, with `{field}`" if field else name
        rows.append(["" if feature == last else f"**{feature}**", label, *list_cells(found)])
        last = feature
    return render_table(HEADER, rows)


def list_cells(found: Permissions) -> list[str]:
    """Return the cells behind the name of an operation."""
    return [found.user, found.operator, found.zero_trust, found.token]


def render_page(page: str, table: str) -> str:
    """Return the page with its table."""
    return replace_table(page, "permissions", table)
