"""Typed per-turn values of middlewares on the context, and their serialisation when a turn is suspended."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import StateError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Key(Generic[T]):
    """Typed key of a value on the context: `ctx.put(KEY, value)`, `ctx.get(KEY)`.

    With `dump` and `load` (value to JSON data and back) the value is part of the turn's state and survives suspend and
    resume; without them it is lost on suspend. `name` must be unique among all keys.
    """

    name: str
    dump: Callable[[T], Any] | None = None
    load: Callable[[Any], T] | None = None


@dataclass(slots=True, eq=False)
class SerializedValue:
    """A value restored from a state and not yet loaded, as JSON data."""

    data: Any


class Extensions:
    """Values by key, shared by a turn and its tool-call branches."""

    __slots__ = ("dumps", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        """The values by the names of their keys; a restored one that was not read yet is a SerializedValue."""
        self.dumps: dict[str, Callable[[Any], Any]] | None = None
        """How to serialise the values that survive a suspension, by the names of their keys; None for no such value."""

    def get(self, key: Key[T]) -> T | None:
        """Return the value, or None. Raises StateError if a restored value cannot be loaded."""
        value = self.values.get(key.name)
        if type(value) is not SerializedValue:
            return value
        if key.load is None:
            return None
        try:
            loaded = key.load(value.data)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"{key.name} cannot be read back: {type(error).__name__}: {error}") from error
        self.put(key, loaded)
        return loaded

    def put(self, key: Key[T], value: T) -> None:
        """Set the value of `key`, replacing any previous one."""
        self.values[key.name] = value
        if key.dump is not None:
            if self.dumps is None:
                self.dumps = {}
            self.dumps[key.name] = key.dump

    def to_json(self) -> dict[str, Any]:
        """Return the values that have a `dump`, as JSON-serialisable data."""
        data: dict[str, Any] = {}
        dumps = self.dumps or {}
        for name, value in self.values.items():
            if type(value) is SerializedValue:
                data[name] = value.data
            elif value is not None and (dump := dumps.get(name)) is not None:
                data[name] = dump(value)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Extensions":
        """Parse the output of `to_json`; each value is loaded on first access."""
        extensions = cls()
        extensions.values = {name: SerializedValue(value) for name, value in data.items()}
        return extensions
