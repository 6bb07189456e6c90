"""Keys of rows that are numbered within a session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.stores.sql.column_types import KEYS_PER_PARENT, to_key, to_seq
from tests.tables import table

PARENTS = st.integers(1, 2**31 - 1)
SEQS = st.integers(0, KEYS_PER_PARENT - 1)


@given(PARENTS, SEQS, PARENTS, SEQS)
def test_keys_are_ordered_by_parent_and_seq_and_fit_into_64_bits(parent: int, seq: int, other: int, later: int) -> None:
    assert to_seq(to_key(parent, seq)) == seq
    assert (to_key(parent, seq) < to_key(other, later)) == ((parent, seq) < (other, later))
    assert to_key(parent, seq) < 2**63


@table("seq", [-1, KEYS_PER_PARENT])
def test_a_seq_beyond_the_rows_of_a_parent_is_refused(seq: int) -> None:
    with pytest.raises(OverflowError, match="no key"):
        to_key(1, seq)
