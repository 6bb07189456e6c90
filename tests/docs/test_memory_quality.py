"""The table of docs/memory.md on the quality of search is what the bench measures, offline."""

import re
from pathlib import Path

import pytest

from tests.bench import memory as bench
from tests.bench.memory_questions import QUESTIONS

PAGE = Path(__file__).parents[2] / "docs" / "memory.md"


def read_table() -> dict[str, list[str]]:
    """Return the figures of the section Quality by row: recall, MRR, recall with the same words, with others."""
    section = PAGE.read_text().partition("\n## Quality\n")[2].partition("The set is small")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    return {cells[0]: cells[1:] for cells in rows if re.fullmatch(r"[01][.]\d+", cells[-1])}


async def test_each_row_of_the_table_is_what_the_bench_measures(capsys: pytest.CaptureFixture[str]) -> None:
    await bench.quality()
    printed = capsys.readouterr().out
    half, table = len(QUESTIONS) // 2, read_table()
    measured = await bench.measure_quality()
    for name, results in measured.items():
        recall, mrr = bench.score(results)
        same, other = (bench.score(part)[0] for part in (results[:half], results[half:]))
        assert table[name] == [f"{recall:.3f}", f"{mrr:.3f}", f"{same:.2f}", f"{other:.2f}"], name
        assert name in printed
    missing = {name for name in table if name not in measured}
    assert missing == (set() if bench.has_minilm() else {"vectors, MiniLM", "hybrid, MiniLM"})
    assert ("were not measured: pip install" in printed) is bool(missing)


async def test_each_row_of_the_held_out_table_is_what_the_bench_measures() -> None:
    section = PAGE.read_text().partition("A second set was written")[2].partition("Hashed vectors find")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    table = {cells[0]: cells[1:] for cells in rows if re.fullmatch(r"[01][.]\d+", cells[-1])}
    assert table == {name: bench.format_held_out(found) for name, found in (await bench.measure_held_out()).items()}
