"""Every Python block of the README and of docs/ runs; the blocks of a page are one program, with top-level await."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """(line, source) of each block."""
    text = page.read_text()
    return [(text[: match.start(1)].count("\n"), match[1]) for match in BLOCK.finditer(text)]


WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
async def test_the_snippets_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "snippet"}
    for line, source in blocks(page):
        code = compile(
            "\n" * line + source.replace("asyncio.run(main())", "await main()"),
            str(page),
            "exec",
            flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        )
        outcome = eval(code, names)
        if inspect.isawaitable(outcome):
            await outcome


def names_read(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def names_imported(source: str) -> set[str]:
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(each.asname or each.name).partition(".")[0] for node in found for each in node.names}


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_snippet_imports_is_used_before_it_is_imported_again(page: Path) -> None:
    unused = dict[str, int]()
    for line, source in blocks(page):
        imported = names_imported(source)
        assert imported.isdisjoint(unused), unused
        unused = {
            name: at
            for name, at in {**unused, **dict.fromkeys(imported, line)}.items()
            if name not in names_read(source)
        }
    assert unused == {}, "imported name: line of the snippet"


async def test_the_snippet_that_masks_personal_data_runs_alone() -> None:
    [source] = [each for _, each in blocks(ROOT / "docs" / "guards.md") if "MaskPersonalData" in each]
    await eval(compile(source, "guards.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {"__name__": "snippet"})


async def test_the_tool_of_the_readme_is_used_and_not_only_defined(capsys: pytest.CaptureFixture[str]) -> None:
    source = blocks(ROOT / "README.md")[0][1].replace("asyncio.run(main())", "")
    names: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(source, "README.md", "exec"), names)
    await names["main"]()
    assert "It rains in Oslo." in capsys.readouterr().out


async def test_the_middleware_of_the_readme_runs_alone_and_shows_what_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = blocks(ROOT / "README.md")[1][1].replace("asyncio.run(main())", "")
    names: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(source, "README.md", "exec"), names)
    await names["main"]()
    shown = capsys.readouterr().out
    assert "'What is 17 * 23?' took " in shown
    assert "391" in shown
    assert "timing" in shown


def test_the_pages_link_to_pages_that_exist() -> None:
    missing = list[str]()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                missing.append(f"{page.relative_to(ROOT)} -> {target}")
    assert missing == []
