"""Embedder factory: create the embedder of the settings; nothing is imported or asked before its first use."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from sophon.clock import Clock
from sophon.errors import BudgetExceeded, ProviderUnavailable, SettingsError, SophonError
from sophon.extras import EXTRA_BY_PACKAGE, install_command
from sophon.learning.contract import Embedder, EmbedderWrapper, Vector
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import DEFAULT_DIMENSIONS, HashingEmbedder
from sophon.models.embeddings.metered_embedder import MeteredEmbedder
from sophon.models.model import ModelInfo
from sophon.settings import EmbeddingsSettings

log = logging.getLogger("sophon")

PAUSE_SECONDS: Final = 60.0
"""Time without a request after a failure: a turn must not wait for the same time-out each time."""


def create_cached_embedder(
    settings: EmbeddingsSettings,
    environment: Mapping[str, str],
    clock: Clock,
    *,
    default_prices: tuple[float, float] | None = None,
) -> CachingEmbedder:
    """Create the embedder of the settings with its cache, metered, and with its failures named once.

    `default_prices` are those of a hosted model whose price is unknown.

    Raises SettingsError for a key that is missing, and for the extra that the embedder needs.
    """
    _check_packages(settings)
    embedder = create_embedder(settings, environment)
    if isinstance(embedder, HashingEmbedder):  # it cannot fail
        return CachingEmbedder(embedder)
    info = describe_model(settings, default_prices)
    metered = embedder if info is None else MeteredEmbedder(embedder, info)
    return CachingEmbedder(FailureGuard(metered, clock.monotonic))


def _check_packages(settings: EmbeddingsSettings) -> None:
    """Raise SettingsError if a package is missing: numpy compares vectors, wherever they come from."""
    for package in ("numpy", "litellm") if settings.provider == "LiteLlm" else ("numpy",):
        if find_spec(package) is None:
            missing = f"{settings.provider} needs {package}, which is not installed"
            raise SettingsError([f"Embeddings.Provider: {missing}; {install_command(EXTRA_BY_PACKAGE[package])}"])


def describe_model(settings: EmbeddingsSettings, default_prices: tuple[float, float] | None = None) -> ModelInfo | None:
    """Return the facts by which an embedding model is metered; None for one that runs in this process."""
    provider = settings.provider_id
    if provider is None:
        return None
    from sophon.models.catalog import lookup_model_info  # lazy: it reads the table of prices
    from sophon.models.providers.free_private_servers import is_private_server

    kind, name = settings.provider.lower(), settings.model or ""
    found = lookup_model_info(kind, name)
    prices = found.prices if settings.base_url is None else None  # another server has other prices
    hosting = "private" if is_private_server(kind, settings.base_url) else found.hosting
    if settings.price is not None:
        prices = (settings.price, 0.0)
    elif prices is None and hosting == "hosted":
        prices = default_prices
    return replace(found, provider=provider, prices=prices, hosting=hosting)


def create_embedder(settings: EmbeddingsSettings, environment: Mapping[str, str]) -> Embedder:
    """Create the embedder of the section Embeddings. Raises SettingsError for a key that is missing."""
    if settings.provider == "Hashing":
        return HashingEmbedder(settings.dimensions or DEFAULT_DIMENSIONS)
    if settings.provider == "SentenceTransformers":
        from sophon.models.embeddings.sentence_transformers_embedder import (  # lazy, as all others
            DEFAULT_MODEL,
            SentenceTransformersEmbedder,
        )

        return SentenceTransformersEmbedder(settings.model or DEFAULT_MODEL)
    key = _find_key(settings, environment)
    model = settings.model or ""
    if settings.provider == "LiteLlm":
        from sophon.models.embeddings.litellm_embedder import LiteLLMEmbedder

        return LiteLLMEmbedder(model, key=key, base_url=settings.base_url, dimensions=settings.dimensions)
    from sophon.models.embeddings.http_embedder import OllamaEmbedder, OpenAIEmbedder

    if settings.provider == "Ollama":
        from sophon.models.providers.ollama_discovery import resolve_ollama_url

        url = settings.base_url or resolve_ollama_url(environment)
        return OllamaEmbedder(model, url, key=key, dimensions=settings.dimensions)
    from sophon.models.providers.openai.model import OPENAI_URL

    url = settings.base_url or OPENAI_URL
    return OpenAIEmbedder(model, url, key=key, dimensions=settings.dimensions)


def _find_key(settings: EmbeddingsSettings, environment: Mapping[str, str]) -> str | None:
    if settings.key is None:
        customary = environment.get("OPENAI_API_KEY", "").strip() if settings.provider == "OpenAi" else ""
        # A server with a BaseUrl of its own does not get the key of OpenAI.
        return customary or None if settings.base_url is None else None
    key = settings.key.resolve(environment)
    if key is None:
        raise SettingsError([f"Embeddings.Key: the {settings.key.source_description} is not set"])
    return key


class FailureGuard(EmbedderWrapper):
    """Embedder that asks another one, and after its failure raises ProviderUnavailable at once for `PAUSE_SECONDS`.

    Each kind of failure is logged once until a request has succeeded. `monotonic` returns seconds.
    """

    def __init__(self, embedder: Embedder, monotonic: Callable[[], float]) -> None:
        super().__init__(embedder)
        self._monotonic = monotonic
        self._paused_until: float | None = None
        self._logged: set[str] = set()

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

    def _note_failure(self, error: SophonError) -> None:
        self._paused_until = self._monotonic() + PAUSE_SECONDS
        if error.code not in self._logged:
            self._logged.add(error.code)
            log.warning("no embeddings from %s, so nothing is found by similarity: %s", self.name, error)
