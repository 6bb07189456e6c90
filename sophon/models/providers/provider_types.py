"""Provider types: those with an adapter of their own, and those that litellm alone serves, with their aliases."""

from collections.abc import Mapping

from sophon.models.catalog import LITELLM, list_table_types

OPENAI = "openai"
OPENAI_COMPATIBLE = "openai_compatible"
ANTHROPIC = "anthropic"
OLLAMA = "ollama"
OFFLINE = "offline"
PYTHON = "python"
BUILTIN_TYPES = frozenset({OPENAI, OPENAI_COMPATIBLE, ANTHROPIC, OLLAMA, OFFLINE, PYTHON, LITELLM})
"""The types with an adapter of their own, and `litellm`, which delegates everything to litellm."""
COMPATIBLE_URLS: Mapping[str, str] = {
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "mistral": "https://api.mistral.ai/v1",
    "groq": "https://api.groq.com/openai/v1",
    "deepseek": "https://api.deepseek.com",
    "xai": "https://api.x.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "together_ai": "https://api.together.xyz/v1",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "perplexity": "https://api.perplexity.ai",
    "cerebras": "https://api.cerebras.ai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "zai": "https://api.z.ai/api/paas/v4",
    "dashscope": "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "minimax": "https://api.minimax.io/v1",
}
"""Types of providers that speak OpenAI's chat completions API, with their base URLs; none of them needs litellm."""
HTTP_TYPES = frozenset({OPENAI, OPENAI_COMPATIBLE, ANTHROPIC, OLLAMA, *COMPATIBLE_URLS})
"""Provider types with an adapter over the shared transport."""
LITELLM_TYPE_ALIASES = {
    "google": "gemini",
    "azure_openai": "azure",
    "vertex": "vertex_ai",
    "cohere": "cohere_chat",
    "together": "together_ai",
    "fireworks": "fireworks_ai",
}
"""Type name in the settings -> the name in the table of models, which is litellm's."""
_OWN_NAMES = frozenset({"groq/compound", "groq/compound-mini"})
"""Models whose name at the provider begins with the name of the provider's type."""


def to_litellm_type(provider_type: str) -> str:
    """Return litellm's name for a provider type."""
    return LITELLM_TYPE_ALIASES.get(provider_type, provider_type)


def needs_litellm(provider_type: str) -> bool:
    """Return whether litellm alone serves a provider type; that of a plug-in counts as one."""
    return provider_type == LITELLM or to_litellm_type(provider_type) not in BUILTIN_TYPES | HTTP_TYPES


def to_wire_model(provider_type: str, name: str) -> str:
    """Return a model's name for the provider: without the type as its prefix, as litellm takes it.

    OpenRouter has models of its own: `openrouter/auto` stays, `openrouter/openai/gpt-5` does not.
    """
    bare = name.removeprefix(f"{provider_type}/")
    is_own = name in _OWN_NAMES or (provider_type == "openrouter" and "/" not in bare)
    return name if is_own or provider_type not in COMPATIBLE_URLS else bare


def list_provider_types() -> frozenset[str]:
    """Return every type that a provider may have, those of plug-ins apart."""
    return BUILTIN_TYPES | HTTP_TYPES | list_table_types() | set(LITELLM_TYPE_ALIASES)
