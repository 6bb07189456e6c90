"""Vectors, the hashing embedder, its cache, and the index."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.learning import embedding_cache
from sophon.learning.contract import Vector
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.vector_index import ExactIndex
from sophon.learning.vectors import from_blob, normalize, to_blob
from tests.tables import table


def cosine(one: Vector, other: Vector) -> float:
    return sum(float(a) * float(b) for a, b in zip(one, other, strict=True))


def test_a_vector_becomes_one_of_length_one_and_a_zero_vector_stays():
    assert [float(each) for each in normalize([3, 4])] == pytest.approx([0.6, 0.8])
    assert list(normalize([0.0, 0.0])) == [0.0, 0.0]


@table("wrong", [[], [[1.0]], 5.0, "text", None, [float("nan")], [1.0, float("inf")], [1e300, 1e300]])
def test_what_is_no_vector_is_refused(wrong: Any):
    with pytest.raises(ValueError):
        normalize(wrong)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_a_blob_holds_the_numbers_as_float32(numbers: list[float]):
    blob = to_blob(numbers)
    assert len(blob) == 4 * len(numbers)
    assert [float(each) for each in from_blob(blob, len(numbers))] == numbers


@table(("blob", "dimensions"), [(b"", 0), (b"\0" * 7, 2), (b"\0" * 8, 3), (to_blob([math.nan]), 1)])
def test_a_blob_that_is_no_vector_is_refused(blob: bytes, dimensions: int):
    with pytest.raises(ValueError):
        from_blob(blob, dimensions)


async def test_the_hashing_embedder_knows_shared_words_and_stems_and_no_meaning():
    embedder = HashingEmbedder()
    text, same, near, stem, far = await embedder.embed(
        ["Review the parser", "review the PARSER", "please review the parser", "reviewing parsers", "bake a cake"]
    )
    assert (embedder.name, embedder.dimensions, len(text)) == ("hashing-384", 384, 384)
    assert cosine(text, same) == pytest.approx(1.0)
    assert cosine(text, near) > 0.7 > cosine(text, stem) > 0.3 > abs(cosine(text, far))
    assert cosine(text, text) == pytest.approx(1.0)
    (silent,) = await embedder.embed(["  "])
    assert not any(silent)
    # The same in every process and version: stored vectors stay comparable.
    (known,) = await HashingEmbedder(4).embed(["hello world"])
    assert [round(float(each), 4) for each in known] == [0.0, 0.5369, 0.0, -0.8437]


class CountingEmbedder:
    name, dimensions = "counting", 1

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked.append(list(texts))
        return [[float(len(text))] for text in texts]


async def test_a_text_is_embedded_once_and_the_cache_has_a_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embedding_cache, "MAX_ENTRIES", 2)
    counting = CountingEmbedder()
    cache = CachingEmbedder(counting)
    assert await cache.embed(["a", "bb", "a"]) == [[1.0], [2.0], [1.0]]
    assert await cache.embed(["a", "ccc"]) == [[1.0], [3.0]]  # "bb" was used longest ago
    assert await cache.embed(["bb"]) == [[2.0]]
    assert counting.asked == [["a", "bb"], ["ccc"], ["bb"]]
    assert (cache.find("ccc"), cache.find("a")) == ([3.0], None)
    assert len([each for each in ("a", "bb", "ccc") if cache.find(each) is not None]) == 2


def test_a_local_embedder_answers_at_once_and_a_remote_one_only_from_the_cache():
    assert CachingEmbedder(HashingEmbedder(8)).find("hello") is not None
    assert CachingEmbedder(CountingEmbedder()).find("hello") is None


def test_an_index_finds_the_nearest_replaces_removes_and_drops_the_oldest():
    index = ExactIndex(2, 3)
    assert index.search([1, 0]) == []
    for key, vector in (("east", [5, 0]), ("north", [0, 1]), ("west", [-1, 0])):
        index.add(key, vector)
    found = index.search([1, 0.1], 2)
    assert [match.key for match in found] == ["east", "north"]
    assert found[0].similarity == pytest.approx(1 / math.sqrt(1.01), abs=1e-5)
    index.add("east", [0, -1])  # now the newest
    index.add("fourth", [1, 1])
    assert "north" not in index
    assert len(index) == 3
    assert index.search([0, 1], 1)[0].key == "fourth"
    for key in ("west", "unknown", "east"):
        index.remove(key)
    assert [match.key for match in index.search([1, 0], 5)] == ["fourth"]
    for wrong in ([1, 0, 0], [1]):
        with pytest.raises(ValueError, match="dimensions"):
            index.search(wrong)
        with pytest.raises(ValueError, match="dimensions"):
            index.add("x", wrong)


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.lists(st.integers(-5, 5), min_size=3, max_size=3))),
    st.lists(st.integers(-5, 5), min_size=3, max_size=3),
)
def test_exact_search_is_exact_whatever_was_added_removed_and_dropped(
    steps: list[tuple[str, list[int]]], query: list[int]
):
    index, kept = ExactIndex(3, 4), dict[str, list[int]]()
    for key, vector in steps:
        kept.pop(key, None)
        if not any(vector):
            index.remove(key)
            continue
        if len(kept) == 4:
            del kept[next(iter(kept))]
        kept[key] = vector
        index.add(key, vector)
    found = index.search(query, 3)
    expected = sorted((cosine(normalize(query), normalize(each)) for each in kept.values()), reverse=True)[:3]
    assert [match.similarity for match in found] == pytest.approx(expected, abs=1e-5)
    assert {match.key for match in found} <= set(kept)
    assert len(index) == len(kept)


def test_memory_grows_with_the_entries_up_to_the_bound():
    index = ExactIndex(2, 200)
    sizes: list[int] = []
    for number in range(300):
        index.add(str(number), [1, number])
        sizes.append(index._matrix.nbytes)  # pyright: ignore[reportPrivateUsage] - what it takes, which nobody asks
    assert (sizes[0], sizes[-1], len(index)) == (64 * 2 * 4, 200 * 2 * 4, 200)
