"""Phrases of the families of decisions, written before the rules were read. A line that begins with "- " was given to
the wrong family: a model answers it better."""

from pathlib import Path
from typing import Literal

Half = Literal["worked on", "held out"]


def read_phrases(name: str, half: Half) -> dict[str, list[str]]:
    """Return one half of the phrases of a file, by family."""
    found: dict[str, list[str]] = {}
    family = ""
    for line in (Path(__file__).parent / "phrases" / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            family = line[1:-1]
            found[family] = []
        elif line and not line.startswith("#"):
            found[family].append(line)
    start = 0 if half == "worked on" else 1
    return {name: [each for each in lines[start::2] if not each.startswith("- ")] for name, lines in found.items()}
