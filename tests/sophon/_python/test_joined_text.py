"""Joining the texts of a turn's replies."""

import sys

from sophon._python.joined_text import LARGE_PIECE_CHARACTERS, MAX_SEPARATE_PIECES, add_piece, join_texts
from tests.tables import table


@table(
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


def test_many_short_pieces_take_little_more_than_their_text() -> None:
    pieces: list[str] = []
    for number in range(50_000):
        add_piece(pieces, f"{number % 10}abc")
    assert len(pieces) <= MAX_SEPARATE_PIECES
    assert sum(map(sys.getsizeof, pieces)) < 200_000 + 60 * MAX_SEPARATE_PIECES
    assert "".join(pieces) == "".join(f"{number % 10}abc" for number in range(50_000))


def test_a_large_piece_is_not_copied_again() -> None:
    large = "x" * LARGE_PIECE_CHARACTERS
    pieces = [large]
    for _ in range(3 * MAX_SEPARATE_PIECES):
        add_piece(pieces, "abc")
    assert pieces[0] is large
    assert len("".join(pieces)) == len(large) + 9 * MAX_SEPARATE_PIECES


def test_the_characters_that_are_copied_grow_no_faster_than_the_text() -> None:
    def count_copied(characters: int) -> int:
        pieces: list[str] = []
        copied = 0
        for _ in range(characters // 4):
            before = len(pieces)
            add_piece(pieces, "four")
            copied += len(pieces[-1]) if len(pieces) <= before else 0
        return copied

    assert count_copied(2**20) <= 4.5 * count_copied(2**18)
