"""What settings add to the fast paths of the decision layer, and what they switch off."""

from collections.abc import Sequence

import pytest

from sophon.decisions import fast_path
from sophon.decisions.fast_paths.families import FastPathFamily
from sophon.errors import SettingsError
from sophon.settings import Settings


def configure(**decisions: object) -> Sequence[FastPathFamily]:
    return Settings.from_mapping({"Decisions": decisions}).decisions.families


def test_without_fast_paths_there_are_none() -> None:
    assert fast_path("What time is it?") is not None
    assert fast_path("What time is it?", configure(FastPaths={"Enabled": False})) is None


def test_a_mail_that_needs_work_first_has_no_fast_path() -> None:
    assert fast_path("send an email to ada@example.com saying I am late") is not None
    assert fast_path("send an email to ada@example.com with the text of the report") is None


def test_a_slow_expression_of_the_settings_is_linear() -> None:
    own = configure(FastPaths={"Added": [{"Name": "x", "Tool": "t", "Patterns": ["(a+)+b"]}]})
    assert fast_path("a" * 290, own) is None


def test_a_mistake_in_the_settings_is_reported() -> None:
    decisions = {"FastPaths": {"Added": [{"Name": "x", "Tool": "t", "Patterns": ["(?=x)"]}]}}
    with pytest.raises(SettingsError, match="Decisions") as caught:
        Settings.from_mapping({"Decisions": decisions})
    assert "not an expression of RE2" in str(caught.value)
