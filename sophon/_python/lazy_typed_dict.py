"""TypedDicts whose runtime form is made when their JSON Schema is. It buys 80 µs per class of each start of a host."""

from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema
    from typing_extensions import TypedDict as TypedDict

else:

    class TypedDict:
        """Stand-in for `typing.TypedDict` as a base class: to type checkers it is that, to pydantic a type of the same
        fields. It is no function, and its classes cannot be called: a value is a plain dictionary.
        """

        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
            return handler.generate_schema(to_typed_dict(cls))


_BUILT: dict[type, Any] = {}


def to_typed_dict(stand_in: type) -> Any:
    """Return the real TypedDict of a class, with its name, its docstring and its fields, the inherited ones first."""
    found = _BUILT.get(stand_in)
    if found is None:
        import typing_extensions  # lazy: pydantic needs its TypedDict up to Python 3.11

        make: Any = typing_extensions.TypedDict
        found = make(stand_in.__name__, get_type_hints(stand_in, include_extras=True))
        for name in ("__doc__", "__module__", "__qualname__"):
            setattr(found, name, getattr(stand_in, name))
        _BUILT[stand_in] = found
    return found


def is_typed_dict(kind: object) -> bool:
    """Return whether a type is a class of this module's `TypedDict`."""
    base: Any = TypedDict
    return isinstance(kind, type) and base in kind.__mro__
