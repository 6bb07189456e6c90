"""The machine below the features knows none of them: a feature can be added and removed without a change of it."""

import ast
from pathlib import Path

import sophon_hosting
from sophon_hosting.features import FEATURES

ROOT = Path(sophon_hosting.__file__).parent
ABOVE = ("features", "programs", "reference")
"""Packages that may name features: themselves, the programs that run the whole product, and its documentation."""


def test_no_module_of_the_machine_imports_a_feature() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in ABOVE
        for module in list_imports(path)
        if module.startswith(tuple(f"sophon_hosting.features.{name}." for name in FEATURES))
    ]
    assert named == []


def list_imports(path: Path) -> list[str]:
    """The modules and names that a file imports, also for type checkers alone, with a dot at the end."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [f"{each.name}." for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{each.name}." for each in node.names]
    return found
