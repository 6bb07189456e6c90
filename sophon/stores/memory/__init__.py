"""A store that lives as long as the process: the default of an embedded chain."""

from sophon.stores.memory.store import InMemoryStore

__all__ = ["InMemoryStore"]
