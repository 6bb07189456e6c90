"""Status of bubblewrap: numbers in JSON documents that arrive in pieces."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sophon.processes.sandbox_runner import find_number
from tests.tables import table


@table(
    ("text", "found"),
    [
        ('{ "child-pid": 12, "net-namespace": 5 }\n', 12),
        ('{ "child-pid": 12 }\n{ "exit-code": 3 }', 12),
        ('{ "exit-code": 3 }\n{ "child-pid": 12 }', 12),
        ('{ "child-pid": 1', None),
        ('{ "child-pid": "12" }', None),
        ("", None),
        ("}{", None),
    ],
)
def test_a_number_is_found_once_its_document_is_complete(text: str, found: int | None) -> None:
    assert find_number(text, "child-pid") == found


@given(st.text())
def test_no_status_raises(text: str) -> None:
    find_number(text, "child-pid")


@given(st.integers(0, 2**22), st.integers(0, 255))
def test_no_cut_gives_another_number(child: int, code: int) -> None:
    text = f"{json.dumps({'child-pid': child})}\n{json.dumps({'exit-code': code})}\n"
    assert {find_number(text[:end], "child-pid") for end in range(len(text) + 1)} == {None, child}
    assert {find_number(text[:end], "exit-code") for end in range(len(text) + 1)} == {None, code}
