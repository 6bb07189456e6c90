"""`dataclasses.dataclass` whose methods are compiled when they are first used.

The standard decorator compiles up to seven methods of a class at import: half a millisecond for a frozen class with
slots, of which this package has two hundred. A process uses few of them. Fields, slots, `replace`, `asdict`,
signatures and pattern matching are those of the standard library.
"""

import dataclasses
from collections.abc import Callable
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any

from sophon.dataclass_methods import compile_eq, compile_hash, compile_init

_COMPILERS: dict[str, Callable[[type[Any], bool], FunctionType]] = {
    "__init__": compile_init,
    "__eq__": compile_eq,
    "__hash__": compile_hash,
}


class CompiledMethod:
    """Descriptor that compiles a method of `owner` when it is first looked up, and is replaced by it."""

    __slots__ = ("_frozen", "_name", "_owner")

    def __init__(self, owner: type[Any], name: str, *, frozen: bool) -> None:
        self._owner = owner
        self._name = name
        self._frozen = frozen

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        method = _COMPILERS[self._name](self._owner, self._frozen)
        setattr(self._owner, self._name, method)
        return method.__get__(instance, owner)


def make_dataclass(cls: type[Any], *, frozen: bool, slots: bool, kw_only: bool, eq: bool, unsafe_hash: bool) -> Any:
    """Return `cls` as a dataclass; what it defines itself is kept, as by the standard decorator.

    A class that inherits from a frozen dataclass is left to the standard decorator, which checks what it inherits.
    """
    inherited: list[Any] = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    if any(base.__dataclass_params__.frozen for base in inherited):
        return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, eq=eq, unsafe_hash=unsafe_hash)(cls)
    own = frozenset(name for name, value in vars(cls).items() if value is not None)
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    hashable = unsafe_hash or (eq and frozen)
    for name, wanted in (("__init__", True), ("__eq__", eq), ("__hash__", hashable)):
        if wanted and name not in own:
            setattr(made, name, CompiledMethod(made, name, frozen=frozen))
    if eq and not hashable and "__hash__" not in own:
        made.__hash__ = None
    if "__repr__" not in own:
        made.__repr__ = _repr
    if frozen:
        made.__setattr__ = _refuse_assignment
        made.__delattr__ = _refuse_deletion
        made.__dataclass_params__.frozen = True
        if slots:  # copy and pickle would assign otherwise
            made.__getstate__ = _get_state
            made.__setstate__ = _set_state
    return made


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_assignment(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # type checkers see the standard decorator
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True, unsafe_hash=False):
        """Make a dataclass; the options are those of the standard decorator that this package uses."""
        options = {"frozen": frozen, "slots": slots, "kw_only": kw_only, "eq": eq, "unsafe_hash": unsafe_hash}
        return make_dataclass(cls, **options) if cls else lambda given: make_dataclass(given, **options)
