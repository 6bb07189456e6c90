"""Text table of a chain for `Pipeline.explain()`: order, name, zone and actions of each middleware."""

import textwrap
from collections.abc import Sequence

from sophon.chain.order_constraints import get_middleware_name, read_order_constraints, unwrap_partial

TABLE_WIDTH = 110
MIN_TEXT_WIDTH = 30
"""Minimum width of the column `what`, in characters."""
CALL_FREQUENCIES = ("turn", "model call", "tool batch", "tool call")
"""How often an action of a middleware runs, in the order in which the table lists them."""


def explain_chain(middlewares: Sequence[object]) -> str:
    """Return the table: order, name and zone of each middleware; `when` and `what` list its actions per frequency."""
    zones = [read_order_constraints(each).zone for each in middlewares]
    first_inner = zones.index("inner") if "inner" in zones else len(zones)
    rows = [
        _row(position, middleware, repeats=position > first_inner)
        for position, middleware in enumerate(middlewares, start=1)
    ]
    name_width = max([len("middleware"), *(len(name) for _, name, _, _ in rows)])
    when_width = max([len("when"), *(len(when) for *_, acts in rows for when, _ in acts)])
    head = f" #  {'middleware':<{name_width}}  {'zone':<5}  {'when':<{when_width}}  what"
    lines = [head, f"--  {'-' * name_width}  {'-' * 5}  {'-' * when_width}  {'-' * 4}"]
    for position, name, zone, acts in rows:
        margin = f"{position:>2}  {name:<{name_width}}  {zone:<5}  "
        for when, what in acts:
            lines += _wrap(what, f"{margin}{when:<{when_width}}  ")
            margin = " " * len(margin)
    return "\n".join(lines)


def format_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table without a head; the last column is wrapped as in the table of a chain."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    lines: list[str] = []
    for row in rows:
        first = "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=False))
        lines += _wrap(row[-1], first)
    return lines


def _wrap(text: str, first: str) -> list[str]:
    width, indent = max(TABLE_WIDTH, len(first) + MIN_TEXT_WIDTH), " " * len(first)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent) or [first.rstrip()]


def _row(position: int, middleware: object, *, repeats: bool) -> tuple[int, str, str, list[tuple[str, str]]]:
    place = read_order_constraints(middleware)
    # One of the outer zone that stands in the inner one acts again in each round, for the model call.
    moved = repeats and place.zone == "outer"
    acts = [
        ("model call" if moved and when == "turn" else when, place.acts[when]) for when in sorted(place.acts, key=_rank)
    ]
    return (
        position,
        get_middleware_name(middleware),
        "inner" if moved else place.zone or "any",
        acts or [("turn", _first_sentence(middleware))],
    )


def _rank(when: str) -> int:
    return CALL_FREQUENCIES.index(when) if when in CALL_FREQUENCIES else len(CALL_FREQUENCIES)


def _first_sentence(middleware: object) -> str:
    own = getattr(unwrap_partial(middleware), "__doc__", None)
    return own.strip().splitlines()[0].strip() if own and own.strip() else "(no description)"
