"""What the modules of this project import, by reading them: nothing is imported."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from sys import stdlib_module_names

from tests.packaging.requirements import ROOT

FOLDERS = [ROOT / folder for folder in (".", "middlewares", "hosting", "channels")]


@cache
def find_file(module: str) -> Path | None:
    """Return the file of a module of this project; None for any other."""
    for folder in FOLDERS:
        path = folder.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


def walk_imports(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that are imported as soon as a module is: not those in functions, and not what may be missing."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.ClassDef):
            yield from walk_imports(node.body)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from walk_imports([*node.body, *node.orelse])


@cache
def read_imports(file: Path) -> tuple[str, ...]:
    """Return the names that a file imports as soon as it is imported."""
    return tuple(walk_imports(ast.parse(file.read_text(encoding="utf-8")).body))


@cache
def list_foreign_packages(modules: tuple[str, ...]) -> dict[str, str]:
    """Return the packages of others that importing the modules imports, each with a file that does."""
    left, seen, foreign = [*modules], set[Path](), dict[str, str]()
    while left:
        parts = left.pop().split(".")
        for length in range(1, len(parts) + 1):
            file = find_file(".".join(parts[:length]))
            if file is None or file in seen:
                continue
            seen.add(file)
            for name in read_imports(file):
                top = name.partition(".")[0]
                if find_file(top) is not None or (ROOT / top).is_dir():
                    left.append(name)
                elif top not in stdlib_module_names:
                    foreign.setdefault(top, str(file.relative_to(ROOT)))
    return foreign
