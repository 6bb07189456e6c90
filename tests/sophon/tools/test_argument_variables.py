"""Substitution of variables in arguments: nested, once, all or nothing."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.tools.argument_variables import MAX_EXPANDED_CHARACTERS, substitute_variables
from tests.properties import examples
from tests.tables import table

VALUES = {"a": "A", "nested": "{{a}}"}


@table(
    ("arguments", "expected"),
    [
        ({"x": "{{a}}"}, {"x": "A"}),
        ({"x": "1 {{a}} 2 {{a}}"}, {"x": "1 A 2 A"}),
        ({"x": {"y": ["{{a}}", 3]}}, {"x": {"y": ["A", 3]}}),
        ({"{{a}}": "v"}, {"{{a}}": "v"}),
        ({"x": "{{nested}}"}, {"x": "{{a}}"}),
        ({"x": r"\{{a}}"}, {"x": "{{a}}"}),
        ({"x": "{{ a }} {a} {{}} {{1}}"}, {"x": "{{ a }} {a} {{}} {{1}}"}),
    ],
)
def test_values_are_replaced_once(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    assert substitute_variables(arguments, VALUES).arguments == expected


def test_nothing_is_replaced_if_a_name_is_unknown() -> None:
    arguments = {"x": "{{a}}", "y": ["{{b}} {{b}}"]}
    found = substitute_variables(arguments, VALUES)
    assert (found.has_failed, found.unknown, found.arguments) == (True, ("b",), arguments)


def test_repetition_cannot_exceed_the_limit() -> None:
    long = {"v": "x" * 50_000}
    assert not substitute_variables({"x": "{{v}}" * (MAX_EXPANDED_CHARACTERS // 50_000)}, long).has_failed
    assert substitute_variables({"x": "{{v}}" * 5000}, long).is_too_long


def test_deep_nesting_is_an_error_and_no_recursion_limit() -> None:
    deep: Any = "{{a}}"
    for _ in range(5000):
        deep = [deep]
    assert substitute_variables({"x": deep}, VALUES).is_too_deep


@settings(max_examples=examples(100))
@given(st.text(st.sampled_from("{}a\\ ")))
def test_a_text_without_a_variable_stays(text: str) -> None:
    found = substitute_variables({"x": text}, {})
    assert found.arguments["x"] == text if not found.has_failed and "\\{{" not in text else True
