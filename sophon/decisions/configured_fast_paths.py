"""Families of fast paths that settings add."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from sophon.decisions.fast_paths.arguments import Arguments
from sophon.decisions.fast_paths.families import FAMILIES, FastPathFamily
from sophon.security.linear_patterns import compile_linear, make_encodable

AddedPath: TypeAlias = tuple[str, str, Sequence[str], Mapping[str, str]]
"""Name, tool, expressions and argument templates of a family."""

_GROUP: Final = re.compile(r"\{(\w+)\}")


class AddedPattern:
    """Pattern of a whole message in RE2, whose matches are their named groups."""

    __slots__ = ("_compiled",)

    def __init__(self, expression: str) -> None:
        self._compiled = compile_linear(rf"\s*(?:{expression})\s*[.!?]*\s*", ignore_case=True)

    def fullmatch(self, text: str, /) -> Mapping[str, str] | None:
        """Return the named groups of the match, or None."""
        match = cast(Any, self._compiled.fullmatch(make_encodable(text)))
        return None if match is None else {name: value or "" for name, value in match.groupdict().items()}


def build_families(added: Sequence[AddedPath]) -> Sequence[FastPathFamily]:
    """Return the families of fast paths; added ones are tried first. Raises PatternError."""
    return (*map(_build_family, added), *FAMILIES)


def _build_family(path: AddedPath) -> FastPathFamily:
    name, tool, expressions, templates = path
    return FastPathFamily(name, tool, _fill(templates), own=[AddedPattern(each) for each in expressions])


def _fill(templates: Mapping[str, str]) -> Arguments:
    """Return the function that fills the templates with the named groups; an argument that stays empty is left out."""

    def fill(groups: Mapping[str, str]) -> Mapping[str, Any]:
        filled = {
            name: _GROUP.sub(lambda found: groups.get(found[1], "").strip(), template)
            for name, template in templates.items()
        }
        return {name: value for name, value in filled.items() if value}

    return fill
