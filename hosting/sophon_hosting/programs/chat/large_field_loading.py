"""Loads the large fields of events from a host: an event contains their beginning, and a URL for the whole."""

from collections.abc import Mapping
from typing import Any, cast

import httpx
import orjson

from sophon.events import ApprovalRequested, StreamChunk, event_type
from sophon_hosting.operations.client import HostError, authorization

TIMEOUT_SECONDS = 60.0
TRIES = 3


class LargeFieldLoader:
    """Loads the large fields of events over HTTP, with the token of the connection."""

    def __init__(self, url: str, token: str | None) -> None:
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"), headers=authorization(token), timeout=TIMEOUT_SECONDS, trust_env=False
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def load(self, event: str, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the payload with whole fields. Raises HostError if one that is required cannot be loaded.

        None for a chunk whose text cannot be loaded: the reply that it belongs to has ended, and follows whole. Any
        other field keeps its beginning.
        """
        references = cast(Mapping[str, Mapping[str, Any]], data.get("large") or {})
        whole = dict(data)
        for name, reference in references.items():
            try:
                text = await self._fetch(str(reference["url"]))
            except HostError:
                if event == ApprovalRequested.wire_name or event_type(event).is_final:
                    raise  # what is decided, or the answer
                if event == StreamChunk.wire_name:
                    return None
                continue
            whole[name] = orjson.loads(text) if reference.get("json") else text
        return whole

    async def _fetch(self, url: str) -> str:
        reason = ""
        for _ in range(TRIES):
            try:
                response = await self._client.get(url)
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
                continue
            if response.is_success:
                text = response.json()["text"]
                if text is None:
                    raise HostError("no_answer", "the reply that was streamed has ended")
                return str(text)
            reason = f"status {response.status_code}"
            if response.status_code < 500:
                break
        raise HostError("no_answer", f"a large text could not be loaded from the host: {reason}")
