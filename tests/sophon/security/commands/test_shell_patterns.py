"""Patterns of the shell: what a word with wildcards or braces names, within a bound."""

from pathlib import Path

import pytest

from sophon.security.commands.shell_patterns import MAX_ENTRIES, expand_pattern


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name in ("a.md", "b.md", ".env", "sub/a.md", "[x]"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a.md", set[str]()),
        ("*.md", {"a.md", "b.md"}),
        ("?.md", {"a.md", "b.md"}),
        ("[b-c].md", {"b.md"}),
        ("*/*.md", {"sub/a.md"}),
        ("*", {"a.md", "b.md", "sub", "[x]"}),
        (".e*", {".env"}),
        ("{a,c}.md", {"a.md", "c.md"}),
        ("{a,{b,c}}.m?", {"a.md", "b.md"}),
        ("[x]", set[str]()),
        ("missing/*", set[str]()),
        ("*\0", set[str]()),
    ],
)
def test_what_a_pattern_names(folder: Path, pattern: str, expected: set[str]) -> None:
    word = f"{folder}/{pattern}"
    first, *others = expand_pattern(word)
    assert first == word
    assert set(others) == {f"{folder}/{each}" for each in expected}


def test_a_pattern_costs_no_more_than_its_bound(folder: Path) -> None:
    deep = folder / "deep"
    deep.mkdir()
    for number in range(150):
        (deep / str(number)).symlink_to(deep)
    assert len(list(expand_pattern(f"{deep}/*/*/*/*/*/*"))) <= MAX_ENTRIES
    assert len(list(expand_pattern("/" + "{a,b}" * 50))) <= 200
