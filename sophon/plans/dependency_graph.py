"""Dependency graph of a plan: transitive dependants and cycles.

A graph is given as a mapping from each id to the ids that it depends on. Dependencies that are no id of the graph, or
the id itself, are ignored.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from networkx import DiGraph

    DependencyGraph: TypeAlias = "DiGraph[str]"

Dependencies: TypeAlias = Mapping[str, Iterable[str]]
"""For each id, the ids that it depends on."""


def find_dependants(dependencies: Dependencies, node: str) -> set[str]:
    """Return all ids that depend on `node`, directly or transitively."""
    import networkx  # lazy: heavy, and loaded by the first plan only

    found: set[str] = networkx.descendants(_build_graph(dependencies), node)  # pyright: ignore[reportUnknownMemberType] - its stub
    return found


def find_cycles(dependencies: Dependencies) -> list[list[str]]:
    """Return one cycle per strongly connected component of two or more ids, along the flow of results. Linear."""
    import networkx  # lazy: heavy, and loaded by the first plan only

    graph = _build_graph(dependencies)
    order = {node: position for position, node in enumerate(dependencies)}
    components = [each for each in networkx.strongly_connected_components(graph) if len(each) > 1]
    components.sort(key=lambda component: min(order[node] for node in component))
    return [_find_cycle(graph, component, order) for component in components]


def _build_graph(needs: Dependencies) -> "DependencyGraph":
    import networkx  # lazy: heavy, and loaded by the first plan only

    graph: DependencyGraph = networkx.DiGraph()
    graph.add_nodes_from(needs)
    graph.add_edges_from(
        (needed, node)
        for node, dependencies in needs.items()
        for needed in dependencies
        if needed in needs and needed != node
    )
    return graph


def _find_cycle(graph: "DependencyGraph", component: set[str], order: Mapping[str, int]) -> list[str]:
    """Walk from id to id inside the component until one repeats; every id in it has a successor."""
    visited: dict[str, int] = {}
    node = min(component, key=order.__getitem__)
    while node not in visited:
        visited[node] = len(visited)
        node = min((each for each in graph.successors(node) if each in component), key=order.__getitem__)
    cycle = list(visited)[visited[node] :]
    first = cycle.index(min(cycle, key=order.__getitem__))
    return [*cycle[first:], *cycle[: first + 1]]
