"""What settings add to the rules of the decision layer, and what they switch off."""

import pytest

from sophon.decisions import decide, fast_path
from sophon.decisions.rules import DecisionRules
from sophon.errors import SettingsError
from sophon.settings import Settings


def rules(**decisions: object) -> DecisionRules:
    return Settings.from_mapping({"Decisions": decisions}).decisions.rules


def test_a_pattern_of_the_settings_decides() -> None:
    text = "Jeden Morgen die Nachrichten"
    assert decide(text).strategy == "direct"
    own = rules(Patterns={"Added": {"schedule": [r"\bjeden (?:morgen|abend)\b"]}})
    assert decide(text, own).strategy == "scheduled_task"


def test_a_family_that_is_off_decides_nothing() -> None:
    text = "Every 15 minutes check the site"
    assert decide(text, rules(Patterns={"Disabled": ["schedule"]})).strategy == "direct"


def test_a_language_that_is_off_is_not_read() -> None:
    own = rules(Patterns={"Languages": ["en"]})
    assert decide("Cada 15 minutos revisa algo", own).strategy == "direct"
    assert decide("Every 15 minutes check something", own).strategy == "scheduled_task"


def test_without_fast_paths_there_are_none() -> None:
    assert fast_path("What time is it?") is not None
    assert fast_path("What time is it?", rules(FastPaths={"Enabled": False})) is None


def test_a_mail_that_needs_work_first_has_no_fast_path() -> None:
    assert fast_path("send an email to ada@example.com saying I am late") is not None
    assert fast_path("send an email to ada@example.com with the text of the report") is None


def test_a_slow_expression_of_the_settings_is_linear() -> None:
    own = rules(FastPaths={"Added": [{"Name": "x", "Tool": "t", "Patterns": ["(a+)+b"]}]})
    assert fast_path("a" * 290, own) is None


@pytest.mark.parametrize(
    ("decisions", "line"),
    [
        ({"Patterns": {"Added": {"schedul": ["x"]}}}, "there is no family 'schedul'"),
        ({"Patterns": {"Added": {"schedule": ["(x"]}}}, "not an expression of RE2"),
        ({"FastPaths": {"Disabled": ["whether"]}}, "there is no family 'whether'"),
        ({"FastPaths": {"Added": [{"Name": "x", "Tool": "t", "Patterns": ["(?=x)"]}]}}, "not an expression of RE2"),
    ],
)
def test_a_mistake_in_the_settings_is_reported(decisions: dict[str, object], line: str) -> None:
    with pytest.raises(SettingsError, match="Decisions") as caught:
        Settings.from_mapping({"Decisions": decisions})
    assert line in str(caught.value)
