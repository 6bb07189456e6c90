"""Generated tables of the documentation: rows and types as Markdown, and the place of a table in its page."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Union, get_args, get_origin

from sophon.messages import Usage

_TYPE_NAMES: Final[Mapping[Any, str]] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true` or `false`",
    Usage: "usage",
    NoneType: "`null`",
    Any: "anything",
}


def render_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a cell may contain any text of one line."""
    title = "|" + "|".join(f" {each} " if each else " " for each in header) + "|"
    cells = ([each.replace("|", "\\|") for each in row] for row in rows)
    return "\n".join([title, "|---" * len(header) + "|", *(f"| {' | '.join(row)} |" for row in cells)])


def replace_table(page: str, name: str, table: str) -> str:
    """Return the page with a table between `<!-- generated: NAME -->` and `<!-- end: NAME -->`.

    Raises ValueError if the page has not exactly one such place.
    """
    begin, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page must have one place for the table {name!r}: {begin}, and {end} after it")
    return re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n\n{table.strip()}\n\n{end}", page, flags=re.DOTALL)


def describe_type(hint: Any) -> str:
    """Return a type in words."""
    if hint in _TYPE_NAMES:
        return _TYPE_NAMES[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Annotated, NotRequired):
        return describe_type(inner[0])
    if origin is Literal:
        return " or ".join(f"`{item}`" for item in inner)
    if origin in (Union, UnionType):
        return " or ".join(describe_type(item) for item in inner)
    if origin is not None and issubclass(origin, Mapping):
        return "object"
    return "list" if origin is not None else "text"


def docstring(owner: type) -> str:
    """Return the docstring of a class as one line."""
    return " ".join((owner.__doc__ or "").split())
