"""What is known of a model by its name: window, prices and capabilities, from the table that litellm ships."""

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import orjson

from sophon.models.model import DEFAULT_CONTEXT_WINDOW, ModelInfo

ANY_PROVIDER = "litellm"
"""The provider type whose model names carry their own prefix, as in `groq/llama-3.3-70b`."""

UNKNOWN_CAPABILITIES = frozenset({"function_calling", "streaming"})
"""What a model that nobody knows is taken to be able to: the common case. Say otherwise in the settings."""

_TEXT_MODES = frozenset({"chat", "responses", "completion"})
_ALIASES = {"google": "gemini", "azure_openai": "azure", "vertex": "vertex_ai", "bedrock": "bedrock_converse"}
_FILE = "model_prices_and_context_window_backup.json"


def model_info(
    provider_type: str, model_name: str, *, provider_id: str | None = None, overrides: Mapping[str, Any] | None = None
) -> ModelInfo:
    """What the table says, then what the operator says: `overrides` are fields of ModelInfo.

    A model that the table does not know has a window of 128,000 tokens, function calling, streaming and no prices
    (its cost counts as 0). Of one that it knows by name only under another provider nothing is taken over: windows
    and prices differ. `provider_id` is the id in the settings, by default the type. The table is read once, on the
    first call (30 ms): call it while starting, not in a turn. Raises TypeError for an override that is no field.
    """
    entry = _entry(provider_type.lower(), model_name)
    fields = _known(entry) if entry is not None else dict[str, Any](capabilities=UNKNOWN_CAPABILITIES)
    fields |= overrides or {}
    fields["capabilities"] = _consistent(fields)
    return ModelInfo(model_name, provider_id or provider_type, **fields)


def _entry(provider_type: str, name: str) -> Mapping[str, Any] | None:
    family = _ALIASES.get(provider_type, provider_type)
    # Ollama's tags name a size or a quantisation; the table often knows the model only without one.
    for spelling in dict.fromkeys((name, name.partition(":")[0])):
        for key in (f"{provider_type}/{spelling}", f"{family}/{spelling}", spelling):
            entry = _table().get(key)
            if entry is not None and _is_of(entry, provider_type, family, key):
                return entry
    return None


def _is_of(entry: Mapping[str, Any], provider_type: str, family: str, key: str) -> bool:
    owner = str(entry.get("litellm_provider", ""))
    return provider_type == ANY_PROVIDER or key.startswith(f"{family}/") or owner in (provider_type, family)


def _known(entry: Mapping[str, Any]) -> dict[str, Any]:
    capabilities = {
        key.removeprefix("supports_") for key, value in entry.items() if key.startswith("supports_") and value is True
    }
    streams = entry.get("supports_native_streaming") is not False
    return {
        "context_window": _count(entry, "max_input_tokens", "max_tokens") or DEFAULT_CONTEXT_WINDOW,
        "max_output_tokens": _count(entry, "max_output_tokens"),
        "function_calling": "function_calling" in capabilities,
        "streaming": streams,
        "capabilities": frozenset(capabilities),
        "prices": _prices(entry.get("input_cost_per_token"), entry.get("output_cost_per_token")),
    }


def _prices(cost_in: object, cost_out: object) -> tuple[float, float] | None:
    """USD per token as USD per million of them."""
    if not isinstance(cost_in, int | float) or not isinstance(cost_out, int | float):
        return None
    return round(cost_in * 1e6, 6), round(cost_out * 1e6, 6)


def _count(entry: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = entry.get(key)
        if isinstance(value, int | float) and value > 0:
            return int(value)
    return None


def _consistent(fields: Mapping[str, Any]) -> frozenset[str]:
    """The two capabilities that have a field of their own say what the field says."""
    names = set(cast(frozenset[str], fields.get("capabilities", frozenset())))
    for name in ("function_calling", "streaming"):
        (names.add if fields.get(name, True) else names.discard)(name)
    return frozenset(names)


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return {}
    path = Path(spec.submodule_search_locations[0], _FILE)
    if not path.is_file():
        return {}
    entries: dict[str, dict[str, Any]] = orjson.loads(path.read_bytes())
    return {name: entry for name, entry in entries.items() if entry.get("mode") in _TEXT_MODES}
