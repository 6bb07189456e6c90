"""Vectors of memory entries that have none: made in the background, while or after an embedder has failed."""

import logging
from typing import Final

from sophon.errors import SophonError
from sophon.models.model import metering
from sophon.services import Services
from sophon_hosting.store.contract import host_store
from sophon_middlewares.outer.budget.embedding_meter import EmbeddingMeter

log = logging.getLogger("sophon")

PAUSE_SECONDS: Final = 1.0
"""Pause between two parts, so that a large import leaves the embedder to the turns."""

FIRST_RETRY_SECONDS: Final = 60.0
LAST_RETRY_SECONDS: Final = 3600.0
"""Pauses after failures, which double."""


class MemoryVectors:
    """Makes missing vectors, 64 at a time, metered as usage of no session. It waits while none is missing."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def are_used(self) -> bool:
        """Whether memory is searched by vectors, too. Asked of the settings first: without, no embedder is made."""
        memory, embeddings = self._services.settings.memory, self._services.settings.embeddings
        if not memory.enabled or memory.embedder is None:
            return False
        return (memory.embedder, embeddings.provider) != ("Auto", "Hashing") and self._services.memory.has_vectors

    async def run_forever(self) -> None:
        """Make vectors until cancelled."""
        services, retry = self._services, FIRST_RETRY_SECONDS
        while True:
            try:
                with metering(EmbeddingMeter(host_store(services).usage, services.settings.budget, services.clock)):
                    count = await services.memory.embed_missing()
                pause, retry = PAUSE_SECONDS, FIRST_RETRY_SECONDS
                if count:
                    log.info("%d memory entries have got a vector", count)
            except SophonError as error:
                log.debug("vectors of memory entries could not be made, trying again in %g s: %s", retry, error)
                pause, retry = retry, min(2 * retry, LAST_RETRY_SECONDS)
            await services.clock.sleep(pause)
