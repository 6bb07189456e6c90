"""Arithmetic: exact answers, clear refusals, and no expression that takes long."""

import math
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon import Context
from sophon.builtin_tools.arithmetic_evaluator import MAX_EXPRESSION_CHARACTERS, evaluate_expression, format_number
from sophon.builtin_tools.calculator import calculator
from sophon.errors import ToolError
from tests.properties import examples
from tests.tables import table


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2 + 3 * 4", "14"),
        ("0.1 + 0.2", "0.3"),
        ("1/3*3", "1"),
        ("1/3", "0.333333333333333"),
        ("-2**2", "-4"),
        ("2**-2", "0.25"),
        ("2**100", str(2**100)),
        ("2^10", "1024"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("7 % 3", "1"),
        ("6 × 7", "42"),
        ("1 ÷ 8", "0.125"),
        ("5 − 8", "-3"),
        ("1_000 * 3", "3000"),
        (".5 + 1.", "1.5"),
        ("1e-30", "1E-30"),
        ("1.1**300", "2617010996188.4"),
        ("2 *\n3", "6"),
        ("sqrt(16)", "4"),
        ("sqrt(2)", "1.4142135623731"),
        ("abs(-3.5)", "3.5"),
        ("round(2.5)", "3"),
        ("round(-2.675, 2)", "-2.68"),
        ("round(1234, -2)", "1200"),
        ("round(sqrt(2), 4)", "1.4142"),
        ("min(3, 1, 2) + max(1, 2.5)", "3.5"),
        ("floor(-2.5) + ceil(2.1)", "0"),
        ("log(1000, 10)", "3"),
        ("log10(0.001)", "-3"),
        ("log2(2**200)", "200"),
        ("ln(e)", "1"),
        ("log(10**1000) > 0", None),
        ("exp(0)", "1"),
        ("sin(pi)", "0"),
        ("sin(1e-20)", "1e-20"),
        ("factorial(20)", str(math.factorial(20))),
        ("0**0", "1"),
        ("(-1)**(10**12+1)", "-1"),
    ],
)
async def test_an_answer_is_exact_where_it_can_be(ctx: Context, expression: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ToolError):
            await calculator.invoke({"expression": expression}, ctx)
    else:
        assert await calculator.invoke({"expression": expression}, ctx) == expected


@table(
    ("expression", "reason"),
    [
        ("", "empty"),
        ("2 +", "not valid arithmetic"),
        ("007", "not valid arithmetic"),
        ("1/0", "division by zero"),
        ("5 % 0", "division by zero"),
        ("9**9**9", "too large"),
        ("1e999999999999", "too large or too small"),
        ("1e4000 * 1e4000", "too large"),
        ("exp(1000)", "too large"),
        ("sin(1e400)", "too large"),
        ("factorial(1001)", "from 0 to 1000"),
        ("factorial(2.5)", "whole number"),
        ("factorial(-1)", "whole number"),
        ("round(1, 1000000)", "places"),
        ("sqrt(-1)", "no real value"),
        ("log(0)", "no real value"),
        ("log(2, 1)", "division by zero"),
        ("(-8)**(1/3)", "no real value"),
        ("sin(1, 2)", "sin takes 1 argument"),
        ("round()", "1 or 2 arguments"),
        ("min()", "1 argument or more"),
        ("1,000", "write 1000"),
        ("speed(3)", "no function 'speed'"),
        ("x + 1", "not a number; known constants are pi"),
        ("True", "not arithmetic"),
        ("1 if 2 else 3", "not arithmetic"),
        ("max(*(1, 2))", "not arithmetic"),
        ("lambda: 1", "not part of arithmetic"),
        ("__import__('os').system('id')", "not part of arithmetic"),
        ("().__class__", "not part of arithmetic"),
        ("0x10", "not part of arithmetic"),
        ("1 = 1", "not part of arithmetic"),
        ("1" * (MAX_EXPRESSION_CHARACTERS + 1), "500 is the limit"),
        ("-" * 400 + "1", "nested"),
        ("(" * 240 + "1" + ")" * 240, "not valid arithmetic"),
    ],
)
def test_what_has_no_answer_says_why(expression: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        evaluate_expression(expression)


def test_a_long_sum_is_not_too_deep() -> None:
    assert format_number(evaluate_expression("+".join(["1"] * 250))) == "250"


PIECES = st.sampled_from(
    [
        *("1", "2", "9", "0.1", "9" * 80, "1e300", "1e-300", "1e4000", "pi", "e", "-", "+", "*", "/", "**", "//", "%"),
        *(
            "(",
            ")",
            ",",
            " ",
            "^",
            "sqrt(",
            "log(",
            "exp(",
            "factorial(",
            "round(",
            "tan(",
            "max(",
            "log2(",
            "not ",
            "x",
        ),
    ]
)


def outcome(expression: str) -> str:
    """The answer or the refusal; whatever else is raised fails the test."""
    try:
        return format_number(evaluate_expression(expression))
    except ToolError as error:
        return str(error)


@settings(max_examples=examples(100), deadline=timedelta(seconds=2))
@given(st.lists(PIECES, max_size=40).map("".join))
def test_whatever_looks_like_arithmetic_ends_soon_in_an_answer_or_a_refusal(expression: str) -> None:
    assert outcome(expression)


@settings(deadline=timedelta(seconds=2))
@given(st.text(max_size=600))
def test_whatever_is_typed_ends_soon_in_an_answer_or_a_refusal(text: str) -> None:
    assert outcome(text)


WHOLE = st.integers(-(10**12), 10**12)


@given(WHOLE, WHOLE, WHOLE.filter(bool))
def test_whole_numbers_agree_with_python(a: int, b: int, c: int) -> None:
    assert format_number(evaluate_expression(f"{a} + {b} * ({c}) - {a} // ({c}) + {b} % ({c})")) == str(
        a + b * c - a // c + b % c
    )
