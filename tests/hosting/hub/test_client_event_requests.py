"""What a client may ask: every problem is said at once, and nothing of what it sent is repeated but the names."""

from collections.abc import Sequence
from typing import Any

import pytest

from sophon.errors import InputError
from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.hub.client_events import parse_object


def parse(event: str, arguments: Sequence[Any]) -> object:
    return builtin_operations().by_event[event].request.validate(parse_object(arguments))


def problem(event: str, *arguments: Any) -> str:
    with pytest.raises(InputError) as refused:
        parse(event, arguments)
    return str(refused.value)


@pytest.mark.parametrize(
    ("event", "arguments", "words"),
    [
        ("send_message", [], "content: it is missing"),
        ("send_message", [None], "content: it is missing"),
        ("send_message", ["hello"], "the payload must be an object"),
        ("send_message", [["hello"]], "the payload must be an object"),
        ("send_message", [{"content": "a"}, 1], "one payload, not 2"),
        ("send_message", [{"content": 1}], "content: it must be a text"),
        ("send_message", [{"content": "a", "stream": "yes"}], "stream: it must be true or false"),
        ("send_message", [{"content": "a", "trace": "t"}], "trace: there is no such field"),
        ("join_session", [{"session_id": "s", "last_seq": "3"}], "last_seq: it must be a whole number"),
        ("join_session", [{"session_id": "s", "last_seq": True}], "last_seq: it must be a whole number"),
        ("join_session", [{"session_id": "s", "last_seq": 1e30}], "last_seq: it must be a whole number"),
        ("list_tasks", [{"all": True}], "all: there is no such field"),
    ],
)
def test_a_mistake_is_named(event: str, arguments: list[Any], words: str) -> None:
    assert words in problem(event, *arguments)


def test_all_mistakes_are_named_in_one_line() -> None:
    said = problem("send_message", {"content": 1, "stream": 2, "model": 3})
    assert (said.count("; "), "\n" in said) == (2, False)


def test_a_thousand_mistakes_and_long_names_make_no_long_answer() -> None:
    said = problem("send_message", {"content": "a", **{f"{'k' * 5000}{n}": 1 for n in range(1000)}})
    assert len(said) < 2000
    assert said.endswith("and 990 more")


def test_what_was_sent_is_not_repeated() -> None:
    assert "secret" not in problem("send_message", {"content": {"password": "secret"}})
