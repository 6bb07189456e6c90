"""What counts as an answer to a question, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.approvals import Decision
from sophon_hosting.programs.chat.approval_answers import (
    EditedArgumentsRequired,
    InvalidAnswer,
    parse_approval_answer,
    parse_edited_arguments,
)


@pytest.mark.parametrize("line", ["approve", "a", "y", "yes", "APPROVE", "  Yes ", "approve.", "yes!"])
def test_a_word_of_approval_approves(line: str) -> None:
    assert parse_approval_answer(line, editable=True, decided_by="me") == Decision.approve(decided_by="me")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("reject", ""),
        ("r", ""),
        ("n", ""),
        ("No", ""),
        ("reject not on a Friday", "not on a Friday"),
        ("no, use the other file", "use the other file"),
    ],
)
def test_a_word_of_rejection_rejects_with_its_reason(line: str, reason: str) -> None:
    assert parse_approval_answer(line, editable=False) == Decision.reject(reason)


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "ok",
        "continue",
        "go on",
        "sure",
        "yes please",
        "approve all",
        "yes but not that",
        "yesno",
        "1",
        "да",
        "/stop",
    ],
)
def test_anything_else_is_asked_again(line: str) -> None:
    assert isinstance(parse_approval_answer(line, editable=True), InvalidAnswer)


@given(st.text())
def test_only_a_word_of_approval_alone_ever_approves(line: str) -> None:
    answer = parse_approval_answer(line, editable=True)
    if isinstance(answer, Decision) and answer.verdict == "approve":
        assert line.strip().casefold().rstrip(".,:;!") in {"approve", "a", "y", "yes"}


def test_edit_takes_the_arguments_from_the_line_or_asks_for_them() -> None:
    assert parse_approval_answer('edit {"path": "b.txt"}', editable=True) == Decision.edit({"path": "b.txt"})
    assert isinstance(parse_approval_answer("edit", editable=True), EditedArgumentsRequired)


@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "path=b.txt", "null"])
def test_arguments_that_are_no_object_are_asked_for_again(text: str) -> None:
    assert isinstance(parse_edited_arguments(text), InvalidAnswer)


def test_what_cannot_be_edited_is_not_edited() -> None:
    answer = parse_approval_answer('edit {"a": 1}', editable=False)
    assert isinstance(answer, InvalidAnswer)
    assert "cannot be edited" in answer.reason


@pytest.mark.parametrize(("line", "grant"), [("approve session", "session"), ("y ALWAYS", "always"), ("approve", None)])
def test_an_approval_word_with_a_scope_approves_later_calls_too(line: str, grant: str | None):
    answer = parse_approval_answer(line, editable=True, grantable=True)
    assert isinstance(answer, Decision)
    assert (answer.verdict, answer.grant) == ("approve", grant)


def test_what_cannot_be_approved_in_advance_is_not_approved_at_all():
    assert isinstance(parse_approval_answer("approve always", editable=True), InvalidAnswer)
    assert isinstance(parse_approval_answer("approve forever", editable=True, grantable=True), InvalidAnswer)
