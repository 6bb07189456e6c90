"""Pure rules of memory: entities, their graph, statements, and the selection of diverse entries."""

from dataclasses import dataclass

from sophon.memory.entities import find_entities
from sophon.memory.entity_graph import build_graph, traverse
from sophon.memory.entry_ranking import choose_diverse
from sophon.memory.relations import Relation
from sophon.memory.statements_to_remember import Statement, may_state_facts, parse_statements
from sophon.memory.workspace_files import remove_comments
from tests.tables import table


@table(
    ("text", "names"),
    [
        ("Ada's sister Grace Hopper lives in New York", ("Ada", "Grace Hopper", "New York")),
        ("The deadline of Project Heron is 2026-12-12.", ("Project Heron", "2026-12-12")),
        ("write to ada@example.org and ADA", ("ada@example.org", "ADA")),
        ("She likes Ludwig van Beethoven", ("Ludwig van Beethoven",)),
        ("it rains. My cat sleeps", ()),
    ],
)
def test_entities_are_found_by_their_spelling(text: str, names: tuple[str, ...]):
    assert find_entities(text) == names


@table("piece", ["a-", "A b ", "1-", "a", " "])
def test_the_entities_of_a_huge_text_are_found_in_linear_time(piece: str):
    assert len(find_entities(piece * 200_000)) <= 1


@table(
    ("text", "kept"),
    [
        ("a <!-- b --> c", "a c"),
        ("<!-- b -->  \n- c\n", "- c"),
        ("a <!-- b\n--> c <!-- d", "a c <!-- d"),
        ("a <!--> b --> c", "a c"),
        ("a --> b", "a --> b"),
        ("<!--" * 500_000, "<!--" * 500_000),
    ],
)
def test_comments_are_removed_in_linear_time(text: str, kept: str):
    assert remove_comments(text) == kept


@dataclass(frozen=True)
class Note:
    id: str
    entities: tuple[str, ...]
    relations: tuple[Relation, ...] = ()


def test_a_traversal_goes_no_deeper_than_it_is_asked_to():
    graph = build_graph([Note("1", ("Ada", "Heron")), Note("2", ("heron", "Oslo")), Note("3", ("Oslo", "Bergen"))])
    near, far = (traverse(graph, "ADA", depth, 9) for depth in (1, 2))
    assert near is not None
    assert far is not None
    assert (near.entities, near.entry_ids) == ([("Heron", 1)], ["1"])
    assert (far.entities, far.entry_ids) == ([("Heron", 1), ("Oslo", 2)], ["1", "2"])
    assert traverse(graph, "nobody", 3, 9) is None


@table(
    ("text", "states"),
    [
        *((text, True) for text in ("I'm a nurse", "my cat is ill", "Ich wohne in Bonn", "Vivo en Lima", "call me Al")),
        *((text, False) for text in ("what is 2+2?", "hello", "Fasse die Seite zusammen", "list the files")),
    ],
)
def test_only_what_may_be_about_its_author_is_read(text: str, states: bool):
    assert may_state_facts(text) is states


@table(
    ("answer", "texts"),
    [
        ('Sure: [{"text": " Likes tea ", "category": "preference"}]', ["Likes tea"]),
        ("- Lives in Oslo\n2) Has a cat\nNONE", ["Lives in Oslo", "Has a cat"]),
        ("NONE", []),
        ('[{"text": "The password is swordfish"}, {"text": 5}, 7, {"text": "x", "category": "rumour"}]', []),
        ("[not json", []),
        ("\n".join(f"- fact number {number}" for number in range(9)), [f"fact number {n}" for n in range(5)]),
    ],
)
def test_statements_are_read_from_json_and_bullets(answer: str, texts: list[str]):
    assert [each.text for each in parse_statements(answer)] == texts


def test_a_statement_keeps_its_category():
    assert parse_statements('[{"text": "Likes tea", "category": "preference"}]') == [
        Statement("Likes tea", "preference")
    ]


def test_what_repeats_a_chosen_one_comes_later():
    assert choose_diverse([1.0, 0.9, 0.7], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 2) == [0, 2]
    assert choose_diverse([1.0, 0.9, 0.7], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 2, lambda_=1.0) == [0, 1]
    assert choose_diverse([0.5, 0.4], [None, None], 5) == [0, 1]
