"""Built-in tool `calculator`: exact arithmetic with bounded run time."""

from sophon.tools.tool import Risk, tool


@tool(
    deferred=True,
    risk=Risk.NONE,
    group="math",
    idempotent=True,
    tags=(
        *("math", "calculate", "calculation", "compute", "sum", "arithmetic", "add", "subtract", "multiply", "divide"),
        *("plus", "minus", "times", "percent", "percentage", "square root", "average"),
    ),
)
async def calculator(expression: str) -> str:
    """Work out an arithmetic expression: + - * / // % (remainder) ** and parentheses, pi, e, and the functions
    sqrt, abs, round, min, max, floor, ceil, log, log10, exp, sin, cos, tan (radians) and factorial.

    Args:
        expression: For example (1200 * 0.19) / 12 or round(sqrt(2), 4); no thousands separators, no units.
    """
    from sophon.builtin_tools.arithmetic_evaluator import evaluate_expression, format_number  # lazy: seldom used

    return format_number(evaluate_expression(expression))
