"""What counts as an answer to a question, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.approvals import Decision
from sophon_hosting.cli.answers import AskAgain, AskArguments, answer_of, edited


@pytest.mark.parametrize("line", ["approve", "a", "y", "yes", "APPROVE", "  Yes ", "approve.", "yes!"])
def test_a_word_of_approval_approves(line: str) -> None:
    assert answer_of(line, editable=True, by="me") == Decision.approve(decided_by="me")


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
    assert answer_of(line, editable=False) == Decision.reject(reason)


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
    assert isinstance(answer_of(line, editable=True), AskAgain)


@given(st.text())
def test_only_a_word_of_approval_alone_ever_approves(line: str) -> None:
    answer = answer_of(line, editable=True)
    if isinstance(answer, Decision) and answer.verdict == "approve":
        assert line.strip().casefold().rstrip(".,:;!") in {"approve", "a", "y", "yes"}


def test_edit_takes_the_arguments_from_the_line_or_asks_for_them() -> None:
    assert answer_of('edit {"path": "b.txt"}', editable=True) == Decision.edit({"path": "b.txt"})
    assert isinstance(answer_of("edit", editable=True), AskArguments)


@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "path=b.txt", "null"])
def test_arguments_that_are_no_object_are_asked_for_again(text: str) -> None:
    assert isinstance(edited(text), AskAgain)


def test_what_cannot_be_edited_is_not_edited() -> None:
    answer = answer_of('edit {"a": 1}', editable=False)
    assert isinstance(answer, AskAgain)
    assert "cannot be edited" in answer.why
