"""Fingerprint of the settings that the processes of a group must have in common."""

import json
from collections.abc import Mapping
from hashlib import sha256

from sophon.settings import Settings, redact_settings

OWN_SECTIONS = frozenset({"Hub", "Logging", "Store", "Telemetry"})
"""Sections of each process's own: where it listens, what it logs, how it reaches the store that all of them have."""

OWN_QUEUE_SETTINGS = frozenset({"Url"})
"""Settings of the queue that may differ: how a process reaches the server that all of them have."""

DIGEST_CHARACTERS = 12


def compute_fingerprint(settings: Settings) -> dict[str, str]:
    """Return a digest of each section that must agree. A secret counts by its reference, and a plain one not at all."""
    sections = redact_settings(settings)
    queue = {name: value for name, value in sections["Queue"].items() if name not in OWN_QUEUE_SETTINGS}
    shared = {**sections, "Queue": queue}
    return {name: _digest(value) for name, value in sorted(shared.items()) if name not in OWN_SECTIONS}


def list_differences(own: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names of the sections that differ; those of one process only differ, too."""
    return sorted(name for name in own.keys() | other.keys() if own.get(name) != other.get(name))


def _digest(section: object) -> str:
    text = json.dumps(section, sort_keys=True, default=str)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]
