"""A local Ollama: where it is, and which model of it to use. Source: Ollama API, `GET /api/tags`, `POST /api/show`."""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

DEFAULT_PORT = 11434
BUDGET_SECONDS = 0.3
"""All the time that looking for it may take: it happens at every start without a key."""
MODELS_ASKED = 5
"""How many of its models are asked what they can."""
HOST = "OLLAMA_HOST"
CONTEXT_LENGTH = "OLLAMA_CONTEXT_LENGTH"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that is there; None is not known. `context_window` is in tokens."""

    name: str
    function_calling: bool | None = None
    context_window: int | None = None


def ollama_address(environment: Mapping[str, str]) -> str:
    """Where Ollama listens: OLLAMA_HOST in any of the forms that Ollama takes (`host`, `:port`, a URL), else loopback.

    The address that means every interface to a server means loopback to a client.
    """
    text = environment.get(HOST, "").strip().strip("\"'")
    scheme, separator, rest = text.rpartition("://")
    scheme = scheme if separator else "http"
    place, port = rest.partition("/")[0], DEFAULT_PORT
    try:
        parts = urlsplit(f"//{place}")
        port = parts.port or {"http": DEFAULT_PORT, "https": 443}.get(scheme, DEFAULT_PORT)
        host = parts.hostname or "127.0.0.1"
    except ValueError:
        host = "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - never bound, only replaced
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def local_models(address: str, budget_seconds: float = BUDGET_SECONDS) -> list[LocalModel]:
    """The models at an address, those that write text, the newest first; empty if nobody answers in time.

    A thread asks, which nobody waits for beyond the budget: resolving a name knows no time limit.
    """
    search = _Search(address, time.monotonic() + budget_seconds)
    thread = threading.Thread(target=search.run, name="sophon-ollama", daemon=True)
    thread.start()
    thread.join(budget_seconds)
    return list(search.found.values())


def preferred(models: list[LocalModel]) -> LocalModel:
    """The first that calls functions, else the first."""
    return next((model for model in models if model.function_calling), models[0])


class _Search:
    def __init__(self, address: str, deadline: float) -> None:
        self._parts = urlsplit(address)
        self._deadline = deadline
        self.found: dict[str, LocalModel] = {}

    def run(self) -> None:
        try:
            listed = self._ask("GET", "/api/tags")
            names = [str(each["name"]) for each in listed.get("models") or () if _writes(each)]
            self.found = {name: LocalModel(name) for name in names}
            for name in names[:MODELS_ASKED]:
                # A new dictionary each time: the other thread may be reading the old one.
                self.found = {**self.found, name: described(name, self._ask("POST", "/api/show", {"model": name}))}
        except Exception:  # noqa: BLE001 - nobody there, or somebody who is no Ollama; what was found until now counts
            return

    def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        import http.client  # only who has no key needs it

        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=left)
        try:
            connection.request(method, path, body=json.dumps(body) if body is not None else None)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise ValueError(f"HTTP {response.status}")
        return cast(Mapping[str, Any], json.loads(text))


def described(name: str, shown: Mapping[str, Any]) -> LocalModel:
    """What `/api/show` says of a model."""
    abilities = shown.get("capabilities")
    facts: Mapping[str, Any] = shown.get("model_info") or {}
    lengths = [value for key, value in facts.items() if key.endswith(".context_length") and isinstance(value, int)]
    return LocalModel(name, "tools" in abilities if abilities else None, lengths[0] if lengths else None)


def _writes(listed: Mapping[str, Any]) -> bool:
    """Models for embeddings write nothing."""
    details: Mapping[str, Any] = listed.get("details") or {}
    return "embed" not in str(listed["name"]) and "bert" not in str(details.get("family"))
