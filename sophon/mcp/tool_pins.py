"""Hash of what an MCP server says about a tool, and the tools that nobody has accepted in that form. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson


def hash_definition(definition: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a tool's whole definition in JSON form, whatever the order of its keys."""
    return hashlib.sha256(orjson.dumps(dict(definition), option=orjson.OPT_SORT_KEYS)).hexdigest()


def find_changed(accepted: Mapping[str, str], offered: Mapping[str, str]) -> frozenset[str]:
    """Return the names of offered tools whose hash is not the accepted one; a tool without one counts as changed."""
    return frozenset(name for name, digest in offered.items() if accepted.get(name) != digest)
