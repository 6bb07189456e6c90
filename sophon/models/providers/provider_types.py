"""Provider types: the built-in ones, and those of litellm with their aliases."""

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from sophon.models.catalog import LITELLM

_PROVIDER_LIST_FILE = "provider_endpoints_support_backup.json"

OPENAI = "openai"
OPENAI_COMPATIBLE = "openai_compatible"
ANTHROPIC = "anthropic"
OLLAMA = "ollama"
OFFLINE = "offline"
PYTHON = "python"
BUILTIN_TYPES = frozenset({OPENAI, OPENAI_COMPATIBLE, ANTHROPIC, OLLAMA, OFFLINE, PYTHON, LITELLM})
"""The types with an adapter of their own, and `litellm`, which delegates everything to litellm."""
LITELLM_TYPE_ALIASES = {
    "google": "gemini",
    "azure_openai": "azure",
    "vertex": "vertex_ai",
    "cohere": "cohere_chat",
    "together": "together_ai",
    "fireworks": "fireworks_ai",
}
"""Type name in the settings -> the name that litellm uses for it."""


def to_litellm_type(provider_type: str) -> str:
    """Return litellm's name for a provider type."""
    return LITELLM_TYPE_ALIASES.get(provider_type, provider_type)


@cache
def list_provider_types() -> frozenset[str]:
    """Return every type that a provider may have; empty if litellm's list of providers cannot be found."""
    spec = importlib.util.find_spec("litellm")
    folders = spec.submodule_search_locations if spec is not None else None
    path = Path(folders[0], _PROVIDER_LIST_FILE) if folders else None
    if path is None or not path.is_file():
        return frozenset()
    providers: dict[str, Any] = orjson.loads(path.read_bytes()).get("providers", {})
    return BUILTIN_TYPES | set(providers) | set(LITELLM_TYPE_ALIASES)
