"""docs/read-the-core.md leads through the modules of the core's import contract, which fit into an afternoon."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "read-the-core.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w.]*\w)` \| (.+) \|$", PAGE, re.MULTILINE)
MAX_LINES = 6500
"""An afternoon; starlette has 6,700."""


def read_contract() -> dict[str, Any]:
    """Return the contract of type `core`."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [found] = [each for each in contracts if each["type"] == "core"]
    return found


CONTRACT = read_contract()


def read_module(name: str) -> str:
    path = ROOT.joinpath(*name.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def nodes_at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module without those under `if TYPE_CHECKING`; its `else` runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for each in node.orelse:
                yield each
                yield from nodes_at_run_time(each)
        else:
            yield node
            yield from nodes_at_run_time(node)


def names_of_imports(nodes: Iterator[ast.AST]) -> set[str]:
    """What is imported, and the module that it is imported from."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}", *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def test_the_page_has_the_modules_of_the_contract_in_their_order() -> None:
    assert [f"sophon.{name}" for name, _ in ROWS] == CONTRACT["modules"]


@pytest.mark.parametrize(("name", "hint"), ROWS, ids=[name for name, _ in ROWS])
def test_what_a_row_names_is_in_its_module(name: str, hint: str) -> None:
    source = read_module(f"sophon.{name}")
    named = {word for quoted in re.findall(r"`([^`]+)`", hint) for word in re.findall(r"\w+", quoted)}
    assert [word for word in sorted(named) if not re.search(rf"\b{word}\b", source)] == []


def test_the_core_can_be_read_in_an_afternoon() -> None:
    lines = {name: len(read_module(name).splitlines()) for name in CONTRACT["modules"]}
    assert sum(lines.values()) <= MAX_LINES, sorted(lines.items(), key=lambda item: -item[1])[:10]


@pytest.mark.parametrize("edge", CONTRACT["types_only"])
def test_an_import_for_type_checkers_is_made_by_them_alone(edge: str) -> None:
    importer, imported = edge.split(" -> ")
    tree = ast.parse(read_module(importer))
    assert imported in names_of_imports(ast.walk(tree))
    assert imported not in names_of_imports(nodes_at_run_time(tree))


@pytest.mark.parametrize(
    "source",
    [
        "from sophon.settings import Settings",
        "import sophon.settings",
        "from sophon import settings",
        "def load():\n    from sophon.settings import Settings",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from sophon.settings import Settings",
        "if TYPE_CHECKING:\n    pass\nelif True:\n    import sophon.settings",
    ],
)
def test_an_import_at_run_time_is_found(source: str) -> None:
    assert "sophon.settings" in names_of_imports(nodes_at_run_time(ast.parse(source)))


def test_an_import_under_type_checking_is_none_at_run_time() -> None:
    source = "if TYPE_CHECKING:\n    from sophon.settings import Settings"
    assert names_of_imports(nodes_at_run_time(ast.parse(source))) == set()
