"""Simple transforms without a model: what is certain is answered, everything else is left to a model."""

import sys
from types import FrameType
from typing import Any

from sophon.routing.transform_booster import answer_transform, convert_vars
from tests.tables import table


@table(
    ("code", "expected"),
    [
        ("var x = 1;", "const x = 1;"),
        ("var x = 1;\nx += 2;", "let x = 1;\nx += 2;"),
        ("var i = 0; i++", "let i = 0; i++"),
        ("var x;\nx = 1", "let x;\nx = 1"),
        ('var s = "var t = 1"; // var u', 'const s = "var t = 1"; // var u'),
        ("function f() {\n  var a = [1, 2];\n  return a;\n}", "function f() {\n  const a = [1, 2];\n  return a;\n}"),
        ("var f = (a, b) => { var c = a; return c };", "const f = (a, b) => { const c = a; return c };"),
        ("var o = {x: 1}; o.x = 2; p.o === 1", "const o = {x: 1}; o.x = 2; p.o === 1"),
    ],
)
def test_var_becomes_const_or_let_where_it_is_assigned_again(code: str, expected: str) -> None:
    assert convert_vars(code) == expected


@table(
    "code",
    [
        "if (a) { var x = 1; } f(x)",  # seen outside of its block
        "for (var i = 0; i < 3; i++) f(i)",
        "f(x); var x = 1",  # used before
        "var x = 1; var x = 2",
        "var a = 1, b = 2",
        "var {a} = b",
        "var a = b / c",  # or a regular expression
        "var a = `${b}`",
        "var x = 1; [x] = [2]",
        "let x = 1",
        "var s = 'open",
        "f(var x = 1)",
        "[var x = 1]",
        "var a = (1]",
        "} var x = 1",
        "function f() { var a = [1, 2], b }",
        "var f = function () { var a = 1, b }",
    ],
)
def test_what_could_change_its_meaning_is_left_to_a_model(code: str) -> None:
    assert convert_vars(code) is None


def count_lines(code: str) -> int:
    """Return how many lines of Python run while the code is converted."""
    lines = 0

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert convert_vars(code) is not None
    finally:
        sys.settrace(before)
    return lines


@table("declaration", ["var {name} = 1;\n", "var {name} = function () {{ "])
def test_the_work_grows_with_the_code_and_not_with_its_square(declaration: str) -> None:
    few, many = ("".join(declaration.format(name=f"a{n}") for n in range(count)) for count in (20, 200))
    assert count_lines(many) < 12 * count_lines(few)


@table(
    ("text", "expected"),
    [
        ("Convert var to const:\n```js\nvar x = 1;\n```", "```js\nconst x = 1;\n```"),
        ("please replace all vars with const: var x = 1", "```js\nconst x = 1\n```"),
        ("Change var to const in this code:\nvar a = 2", "```js\nconst a = 2\n```"),
        ('format this JSON: {"b":1,"a":[]}', '```json\n{\n  "b": 1,\n  "a": []\n}\n```'),
        ('Minify the following JSON:\n```json\n{ "a": 1 }\n```', '```json\n{"a":1}\n```'),
        ("format this JSON: {oops", None),
        ('format this JSON: {"a": 1, "a": 2}', None),
        ("format this JSON: [1.10]", None),
        ("Convert var to const and explain why:\nvar x = 1", None),
        ("Why should I convert var to const?", None),
        ("format this text: hello", None),
        ("hello", None),
    ],
)
def test_only_the_whole_request_is_answered(text: str, expected: str | None) -> None:
    assert answer_transform(text) == expected


@table("piece", ['\\"', "/* ", "'", '"a\\" '])
def test_texts_without_an_end_are_left_to_a_model_in_linear_time(piece: str) -> None:
    assert convert_vars(f"var a = 1;\n{piece}" * 20_000 + piece * 300_001) is None


def test_json_that_is_nested_too_deep_is_left_to_a_model() -> None:
    assert answer_transform(f"format this json:\n{'[' * 300}{']' * 300}") is None
