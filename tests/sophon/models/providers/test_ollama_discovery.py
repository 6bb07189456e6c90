import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sophon.models.providers.discovery import discover_providers
from sophon.models.providers.ollama_discovery import (
    MAX_BODY_BYTES,
    READ_BYTES,
    OllamaModel,
    list_ollama_models,
    parse_model_details,
    resolve_ollama_url,
    select_preferred_model,
)
from tests.tables import table

SHOWN = {
    "gemma": {"capabilities": ["completion"], "model_info": {"gemma.context_length": 8192}},
    "qwen:7b": {"capabilities": ["completion", "tools"], "model_info": {"qwen.context_length": 32768, "x": 1}},
}


class Ollama(ThreadingHTTPServer):
    """A server in its own thread, as the search blocks the loop; `models` are listed."""

    models: list[dict[str, Any]]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Ollama

    def do_GET(self) -> None:
        self._send({"models": self.server.models} if self.path == "/api/tags" else None)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._send(SHOWN.get(asked["model"]) if self.path == "/api/show" else None)

    def _send(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(200 if body is not None else 404)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def ollama() -> Iterator[Ollama]:
    with Ollama(("127.0.0.1", 0), Handler) as server:
        server.models = [{"name": "nomic-embed-text"}, {"name": "gemma"}, {"name": "qwen:7b"}]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def silent() -> Iterator[str]:
    """Somebody who takes a connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@table(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8000", "http://127.0.0.1:8000"),
        ("box", "http://box:11434"),
        ("box:8000/", "http://box:8000"),
        ("http://box", "http://box:11434"),
        ("https://box", "https://box:443"),
        ("https://box:8000/path", "https://box:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("::1:99999:x[", "http://127.0.0.1:11434"),
        ("box:port", "http://127.0.0.1:11434"),
    ],
)
def test_an_address_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    assert resolve_ollama_url({"OLLAMA_HOST": host}) == address


def test_models_that_write_are_found_with_what_they_can(ollama: Ollama) -> None:
    found = list_ollama_models(f"http://{ollama.address}", timeout_seconds=30)
    assert found == [OllamaModel("gemma", False, 8192), OllamaModel("qwen:7b", True, 32768)]
    assert select_preferred_model(found).name == "qwen:7b"


def test_a_server_of_an_older_age_says_nothing_of_abilities() -> None:
    assert parse_model_details("m", {}) == OllamaModel("m")


def test_somebody_who_never_answers_costs_no_more_than_the_budget(silent: str) -> None:
    begun = time.monotonic()
    assert list_ollama_models(f"http://{silent}", timeout_seconds=0.2) == []
    assert time.monotonic() - begun < 20, "a generous bound: it would otherwise hang"


def test_without_a_key_a_local_ollama_is_the_provider(ollama: Ollama) -> None:
    (found,) = discover_providers({"OLLAMA_HOST": ollama.address})
    assert (found.provider_id, found.settings.models) == ("ollama", ("qwen:7b",))
    assert (found.settings.function_calling, found.settings.context_window) == (True, 32768)
    assert found.reason == f"Ollama answers at http://{ollama.address} (from OLLAMA_HOST) and has qwen:7b"


def test_the_window_that_ollama_was_told_counts_more_than_the_models(ollama: Ollama) -> None:
    (found,) = discover_providers({"OLLAMA_HOST": ollama.address, "OLLAMA_CONTEXT_LENGTH": "4096"})
    assert found.settings.context_window == 4096


def test_an_ollama_without_models_is_passed_over(ollama: Ollama) -> None:
    ollama.models = []
    (found,) = discover_providers({"OLLAMA_HOST": ollama.address})
    assert found.provider_id == "offline"
    assert found.reason == f"no key is set, and no Ollama with a model answers at http://{ollama.address}"


def test_a_list_without_end_is_given_up() -> None:
    sent = 0

    class Endless(Handler):
        def do_GET(self) -> None:
            nonlocal sent
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while sent < 100 * MAX_BODY_BYTES:
                    self.wfile.write(b" " * READ_BYTES)
                    sent += READ_BYTES

    with Ollama(("127.0.0.1", 0), Endless) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        assert list_ollama_models(f"http://{server.address}", timeout_seconds=30) == []
        server.shutdown()
    assert sent < 4 * MAX_BODY_BYTES
