"""`dataclasses.dataclass` whose methods are compiled when they are first used.

The standard decorator compiles up to seven methods of a class at import: half a millisecond for a frozen class with
slots, of which this package has hundreds. A process uses few of them. It buys 132 of 342 ms of the import of a chain
and 243 of 780 ms of that of a host. Fields, slots, `replace`, `asdict`, signatures and pattern matching are those of
the standard library.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, field, fields
from reprlib import recursive_repr
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")

new_list: Callable[[], list[Any]] = list
"""Default factory of an empty list of any type, without a Python call as `lambda: []` has."""
new_dict: Callable[[], dict[Any, Any]] = dict
"""Default factory of an empty dict."""
new_set: Callable[[], set[Any]] = set
"""Default factory of an empty set."""


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


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def slotted_dataclass(cls: type[T]) -> type[T]:
    """Make a slotted dataclass that is frozen for type checkers and not at run time.

    A frozen dataclass sets each field with `object.__setattr__`, which makes construction three to four times slower.
    Only for values that the framework alone creates; messages and tool calls, which user code holds, are really frozen.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class _DefaultFactory:
    """Default of a parameter whose field has a default factory; shown in signatures as in the standard library."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _DefaultFactory()


def _compile_init(cls: type[Any], frozen: bool) -> FunctionType:
    """Compile `__init__`; in a frozen class with slots it sets the slots directly, which takes half the time."""
    every = fields(cls)
    scope: dict[str, Any] = {"_FACTORY": _FACTORY}
    body = [line for each in every for line in _assignment(cls, each, frozen, scope)]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    positional = [_parameter(each, scope) for each in every if each.init and not each.kw_only]
    keyword = [_parameter(each, scope) for each in every if each.init and each.kw_only]
    parameters = [*positional, *(["*", *keyword] if keyword else [])]
    method = _compile(cls, "__init__", parameters, body or ["pass"], scope)
    method.__annotations__ = {each.name: each.type for each in every if each.init} | {"return": None}
    return method


def _compile_eq(cls: type[Any], _frozen: bool) -> FunctionType:
    """Compile `__eq__`, which compares the fields of two instances of the same class."""
    names = [each.name for each in fields(cls) if each.compare]
    body = [
        "if other.__class__ is self.__class__:",
        f"    return {_tuple_of('self', names)} == {_tuple_of('other', names)}",
        "return NotImplemented",
    ]
    return _compile(cls, "__eq__", ["other"], body, {})


def _compile_hash(cls: type[Any], _frozen: bool) -> FunctionType:
    """Compile `__hash__` over the fields that are compared, unless a field says otherwise."""
    names = [each.name for each in fields(cls) if (each.compare if each.hash is None else each.hash)]
    return _compile(cls, "__hash__", [], [f"return hash({_tuple_of('self', names)})"], {})


def _parameter(field: "Field[Any]", scope: dict[str, Any]) -> str:
    if field.default is not MISSING:
        scope[f"_default_{field.name}"] = field.default
        return f"{field.name}=_default_{field.name}"
    return f"{field.name}=_FACTORY" if field.default_factory is not MISSING else field.name


def _assignment(cls: type[Any], field: "Field[Any]", frozen: bool, scope: dict[str, Any]) -> list[str]:
    """Return the line that sets a field, none if it has no value; adds what the line refers to to `scope`."""
    name = field.name
    slot: object = getattr(cls, name, None)
    if field.default_factory is not MISSING:
        scope[f"_make_{name}"] = field.default_factory
        value = f"_make_{name}()" + (f" if {name} is _FACTORY else {name}" if field.init else "")
    elif field.init:
        value = name
    elif field.default is not MISSING and isinstance(slot, MemberDescriptorType):
        scope[f"_default_{name}"] = field.default
        value = f"_default_{name}"
    else:
        return []
    if not frozen:
        return [f"self.{name} = {value}"]
    if isinstance(slot, MemberDescriptorType):
        scope[f"_set_{name}"] = slot.__set__
        return [f"_set_{name}(self, {value})"]
    scope["_set"] = object.__setattr__
    return [f"_set(self, {name!r}, {value})"]


def _tuple_of(instance: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{instance}.{name}, " for name in names) + ")"


def _compile(cls: type[Any], name: str, parameters: list[str], body: list[str], scope: dict[str, Any]) -> FunctionType:
    lines = [f"def create({', '.join(scope)}):", f"  def {name}({', '.join(['self', *parameters])}):"]
    lines += [f"    {line}" for line in body]
    lines.append(f"  return {name}")
    made: dict[str, Any] = {}
    # In the globals of the class's module, in which annotations that are texts are resolved.
    names = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    exec("\n".join(lines), names, made)  # noqa: S102 - the text is made of field names, which are identifiers
    method = cast(FunctionType, made["create"](**scope))
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    method.__module__ = cls.__module__
    return method


_COMPILERS: dict[str, Callable[[type[Any], bool], FunctionType]] = {
    "__init__": _compile_init,
    "__eq__": _compile_eq,
    "__hash__": _compile_hash,
}
