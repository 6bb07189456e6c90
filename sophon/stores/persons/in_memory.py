"""Forgetting a person in the in-memory store."""

from collections.abc import Callable, Mapping

from sophon.stores.usage.contract import Period


class InMemoryPersonStore:
    """See `PersonStore`. `parts` delete the rows of a person, each of one kind, and return how many."""

    def __init__(self, parts: Mapping[str, Callable[[str, Period], int]]) -> None:
        self._parts = parts

    async def forget(self, person: str, current: Period) -> Mapping[str, int]:
        """See `PersonStore.forget`."""
        counts = {kind: forget(person, current) for kind, forget in self._parts.items()}
        return {kind: count for kind, count in counts.items() if count}
