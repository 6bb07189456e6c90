"""Reads an arithmetic expression and works it out over exact fractions, within bounds on size, depth and time.

The expression is parsed by `ast` and never evaluated by Python: only the nodes listed here mean anything. Numbers are
fractions, so that 0.1 + 0.2 is 0.3 and 1/3*3 is 1; what has no exact answer (roots, logarithms) goes on as a float.
"""

import ast
import re
from decimal import Context, Decimal
from fractions import Fraction

from sophon.errors import ToolError
from sophon.tools.builtin.functions import CONSTANTS, FUNCTIONS, Number, checked, power

MAX_LENGTH = 500
"""Characters of an expression."""

MAX_DEPTH = 260
"""Operations inside of operations; a sum of 250 numbers is as deep as it is long."""

MAX_EXPONENT = 4000
"""Of a number written with an exponent, such as 1e300."""

SHOWN_DIGITS = 15
"""Significant digits of an answer that is no finite decimal; one that is shows up to 40."""

SMALLEST_PLAIN, LARGEST_PLAIN = Fraction(1, 10**10), 10**20
"""Between them an answer is written without an exponent."""

_EXACT = Context(prec=40)
_ROUNDED = Context(prec=SHOWN_DIGITS)
_TOKEN = re.compile(
    r"\s+|[-+*/%(),]|(?P<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE](?P<exponent>[+-]?\d+))?)(?![\w.])|[A-Za-z_]\w*",
    re.ASCII,
)
_SPELLINGS = str.maketrans({"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "π": "pi", "\n": " "})


def evaluate(expression: str) -> Number:
    """The value of an expression; raises ToolError for everything that has none, or that is too large."""
    text = expression.translate(_SPELLINGS).strip()
    if not text:
        raise ToolError("the expression is empty")
    _refuse_unreadable(text)
    try:
        body = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ToolError(f"{_short(text)} cannot be read as arithmetic; check operators and parentheses") from error
    try:
        return _value(body, text, MAX_DEPTH)
    except RecursionError as error:
        raise ToolError("the expression is nested too deeply") from error
    except ZeroDivisionError as error:
        raise ToolError("division by zero") from error
    except OverflowError as error:
        raise ToolError("the result is too large") from error


def shown(value: Number) -> str:
    """An answer as text: whole numbers and finite decimals in full, all else with 15 significant digits."""
    if isinstance(value, float):
        return f"{value:.{SHOWN_DIGITS}g}"
    if value.denominator == 1:
        return str(value.numerator)
    exact = _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
    decimal = exact if Fraction(exact) == value else _ROUNDED.plus(exact).normalize()
    return f"{decimal:f}" if SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN else str(decimal)


def _refuse_unreadable(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise ToolError(f"the expression has {len(text)} characters; {MAX_LENGTH} is the limit")
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ToolError(f"{text[at : at + 10]!r} is no part of arithmetic; use numbers, + - * / // % ** and ( )")
        # Digits are counted before they are read: 9999999999 of them in an exponent would already be a huge power.
        exponent = token["exponent"]
        if exponent and (len(exponent) > len(str(MAX_EXPONENT)) + 1 or abs(int(exponent)) > MAX_EXPONENT):
            raise ToolError(f"{token[0]} is too large or too small")
        at = token.end()


def _value(node: ast.expr, text: str, depth: int) -> Number:
    if depth == 0:
        raise ToolError(f"the expression is nested more than {MAX_DEPTH} deep")
    match node:
        case ast.Constant() if text[node.col_offset] in ".0123456789":
            return checked(Fraction(text[node.col_offset : node.end_col_offset]))
        case ast.Name():
            return _constant(node.id)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            value = _value(node.operand, text, depth - 1)
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BinOp(op=operator):
            left, right = _value(node.left, text, depth - 1), _value(node.right, text, depth - 1)
            return checked(_combined(operator, left, right))
        case ast.Call(func=ast.Name(id=name)) if not node.keywords:
            return _call(name, [_value(argument, text, depth - 1) for argument in node.args])
        case ast.Tuple():
            raise ToolError("a comma only parts the arguments of a function; write 1000 for 1,000")
        case _:
            raise ToolError(f"{_short(text[node.col_offset : node.end_col_offset])} is no arithmetic")


def _combined(operator: ast.operator, left: Number, right: Number) -> Number:
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
        case _:  # of the operators of Python only ** is left that the tokens allow
            return power(left, right)


def _constant(name: str) -> Number:
    if name not in CONSTANTS:
        raise ToolError(f"{name!r} is no number; known are {', '.join(CONSTANTS)}")
    return CONSTANTS[name]


def _call(name: str, arguments: list[Number]) -> Number:
    function = FUNCTIONS.get(name)
    if function is None:
        raise ToolError(f"there is no function {name!r}; known are {', '.join(FUNCTIONS)}")
    least, most = function.arity
    if not least <= len(arguments) <= most:
        raise ToolError(f"{name} takes {function.takes}, and {len(arguments)} were given")
    try:
        return checked(function.compute(*arguments))
    except ValueError as error:
        given = ", ".join(map(shown, arguments))
        raise ToolError(f"{name}({given}) has no real value") from error


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
