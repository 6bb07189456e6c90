"""Truncation: what a model still sees of a result that is too large."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sophon.tools.truncation import DEFAULT_LIMIT, truncate
from tests.tables import table

LIMITS = st.integers(0, 300)
ITEMS = st.lists(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=6,
    ),
    max_size=40,
)
ITEMS_MARKER = re.compile(r"\n\[\.\.\.truncated, showing (\d+)/(\d+) items\]\Z")
TEXT_MARKER = re.compile(r"\n\[\.\.\.truncated, showing (\d+)/(\d+) characters\]\Z")


def dumps(items: Any, indent: int | None) -> str:
    return json.dumps(items, ensure_ascii=False, indent=indent)


@table("text", ["", "short", "x" * DEFAULT_LIMIT, "  [1,  2]  ", "wörd " * 1600])
def test_what_fits_comes_back_untouched(text: str) -> None:
    assert truncate(text) is text


def test_a_long_text_ends_behind_a_word_and_tells_how_much_is_missing() -> None:
    text = "word " * 5000
    cut = truncate(text)
    left_out = TEXT_MARKER.search(cut)
    assert left_out
    assert len(cut) <= DEFAULT_LIMIT
    assert cut.startswith("word word")
    assert cut[: left_out.start()].endswith(" word")
    assert (int(left_out[1]), int(left_out[2])) == (left_out.start(), len(text))


def test_the_markers_are_the_published_one_for_arrays_and_its_like_for_text() -> None:
    assert truncate(json.dumps(list(range(1000))), 60).endswith("]\n[...truncated, showing 10/1000 items]")
    assert truncate("word " * 100, 60) == "word word word\n[...truncated, showing 14/500 characters]"


@given(ITEMS.filter(bool) | st.text(min_size=1), st.integers(100, 300), st.integers(100, 300))
def test_a_second_truncation_tells_of_the_whole_and_leaves_one_marker(value: Any, first: int, second: int) -> None:
    text = json.dumps(value) * (1 if isinstance(value, list) else 20)
    again = truncate(truncate(text, first), second)
    assert len(again) <= max(second, 0) or again is text
    assert again.count("[...truncated") <= 1
    total = ITEMS_MARKER.search(again) or TEXT_MARKER.search(again)
    if isinstance(value, str) and total:
        assert int(total[2]) == len(text)
    if isinstance(value, list) and (marker := ITEMS_MARKER.search(again)):
        assert int(marker[2]) == len(value)


def test_an_array_that_fits_without_its_white_space_is_whole() -> None:
    items = list(range(100))
    assert truncate(json.dumps(items, indent=8), 400) == json.dumps(items, separators=(",", ":"))


@table("limit", range(41, 84))
def test_not_one_item_less_than_fits(limit: int) -> None:
    items = list(range(0, 30_000, 7))
    whole = [
        f"{json.dumps(items[:n], separators=(',', ':'))}\n[...truncated, showing {n}/4286 items]" for n in range(1, 30)
    ]
    assert truncate(json.dumps(items), limit) == max((cut for cut in whole if len(cut) <= limit), key=len)


def test_numbers_beyond_64_bits_stay_exact() -> None:
    assert truncate(f"[{2**80}, {'1, ' * 100}1]", 90).startswith(f"[{2**80},1,")


@table(
    "text",
    [
        json.dumps(["x" * 9000, 1]),
        json.dumps({"items": list(range(5000))}),
        "[1, 2, " * 3000,
        "[" * 20_000 + "]" * 20_000,
        '["\\ud800", ' + "1, " * 5000 + "1]",
        "[NaN" + ", 1" * 5000 + "]",
        "[" + "9" * 9000 + "]",
        "[not json] " * 1000,
        "\ufeff[" + "1," * 5000 + "1]",
    ],
)
def test_all_that_is_no_array_of_small_items_is_cut_as_text(text: str) -> None:
    cut = truncate(text)
    marker = TEXT_MARKER.search(cut)
    assert marker
    assert len(cut) <= DEFAULT_LIMIT
    assert text.startswith(cut[: marker.start()])
    assert marker.start() > DEFAULT_LIMIT // 3


def test_a_single_long_word_is_cut_within() -> None:
    cut = truncate("see " + "a" * 20_000)
    assert DEFAULT_LIMIT - 5 <= len(cut) <= DEFAULT_LIMIT


@table("cluster", ["e\u0301", "\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\ud83d\ude00"])
def test_a_cut_parts_no_cluster_of_characters(cluster: str) -> None:
    text = cluster * 200
    for limit in range(50, 70):
        kept = TEXT_MARKER.sub("", truncate(text, limit))
        assert kept == cluster * (len(kept) // len(cluster))


@table("limit", [-1, 0, 1, 5, 30])
def test_a_limit_too_small_for_a_marker_gives_the_bare_beginning(limit: int) -> None:
    assert truncate("a" * 1000, limit) == "a" * max(limit, 0)


@table(
    "make",
    [
        lambda: "[" + "123456, " * 1_250_000 + "1]",
        lambda: json.dumps(["y" * 10_000_000]),
        lambda: "[" + " " * 10_000_000 + "]",
        lambda: "a" * 10_000_000,
        lambda: " " * 10_000_000,
        lambda: "[" * 10_000_000,
    ],
)
def test_ten_megabytes_are_cut_in_linear_time(make: Callable[[], str]) -> None:
    text = make()
    began = time.process_time()
    assert len(truncate(text)) <= DEFAULT_LIMIT
    assert time.process_time() - began < 3


@given(st.text(), LIMITS)
@example("\u0301" * 100, 45)
@example(" " * 100, 45)
def test_no_text_comes_out_longer_than_the_limit(text: str, limit: int) -> None:
    cut = truncate(text * 20, limit)
    assert len(cut) <= limit
    cut.encode()


@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=60), st.integers(60, 200))
def test_words_are_never_parted(words: list[str], limit: int) -> None:
    text = " ".join(words)
    cut = truncate(text, limit)
    marker = TEXT_MARKER.search(cut)
    kept = cut[: marker.start()] if marker else cut
    assert text.startswith(kept)
    assert len(kept) == len(text) or text[len(kept)] == " "


@given(ITEMS, LIMITS, st.sampled_from([None, 2]))
def test_an_array_comes_out_as_the_most_items_that_fit(items: list[Any], limit: int, indent: int | None) -> None:
    text = dumps(items, indent)
    cut = truncate(text, limit)
    assert len(cut) <= limit or cut is text
    marker = ITEMS_MARKER.search(cut)
    if marker is None:
        return
    shown, total = int(marker[1]), int(marker[2])
    assert total == len(items)
    assert json.loads(cut[: marker.start()]) == items[:shown]
    one_more = json.dumps(items[: shown + 1], ensure_ascii=False, separators=(",", ":"))
    assert len(one_more) + len(f"\n[...truncated, showing {shown + 1}/{total} items]") > limit
