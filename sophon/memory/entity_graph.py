"""Entity graph of memory entries: which entities and entries are how many steps from one of them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.entities import entity_key
from sophon.memory.relations import Relation

if TYPE_CHECKING:
    import networkx as nx


class LinkedText(Protocol):
    """An entry that names entities."""

    @property
    def id(self) -> str: ...
    @property
    def entities(self) -> Sequence[str]: ...
    @property
    def relations(self) -> Sequence[Relation]: ...


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What lies around an entity: other entities with their distance (1 and more), nearest first, at most the limit;
    relations between them; and the ids of all entries within, nearest first: the names may come from any of them.

    Two entities that one entry names have the distance 1. `start` is the name as the newest entry spells it.
    """

    start: str
    entities: Sequence[tuple[str, int]]
    entry_ids: Sequence[str]
    relations: Sequence[Relation] = ()


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
        if entry.relations:
            graph.add_node(("entry", entry.id), relations=entry.relations)
    return graph


def traverse(graph: "nx.Graph[Any]", name: str, depth: int, limit: int) -> Neighbourhood | None:
    """Return what is at most `depth` entities away, at most `limit` names and relations; None if the name is unknown.

    A relation is shown if both of its ends are within the depth.
    """
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
    relations: dict[tuple[str, str, str], Relation] = {}
    for node, _ in nearest:
        for each in graph.nodes[node].get("relations", ()):
            ends = entity_key(each.subject), entity_key(each.object)
            if all(("entity", end) in distances for end in ends):
                relations.setdefault((ends[0], each.name.casefold(), ends[1]), each)
    start_name = str(graph.nodes[start]["name"])
    return Neighbourhood(start_name, entities[:limit], entry_ids, [*relations.values()][:limit])
