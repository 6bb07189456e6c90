"""Rendering of a table as monospace text."""

from collections.abc import Sequence

MAX_COLUMN_WIDTH = 40
"""In characters; a longer cell extends beyond its column."""


def render_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the table as text: one line per row, aligned columns, a line below the first row. Pure."""
    columns = max((len(row) for row in rows), default=0)
    widths = [
        min(max((len(row[column]) for row in rows if column < len(row)), default=0), MAX_COLUMN_WIDTH)
        for column in range(columns)
    ]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    if lines:
        lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)
