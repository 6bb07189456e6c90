"""The dependencies of a plan as a graph: who needs whom, and where they go in a circle.

All graphs are given as what each id needs; needs that are no id of the graph, or the id itself, are left out.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from networkx import DiGraph

    Graph: TypeAlias = "DiGraph[str]"

Needs: TypeAlias = Mapping[str, Iterable[str]]
"""For each id the ids that it needs."""


def dependants(needs: Needs, node: str) -> set[str]:
    """All ids that need this one, directly or through others."""
    import networkx  # heavy: loaded by the first plan, not by `import sophon`

    found: set[str] = networkx.descendants(_graph(needs), node)  # pyright: ignore[reportUnknownMemberType] - its stub
    return found


def circles(needs: Needs) -> list[list[str]]:
    """One circle for each knot of ids that need each other; in the order in which results flow. Linear."""
    import networkx  # heavy: loaded by the first plan, not by `import sophon`

    graph = _graph(needs)
    order = {node: at for at, node in enumerate(needs)}
    knots = [knot for knot in networkx.strongly_connected_components(graph) if len(knot) > 1]
    knots.sort(key=lambda knot: min(order[node] for node in knot))
    return [_circle(graph, knot, order) for knot in knots]


def _graph(needs: Needs) -> "Graph":
    import networkx  # heavy: loaded by the first plan, not by `import sophon`

    graph: Graph = networkx.DiGraph()
    graph.add_nodes_from(needs)
    graph.add_edges_from(
        (needed, node)
        for node, all_needed in needs.items()
        for needed in all_needed
        if needed in needs and needed != node
    )
    return graph


def _circle(graph: "Graph", knot: set[str], order: Mapping[str, int]) -> list[str]:
    """Walk from id to id inside the knot until one comes again; in a knot every id has a follower."""
    walked: dict[str, int] = {}
    node = min(knot, key=order.__getitem__)
    while node not in walked:
        walked[node] = len(walked)
        node = min((each for each in graph.successors(node) if each in knot), key=order.__getitem__)
    circle = list(walked)[walked[node] :]
    first = circle.index(min(circle, key=order.__getitem__))
    return [*circle[first:], *circle[: first + 1]]
