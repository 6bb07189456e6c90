"""Substitution of `{{name}}` in the arguments of a call; values may be nested, names of arguments stay as they are.

Nothing is substituted in what was substituted. `\\{{name}}` stands for the text `{{name}}`.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern

MAX_EXPANDED_CHARACTERS: Final = 200_000
"""Characters that the variables of one call may add to its arguments."""

MAX_DEPTH: Final = 100
"""Nesting of arguments that is looked at."""

_VARIABLE = lazy_pattern(r"(\\)?\{\{([A-Za-z_][A-Za-z0-9_]{0,63})\}\}")


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a value of a call's arguments, which are JSON, is an object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value of a call's arguments is a list."""
    return isinstance(value, list)


@dataclass(frozen=True, slots=True)
class Substitution:
    """The arguments with all variables replaced, or why that cannot be done: then no argument is replaced.

    `unknown` are the names that no variable has, each once; `is_too_long` and `is_too_deep` tell of exceeded limits.
    """

    arguments: Mapping[str, Any]
    unknown: tuple[str, ...] = ()
    is_too_long: bool = False
    is_too_deep: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether the call must not run."""
        return bool(self.unknown) or self.is_too_long or self.is_too_deep


def substitute_variables(arguments: Mapping[str, Any], values: Mapping[str, str]) -> Substitution:
    """Replace each `{{name}}` in the texts of the arguments by the value of that name."""
    substituter = _Substituter(values)
    replaced = {name: substituter.replace(value, 0) for name, value in arguments.items()}
    found = Substitution(
        replaced if substituter.has_replaced else arguments,
        tuple(dict.fromkeys(substituter.unknown)),
        substituter.room < 0,
        substituter.is_too_deep,
    )
    return Substitution(arguments, found.unknown, found.is_too_long, found.is_too_deep) if found.has_failed else found


class _Substituter:
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.unknown: list[str] = []
        self.room = MAX_EXPANDED_CHARACTERS
        self.has_replaced = self.is_too_deep = False

    def replace(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(self._find, value) if "{{" in value else value
        if depth >= MAX_DEPTH:
            self.is_too_deep = self.is_too_deep or is_mapping(value) or is_list(value)
            return value
        if is_mapping(value):
            return {name: self.replace(each, depth + 1) for name, each in value.items()}
        if is_list(value):
            return [self.replace(each, depth + 1) for each in value]
        return value

    def _find(self, match: Any) -> str:
        escape, name = match.groups()
        if escape:
            self.has_replaced = True
            return str(match[0][1:])
        value = self._values.get(name)
        if value is None:
            self.unknown.append(name)
            return str(match[0])
        self.room -= len(value)
        if self.room < 0:
            return ""
        self.has_replaced = True
        return value
