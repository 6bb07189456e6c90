"""Table of permissions in docs/trust-model.md, made of what the survey has found."""

from pathlib import Path
from typing import Any

from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.table import Registry
from tests.hosting.permissions.survey import Survey, list_probes

PAGE = Path(__file__).parents[3] / "docs" / "trust-model.md"
BEGIN, END = "<!-- generated: permissions -->", "<!-- end of permissions -->"
HEAD = ["| feature | operation | user | operator | ZeroTrust | scope of a token |", "|---|---|---|---|---|---|"]


async def render_all(survey: Survey, registry: Registry) -> str:
    """Return the table; a feature is named in its first row."""
    lines, last = list(HEAD), ""
    for feature, operation, field in list_probes(registry):
        cells = await render_row(survey, operation, field)
        lines.append(f"| {'' if feature == last else f'**{feature}**'} | {cells}")
        last = feature
    return "\n".join(lines)


async def render_row(survey: Survey, operation: Operation[Any, Any], field: str) -> str:
    """Return the cells behind the feature, of one operation or of one field of it."""
    name = operation.name.replace("_", " ")
    found = await survey.find_permissions(operation, field)
    label = f"{name}, with `{field}`" if field else name
    return f"{label} | {found.user} | {found.operator} | {found.zero_trust} | {found.token} |"


def read_table() -> str:
    """Return the table of the page."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def write_table(table: str) -> None:
    """Replace the table of the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
