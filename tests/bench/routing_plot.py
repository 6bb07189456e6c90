"""Plot of the routing benchmark as SVG: moving averages of quality and cost, the drift in the middle."""

import statistics
from collections.abc import Callable, Sequence
from typing import Final

from tests.bench.routing import Turn, moving_means

COLOURS: Final = {
    "Static (medium)": "#7f7f7f",
    "Tiered": "#1f77b4",
    "Intelligent": "#ff7f0e",
    "CostAware": "#2ca02c",
    "oracle": "#000000",
}
"""What is drawn; the large model alone and chance would hide the rest, which costs less."""
WIDTH, PANEL, LEFT, TOP, GAP = 760, 220, 60, 30, 50
STEP: Final = 10
"""Every tenth turn is drawn."""


def draw(found: dict[str, list[list[Turn]]], window: int) -> str:
    """Return the plot of the strategies' turns, the mean over the seeds."""
    turns = len(next(iter(found.values()))[0])
    height = TOP + 2 * PANEL + GAP + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    parts += _draw_panel(found, window, turns, TOP, "quality (chance of a right answer)", lambda turn: turn.quality)
    below = TOP + PANEL + GAP
    parts += _draw_panel(found, window, turns, below, "USD per 1,000 turns", lambda turn: 1000 * turn.cost)
    for at, (name, colour) in enumerate(COLOURS.items()):
        x, y = LEFT + at * 135, height - 20
        parts.append(f'<rect x="{x}" y="{y - 9}" width="18" height="3" fill="{colour}"/>')
        parts.append(f'<text x="{x + 24}" y="{y - 4}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _draw_panel(
    found: dict[str, list[list[Turn]]], window: int, turns: int, top: int, title: str, of: Callable[[Turn], float]
) -> list[str]:
    lines = {name: _mean_line(found[name], of) for name in COLOURS}
    low = min(min(line) for line in lines.values())
    high = max(max(line) for line in lines.values())
    wide = WIDTH - LEFT - 20

    def x_of(turn: float) -> float:
        return LEFT + wide * turn / turns

    def y_of(value: float) -> float:
        return top + PANEL * (high - value) / (high - low)

    middle = x_of(turns / 2)
    parts = [
        f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{title}, mean of {window} turns</text>',
        f'<rect x="{LEFT}" y="{top}" width="{wide}" height="{PANEL}" fill="none" stroke="#999999"/>',
        f'<line x1="{middle}" y1="{top}" x2="{middle}" y2="{top + PANEL}" stroke="#cc0000" stroke-dasharray="4"/>',
        f'<text x="{middle + 4}" y="{top + 14}" fill="#cc0000">drift</text>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        value = low + share * (high - low)
        parts.append(f'<text x="{LEFT - 6}" y="{y_of(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for turn in range(0, turns + 1, turns // 6):
        parts.append(f'<text x="{x_of(turn):.1f}" y="{top + PANEL + 16}" text-anchor="middle">{turn}</text>')
    for name, line in lines.items():
        points = " ".join(
            f"{x_of(at + window):.1f},{y_of(value):.1f}" for at, value in enumerate(line) if at % STEP == 0
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
    return parts


def _mean_line(runs: Sequence[Sequence[Turn]], of: Callable[[Turn], float]) -> list[float]:
    return [statistics.fmean(values) for values in zip(*(moving_means(run, of) for run in runs), strict=True)]
