"""Joining the texts of a turn's replies."""

import pytest

from sophon.joined_text import join_texts


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        ([], ""),
        (["one"], "one"),
        (["one", "two"], "one\n\ntwo"),
        (["one\n", "two"], "one\ntwo"),
        (["one ", "two"], "one two"),
        (["one", "", "  \n", "two"], "one\n\ntwo"),
        (["", "one"], "one"),
    ],
)
def test_texts_are_separated_unless_they_separate_themselves(texts: list[str], joined: str) -> None:
    assert join_texts(texts) == joined
