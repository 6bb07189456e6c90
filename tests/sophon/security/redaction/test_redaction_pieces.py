"""Texts without a place to cut are cut beside their secrets, in linear time, and no secret loses its name."""

import re
from collections.abc import Iterator

import pytest

from sophon.security import redact
from sophon.security.redaction import redaction_pieces
from sophon.security.redaction.redaction_pieces import CUT_MARGIN, MAX_PIECE
from sophon.security.redaction.secret_search import find_secrets
from tests.tables import table

PLACE = MAX_PIECE - CUT_MARGIN


@table("secret", ["DB_PASS=hunter22hunter", "DB_KEY=hunter22hunter", "://ada:hunter22@"])
@table("place", range(PLACE - 16, PLACE + 4))
def test_a_secret_at_a_cut_is_known_by_what_stands_around_it(secret: str, place: int) -> None:
    assert "hunter22" not in redact(f"{';' * place}{secret};{',' * MAX_PIECE}")


@table("secret", ["DB_PASS={}", "://ada:{}@", "?key={}"])
@table("place", [0, 3, 300])
def test_a_secret_that_begins_a_piece_and_reaches_its_cut_is_replaced_whole(secret: str, place: int) -> None:
    value = "hunter22" * (PLACE // 8 + 20)
    assert "hunter22" not in redact(f"{';' * place}{secret.format(value)};{',' * MAX_PIECE}")


@pytest.mark.parametrize("unit", ["x_pass=", "x_pass=a1[", "A_KEY:=1", "x_pass=abcdefg1(", "pwd=$A"])
def test_a_text_without_a_place_to_cut_is_searched_a_bounded_number_of_times(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []

    def count(text: str) -> Iterator[re.Match[str]]:
        searched.append(len(text))
        return find_secrets(text)

    monkeypatch.setattr(redaction_pieces, "find_secrets", count)
    text = unit * (10 * MAX_PIECE // len(unit))
    redact(text)
    assert sum(searched) < 4 * len(text)
