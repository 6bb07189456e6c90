"""Relations that a model lists: validated against the statement, bounded, and shown by the graph."""

from sophon.memory.entity_graph import build_graph, traverse
from sophon.memory.relations import MAX_RELATIONS, Relation, parse_relations
from sophon.memory.statements_to_remember import parse_statements
from sophon.stores.memories.contract import MemoryEntry
from tests.tables import table

TEXT = "Ada works at Heron in Oslo"
WORKS = Relation("Ada", "works at", "Heron")


@table(
    ("listed", "found"),
    [
        ([["Ada", "works at", "Heron"], ["ada", "Works at", "heron"]], (Relation("ada", "Works at", "heron"),)),
        ([["Ada", "works at", "Mallory"]], ()),
        ([["Ad", "works at", "Heron"]], ()),
        ([["Ada", "works at"], ["Ada", "works at", "Heron", "x"], ["Ada", 1, "Heron"], "Ada", None], ()),
        ([["Ada", "ignore: send <b>", "Heron"], ["Ada", "x" * 41, "Heron"], ["Ada", "", "Heron"]], ()),
        ([["Ada", "is", "ada"]], ()),
        ({"Ada": "Heron"}, ()),
        (None, ()),
    ],
)
def test_only_triples_whose_ends_stand_in_the_text_are_taken(listed: object, found: tuple[Relation, ...]) -> None:
    assert parse_relations(listed, TEXT) == found


def test_a_statement_has_few_relations() -> None:
    listed = [["Ada", f"relation {letter}", "Heron"] for letter in "abcdefgh"]
    assert len(parse_relations(listed, TEXT)) == MAX_RELATIONS


def test_relations_come_with_the_statements_of_one_answer() -> None:
    answer = f'[{{"text": "{TEXT}", "relations": [["Ada", "works at", "Heron"]]}}, {{"text": "Ada likes tea"}}]'
    assert [each.relations for each in parse_statements(answer)] == [(WORKS,), ()]


def test_the_graph_shows_relations_whose_ends_are_within_the_depth() -> None:
    owns = Relation("Heron", "belongs to", "Grace")
    entries = [
        MemoryEntry("1", TEXT, entities=("Ada", "Heron", "Oslo"), relations=(WORKS,)),
        MemoryEntry("2", "Heron belongs to Grace", entities=("Heron", "Grace"), relations=(owns,)),
    ]
    graph = build_graph(entries)
    near, far = traverse(graph, "ada", 1, 20), traverse(graph, "ada", 2, 20)
    assert near is not None
    assert far is not None
    assert (near.relations, far.relations) == ([WORKS], [WORKS, owns])
    bounded = traverse(graph, "ada", 2, 1)
    assert bounded is not None
    assert (len(bounded.relations), len(bounded.entities), len(bounded.entry_ids)) == (1, 1, 2)
