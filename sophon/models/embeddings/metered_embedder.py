"""Metered embedder: the calls of an embedding model count against the same limits as those of other models."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sophon.errors import ModelTimeout
from sophon.learning.contract import Embedder, EmbedderWrapper, Vector
from sophon.messages import Usage
from sophon.models.call_cost import cost_micros
from sophon.models.model import CURRENT_METER, ModelInfo, ModelRequest

BYTES_PER_TOKEN = 4
"""Of a text whose tokens nobody has counted."""


@runtime_checkable
class CountingEmbedder(Protocol):
    """Embedder that knows what its provider has counted."""

    async def embed_counted(self, texts: Sequence[str]) -> tuple[Sequence[Vector], int | None]:
        """Return the vectors, and the input tokens that the provider reports; None if it reports none."""
        ...


class MeteredEmbedder(EmbedderWrapper):
    """Embedder that reserves and settles each call with the meter of the turn, if there is one (`metering`).

    `info` names model and provider, and has the price. The reservation estimates the tokens; the usage has those that
    the provider reports. A call that failed costs nothing, unless it timed out.
    """

    def __init__(self, embedder: Embedder, info: ModelInfo) -> None:
        super().__init__(embedder)
        self._info = info

    @property
    def info(self) -> ModelInfo:
        """Model and provider that are asked, with the price."""
        return self._info

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """See `Embedder.embed`. Raises ModelError, and BudgetExceeded of the meter."""
        meter = CURRENT_METER.get()
        if meter is None:
            return await self._embedder.embed(texts)
        estimated = estimate_tokens(texts)
        request = ModelRequest([], (), self.info, "embedding", max_tokens=0, input_tokens=estimated)
        reservation = await meter.reserve(request, estimated)
        try:
            vectors, reported = await self._embed(texts)
        except ModelTimeout:
            await meter.settle(reservation, request, self._usage(estimated))
            raise
        except BaseException:
            await meter.release(reservation)
            raise
        await meter.settle(reservation, request, self._usage(estimated if reported is None else reported))
        return vectors

    async def _embed(self, texts: Sequence[str]) -> tuple[Sequence[Vector], int | None]:
        if isinstance(self._embedder, CountingEmbedder):
            return await self._embedder.embed_counted(texts)
        return await self._embedder.embed(texts), None

    def _usage(self, tokens: int) -> Usage:
        info = self.info
        return Usage(tokens, 0, cost_micros(info, tokens, 0), unpriced_tokens=tokens if info.is_cost_unknown else 0)


def find_metered_provider(embedder: Embedder) -> str | None:
    """Return the id by which the calls of an embedder are metered; None if they are not."""
    info = getattr(embedder, "info", None)
    return info.provider if isinstance(info, ModelInfo) else None


def estimate_tokens(texts: Sequence[str]) -> int:
    """Return about how many tokens the texts have, at least one each."""
    return sum(len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN + 1 for text in texts)
