"""Model catalog: context window, prices and capabilities by model name, from the table that litellm ships.

Without litellm the table is that of the version with which this package was made, in `OWN_TABLE`.
"""

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import orjson

from sophon.models.model import DEFAULT_CONTEXT_WINDOW, ModelInfo

LITELLM = "litellm"
"""Provider type whose model names carry the provider as a prefix, as in `groq/llama-3.3-70b`."""

OLLAMA_TYPES = frozenset({"ollama", "ollama_chat"})

DEFAULT_CAPABILITIES = frozenset({"function_calling", "streaming"})
"""Capabilities assumed for a model that the table does not list; the settings can override them."""

_TEXT_MODES = frozenset({"chat", "responses", "completion", "embedding"})
_ALIASES = {"google": "gemini", "azure_openai": "azure", "vertex": "vertex_ai", "bedrock": "bedrock_converse"}
MODELS_FILE = "model_prices_and_context_window_backup.json"
"""File of litellm with its table."""
_TYPES_FILE = "provider_endpoints_support_backup.json"
_FIELDS = frozenset(
    {
        *("litellm_provider", "mode", "max_input_tokens", "max_tokens", "max_output_tokens"),
        *("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost"),
        "supports_native_streaming",
    }
)

OWN_TABLE = Path(__file__).parent / "model_table" / "models.json"
"""The table for those without litellm: of the providers that are called without it. `make generate` writes it."""


def lookup_model_info(
    provider_type: str, model_name: str, *, provider_id: str | None = None, overrides: Mapping[str, Any] | None = None
) -> ModelInfo:
    """Return the facts about a model: the table's entry, then `overrides` (fields of ModelInfo) from the settings.

    A model that the table does not list has a window of 128,000 tokens, function calling, streaming and no prices.
    Unless `overrides` say otherwise it is `hosted`, except on Ollama. An entry of another provider with the same model
    name is not used, because windows and prices differ. `provider_id` is the id in the settings, by default the type.
    The table is read once, on the first call (30 ms), so call this at startup and not during a turn. Raises TypeError
    for an override that is not a field.
    """
    entry = _find_entry(provider_type.lower(), model_name)
    fields = _fields_from_entry(entry) if entry is not None else dict[str, Any](capabilities=DEFAULT_CAPABILITIES)
    runner = model_name.partition("/")[0] if provider_type.lower() == LITELLM else provider_type.lower()
    fields["hosting"] = "local" if runner in OLLAMA_TYPES else "hosted"
    if overrides and "prices" in overrides:
        fields.pop("cached_input_price", None)  # it belongs to the table's prices
    fields |= overrides or {}
    fields["capabilities"] = _normalise_capabilities(fields)
    return ModelInfo(model_name, provider_id or provider_type, **fields)


def list_catalog_models(provider_type: str) -> list[str]:
    """Return the names of a provider's models for conversations in the table, in its order."""
    family = _ALIASES.get(provider_type, provider_type)
    entries = _load_table(_litellm_folder()).items()
    own = [key for key, each in entries if each.get("litellm_provider") == family and each.get("mode") == "chat"]
    return list(dict.fromkeys(key.removeprefix(f"{family}/") for key in own))


def _find_entry(provider_type: str, name: str) -> Mapping[str, Any] | None:
    family, table = _ALIASES.get(provider_type, provider_type), _load_table(_litellm_folder())
    # Ollama's tags name a size or a quantisation; the table often knows the model only without one.
    for spelling in dict.fromkeys((name, name.partition(":")[0])):
        for key in (f"{provider_type}/{spelling}", f"{family}/{spelling}", spelling):
            entry = table.get(key)
            if entry is not None and _belongs_to_provider(entry, provider_type, family, key):
                return entry
    return None


def _belongs_to_provider(entry: Mapping[str, Any], provider_type: str, family: str, key: str) -> bool:
    owner = str(entry.get("litellm_provider", ""))
    return provider_type == LITELLM or key.startswith(f"{family}/") or owner in (provider_type, family)


def _fields_from_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    capabilities = {
        key.removeprefix("supports_") for key, value in entry.items() if key.startswith("supports_") and value is True
    }
    streams = entry.get("supports_native_streaming") is not False
    prices = _prices_per_million(entry.get("input_cost_per_token"), entry.get("output_cost_per_token"))
    return {
        "context_window": _first_positive_int(entry, "max_input_tokens", "max_tokens") or DEFAULT_CONTEXT_WINDOW,
        "max_output_tokens": _first_positive_int(entry, "max_output_tokens"),
        "function_calling": "function_calling" in capabilities,
        "streaming": streams,
        "capabilities": frozenset(capabilities),
        "prices": prices,
        "cached_input_price": _cached_price_per_million(entry.get("cache_read_input_token_cost"), prices),
    }


def _prices_per_million(cost_in: object, cost_out: object) -> tuple[float, float] | None:
    """Convert USD per token to USD per million tokens."""
    if not isinstance(cost_in, int | float) or not isinstance(cost_out, int | float):
        return None
    return round(cost_in * 1e6, 6), round(cost_out * 1e6, 6)


def _cached_price_per_million(cost: object, prices: tuple[float, float] | None) -> float | None:
    """Return the price of cached input; None if it is unknown, or not between nothing and the input price."""
    if prices is None or not isinstance(cost, int | float) or not 0 < cost * 1e6 <= prices[0]:
        return None
    return round(cost * 1e6, 6)


def _first_positive_int(entry: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = entry.get(key)
        if isinstance(value, int | float) and value > 0:
            return int(value)
    return None


def _normalise_capabilities(fields: Mapping[str, Any]) -> frozenset[str]:
    """Return the capabilities, with `function_calling` and `streaming` set according to their own fields."""
    names = set(cast(frozenset[str], fields.get("capabilities", frozenset())))
    for name in ("function_calling", "streaming"):
        (names.add if fields.get(name, True) else names.discard)(name)
    return frozenset(names)


def is_litellm_installed() -> bool:
    """Return whether the extra `litellm` is there; it is not imported, which takes seconds."""
    return _litellm_folder() is not None


def list_table_types() -> frozenset[str]:
    """Return the provider types of litellm."""
    folder = _litellm_folder()
    path = None if folder is None else Path(folder, _TYPES_FILE)
    if path is None or not path.is_file():
        return frozenset(_load_own_file()["types"])
    return frozenset(orjson.loads(path.read_bytes()).get("providers", {}))


def shrink_table(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the entries of litellm's table for models that take text, with the fields that are read here."""
    kept = {name: entry for name, entry in entries.items() if entry.get("mode") in _TEXT_MODES}
    return {
        name: {key: value for key, value in entry.items() if key in _FIELDS or (key.startswith("supports_") and value)}
        for name, entry in kept.items()
    }


@cache
def _litellm_folder() -> str | None:
    spec = importlib.util.find_spec(LITELLM)
    return spec.submodule_search_locations[0] if spec is not None and spec.submodule_search_locations else None


@cache
def _load_table(folder: str | None) -> Mapping[str, Mapping[str, Any]]:
    path = None if folder is None else Path(folder, MODELS_FILE)
    if path is None or not path.is_file():
        own: dict[str, dict[str, Any]] = _load_own_file()["models"]
        return own
    entries: dict[str, dict[str, Any]] = orjson.loads(path.read_bytes())
    return {name: entry for name, entry in entries.items() if entry.get("mode") in _TEXT_MODES}


@cache
def _load_own_file() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(OWN_TABLE.read_bytes())
    return found
