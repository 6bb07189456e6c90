"""Services of the features of a host, by typed key: an operation finds the service of its feature here."""

from typing import Generic, TypeVar

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import CompositionError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class ServiceKey(Generic[T]):
    """Typed key of a service: `services.find(KEY)`. `name` is unique among the keys of all features."""

    name: str


class FeatureServices:
    """Services that the features of a host have created; a feature that is switched off has none.

    The host has it from its construction on, and the features that are created later add to it.
    """

    def __init__(self) -> None:
        self._services: dict[str, object] = {}

    def find(self, key: ServiceKey[T]) -> T | None:
        """Return the service; None if its feature is switched off, or this process does not have it."""
        return self._services.get(key.name)  # type: ignore[return-value]  # reason: `add` takes the type of the key

    def add(self, key: ServiceKey[T], service: T) -> None:
        """Add a service. Raises CompositionError for a key that has one."""
        if key.name in self._services:
            raise CompositionError(f"two services have the key {key.name!r}")
        self._services[key.name] = service
