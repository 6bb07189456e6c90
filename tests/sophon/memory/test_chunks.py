"""Chunks of long texts for an index."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.memory.chunks import split_into_chunks
from tests.tables import table


@given(
    st.text("ab \n", max_size=400),
    st.integers(2, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, (n - 1) // 2))),
)
def test_chunks_cover_the_text_overlap_and_know_their_lines(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    chunks = list(split_into_chunks(text, size, overlap))
    rest = 0
    for number, chunk in enumerate(chunks):
        assert chunk.text == text[chunk.start : chunk.end]
        assert 0 < len(chunk.text) <= size
        # nothing is left out, and each chunk adds something
        assert rest - overlap <= chunk.start <= rest < chunk.end
        assert number == 0 or chunk.start > chunks[number - 1].start
        assert chunk.first_line == text.count("\n", 0, chunk.start) + 1
        assert chunk.last_line == text.count("\n", 0, chunk.end - 1) + 1
        rest = chunk.end
    assert rest == len(text)


def test_a_chunk_ends_with_a_line_and_the_next_one_begins_with_one() -> None:
    text = "".join(f"line {number} says something\n" for number in range(1, 200))
    chunks = list(split_into_chunks(text, 400, 100))
    assert all(chunk.text.endswith("\n") and chunk.text.startswith("line") for chunk in chunks)
    assert all(one.last_line >= other.first_line for one, other in pairwise(chunks))
    assert f"line {chunks[3].first_line} " in chunks[3].text.splitlines()[0] + " "


@table(("size", "overlap"), [(100, 50), (100, -1), (0, 0)])
def test_an_overlap_of_half_a_chunk_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="less than half"):
        list(split_into_chunks("text", size, overlap))
