"""What doctor says about the embedder."""

import importlib.util
from typing import Any

import pytest

from sophon.settings import Settings
from sophon_hosting.programs.doctor.embedding_checks import check_embedder


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "Hashing, built in: compares words and their parts, and knows no meaning"),
        ({"Provider": "OpenAi", "Model": "m"}, "OpenAi: m"),
        ({"Provider": "Ollama", "Model": "m", "BaseUrl": "http://box:1"}, "Ollama: m at http://box:1"),
    ],
)
def test_the_embedder_is_named(values: dict[str, Any], text: str) -> None:
    found = check_embedder(Settings.from_mapping({"Embeddings": values}))
    assert (found.text, found.grade) == (text, "ok")


def test_a_local_model_that_is_not_installed_says_what_to_install() -> None:
    if importlib.util.find_spec("sentence_transformers") is not None:
        pytest.skip("sentence-transformers is installed")
    found = check_embedder(Settings.from_mapping({"Embeddings": {"Provider": "SentenceTransformers"}}))
    assert (found.grade, found.fix) == ("warning", 'pip install "sophon-agents[embeddings]"')
