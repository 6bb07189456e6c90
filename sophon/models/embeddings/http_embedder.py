"""Embedders over HTTP: OpenAI's embeddings API and servers compatible with it, and Ollama's native one.

Source: OpenAI API reference, Create embeddings; Ollama API documentation, Generate embeddings.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sophon.errors import ProviderUnavailable
from sophon.learning.contract import Vector
from sophon.models.embeddings.embedding_batches import (
    MAX_REPLY_BYTES,
    TIMEOUT_SECONDS,
    order_by_index,
    parse_vectors,
    split_batches,
)
from sophon.models.gateway.error_classification import classify_error
from sophon.models.providers.byte_timeout import ByteTimeout
from sophon.models.providers.http.endpoint import Endpoint, endpoint_from_url, extend_path
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.ollama.errors import error_from_response
from sophon.models.providers.provider_http_error import http_error_from_response
from sophon.models.providers.third_party_json import as_count, as_mapping


class HttpEmbedder:
    """Base of the two: sends batches one after the other, and knows its dimensions from the first reply on.

    `dimensions` are asked for where the model can shorten its vectors; None leaves the number to the model, and then it
    is 0 until the first reply.
    """

    provider = ""

    def __init__(
        self,
        model: str,
        url: str,
        *,
        key: str | None = None,
        dimensions: int | None = None,
        transport: HttpTransport | None = None,
    ) -> None:
        self.model, self.name = model, f"{self.provider}/{model}" + (f"@{dimensions}" if dimensions else "")
        self.dimensions = dimensions or 0
        self._asked_dimensions, self._key = dimensions, key
        self._endpoint: Endpoint = endpoint_from_url(url)
        self._transport = transport or HttpTransport()

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """See `Embedder.embed`. Raises ModelError."""
        return (await self.embed_counted(texts))[0]

    async def embed_counted(self, texts: Sequence[str]) -> tuple[Sequence[Vector], int | None]:
        """Return the vectors, and the tokens that the server reports for all of them, if it does. Raises ModelError."""
        vectors: list[Vector] = []
        counts: list[int | None] = []
        for batch in split_batches(texts):
            try:
                data = await self._post(self._build_body(batch))
                vectors += parse_vectors(self._read_vectors(data), len(batch), self._endpoint.shown_url)
                counts.append(self._read_tokens(data))
            except Exception as error:
                raise classify_error(error, self.provider, self.model) from error
        if vectors:
            self.dimensions = len(vectors[0])
        known = [count for count in counts if count is not None]
        return vectors, sum(known) if len(known) == len(counts) else None

    async def aclose(self) -> None:
        """Close the connections, unless somebody else uses them."""
        await self._transport.release(self)

    async def _post(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        async with (
            ByteTimeout(TIMEOUT_SECONDS),
            self._transport.post(
                self, self._endpoint, orjson.dumps(body), headers, max_reply_bytes=MAX_REPLY_BYTES
            ) as response,
        ):
            data = await response.read()
            if response.status >= 300:
                raise self._to_error(response.status, response.headers, data)
        try:
            return as_mapping(orjson.loads(data))
        except orjson.JSONDecodeError as error:
            raise ProviderUnavailable(f"{self._endpoint.shown_url} sent no JSON") from error

    def _build_body(self, texts: Sequence[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "input": texts}
        return body | {"dimensions": self._asked_dimensions} if self._asked_dimensions else body

    def _read_vectors(self, data: Mapping[str, Any]) -> object:
        raise NotImplementedError

    def _read_tokens(self, data: Mapping[str, Any]) -> int | None:
        return as_count(as_mapping(data.get("usage")).get("prompt_tokens"))

    def _to_error(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        return http_error_from_response(status, headers, body)


class OpenAIEmbedder(HttpEmbedder):
    """Embedder over `POST {base_url}/embeddings`."""

    provider = "openai"

    def __init__(self, model: str, base_url: str, **options: Any) -> None:
        super().__init__(model, extend_path(base_url, "/embeddings"), **options)

    def _build_body(self, texts: Sequence[str]) -> dict[str, Any]:
        return super()._build_body(texts) | {"encoding_format": "float"}

    def _read_vectors(self, data: Mapping[str, Any]) -> object:
        return order_by_index(data.get("data"))


class OllamaEmbedder(HttpEmbedder):
    """Embedder over Ollama's `POST {base_url}/api/embed`; a `/v1` or `/api` at the end of `base_url` is ignored."""

    provider = "ollama"

    def __init__(self, model: str, base_url: str, **options: Any) -> None:
        root = base_url.rstrip("/")
        for ending in ("/v1", "/api"):
            root = root.removesuffix(ending)
        super().__init__(model, extend_path(root, "/api/embed"), **options)

    def _build_body(self, texts: Sequence[str]) -> dict[str, Any]:
        return super()._build_body(texts) | {"truncate": True}

    def _read_vectors(self, data: Mapping[str, Any]) -> object:
        return data.get("embeddings")

    def _read_tokens(self, data: Mapping[str, Any]) -> int | None:
        return as_count(data.get("prompt_eval_count"))

    def _to_error(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        return error_from_response(status, headers, body, model=self.model, shown_url=self._endpoint.shown_url)
