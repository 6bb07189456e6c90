"""Named values: what a person wrote names a value only as a whole."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.security.information_flow.named_values import PersonTexts, find_unnamed_arguments
from tests.tables import table

NAMED: list[tuple[str, str | float]] = [
    ("Mail bob@example.org, please", "bob@example.org"),
    ("Mail Bob@Example.org.", "bob@example.org"),
    ("(see https://status.example.org)", "https://status.example.org/"),
    ("is status.example.org up?", "https://status.example.org"),
    ("open example.org/a?b=1", "https://example.org/a?b=1"),
    ("open dev.example.org:8080", "http://dev.example.org:8080/"),
    ("open bücher.example", "https://bücher.example"),
    ("open http://intranet", "http://intranet/"),
    ("read notes/shopping.txt.", "notes/shopping.txt"),
    ("read ./notes", "./notes"),
    ("send 12 euro", 12),
    ("send 12 euro", 12.0),
    ("send 12 euro", "12"),
    ("send 12,50 euro", 12.5),
    ("send 1.200 euro", 1200),
    ("send 1,200.50 dollars", 1200.5),
    ("send 1'200 francs", 1200),
    ("send $5!", 5),
    ("set it to -5", -5),
    ("bob's address", "bob"),
    ("给小明发消息", "小明"),
    ("ｗｉｄｅ", "wide"),
    ("on two\n  lines", "two lines"),
]
UNNAMED: list[tuple[str, str | float]] = [
    ("Mail bob@example.org", "example.org"),
    ("Mail bob@example.org", "bob"),
    ("Mail bob@example.org", "ob@example.org"),
    ("open https://example.org/a", "https://example.org"),
    ("open https://example.org/a", "example.org"),
    ("open https://example.org", "http://example.org"),
    ("open example.org", "https://evil.example.org"),
    ("it is paid", "https://paid"),
    ("it is paid", "https://paid/"),
    ("the 12 euro", "http://12"),
    ("the 12.50 euro", "http://12.50"),
    ("take version 1.2.3.4", "https://1.2.3.4"),
    ("Mail bob@example.org", "http://bob@example.org"),
    ("Mail bob@example.org", "http://bob@example.org/"),
    ("a/b is what it is", "https://a/b"),
    ("read report.md", "https://report.md"),
    ("read report.md", "https://report.md/"),
    ("did you read report.md?", "https://report.md?"),
    ("read report.md: it is short", "https://report.md:"),
    ("open my-example.org", "example.org"),
    ("open example.org.uk", "example.org"),
    ("read /etc/passwd", "/etc"),
    ("read .env", "env"),
    ("send 12.50 euro", 12),
    ("send 12.50 euro", 1250),
    ("send 120 euro", 12),
    ("at 12:30", 12),
    ("on 2026-11-23", 23),
    ("pay to DE00BOB", 0),
    ("set it to -5", 5),
    ("hello", ""),
    ("", "x"),
]


@table(("text", "value"), NAMED)
def test_a_value_occurs_as_a_whole(text: str, value: str | float) -> None:
    assert PersonTexts([text]).name(value)


@table(("text", "value"), UNNAMED)
def test_a_part_of_something_else_is_not_named(text: str, value: str | float) -> None:
    assert not PersonTexts([text]).name(value)


SCHEMA: dict[str, Any] = {
    "properties": {
        "to": {"type": "string"},
        "text": {"type": "string"},
        "page": {"type": "integer", "default": 1},
        "place": {"$ref": "#/$defs/Place"},
        "headers": {"type": "object"},
        "command": {"type": "string"},
        "silent": {"type": "boolean"},
    },
    "$defs": {"Place": {"properties": {"street": {"type": "string"}}}},
}


@table(
    ("arguments", "unnamed"),
    [
        ({"to": "bob", "text": "The report is ready"}, []),
        ({"to": "bob", "text": "ready: the report!"}, []),
        ({"to": "bob", "text": "The report is ready, sign in at evil.example"}, ["text"]),
        ({"to": "mallory", "text": "ready"}, ["to"]),
        ({"to": ["bob", "mallory"]}, ["to"]),
        ({"to": "bob", "page": 1}, []),
        ({"to": "bob", "page": 2}, ["page"]),
        ({"to": "bob", "page": True}, []),
        ({"to": "bob", "silent": True}, []),
        ({"place": {"street": "bob"}}, []),
        ({"place": {"street": "Main Street"}}, ["place"]),
        ({"headers": {"x-4711": "bob"}}, ["headers"]),
        ({"command": "report that"}, ["command"]),
        ({"command": "that the report"}, []),
        ({"page": 1}, None),
        ({"silent": True}, None),
        ({"to": "  ", "text": None}, None),
        ({}, None),
    ],
)
def test_the_arguments_that_nobody_named(arguments: dict[str, Any], unnamed: list[str] | None) -> None:
    texts = PersonTexts(["Tell Bob that the report is ready"])
    assert find_unnamed_arguments(arguments, SCHEMA, texts) == unnamed


def test_a_deep_argument_is_read_to_the_end() -> None:
    deep: Any = "mallory"
    for _ in range(5000):
        deep = [deep]
    assert find_unnamed_arguments({"to": deep}, {}, PersonTexts(["bob"])) == ["to"]


def test_a_value_that_is_too_long_is_not_named() -> None:
    assert not PersonTexts(["a " * 20_000]).name_words("a " * 20_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=3), st.text())
def test_any_arguments_are_judged(arguments: dict[str, Any], text: str) -> None:
    unnamed = find_unnamed_arguments(arguments, {}, PersonTexts([text]))
    assert unnamed is None or set(unnamed) <= set(arguments)


@given(st.text(st.characters(categories=["L", "N"]), min_size=1), st.text())
def test_what_a_person_wrote_between_spaces_is_named(word: str, text: str) -> None:
    assert PersonTexts([f"{text} {word} end"]).name(word)
