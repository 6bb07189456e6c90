"""Entity graph of memory entries: which entities and entries are how many steps from one of them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sophon.lazy_dataclass import dataclass
from sophon.memory.entities import entity_key

if TYPE_CHECKING:
    import networkx as nx


class LinkedText(Protocol):
    """An entry that names entities."""

    @property
    def id(self) -> str: ...
    @property
    def entities(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What lies around an entity: other entities with their distance (1 and more), nearest first, and ids of entries.

    Two entities that one entry names have the distance 1. `start` is the name as the newest entry spells it.
    """

    start: str
    entities: Sequence[tuple[str, int]]
    entry_ids: Sequence[str]


def build_graph(entries: Iterable[LinkedText]) -> "nx.Graph[Any]":
    """Return the graph of entities and entries (given newest first); an edge joins an entry with what it names."""
    import networkx as nx  # lazy: it takes 0.1 s

    graph: nx.Graph[Any] = nx.Graph()
    for entry in entries:
        for name in entry.entities:
            key = ("entity", entity_key(name))
            if key not in graph:
                graph.add_node(key, name=name)
            graph.add_edge(key, ("entry", entry.id))
    return graph


def traverse(graph: "nx.Graph[Any]", name: str, depth: int, limit: int) -> Neighbourhood | None:
    """Return what is at most `depth` entities away from one, at most `limit` of each kind; None if it is unknown."""
    import networkx as nx

    start = ("entity", entity_key(name))
    if start not in graph:
        return None
    # An entry is half a step: its edge leads to the next entity.
    distances = nx.single_source_shortest_path_length(graph, start, cutoff=2 * depth)
    nearest = sorted(distances.items(), key=lambda pair: pair[1])
    entities = [
        (str(graph.nodes[node]["name"]), steps // 2) for node, steps in nearest if node[0] == "entity" and steps
    ]
    entry_ids = [node[1] for node, _ in nearest if node[0] == "entry"]
    return Neighbourhood(str(graph.nodes[start]["name"]), entities[:limit], entry_ids[:limit])
