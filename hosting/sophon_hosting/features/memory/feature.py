"""Feature declaration: long-term memory and the files of the workspace."""

from collections.abc import Iterator
from typing import Final

from sophon.services import Services
from sophon_hosting.background_loops import BackgroundLoop
from sophon_hosting.features.feature import Feature
from sophon_hosting.leadership.membership import GroupMembership


def _list_loops(services: Services, membership: GroupMembership) -> Iterator[BackgroundLoop]:
    from sophon_hosting.features.memory.missing_vectors import MemoryVectors  # lazy: only a host needs it

    if (vectors := MemoryVectors(services)).are_used:
        yield BackgroundLoop(vectors.run_forever, "vectors")


FEATURE: Final = Feature(
    "memory",
    page="memory.md",
    operations=["sophon_hosting.features.memory.operations", "sophon_hosting.features.memory.workspace_operations"],
    loops=_list_loops,
)
