import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.features.post_turn.memory_extraction import parse_statements

FACT = '{"text": "Their cat is called Ada.", "category": "fact"}'


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"[{FACT}]", 1),
        (f"Here you are:\n```json\n[{FACT}]\n```", 1),
        ("[]", 0),
        ("nothing", 0),
        ("[1, null, {}, []]", 0),
        (f'[{FACT}, {{"text": 5}}]', 1),
        ("]" + FACT + "[", 0),
        (f"[{', '.join([FACT] * 9)}]", 5),
        ('[{"text": "Their password is hunter2."}]', 0),
        ('[{"text": "Key sk-abcdefghijklmnop1234."}]', 0),
        ('[{"text": "Card 4111 1111 1111 1111."}]', 0),
    ],
)
def test_what_a_model_lists_is_read_and_secrets_are_left_out(text: str, count: int) -> None:
    assert len(parse_statements(text)) == count


@given(st.text())
def test_nothing_that_a_model_says_breaks_it(text: str) -> None:
    assert len(parse_statements(text)) <= 5
