"""A table in letters of one width."""

from collections.abc import Sequence

WIDEST_COLUMN = 40
"""Characters; a longer cell sticks out of its column."""


def table(rows: Sequence[Sequence[str]]) -> str:
    """The rows, a line each, columns below each other, a line under the first. Pure."""
    columns = max((len(row) for row in rows), default=0)
    widths = [
        min(max((len(row[column]) for row in rows if column < len(row)), default=0), WIDEST_COLUMN)
        for column in range(columns)
    ]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    if lines:
        lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)
