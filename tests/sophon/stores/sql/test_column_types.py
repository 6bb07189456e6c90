"""Values that a database might refuse, alter or confuse."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import sqlite

from sophon.stores.sql.column_types import UtcTime, dump_json, escape_text, load_json, unescape_text

any_text = st.text(st.characters(codec=None, exclude_categories=()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


@given(any_text)
def test_any_text_is_made_safe_and_comes_back(text: str):
    safe = escape_text(text)
    safe.encode()
    assert "\x00" not in safe
    assert unescape_text(safe) == text


@given(any_text, any_text)
def test_a_prefix_stays_a_prefix(one: str, other: str):
    assert escape_text(one + other) == escape_text(one) + escape_text(other)


@given(json_values)
def test_plain_data_comes_back_from_json(value: object):
    text = dump_json(value)
    text.encode()
    assert load_json(text) == value


def test_a_time_is_kept_in_utc():
    there = datetime(2026, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))
    kept = UtcTime().process_bind_param(there, sqlite.dialect())
    assert kept == datetime(2026, 1, 1, tzinfo=UTC)
    assert UtcTime().process_result_value(datetime(2026, 1, 1), sqlite.dialect()) == there


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="no time zone"):
        UtcTime().process_bind_param(datetime(2026, 1, 1), sqlite.dialect())
