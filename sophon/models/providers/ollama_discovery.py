"""Ollama discovery: server address, models and preferred model. Source: Ollama API, `/api/tags` and `/api/show`."""

import json
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from sophon._python.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from http.client import HTTPResponse

DEFAULT_PORT = 11434
DISCOVERY_TIMEOUT_SECONDS = 0.3
"""Time limit of the discovery, which runs at every start without a key."""
MAX_DESCRIBED_MODELS = 5
"""Number of models whose details are requested with `/api/show`."""
MAX_BODY_BYTES = 4 * 1024 * 1024
"""Bytes of a response of the server that are read: a list of ten thousand models."""
READ_BYTES = 64 * 1024
HOST_VARIABLE = "OLLAMA_HOST"
"""Environment variable with the server's address."""
CONTEXT_LENGTH_VARIABLE = "OLLAMA_CONTEXT_LENGTH"
"""Environment variable with the context length that the server is configured for, in tokens."""


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """An installed Ollama model; None means unknown. `context_window` is in tokens."""

    name: str
    function_calling: bool | None = None
    context_window: int | None = None


def resolve_ollama_url(environment: Mapping[str, str]) -> str:
    """Return Ollama's base URL: OLLAMA_HOST in any form that Ollama accepts (`host`, `:port`, a URL), else loopback.

    The wildcard addresses 0.0.0.0 and :: are replaced by loopback.
    """
    text = environment.get(HOST_VARIABLE, "").strip().strip("\"'")
    scheme, separator, rest = text.rpartition("://")
    scheme = scheme if separator else "http"
    authority, port = rest.partition("/")[0], DEFAULT_PORT
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port or {"http": DEFAULT_PORT, "https": 443}.get(scheme, DEFAULT_PORT)
        host = parts.hostname or "127.0.0.1"
    except ValueError:
        host = "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - only replaced, never bound
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def read_context_length(environment: Mapping[str, str]) -> int | None:
    """Return the context length that the server is configured for, in tokens; None if the environment has none."""
    text = environment.get(CONTEXT_LENGTH_VARIABLE, "").strip()
    return int(text) or None if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def list_ollama_models(base_url: str, timeout_seconds: float = DISCOVERY_TIMEOUT_SECONDS) -> list[OllamaModel]:
    """Return the text models of the server at an address, newest first; empty if it does not answer in time.

    The requests run in a daemon thread that is abandoned after the time limit, because name resolution has no timeout.
    """
    search = _ModelSearch(base_url, time.monotonic() + timeout_seconds)
    thread = threading.Thread(target=search.run, name="sophon-ollama", daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    return list(search.found.values())


def select_preferred_model(models: list[OllamaModel]) -> OllamaModel:
    """Return the first model that supports function calling, else the first."""
    return next((model for model in models if model.function_calling), models[0])


class _ModelSearch:
    def __init__(self, address: str, deadline: float) -> None:
        self._parts = urlsplit(address)
        self._deadline = deadline
        self.found: dict[str, OllamaModel] = {}

    def run(self) -> None:
        try:
            listed = self._request("GET", "/api/tags")
            names = [str(each["name"]) for each in listed.get("models") or () if _generates_text(each)]
            self.found = {name: OllamaModel(name) for name in names}
            for name in names[:MAX_DESCRIBED_MODELS]:
                # A new dictionary each time, because the calling thread may be reading the old one.
                self.found = {
                    **self.found,
                    name: parse_model_details(name, self._request("POST", "/api/show", {"model": name})),
                }
        except Exception:  # noqa: BLE001 - no server, or not an Ollama; the models found so far are used
            return

    def _request(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        import http.client  # lazy: needed only without an API key

        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=remaining)
        try:
            connection.request(method, path, body=json.dumps(body) if body is not None else None)
            response = connection.getresponse()
            text = _read_body(response, self._deadline)
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise ValueError(f"HTTP {response.status}")
        return cast(Mapping[str, Any], json.loads(text))


def _read_body(response: "HTTPResponse", deadline: float) -> bytes:
    """Read a body up to the deadline and `MAX_BODY_BYTES`. Raises TimeoutError, ValueError.

    In pieces as they arrive: the timeout of a socket holds for each, and a server that drips would occupy the thread.
    """
    body = bytearray()
    while piece := response.read1(READ_BYTES):
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise ValueError(f"the body is larger than {MAX_BODY_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
    return bytes(body)


def parse_model_details(name: str, details: Mapping[str, Any]) -> OllamaModel:
    """Parse the response of `/api/show` for a model."""
    capabilities = details.get("capabilities")
    facts: Mapping[str, Any] = details.get("model_info") or {}
    lengths = [value for key, value in facts.items() if key.endswith(".context_length") and isinstance(value, int)]
    return OllamaModel(name, "tools" in capabilities if capabilities else None, lengths[0] if lengths else None)


def _generates_text(listed: Mapping[str, Any]) -> bool:
    """Exclude embedding models."""
    details: Mapping[str, Any] = listed.get("details") or {}
    return "embed" not in str(listed["name"]) and "bert" not in str(details.get("family"))
