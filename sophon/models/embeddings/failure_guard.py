"""Failure guard of an embedder: a failing one is named once in the log, and not asked again for a minute."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from sophon.errors import BudgetExceeded, ProviderUnavailable, SophonError
from sophon.learning.contract import Embedder, Vector

log = logging.getLogger("sophon")

PAUSE_SECONDS: Final = 60.0
"""Time without a request after a failure: a turn must not wait for the same time-out each time."""


class FailureGuard:
    """Embedder that asks another one, and after its failure raises ProviderUnavailable at once for `PAUSE_SECONDS`.

    Each kind of failure is logged once until a request has succeeded. `monotonic` returns seconds.
    """

    def __init__(self, embedder: Embedder, monotonic: Callable[[], float]) -> None:
        self._embedder, self._monotonic = embedder, monotonic
        self._paused_until: float | None = None
        self._logged: set[str] = set()

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """See `Embedder.dimensions`."""
        return self._embedder.dimensions

    @property
    def info(self) -> object:
        """`MeteredEmbedder.info` of the embedder, if it is metered."""
        return getattr(self._embedder, "info", None)

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """See `Embedder.embed`. Raises ModelError."""
        if self._paused_until is not None and self._monotonic() < self._paused_until:
            raise ProviderUnavailable(f"the embedder {self.name} has failed and is not asked for a minute")
        try:
            vectors = await self._embedder.embed(texts)
        except BudgetExceeded:  # it says nothing about the embedder
            raise
        except SophonError as error:
            self._note_failure(error)
            raise
        self._paused_until = None
        self._logged.clear()
        return vectors

    async def aclose(self) -> None:
        """Close the connections of the embedder, if it has any."""
        close = getattr(self._embedder, "aclose", None)
        if close is not None:
            await close()

    def _note_failure(self, error: SophonError) -> None:
        self._paused_until = self._monotonic() + PAUSE_SECONDS
        if error.code not in self._logged:
            self._logged.add(error.code)
            log.warning("no embeddings from %s, so nothing is found by similarity: %s", self.name, error)
