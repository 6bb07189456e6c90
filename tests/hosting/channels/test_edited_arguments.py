"""What a text means when the arguments of a call are edited in a chat."""

import pytest

from sophon_hosting.channels.edited_arguments import (
    ChosenField,
    NewArguments,
    UnreadableEdit,
    parse_edit,
    parse_value,
)

SCHEMA = {
    "properties": {
        "to": {"type": "string"},
        "amount": {"type": "integer"},
        "tags": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "unit": {"enum": ["kg", "g"]},
    }
}
CALL = {"to": "Bob", "amount": 5}


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("2", ChosenField("amount")),
        ("TO", ChosenField("to")),
        ("3", ChosenField("tags")),
        ("to: Carol: and Dan", NewArguments({"to": "Carol: and Dan", "amount": 5})),
        ("amount = 7", NewArguments({"to": "Bob", "amount": 7})),
        ('{"to": "Eve"}', NewArguments({"to": "Eve"})),
    ],
)
def test_a_text_names_an_argument_or_holds_values(text: str, meaning: object) -> None:
    assert parse_edit(text, CALL, SCHEMA) == meaning


@pytest.mark.parametrize("text", ["9", "yes", "", "{", "{1}", "[1]", "amount: five", '{"amount": NaN}', "[" * 10_000])
def test_what_is_no_edit_says_so_in_one_line(text: str) -> None:
    found = parse_edit(text, CALL, SCHEMA)
    assert isinstance(found, UnreadableEdit)
    assert "\n" not in found.reason


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("to", "7", "7"), ("to", '{"a": 1}', '{"a": 1}'), ("amount", "7", 7), ("tags", "null", None), ("unit", "g", "g")],
)
def test_a_text_is_taken_as_it_is_and_everything_else_as_json(name: str, text: str, value: object) -> None:
    assert parse_value(name, text, CALL, SCHEMA) == NewArguments({**CALL, name: value})


@pytest.mark.parametrize("text", ["1e999", "Infinity", "x" * 12_001])
def test_a_number_that_json_has_not_is_refused(text: str) -> None:
    assert isinstance(parse_value("amount", text, CALL, SCHEMA), UnreadableEdit)
