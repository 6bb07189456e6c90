"""Mistakes in a middleware's source: a `next` that nobody awaits, and a hook outside of a `with`."""

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator
from types import CodeType

from sophon.chain.order_constraints import unwrap_partial

BLOCKS = ("call_layer", "model_hook", "tool_check", "result_hook")
"""Methods of a context that return a context manager."""


def discards_next(middleware: object) -> bool:
    """Return whether a middleware calls next and drops the coroutine: `next(ctx)` without `await`."""
    return any(
        isinstance(node, ast.Expr | ast.Return) and _calls(node.value, name)
        for name, tree in _read(middleware)
        for node in _walk(tree)
    )


def find_unused_block(middleware: object) -> str:
    """Return the method of the context that is called as a statement, though it acts in a `with` only; else ""."""
    for _, tree in _read(middleware):
        for node in _walk(tree):
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in BLOCKS:
                return call.func.attr
    return ""


def get_code(middleware: object) -> CodeType | None:
    """Return the code object that runs when the middleware is called; None if it is not written in Python."""
    middleware = unwrap_partial(middleware)
    function: object = middleware if hasattr(middleware, "__code__") else type(middleware).__call__
    code: object = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _read(middleware: object) -> Iterator[tuple[str, ast.AsyncFunctionDef]]:
    """Yield the name of the parameter `next` and the function, if its source can be read."""
    code = get_code(middleware)
    tree = None if code is None else _parse(code)
    if tree is not None and len(names := [each.arg for each in (*tree.args.posonlyargs, *tree.args.args)]) >= 2:
        is_method = names[0] == "self"
        yield names[2 if is_method and len(names) > 2 else 1], tree


@functools.lru_cache(maxsize=256)
def _parse(code: CodeType) -> ast.AsyncFunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        return None
    first = tree.body[0] if tree.body else None
    return first if isinstance(first, ast.AsyncFunctionDef) else None


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions within it."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            yield from _walk(node)


def _calls(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
