"""Source text and compilation of the methods of `sophon.lazy_dataclass`, one method at a time."""

import sys
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from types import FunctionType, MemberDescriptorType
from typing import Any, cast


class _DefaultFactory:
    """Default of a parameter whose field has a default factory; shown in signatures as in the standard library."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _DefaultFactory()


def compile_init(cls: type[Any], frozen: bool) -> FunctionType:
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


def compile_eq(cls: type[Any], _frozen: bool) -> FunctionType:
    """Compile `__eq__`, which compares the fields of two instances of the same class."""
    names = [each.name for each in fields(cls) if each.compare]
    body = [
        "if other.__class__ is self.__class__:",
        f"    return {_tuple_of('self', names)} == {_tuple_of('other', names)}",
        "return NotImplemented",
    ]
    return _compile(cls, "__eq__", ["other"], body, {})


def compile_hash(cls: type[Any], _frozen: bool) -> FunctionType:
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
