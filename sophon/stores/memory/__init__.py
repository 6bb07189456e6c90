"""The in-memory store: the default of an embedded chain; its data ends with the process."""

from sophon.stores.memory.store import InMemoryStore

__all__ = ["InMemoryStore"]
