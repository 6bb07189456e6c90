"""No import cycle at any level, imports under TYPE_CHECKING included; and the import contracts of pyproject.toml."""

import subprocess
import sys
from pathlib import Path

import grimp
import networkx
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sophon", "sophon_middlewares", "sophon_hosting", "sophon_channels")


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def cycles(graph: grimp.ImportGraph) -> list[tuple[str, list[str]]]:
    """The strongly connected children of each package: (package, names)."""
    imports = [(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)]
    parents = {module.rpartition(".")[0] for module in graph.modules} - {""}
    found: list[tuple[str, list[str]]] = []
    for parent in sorted(parents):
        children = networkx.DiGraph()
        for ends in imports:
            if all(end.startswith(f"{parent}.") for end in ends):
                children.add_edge(*(end[len(parent) + 1 :].partition(".")[0] for end in ends))
        components = networkx.strongly_connected_components(children)
        found += [(parent, sorted(component)) for component in components if len(component) > 1]
    return found


def test_no_package_and_no_module_imports_itself_through_others(graph: grimp.ImportGraph) -> None:
    assert cycles(graph) == []


@pytest.mark.parametrize(
    ("importer", "imported", "cycle"),
    [
        ("sophon.context.context", "sophon.services", "sophon"),
        ("sophon.tools.tool", "sophon.context.context", "sophon"),
        ("sophon_hosting.runs.outcomes", "sophon_hosting.host", "sophon_hosting"),
        ("sophon.stores.usage.contract", "sophon.stores.contract", "sophon.stores"),
    ],
)
def test_an_import_that_points_up_is_found(graph: grimp.ImportGraph, importer: str, imported: str, cycle: str) -> None:
    graph.add_import(importer=importer, imported=imported)
    try:
        assert cycle in [package for package, _ in cycles(graph)]
    finally:
        graph.remove_import(importer=importer, imported=imported)


def test_the_import_contracts_are_kept() -> None:
    # In a process of its own: import-linter configures logging, and disables the loggers of this one with it.
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
