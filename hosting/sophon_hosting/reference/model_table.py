"""The table of models for those without litellm, made from litellm's own: one model per line."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from sophon.models.catalog import LITELLM, MODELS_FILE, list_table_types, shrink_table
from sophon.models.providers.provider_types import HTTP_TYPES


def render_model_table() -> str:
    """Return the content of `OWN_TABLE`: litellm's types, and the models of the providers that are called without it.

    Raises FileNotFoundError if litellm is not installed.
    """
    spec = importlib.util.find_spec(LITELLM)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the table of models is made from that of litellm, which is not installed")
    path = Path(spec.submodule_search_locations[0], MODELS_FILE)
    table: dict[str, dict[str, Any]] = orjson.loads(path.read_bytes())
    own = {name: entry for name, entry in shrink_table(table).items() if _is_called_directly(name, entry)}
    lines = (f"{_to_json(name)}: {_to_json(entry)}" for name, entry in sorted(own.items()))
    models = ",\n".join(lines)
    return f'{{"types": {_to_json(sorted(list_table_types()))},\n"models": {{\n{models}\n}}}}\n'


def _is_called_directly(name: str, entry: Mapping[str, Any]) -> bool:
    prefix, slash, _ = name.partition("/")
    return entry.get("litellm_provider") in HTTP_TYPES or bool(slash and prefix in HTTP_TYPES)


def _to_json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
