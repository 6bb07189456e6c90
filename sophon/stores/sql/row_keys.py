"""Primary keys of rows that are numbered within a session: its number and the row's seq in one integer.

SQLite stores rows in the order of such a key, and needs no index beside the table: a row that is appended changes one
page instead of two. The rows of a session are a range of keys. No foreign key can refer from such a row to its session,
so whoever deletes the session deletes the range.
"""

from sqlalchemy import Column, ColumnElement

KEYS_PER_PARENT = 2**32
"""Seqs of one session, 0 included; 2**31 sessions fit into a signed 64-bit integer."""


def to_key(parent: int, seq: int) -> int:
    """Return the key of the row `seq`, from 0 on, of a session, or of its event log, with a number."""
    if not 0 <= seq < KEYS_PER_PARENT:
        raise OverflowError(f"a session holds {KEYS_PER_PARENT - 1} rows at most, so seq {seq} has no key")
    return parent * KEYS_PER_PARENT + seq


def to_seq(key: int) -> int:
    """Return the seq in a key."""
    return key % KEYS_PER_PARENT


def belongs_to(key: Column[int], parent: int, after: int = 0, up_to: int = KEYS_PER_PARENT - 1) -> ColumnElement[bool]:
    """Return the condition for the rows of a parent whose seq is larger than `after` and at most `up_to`."""
    first, last = (max(0, min(seq, KEYS_PER_PARENT - 1)) for seq in (after, up_to))
    return (key > to_key(parent, first)) & (key <= to_key(parent, last))
