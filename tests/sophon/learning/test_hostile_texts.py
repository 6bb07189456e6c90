"""Texts of a message or a reply that once took a host minutes: their time grows with their length only."""

from sophon.decisions.action_claim_correction import announce
from sophon.decisions.reply_faults import find_fault
from sophon.learning.fitness import fitness
from sophon.learning.form_faults import keeps_format
from sophon.learning.message_complexity import complexity_factors
from sophon.memory.statements_to_remember import parse_statements
from tests.tables import table

SIZE = 300_000


@table("text", ["1. " + "\n" * SIZE, "a, " + "." * SIZE + "x"])
def test_a_message_is_rated_in_linear_time(text: str) -> None:
    assert 0 <= complexity_factors(text).score <= 1


@table("text", ["." * SIZE + "x", "\n" * SIZE + "x"])
def test_a_reply_is_rated_in_linear_time(text: str) -> None:
    assert 0 <= fitness("a question", text).overall <= 1
    assert keeps_format("answer in one sentence", text)
    assert announce(text, []).text == text


def test_a_reply_that_promises_is_read_in_linear_time() -> None:
    assert find_fault("look", "let me check " + " " * SIZE + "\nx!", [], []) is None


def test_a_list_of_statements_is_read_in_linear_time() -> None:
    assert parse_statements("1. " + " " * SIZE + "Ada runs") == parse_statements("1. Ada runs") != []
