import json
import logging
import sys
import unicodedata
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.observability.jsonable import MAX_TEXT_CHARACTERS
from sophon_hosting.observability.log_formatters import JsonFormatter, TextFormatter
from sophon_hosting.observability.log_redaction import LogRedactor


class Fraction(float):
    """Like the numbers of numpy."""


class Changing(dict[str, object]):
    """As one that another thread writes to."""

    def items(self) -> NoReturn:
        raise RuntimeError("changed size during iteration")


class Unshowable:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def record(message: object, /, *arguments: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("sophon.test", logging.INFO, "here.py", 1, message, arguments, None)
    made.__dict__.update(extra)
    return made


def in_itself() -> list[object]:
    found: list[object] = [1]
    found.append(found)
    return found


JSON = JsonFormatter()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": [1, 2.5, True, None]}, {"a": [1, 2.5, True, None]}),
        ((1, 2), [1, 2]),
        ({1: "one"}, {"1": "one"}),
        (2**70, "0x400000000000000000"),
        ("half \ud800", "half \\ud800"),
        (ValueError("what?"), "what?"),
        (Unshowable(), "<Unshowable (str() failed)>"),
        (in_itself(), [1, "…"]),
        (Fraction(1.5), 1.5),
        (Changing(a=1), "{'a': 1}"),
        (Changing(token="abc defgh"), "{'token': '[REDACTED]'}"),
        ({"token": "abcdefgh", "n": 1}, {"token": "[REDACTED]", "n": 1}),
        ({"url": "/x?token=abcdefgh"}, {"url": "/x?token=[REDACTED]"}),
        (list(range(201)), [*range(200), "…"]),
    ],
)
def test_whatever_comes_as_extra_has_a_place_in_json(value: object, shown: object) -> None:
    assert json.loads(JSON.format(record("hello", value=value)))["value"] == shown


def test_an_extra_cannot_take_the_place_of_what_every_line_has() -> None:
    line = json.loads(
        JSON.format(record("hello", level="ERROR", time="never", user="eve", sophon_scope={"user": "ada"}))
    )
    assert (line["level"], line["user"]) == ("INFO", "ada")
    assert line["time"] != "never"


def test_an_extra_that_is_called_scope_is_one_like_any_other() -> None:
    assert json.loads(JSON.format(record("hello", scope=None)))["scope"] is None


def test_an_extra_that_is_named_for_a_secret_is_blacked_out() -> None:
    assert json.loads(JSON.format(record("hello", api_key="abcdefgh")))["api_key"] == "[REDACTED]"


def test_a_logger_or_an_extra_with_a_strange_name_costs_no_line() -> None:
    strange = record("hello")
    strange.name = "half \ud800"
    strange.__dict__.update({7: "seven"})  # type: ignore[dict-item] # `extra={7: ...}` comes through logging as well
    line = json.loads(JSON.format(strange))
    assert (line["logger"], line["7"]) == ("half \\ud800", "seven")


@pytest.mark.parametrize("formatter", [JSON, TextFormatter()])
def test_arguments_that_do_not_fit_cost_no_line(formatter: logging.Formatter) -> None:
    line = formatter.format(record("a %s %s", "only one"))
    assert "a %s %s" in line
    assert "only one" in line


def test_where_it_was_logged_is_told_when_asked_for() -> None:
    assert json.loads(JSON.format(record("hello", stack_info="Stack:\n  here")))["stack"] == "Stack:\n  here"
    assert TextFormatter().format(record("hello", stack_info="Stack:\n  here")).endswith("\n    Stack:\n      here")


@pytest.mark.parametrize("formatter", [JSON, TextFormatter()])
def test_a_text_that_is_far_too_long_is_cut_and_half_a_secret_is_not_shown(formatter: logging.Formatter) -> None:
    edge = "x" * (MAX_TEXT_CHARACTERS + 4_080) + " token=" + "s" * 500
    line = formatter.format(record(edge))
    assert len(line) < MAX_TEXT_CHARACTERS + 300
    assert f"{len(edge)} characters in total" in line
    assert "sss" not in line


def test_a_stack_in_text_cannot_pass_for_records() -> None:
    try:
        raise ValueError("one\n12:00:00 ERROR   forged")
    except ValueError:
        failed = record("it failed", exc_info=sys.exc_info())
    first, *others = TextFormatter().format(failed).splitlines()
    assert first.endswith("INFO    it failed")
    assert others
    assert all(line.startswith("    ") for line in others)


LOGGED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


NAMES = ANY_TEXT | st.sampled_from(
    ["scope", "sophon_scope", "error", "stack", "time", "user", "asctime", "message", ""]
)


@given(ANY_TEXT, st.dictionaries(NAMES, LOGGED, max_size=4))
def test_whatever_is_logged_is_one_object_on_one_line(text: str, extra: dict[str, object]) -> None:
    # What a record has of its own is the logging module's; `extra=` may not be named like it.
    given_extra = {name: value for name, value in extra.items() if name not in logging.makeLogRecord({}).__dict__}
    line = JSON.format(record("%s", text, **given_extra))
    assert line.splitlines() == [line]
    assert {unicodedata.category(sign) for sign in line}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert json.loads(line)["logger"] == "sophon.test"


@given(ANY_TEXT)
def test_text_moves_no_cursor_and_has_one_beginning(text: str) -> None:
    line = TextFormatter().format(record("%s", text))
    assert {unicodedata.category(sign) for sign in line if sign not in "\n\t"}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert all(each.startswith("    ") for each in line.splitlines()[1:])


@pytest.mark.parametrize("value", [82736455190, 82736455190.0, [82736455190], {"a": {"b": 82736455190.0}}])
def test_a_number_that_is_a_secret_is_replaced_in_json(value: object) -> None:
    line = JsonFormatter(LogRedactor(["82736455190"])).format(record("x", amount=value))
    assert "82736455190" not in line
    assert "REDACTED" in line


@pytest.mark.parametrize("value", [0, 7, -12345678, 1.5, 82736455191, 2**70])
def test_other_numbers_stay(value: float) -> None:
    line = JsonFormatter(LogRedactor(["82736455190"])).format(record("x", amount=value))
    assert "REDACTED" not in line
