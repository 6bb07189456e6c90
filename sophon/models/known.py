"""Providers that are known by name: the variables their keys are in by custom, and a model to begin with."""

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from sophon.models.catalog import ANY_PROVIDER

OPENAI = "openai"
COMPATIBLE = "openai_compatible"
OLLAMA = "ollama"
OFFLINE = "offline"
PYTHON = "python"

OWN_TYPES = frozenset({OPENAI, COMPATIBLE, OLLAMA, OFFLINE, PYTHON, ANY_PROVIDER})
"""The types that need no help of litellm's, and the one that leaves all to it."""

PREFIXES = {
    "google": "gemini",
    "azure_openai": "azure",
    "vertex": "vertex_ai",
    "cohere": "cohere_chat",
    "together": "together_ai",
    "fireworks": "fireworks_ai",
}
"""Types under a name that litellm does not know, and its own."""

_FILE = "provider_endpoints_support_backup.json"


@dataclass(frozen=True, slots=True)
class Known:
    """A provider with its type, the variables that may hold its key (the first that is set counts), and a model."""

    id: str
    type: str
    variables: tuple[str, ...]
    model: str


KNOWN: tuple[Known, ...] = (
    Known("openai", OPENAI, ("OPENAI_API_KEY",), "gpt-5-mini"),
    Known("anthropic", "anthropic", ("ANTHROPIC_API_KEY",), "claude-sonnet-4-6"),
    Known("gemini", "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini-flash-latest"),
    Known("mistral", "mistral", ("MISTRAL_API_KEY",), "mistral-medium-latest"),
    Known("groq", "groq", ("GROQ_API_KEY",), "openai/gpt-oss-120b"),
    Known("deepseek", "deepseek", ("DEEPSEEK_API_KEY",), "deepseek-v4-flash"),
    Known("xai", "xai", ("XAI_API_KEY",), "grok-4.3-latest"),
    Known("openrouter", "openrouter", ("OPENROUTER_API_KEY", "OR_API_KEY"), "openai/gpt-5-mini"),
    Known("cohere", "cohere_chat", ("COHERE_API_KEY", "CO_API_KEY"), "command-a-03-2025"),
    Known("together", "together_ai", ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"), "openai/gpt-oss-120b"),
    Known(
        "fireworks",
        "fireworks_ai",
        ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
        "accounts/fireworks/models/kimi-k3",
    ),
    Known("perplexity", "perplexity", ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"), "sonar-pro"),
    Known("cerebras", "cerebras", ("CEREBRAS_API_KEY",), "gpt-oss-120b"),
    Known("moonshot", "moonshot", ("MOONSHOT_API_KEY",), "kimi-k3"),
    Known("zai", "zai", ("ZAI_API_KEY",), "glm-5.2"),
    Known("dashscope", "dashscope", ("DASHSCOPE_API_KEY",), "qwen-plus"),
    Known("minimax", "minimax", ("MINIMAX_API_KEY",), "MiniMax-M3"),
)
"""In the order in which they are asked when the environment holds several keys. Models: litellm's table of 1.106."""


def known(provider_type: str) -> Known | None:
    """What is known of a type, under any of its names."""
    name = litellm_type(provider_type)
    return next((each for each in KNOWN if each.type == name), None)


def litellm_type(provider_type: str) -> str:
    """The type as litellm calls it."""
    return PREFIXES.get(provider_type, provider_type)


@cache
def known_types() -> frozenset[str]:
    """Every type a provider may have; empty if litellm's list of providers is not to be found."""
    spec = importlib.util.find_spec("litellm")
    path = Path(spec.submodule_search_locations[0], _FILE) if spec and spec.submodule_search_locations else None
    if path is None or not path.is_file():
        return frozenset()
    providers: dict[str, Any] = orjson.loads(path.read_bytes()).get("providers", {})
    return OWN_TYPES | set(providers) | set(PREFIXES) | {each.type for each in KNOWN}
