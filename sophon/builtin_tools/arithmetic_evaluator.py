"""Evaluator of arithmetic expressions: exact fractions, with bounds on size, depth and time.

The expression is parsed by `ast` and never executed by Python: only the nodes listed here are supported. Numbers are
fractions, so that 0.1 + 0.2 is 0.3 and 1/3*3 is 1; results without an exact value (roots, logarithms) are floats.
"""

import ast
import re
from decimal import Context, Decimal
from fractions import Fraction

from sophon._python.lazy_pattern import lazy_pattern
from sophon.builtin_tools.arithmetic_functions import (
    CONSTANTS,
    FUNCTIONS,
    ArithmeticNumber,
    check_magnitude,
    compute_power,
)
from sophon.errors import ToolError

MAX_EXPRESSION_CHARACTERS = 500
"""Maximum length of an expression, in characters."""

MAX_DEPTH = 260
"""Maximum nesting depth; a sum of 250 numbers is nested 250 deep."""

MAX_EXPONENT = 4000
"""Maximum exponent of a number such as 1e300."""

SIGNIFICANT_DIGITS = 15
"""Significant digits of a result without a finite decimal form; a finite decimal has up to 40."""

SMALLEST_PLAIN, LARGEST_PLAIN = Fraction(1, 10**10), 10**20
"""Range in which a result is written without an exponent."""

_EXACT = Context(prec=40)
_ROUNDED = Context(prec=SIGNIFICANT_DIGITS)
_TOKEN = lazy_pattern(
    r"\s+|[-+*/%(),]|(?P<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE](?P<exponent>[+-]?\d+))?)(?![\w.])|[A-Za-z_]\w*",
    re.ASCII,
)
_SPELLINGS = str.maketrans({"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "π": "pi", "\n": " "})


def evaluate_expression(expression: str) -> ArithmeticNumber:
    """Evaluate an expression; raises ToolError for an invalid expression or a result that is too large."""
    text = expression.translate(_SPELLINGS).strip()
    if not text:
        raise ToolError("the expression is empty")
    _check_tokens(text)
    try:
        body = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ToolError(f"{_quote(text)} is not valid arithmetic; check operators and parentheses") from error
    try:
        return _evaluate_node(body, text, MAX_DEPTH)
    except RecursionError as error:
        raise ToolError("the expression is nested too deeply") from error
    except ZeroDivisionError as error:
        raise ToolError("division by zero") from error
    except OverflowError as error:
        raise ToolError("the result is too large") from error


def format_number(value: ArithmeticNumber) -> str:
    """Format a result: integers and finite decimals in full, anything else with 15 significant digits."""
    if isinstance(value, float):
        return f"{value:.{SIGNIFICANT_DIGITS}g}"
    if value.denominator == 1:
        return str(value.numerator)
    exact = _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
    decimal = exact if Fraction(exact) == value else _ROUNDED.plus(exact).normalize()
    return f"{decimal:f}" if SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN else str(decimal)


def _check_tokens(text: str) -> None:
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        raise ToolError(f"the expression has {len(text)} characters; {MAX_EXPRESSION_CHARACTERS} is the limit")
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ToolError(f"{text[at : at + 10]!r} is not part of arithmetic; use numbers, + - * / // % ** and ( )")
        # The length of the exponent is checked before conversion: 1e9999999999 would already be a huge power.
        exponent = token["exponent"]
        if exponent and (len(exponent) > len(str(MAX_EXPONENT)) + 1 or abs(int(exponent)) > MAX_EXPONENT):
            raise ToolError(f"{token[0]} is too large or too small")
        at = token.end()


def _evaluate_node(node: ast.expr, text: str, depth: int) -> ArithmeticNumber:
    if depth == 0:
        raise ToolError(f"the expression is nested more than {MAX_DEPTH} deep")
    match node:
        case ast.Constant() if text[node.col_offset] in ".0123456789":
            return check_magnitude(Fraction(text[node.col_offset : node.end_col_offset]))
        case ast.Name():
            return _find_constant(node.id)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            value = _evaluate_node(node.operand, text, depth - 1)
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BinOp(op=operator):
            left, right = _evaluate_node(node.left, text, depth - 1), _evaluate_node(node.right, text, depth - 1)
            return check_magnitude(_apply_operator(operator, left, right))
        case ast.Call(func=ast.Name(id=name)) if not node.keywords:
            return _apply_function(name, [_evaluate_node(argument, text, depth - 1) for argument in node.args])
        case ast.Tuple():
            raise ToolError("a comma only separates the arguments of a function; write 1000 for 1,000")
        case _:
            raise ToolError(f"{_quote(text[node.col_offset : node.end_col_offset])} is not arithmetic")


def _apply_operator(operator: ast.operator, left: ArithmeticNumber, right: ArithmeticNumber) -> ArithmeticNumber:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case _:  # the token check leaves only ** among the remaining operators
            return compute_power(left, right)


def _find_constant(name: str) -> ArithmeticNumber:
    if name not in CONSTANTS:
        raise ToolError(f"{name!r} is not a number; known constants are {', '.join(CONSTANTS)}")
    return CONSTANTS[name]


def _apply_function(name: str, arguments: list[ArithmeticNumber]) -> ArithmeticNumber:
    function = FUNCTIONS.get(name)
    if function is None:
        raise ToolError(f"there is no function {name!r}; known functions are {', '.join(FUNCTIONS)}")
    least, most = function.arity
    if not least <= len(arguments) <= most:
        raise ToolError(f"{name} takes {function.arity_text}, but {len(arguments)} were given")
    try:
        return check_magnitude(function.compute(*arguments))
    except ValueError as error:
        given = ", ".join(map(format_number, arguments))
        raise ToolError(f"{name}({given}) has no real value") from error


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


_QUESTIONS = ("what is ", "what's ", "how much is ", "calculate ", "compute ")
_ARITHMETIC = re.compile(r"[\d\s.()+\-*/%^×·÷−]+")
_OPERATOR = re.compile(r"[\d)]\s*(?:\*\*|//|[-+*/%^×·÷−])\s*[-\d(.]")
_JOINED_DIGITS = re.compile(r"\d+(?:([-/.])\d+)(?:\1\d+)*")
"""Digits that one kind of sign joins, as in dates, phone numbers, ranges and versions: `2026-01-31`, `24/7`."""

_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*[-−]\s*(\d+(?:\.\d+)?)")


def answer_arithmetic(text: str) -> str | None:
    """Return the result of a message that is mere arithmetic with digits, such as `what is 12 * (3 + 4)?`, else None.

    A number alone, a date such as 2026-01-31, a range such as 14.30 - 16.00, and what the evaluator refuses are no
    arithmetic.
    """
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        return None
    expression = text.strip().rstrip("?=").rstrip()
    lowered = expression.lower()
    for question in _QUESTIONS:
        if lowered.startswith(question):
            expression = expression[len(question) :].lstrip()
            break
    if not _ARITHMETIC.fullmatch(expression) or not _OPERATOR.search(expression):
        return None
    if _JOINED_DIGITS.fullmatch(expression) or _is_range(text.strip()):
        return None
    try:
        return format_number(evaluate_expression(expression))
    except ToolError:
        return None


def _is_range(text: str) -> bool:
    """Return whether a message is two numbers that rise, as in the answer to the question when somebody has time."""
    found = _RANGE.fullmatch(text)
    return found is not None and float(found[1]) < float(found[2])
