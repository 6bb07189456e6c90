"""Embedder over litellm: the embedding models of every provider that it knows."""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon.learning.contract import Vector
from sophon.models.embeddings.embedding_batches import TIMEOUT_SECONDS, order_by_index, parse_vectors, split_batches
from sophon.models.gateway.error_classification import classify_error
from sophon.models.providers.litellm.loader import acquire_clients, load_litellm, release_clients


class LiteLLMEmbedder:
    """Embedder that litellm selects by the prefix of the model's name (`voyage/voyage-3`, `gemini/text-embedding-004`).

    Without a key litellm reads the environment. `dimensions` as for `HttpEmbedder`. litellm's retries are disabled.
    """

    def __init__(
        self,
        model: str,
        *,
        key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
    ) -> None:
        self.model, self.name = model, f"litellm/{model}" + (f"@{dimensions}" if dimensions else "")
        self.dimensions = dimensions or 0
        self._options: dict[str, Any] = {
            "model": model,
            "api_key": key,
            "api_base": base_url,
            "timeout": TIMEOUT_SECONDS,
            "num_retries": 0,
            "max_retries": 0,
        }
        if dimensions:
            self._options["dimensions"] = dimensions

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """See `Embedder.embed`. Raises ModelError."""
        litellm = await load_litellm()
        acquire_clients(self)
        vectors: list[Vector] = []
        for batch in split_batches(texts):
            try:
                response: Any = await litellm.aembedding(input=batch, encoding_format="float", **self._options)
                data: list[Any] = list(response.data)
                data = [each if isinstance(each, Mapping) else each.model_dump() for each in data]
                vectors += parse_vectors(order_by_index(data), len(batch), self.model)
            except Exception as error:
                raise classify_error(error, "litellm", self.model) from error
        if vectors:
            self.dimensions = len(vectors[0])
        return vectors

    async def aclose(self) -> None:
        """Close litellm's connections if nobody else uses them."""
        await release_clients(self)
