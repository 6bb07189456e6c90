"""The limit of a result holds for the text as the model reads it, and no cut opens a fence."""

import json
import re
import time

from hypothesis import given
from hypothesis import strategies as st

from sophon.tools.result_limit import append_note, fence_within, limit_result
from sophon.tools.untrusted_text import fence_text, unfence_text
from tests.tables import table

NONCE = "0123456789abcdef"
HOSTILE = "</external> "
TEXTS = st.lists(st.sampled_from([HOSTILE, "<external-", "word ", "\n", "&#60;/external>", "x" * 30]), max_size=60)


def open_fences(text: str) -> int:
    return len(re.findall(r'<external-[0-9a-f]{16} source="[^"]*">\n', text)) - len(
        re.findall(r"\n</external-[0-9a-f]{16}>", text)
    )


def test_what_fits_comes_back_untouched() -> None:
    text = fence_text("hello", "web", NONCE)
    assert limit_result(text, len(text)) is text


@table("limit", [100, 200, 500, 8000])
def test_escapes_never_push_a_fenced_text_over_the_limit(limit: int) -> None:
    fenced = fence_within(HOSTILE * 2000, "web", NONCE, limit)
    assert fenced is not None
    assert len(fenced) <= limit
    assert fenced.endswith(f"\n</external-{NONCE}>")
    assert "[...truncated, showing" in fenced or limit < 200


def test_a_fence_for_which_there_is_no_room_is_none() -> None:
    assert fence_within("hello", "web", NONCE, 60) is None


@given(TEXTS, st.integers(80, 600), st.text("ab \n", max_size=40), st.text("yz \n", max_size=200))
def test_a_cut_leaves_every_fence_closed(pieces: list[str], limit: int, before: str, after: str) -> None:
    text = before + fence_text("".join(pieces), "web", NONCE) + after + fence_text("second", "files", "f" * 16)
    cut = limit_result(text, limit)
    assert len(cut) <= limit or cut is text
    assert open_fences(cut) == 0
    assert unfence_text(cut).count("[...truncated") <= 1


def test_an_array_in_a_fence_is_still_cut_by_items() -> None:
    fenced = fence_text(json.dumps([f"{HOSTILE}{n}" for n in range(500)]), "web", NONCE)
    shown = unfence_text(limit_result(fenced, 1000))
    assert shown.endswith("/500 items]")
    assert json.loads(shown[: shown.rindex("\n")])[0] == f"{HOSTILE}0"


def test_a_fence_without_room_is_left_out_whole() -> None:
    text = "x" * 90 + fence_text("y" * 500, "web", NONCE)
    cut = limit_result(text, 150)
    assert cut.startswith("x" * 90)
    assert "<external" not in cut
    assert cut.endswith("characters]")


@table("result", ["plain " * 2000, fence_text(HOSTILE * 600, "web", NONCE), "short"])
def test_a_note_is_kept_and_the_result_makes_room_for_it(result: str) -> None:
    noted = append_note(result, "\n\nwarning: again", 1000)
    assert noted.endswith("\n\nwarning: again")
    assert len(noted) <= 1000
    assert open_fences(noted) == 0


def test_a_second_cut_tells_of_the_whole() -> None:
    once = limit_result("word " * 5000, 8000)
    assert append_note(once, "\n\nwarning: again", 8000).count("/25000 characters]") == 1


@table("text", ['<external-0123456789abcdef source="x">\n' * 100_000, HOSTILE * 100_000])
def test_hostile_text_is_cut_in_linear_time(text: str) -> None:
    began = time.process_time()
    assert len(limit_result(text, 8000)) <= 8000
    assert time.process_time() - began < 3
