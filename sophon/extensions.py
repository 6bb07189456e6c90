"""Typed room on a context for what a middleware must keep of a turn, and whether it survives a suspend."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sophon.errors import StateError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Key(Generic[T]):
    """Names a value of one type on the context: `ctx.put(KEY, value)`, `ctx.get(KEY)`.

    With `dump` and `load` (value to JSON data and back) the value belongs to the turn's state and survives suspend and
    resume; without them it lives as long as the turn runs. `name` must be unique among all keys.
    """

    name: str
    dump: Callable[[T], Any] | None = None
    load: Callable[[Any], T] | None = None


@dataclass(slots=True, eq=False)
class Packed:
    """A value that came back with a state and that nobody has asked for yet, still as JSON data."""

    data: Any


class Extensions:
    """The values, by key. Shared by a turn and its tool-call branches."""

    __slots__ = ("_keys", "_values")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._keys: dict[str, Key[Any]] = {}

    def get(self, key: Key[T]) -> T | None:
        """The value, or None. Raises StateError for one that came back with a state and is none."""
        value = self._values.get(key.name)
        if type(value) is not Packed:
            return value
        if key.load is None:
            return None
        try:
            unpacked = key.load(value.data)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"{key.name} cannot be read back: {type(error).__name__}: {error}") from error
        self.put(key, unpacked)
        return unpacked

    def put(self, key: Key[T], value: T) -> None:
        """Keep a value in place of the one before."""
        self._values[key.name] = value
        self._keys[key.name] = key

    def to_json(self) -> dict[str, Any]:
        """What survives, as plain data."""
        data: dict[str, Any] = {}
        for name, value in self._values.items():
            if type(value) is Packed:
                data[name] = value.data
            elif (dump := self._keys[name].dump) is not None and value is not None:
                data[name] = dump(value)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Extensions":
        """The inverse of `to_json`; values are unpacked when they are first asked for."""
        extensions = cls()
        extensions._values = {name: Packed(value) for name, value in data.items()}
        return extensions
