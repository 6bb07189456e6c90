"""Feature declaration: sessions: their list, histories and branches, and the search index of messages."""

from collections.abc import Iterator
from typing import Final

from sophon.services import Services
from sophon_hosting.background_loops import BackgroundLoop
from sophon_hosting.features.feature import Feature
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.contract import host_store


def _list_loops(services: Services, membership: GroupMembership) -> Iterator[BackgroundLoop]:
    from sophon_hosting.features.sessions.message_indexing import MessageIndexing  # lazy: only a host needs it

    yield BackgroundLoop(
        MessageIndexing(host_store(services).message_search, services.clock).run_forever, "message_index"
    )


FEATURE: Final = Feature(
    "sessions",
    operations=[
        "sophon_hosting.features.sessions.operations",
        "sophon_hosting.features.sessions.history_operations",
        "sophon_hosting.features.sessions.branch_operations",
    ],
    loops=_list_loops,
)
